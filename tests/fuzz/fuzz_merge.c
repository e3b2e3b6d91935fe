/* Fuzz target: one shard's file, as merge reads it.
   It must not run anything.
   Run: make fuzz FUZZ=merge; its corpus: build/tests/fuzz_merge */
#include "stress/command/command.h"
#include "fuzz.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    char words[5][96] = { "stress", "merge", "", "--out", "csv=/dev/null" };
    char *argv[6] = { words[0], words[1], words[2], words[3], words[4], NULL };
    snprintf(words[2], sizeof words[2], "%s", fuzz_file(data, size));
    cli asked;
    problem why = { 0, "" };
    fuzz_expect(!cli_parse(&asked, 5, argv, &why), "the words are right");
    int code = command_merge.act(&asked, &why);
    fuzz_expect(code == why.exit_code && (code == EXIT_PASS || code == EXIT_USAGE || code == EXIT_HARNESS),
                "its exit code");
    cli_free(&asked);
}

FUZZ_TARGET(merge)
