/* The command line: one option table -> parsing, --help with defaults, repro lines; sizes and lists.
   It must not know workloads, policies or devices: their names are plain text here. A new option is one row here. */
#ifndef STRESS_BASE_CLI_H
#define STRESS_BASE_CLI_H

#include "program.h"

/* X(ID, heading of --help or NULL: as the row above, name, letter or 0, kind, argument as help shows it, default or
   NULL, least, most, effect on results, commands that take it, summary). A default is parsed like an argument.
   CLI_ROWS are the commands that make rows of workloads and policies; CLI_WORK are all commands that run them. */
#define CLI_ROWS "run|capacity|batch"
#define CLI_WORK CLI_ROWS "|shrink"
#define CLI_OPTIONS(X) \
    X(WORKLOAD, "Workloads and policies", "workload", 'w', LIST, "NAME[:key=value,..][,..]", NULL, 0, 0, \
      SHAPES_SWEEP, CLI_WORK, "workloads; repeatable (stress list workloads)") \
    X(POLICY, NULL, "policy", 'p', LIST, "NAME[:key=value,..][,..]", NULL, 0, 0, SHAPES_SWEEP, \
      CLI_WORK "|holes", "policies; repeatable (stress list policies)") \
    X(DEVICE, NULL, "device", 0, TEXT, "sim[:SIZE]|auto|cuda:N", "sim:80G", 0, 0, SHAPES_RESULTS, \
      CLI_WORK "|holes|costs", "simulated, or CUDA's; auto: cuda:0, else sim:80G") \
    X(SEED, NULL, "seed", 0, NUMBER, "N", "1", 0, 0, SHAPES_RESULTS, \
      CLI_WORK "|holes|bench", "of generated workloads") \
    X(STEPS, NULL, "steps", 0, NUMBER, "N", NULL, 1, 0, SHAPES_RESULTS, \
      CLI_WORK, "training steps, where the workload has steps") \
    X(OPS, NULL, "ops", 0, NUMBER, "N", NULL, 1, 0, SHAPES_RESULTS, \
      CLI_WORK, "cut each workload after N allocations and frees") \
    X(ROUNDS, NULL, "rounds", 0, NUMBER, "N", NULL, 1, 1000, SHAPES_RESULTS, \
      "run|capacity", "all ops N times, on one pool; live blocks are freed in between") \
    X(THREADS, NULL, "threads", 0, NUMBER, "N", NULL, 1, 64, SHAPES_RESULTS, \
      CLI_WORK, "of each workload; a+b: different ones (stress help threads)") \
    X(VARY, NULL, "vary", 0, TEXT, "KEY", NULL, 0, 0, SHAPES_RESULTS, \
      "batch", "batch: the workload's option to find the largest of (stress help batch)") \
    X(LIMIT, NULL, "limit", 0, SIZE, "SIZE", NULL, 1, 0, SHAPES_RESULTS, \
      "run|batch|shrink|holes", "hard limit of arenas and models; not beside a limit key") \
    X(FILTER, NULL, "filter", 0, TEXT, "PATTERN[|..]", NULL, 0, 0, SHAPES_SWEEP, \
      CLI_ROWS, "only rows whose WORKLOAD/POLICY fits; * any text, ? a character") \
    X(QUICK, NULL, "quick", 0, FLAG, NULL, NULL, 0, 0, SHAPES_RESULTS, \
      CLI_WORK "|holes|bench", "a smoke test: --ops 20000 where --ops is not given") \
    X(ON_OOM, "The run", "on-oom", 0, CHOICE, "stop|skip", "stop", 0, 0, SHAPES_RESULTS, \
      CLI_ROWS, "after a refusal: end the row, or go on without the block") \
    X(FAULTS, NULL, "faults", 0, TEXT, "TEXT", NULL, 0, 0, SHAPES_SIMULATION, \
      CLI_WORK "|costs", "faults of the simulated device (stress help faults)") \
    X(COSTS, NULL, "costs", 0, TEXT, "FILE", NULL, 0, 0, SHAPES_SIMULATION, \
      CLI_WORK "|costs", "of simulated driver calls (stress help costs)") \
    X(CONTEXT, NULL, "context", 0, SIZE, "SIZE", "0", 0, 0, SHAPES_SIMULATION, \
      CLI_WORK "|holes|costs", "simulated device memory that the context holds") \
    X(OP_NS, NULL, "op-ns", 0, NUMBER, "N", "2000", 0, 1000000000, SHAPES_SIMULATION, \
      CLI_WORK, "modelled host time of one operation, in ns") \
    X(RATE, NULL, "rate", 0, NUMBER, "N", NULL, 1, 1000000000, SHAPES_SIMULATION, \
      CLI_WORK, "allocations and frees a virtual second (stress help columns)") \
    X(VERIFY, NULL, "verify", 0, CHOICE, "off|sample|full", "full", 0, 0, SHAPES_RESULTS, \
      CLI_WORK, "shadow model; sample (cuda:N's default): contents 1 in 64") \
    X(NO_TIMING, NULL, "no-timing", 0, FLAG, NULL, NULL, 0, 0, SHAPES_SWEEP, \
      CLI_ROWS "|holes|bench", "no measured time: those cells stay empty") \
    X(INSTRUCTIONS, NULL, "instructions", 0, FLAG, NULL, NULL, 0, 0, NO_EFFECT, \
      "holes|bench", "holes: count them, by running again under valgrind") \
    X(TIMES, NULL, "repeat", 0, COUNT_OR_AUTO, "N|auto", NULL, 1, 1000, SHAPES_SWEEP, \
      "run|batch", "run: every row N times: six make an interval; batch: ops N times") \
    X(WARMUP, NULL, "warmup", 0, NUMBER, "N", NULL, 0, 100, SHAPES_SWEEP, \
      "run", "run: timing passes that come first, dropped (cuda:N's default: 1)") \
    X(PRECISION, NULL, "precision", 0, SHARE, "SHARE", "2%", 0, 0, NO_EFFECT, \
      "run|holes|bench", "where half of each interval is no more, enough (help measuring)") \
    X(BUDGET, NULL, "budget", 0, NUMBER, "SECONDS", "60", 1, 1000000, NO_EFFECT, \
      "run|holes|bench", ".. or until so long has gone, on each case or workload") \
    X(SHARD, NULL, "shard", 0, TEXT, "I/N|auto/N|none", NULL, 0, 0, NO_EFFECT, \
      CLI_ROWS, "every Nth row, from row I (from 0); then merge (stress help shards)") \
    X(FAIL_IF, "Gates", "fail-if", 0, REPEAT, "RULE|@FILE", NULL, 0, 0, NO_EFFECT, \
      CLI_ROWS "|holes|compare|merge", "exit 1 where it is true (stress help gates); repeatable") \
    X(BASE, NULL, "base", 0, TEXT, "FILE", NULL, 0, 0, NO_EFFECT, \
      CLI_ROWS "|holes|merge", "CSV of an earlier run: base in rules") \
    X(STRICT, NULL, "strict", 0, FLAG, NULL, NULL, 0, 0, NO_EFFECT, \
      CLI_ROWS "|holes|compare|merge", "ambiguous verdicts, and those without a value, fail too") \
    X(OUT, "Output", "out", 0, REPEAT, "KIND=PATH", NULL, 0, 0, NO_EFFECT, \
      CLI_WORK "|holes|costs|compare|merge|bench", "KIND: stress help outputs; repeatable; -: stdout") \
    X(QUIET, NULL, "quiet", 'q', FLAG, NULL, NULL, 0, 0, NO_EFFECT, \
      CLI_WORK "|holes|costs|compare|merge|bench", "no table, no notes but which shard this is, no progress") \
    X(VERBOSE, NULL, "verbose", 'v', FLAG, NULL, NULL, 0, 0, NO_EFFECT, \
      CLI_ROWS "|costs", "device and configurations, on stderr") \
    X(COLOR, NULL, "color", 0, CHOICE, "auto|always|never", "auto", 0, 0, NO_EFFECT, \
      CLI_ROWS "|holes|bench", "auto: NO_COLOR, FORCE_COLOR, then a terminal") \
    X(PROGRESS, NULL, "progress", 0, CHOICE, "auto|always|never", "auto", 0, 0, NO_EFFECT, \
      CLI_WORK, "on stderr; auto: on a terminal, and where CI is set") \
    X(HELP, "Help", "help", 'h', FLAG, NULL, NULL, 0, 0, NO_EFFECT, \
      "", "this page; behind a command: the command's") \
    X(VERSION, NULL, "version", 0, FLAG, NULL, NULL, 0, 0, NO_EFFECT, \
      "", "the version")

