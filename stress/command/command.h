/* The commands: one table, with the options that each takes. A new command is a file beside this one and a row in
   command.c; help, completion and messages are made of the table. */
#ifndef STRESS_COMMAND_COMMAND_H
#define STRESS_COMMAND_COMMAND_H

#include "../base/cli.h"

typedef struct command {
    const char *name;
    const char *usage;                           /* what follows the name in help; NULL: help has a line for it */
    size_t      most_words;                      /* that may follow the name */
    uint64_t    takes;                           /* options: CLI_TAKES of each */
    int       (*act)(const cli *asked, const char *const *argv, problem *why);       /* the exit code */
} command;
const command *command_at(size_t index);         /* NULL past the last */

/* Runs what the command line asks for. The exit code; a problem where there is one to be told. */
int command_run(const cli *asked, const char *const *argv, problem *why);

#endif
