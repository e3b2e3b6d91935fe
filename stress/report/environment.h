/* What measured times depend on beside the program, as JSON: host, compiler, CUDA device. It must not ask
   CUDA anything. */
#ifndef STRESS_REPORT_ENVIRONMENT_H
#define STRESS_REPORT_ENVIRONMENT_H

#include <stdio.h>

#include "../device/cuda_environment.h"

/* ---- What measured times depend on beside the device: compiler, its flags, processor, how busy the machine is */

/* One object: compiler, flags, cpu, governor, kernel, date, argv (NULL: empty), cpus, load (of the last minute); what
   is not known is null. */
void host_json(FILE *out, const char *const *argv);
/* The same as a line for people. Returns text. */
const char *host_line(char *text, size_t size);

/* One object; what is not known is null. */
void environment_json(FILE *out, const cuda_environment *self);

#endif
