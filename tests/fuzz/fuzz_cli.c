/* Fuzz target: a command line, a word a line.
   It must not act on it.
   Run: make fuzz FUZZ=cli; its corpus: build/tests/fuzz/fuzz_cli */
#include "../../stress/cli.h"
#include "../../stress/shard.h"
#include "fuzz.h"

enum { FUZZ_WORDS = 64 };

static void fuzz_one(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), program[] = "stress", *argv[FUZZ_WORDS + 1] = { program };
    int argc = 1;
    for (char *at = text; at && argc < FUZZ_WORDS; argc++) {
        argv[argc] = at;
        at = strchr(at, '\n');
        if (at) *at++ = '\0';
    }
    cli asked;
    problem why = { 0, "" };
    int failed = cli_parse(&asked, argc, argv, &why);
    fuzz_expect(failed ? why.exit_code == EXIT_USAGE && why.text[0] : !why.exit_code, "refused with a problem, or not");
    if (!failed && asked.values[CLI_SHARD].given) {
        shard made;
        problem trouble = { 0, "" };
        if (!shard_find(&made, asked.values[CLI_SHARD].text, &trouble)) {
            fuzz_expect(made.count && made.index < made.count, "a shard is one of its count");
            free(shard_path("a{shard}b", made.index, made.count));
        }
    }
    cli_free(&asked);
    free(text);
}

FUZZ_TARGET(cli)
