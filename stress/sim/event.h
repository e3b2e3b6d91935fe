/* Events: points in streams, which streams and the host can wait for, and times between them.
   It must not count calls or know of faults; what each function answers is a code of the runtime.
   Tested by tests/test_sim_events.c; under capture by tests/test_sim_capture.c. */
#ifndef STRESS_SIM_EVENT_H
#define STRESS_SIM_EVENT_H

#include "work.h"

/* One that was never recorded is complete, and nothing comes before it. Destroying one that is not complete waits for
   nothing, and whoever was told to wait for it still does. Those of a lost device answer its code. As for the rest:
   work.h. */
int event_create(sim_device *device, int is_timed, void **made);
int event_destroy(sim *machine, const void *value);
int event_record(sim_device *device, const void *value, const void *handle, const char *action);
int event_query(sim_device *device, const void *value, const char *action);
int event_wait(sim_device *device, const void *value, const char *action, uint64_t *cost_ns);
int event_follow(sim_device *device, const void *handle, const void *value, const char *action);
int event_elapsed(sim *machine, const void *start, const void *end, int64_t *ns);

void event_reset(sim_device *device);            /* its events are gone */
void event_destroy_all(sim *machine);

#endif
