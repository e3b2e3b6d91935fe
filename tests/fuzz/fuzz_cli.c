/* Fuzz target: a command line, a word a line; variables that say which shard this is, and the pattern of --filter.
   It must not act on it.
   Run: make fuzz FUZZ=cli; its corpus: build/tests/fuzz_cli */
#include "stress/base/cli.h"
#include "stress/base/slice.h"
#include "stress/run/sweep.h"
#include "fuzz.h"

enum { FUZZ_WORDS = 64 };

static const char *const fuzz_variables[] = {
    "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT",
    "JOB_COMPLETION_INDEX", "SLURM_PROCID", "SLURM_NTASKS",
};
enum { FUZZ_VARIABLES = sizeof fuzz_variables / sizeof fuzz_variables[0] };

/* 1: the word was NAME=VALUE, and is in the environment now. */
static int fuzz_is_variable(const char *word)
{
    for (int at = 0; at < FUZZ_VARIABLES; at++) {
        size_t length = strlen(fuzz_variables[at]);
        if (strncmp(word, fuzz_variables[at], length) || word[length] != '=') continue;
        fuzz_expect(!setenv(fuzz_variables[at], word + length + 1, 1), "host memory");
        return 1;
    }
    return 0;
}

static void fuzz_shard(const char *text)
{
    shard_mark made;
    problem why = { 0, "" };
    if (shard_find(&made, text, &why)) {
        fuzz_expect(why.exit_code == EXIT_USAGE && why.text[0], "refused with a problem");
        return;
    }
    fuzz_expect(made.count && made.index < made.count, "a shard is one of its count");
    free(shard_path("a{shard}b", &made));
}

static void fuzz_filter(const char *text)
{
    if (text) (void)slice_fits(slice_of(text), "train:seq=512/paged");
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), program[] = "stress", *argv[FUZZ_WORDS + 1] = { program };
    int argc = 1;
    for (char *at = text, *next; at && argc < FUZZ_WORDS; at = next) {
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        if (!fuzz_is_variable(at)) argv[argc++] = at;
    }
    cli asked;
    problem why = { 0, "" };
    int failed = cli_parse(&asked, argc, argv, &why);
    fuzz_expect(failed ? why.exit_code == EXIT_USAGE && why.text[0] : !why.exit_code,
                "refused with a problem, or not");
    if (!failed) {
        fuzz_shard(asked.values[CLI_SHARD].text);
        fuzz_filter(asked.values[CLI_FILTER].text);
    }
    for (int at = 0; at < FUZZ_VARIABLES; at++) unsetenv(fuzz_variables[at]);
    cli_free(&asked);
    free(text);
}

FUZZ_TARGET(cli)
