/* The pages of `stress help` and `stress list`.
   Knows nothing of running. */
#ifndef STRESS_COMMAND_HELP_H
#define STRESS_COMMAND_HELP_H

#include <stdio.h>

#include "../base/problem.h"

typedef void help_usage(FILE *out);              /* writes the synopsis of all commands */
/* The names of topics; one that has two names by its first. Returns text. */
const char *help_names(char *text, size_t size, const char *between);

/* topic NULL: the main page. -1 and a problem: there is no such page. */
int help_write(FILE *out, const char *topic, help_usage *usage, problem *why);
/* The page of a command's own topic; of those that have none the main page. */
int help_command(FILE *out, const char *command, help_usage *usage, problem *why);
int help_list(FILE *out, const char *topic, help_usage *usage, problem *why);

extern const char help_outputs[];                /* of the kinds of --out */
extern const char help_measuring[];              /* of times */

#endif
