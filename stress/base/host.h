/* What measured times depend on beside the device: compiler, its flags, processor, how busy the machine is.
   Knows nothing of rows. It changes from run to run, so it stands beside times alone. Tested by tests/run.t. */
#ifndef STRESS_BASE_HOST_H
#define STRESS_BASE_HOST_H

#include <stdio.h>

/* One object: compiler, flags, cpu, governor, kernel, date, argv (NULL: empty), cpus, load (of the last minute); what
   is not known is null. */
void host_json(FILE *out, const char *const *argv);
/* The same as a line for people. Returns text. */
const char *host_line(char *text, size_t size);

#endif
