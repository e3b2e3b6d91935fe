/* The commands: each a file beside this one, which has its row of the table. Help, completion and messages are made
   of the rows, and of those of options. */
#ifndef STRESS_COMMAND_COMMAND_H
#define STRESS_COMMAND_COMMAND_H

#include "../report/output.h"
#include "../result/gate.h"
#include "../run/plan.h"

/* act: the exit code; -1: that of the problem, which is told. What a command holds goes with the process, but for
   merge's, which a fuzzer calls again and again. capacity and batch are run's. shrink answers
   what the run which is shrunk does: 0 where it is out of memory. */
typedef struct command {
    const char *name;
    const char *usage;                           /* what follows the name in help; NULL: help has a line for it */
    size_t      most_words;                      /* that may follow the name */
    int       (*act)(const cli *asked, problem *why);
} command;

/* All of them, in the order of help. A new one is a file, and a word here. */
#define COMMANDS(X) \
    X(run) X(capacity) X(batch) X(shrink) X(holes) X(costs) X(compare) X(merge) X(list) X(help) X(version)
#define X(name) extern const command command_##name;
COMMANDS(X)
#undef X

/* The program build/bench: as act. */
int bench_command(const cli *asked, problem *why);

/* Rules against a command line of run, capacity, batch or holes, before anything runs: each is about a row, and the
   policy that it compares with runs. besides: the policy that runs without being asked for, or "". */
int run_check_rules(const plan *made, const gate *gates, const char *besides, problem *why);

extern const command *const command_table[];     /* all of them, then NULL */
const command *command_find(const char *name);   /* NULL: there is none */
/* The page of a command, NULL: the main page. As act. */
int help_page(const char *topic, problem *why);

/* The command takes each option that was given, and as many words. -1 and a problem: it does not. */
int command_check(const char *name, size_t most_words, const cli *asked, problem *why);

/* Runs what the command line asks for: as act. */
int commands_run(const cli *asked, problem *why);

#endif
