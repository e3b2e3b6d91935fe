/* What `stress list` says of policies, and what `stress help` does.
   It must not know any policy by name. Tested by tests/cli.t. */
#ifndef STRESS_COMMAND_HELP_LISTS_H
#define STRESS_COMMAND_HELP_LISTS_H

#include <stdio.h>

/* A line of a list, cut aloud where the terminal, or COLUMNS, has no room for all of it. */
void help_line(FILE *out, const char *name, const char *text);
int  help_policy(FILE *out, const char *name);   /* with its keys; 1: there is one of the name */
void help_policies(FILE *out);                   /* of all */

#endif
