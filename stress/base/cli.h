/* The command line: one option table -> parsing, --help with defaults, repro lines; sizes and lists.
   It must not know what a workload, policy or device is: those are texts here. A new option is one row in cli.c. */
#ifndef STRESS_BASE_CLI_H
#define STRESS_BASE_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "problem.h"

typedef enum cli_id {
    CLI_WORKLOAD, CLI_POLICY, CLI_DEVICE, CLI_SEED, CLI_STEPS, CLI_OPS, CLI_ROUNDS, CLI_THREADS, CLI_VARY, CLI_LIMIT,
    CLI_FILTER, CLI_QUICK, CLI_ON_OOM, CLI_FAULTS, CLI_COSTS, CLI_CONTEXT, CLI_OP_NS, CLI_RATE, CLI_VERIFY,
    CLI_NO_TIMING, CLI_INSTRUCTIONS,
    CLI_TIMES, CLI_WARMUP, CLI_PRECISION, CLI_BUDGET, CLI_SHARD, CLI_FAIL_IF, CLI_BASE, CLI_STRICT,
    CLI_OUT, CLI_QUIET, CLI_VERBOSE, CLI_COLOR, CLI_PROGRESS, CLI_HELP, CLI_VERSION,
    CLI_COUNT
} cli_id;

#define CLI_TAKES(id) (UINT64_C(1) << (id))      /* one bit an option */

typedef enum cli_kind {
    CLI_FLAG,
    CLI_NUMBER,                                  /* decimal, from the row's least to its most */
    CLI_COUNT_OR_AUTO,                           /* the same, or the word auto, which is 0: least is 1 */
    CLI_SIZE,                                    /* bytes: slice_size */
    CLI_SHARE,                                   /* 2%, 0.5%: in millionths; up to 100% */
    CLI_TEXT, CLI_CHOICE,                        /* anything but nothing; one of the row's argument, separated by | */
    CLI_LIST, CLI_REPEAT                         /* items by the list grammar, all together; one text each time */
} cli_kind;

typedef enum cli_effect {                        /* of an option on results */
    CLI_NO_EFFECT,
    CLI_SHAPES_RESULTS,                          /* belongs into a repro line when given */
    CLI_SHAPES_SIMULATION                        /* so does this; a CUDA device has nothing of the kind */
} cli_effect;

typedef struct cli_option {
    const char *group;                           /* heading of --help; NULL: as the row above */
    const char *name;                            /* without the dashes */
    char        letter;                          /* 0: none */
    cli_kind    kind;
    const char *argument;                        /* shown in help */
    const char *fallback;                        /* default, parsed like an argument; NULL: none */
    uint64_t    least;                           /* NUMBER, SIZE */
    uint64_t    most;                            /* NUMBER; 0: none */
    cli_effect  effect;
    const char *summary;
} cli_option;
const cli_option *cli_option_at(size_t index);                               /* NULL past the last */

typedef struct cli_value {
    int         given;
    uint64_t    number;                          /* NUMBER, SIZE */
    const char *text;                            /* as written; NULL: neither given nor a default */
    char      **items;                           /* LIST, REPEAT */
    size_t      item_count;
} cli_value;

typedef struct cli {
    const char *command;                         /* "" if none was given */
    const char *topic;                           /* the first word after the command, or NULL .. */
    cli_value   words;                           /* .. and all of them */
    cli_value   values[CLI_COUNT];
} cli;

/* -1 and a problem, EXIT_USAGE. cli_free in both cases. */
int  cli_parse(cli *self, int argc, char *const *argv, problem *why);
void cli_free(cli *self);
void cli_help(FILE *out);                        /* options by group, from the table */
void cli_help_option(FILE *out, const cli_option *option);       /* one of them */

/* One word of a command line, quoted for a POSIX shell where that is needed. */
void cli_print_word(FILE *out, const char *word);

#endif