typedef enum cli_id {
#define X(id, group, name, letter, kind, argument, fallback, least, most, effect, commands, summary) CLI_##id,
    CLI_OPTIONS(X)
#undef X
    CLI_COUNT
} cli_id;

typedef enum cli_kind {
    CLI_FLAG,
    CLI_NUMBER,                                  /* decimal, from the row's least to its most */
    CLI_COUNT_OR_AUTO,                           /* a NUMBER of at least 1, or the word auto, which is 0 */
    CLI_SIZE,                                    /* bytes: slice_size */
    CLI_SHARE,                                   /* 2%, 0.5%: in millionths; up to 100% */
    CLI_TEXT, CLI_CHOICE,                        /* any text but ""; one of the argument's words, a | between them */
    CLI_LIST, CLI_REPEAT                         /* items by the list grammar, all together; one text each time */
} cli_kind;

typedef enum cli_effect {                        /* of an option on results */
    CLI_NO_EFFECT,
    CLI_SHAPES_SWEEP,                            /* selects the rows and their measurements */
    CLI_SHAPES_RESULTS,                          /* belongs into a repro line when given */
    CLI_SHAPES_SIMULATION                        /* belongs into a repro line, too, but not on a CUDA device */
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
    const char *commands;                        /* the commands that take it, a | between them */
    const char *summary;
} cli_option;
extern const cli_option cli_options[CLI_COUNT];              /* by cli_id */

typedef struct cli_value {
    int         given;
    uint64_t    number;                          /* NUMBER, SIZE */
    const char *text;                            /* the written text; NULL: neither given nor a default */
    char      **items;                           /* LIST, REPEAT */
    size_t      item_count;
} cli_value;

typedef struct cli {
    const char *const *argv;                     /* main's */
    const char *command;                         /* "" if none was given */
    cli_value   words;                           /* after the command */
    cli_value   values[CLI_COUNT];
} cli;

/* -1 and a problem, EXIT_USAGE. cli_free in both cases. */
int  cli_parse(cli *self, int argc, char *const *argv, problem *why);
void cli_free(cli *self);
void cli_help(FILE *out);                        /* options by group, from the table */
void cli_help_option(FILE *out, const cli_option *option);       /* the line of one option */

/* One word of a command line, quoted for a POSIX shell where that is needed. */
void cli_print_word(FILE *out, const char *word);

#endif
