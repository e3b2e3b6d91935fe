/* What `stress list policies` says, for other pages.
   It must not know any policy by name. Tested by tests/cli.t. */
#ifndef STRESS_HELP_LISTS_H
#define STRESS_HELP_LISTS_H

#include <stdio.h>

void help_list_policies(FILE *out);

#endif
