/* What `stress list workloads` and `stress help workloads` say, from the families' own tables.
   It must not know any family by name. Tested by tests/workloads.t. */
#ifndef STRESS_HELP_WORKLOADS_H
#define STRESS_HELP_WORKLOADS_H

#include <stdio.h>

void help_list_workloads(FILE *out);             /* options with their defaults */
int  help_workloads(FILE *out);                  /* .. and with what is allowed; 0 */

#endif
