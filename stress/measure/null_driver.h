/* A device that costs nothing: every call of its table succeeds in constant time, and no memory is behind addresses.
   It must not be used where contents, refusals or faults matter: stress/sim has those. */
#ifndef STRESS_MEASURE_NULL_DRIVER_H
#define STRESS_MEASURE_NULL_DRIVER_H

#include "../../gpuarena.h"

/* A table of one device of 256 GiB, always free, with virtual memory in pages of 2 MiB and with events, done as soon
   as they are recorded. Any number of threads; addresses are given out once in the life of the process, from the
   same one on, so that two runs of a program see the same. */
void null_driver_fill(gpuarena_driver *driver);

#endif
