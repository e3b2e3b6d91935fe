/* A driver table that lets several threads in, where the one behind it does not: one at a time.
   It must not know what the entries do.
   Tested by tests/test_pass_threads.c. */
#ifndef STRESS_DEVICE_LOCK_H
#define STRESS_DEVICE_LOCK_H

#include "../../gpuarena.h"

typedef struct device_lock device_lock;

/* Puts a lock in front of *driver, whose user must outlive it. with_streams 0: of memory and vm alone; events and
   capture are called as they come, since waits among them may last. NULL: no host memory, *driver is as it was. */
device_lock *device_lock_open(gpuarena_driver *driver, int with_streams);
void         device_lock_close(device_lock *self);           /* nobody is in it; NULL is fine */
/* How many calls on memory (device_counters.calls, device.h) this thread has made through such tables so far. */
uint64_t     device_lock_calls(void);

#endif
