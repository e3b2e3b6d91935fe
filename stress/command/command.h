/* The commands: each is a file beside this one, which has its row of the table. Help, completion and messages are
   made from these rows and from the rows of options. */
#ifndef STRESS_COMMAND_COMMAND_H
#define STRESS_COMMAND_COMMAND_H

#include "../report/output.h"
#include "../result/gate.h"
#include "../run/plan.h"

/* act returns the exit code; -1: that of the problem, which is told. A command's memory is freed when the process
   ends; merge alone frees its own, because a fuzzer calls it again and again. run.c has capacity and batch, too.
   shrink's exit code is that of the run it shrinks: 0 where the run is out of memory. */
typedef struct command {
    const char *name;
    const char *usage;                           /* the words behind the name in help; NULL: help writes its own */
    size_t      most_words;                      /* the most words that may follow the name */
    int       (*act)(const cli *asked, problem *why);
} command;

/* All commands, in the order of help. A new one is a file, and a word here. */
#define COMMANDS(X) \
    X(run) X(capacity) X(batch) X(shrink) X(holes) X(costs) X(compare) X(merge) X(list) X(help) X(version)
#define X(name) extern const command command_##name;
COMMANDS(X)
#undef X

/* Runs the program build/bench. Returns like act. */
int bench_command(const cli *asked, problem *why);

/* Checks rules against a command line of run, capacity, batch or holes, before anything runs. Each rule must be about
   a row, and the policy that it compares with must run. besides: a policy that runs unasked, or "". */
int run_check_rules(const plan *made, const gate *gates, const char *besides, problem *why);

extern const command *const command_table[];     /* all of them, then NULL */
const command *command_find(const char *name);   /* NULL: there is none */
/* Writes the page of a command; NULL: the main page. Returns like act. */
int help_page(const char *topic, problem *why);

/* Checks that the command takes each given option and so many words. -1 and a problem: it does not. */
int command_check(const char *name, size_t most_words, const cli *asked, problem *why);

/* Runs the command of a command line. Returns like act. */
int commands_run(const cli *asked, problem *why);

#endif
