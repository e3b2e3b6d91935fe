/* What `stress list workloads` and `stress help workloads` say, from the families' own tables.
   It must not know any family by name. Tested by tests/workloads.t. */
#ifndef STRESS_COMMAND_HELP_WORKLOADS_H
#define STRESS_COMMAND_HELP_WORKLOADS_H

#include <stdio.h>

void help_list_workloads(FILE *out);             /* a line each */
int  help_workload(FILE *out, const char *name); /* with its keys; 1: there is one of the name */
int  help_workloads(FILE *out);                  /* of all; 0 */

#endif
