/* Events of a device that is done with all work at once, for made-up drivers.
   It must not know what drivers do beside. Included by test_bounds.c. */
#ifndef TESTS_DONE_EVENTS_H
#define TESTS_DONE_EVENTS_H

#include "gpuarena.h"

static inline int done_create(const gpuarena_driver *self, void **event)
{
    static char event_of_all;
    (void)self;
    *event = &event_of_all;
    return GPUARENA_STATUS_DONE;
}

static inline int done_event(const gpuarena_driver *self, void *event)
{
    return (void)self, (void)event, GPUARENA_STATUS_DONE;
}

static inline int done_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    return (void)stream, done_event(self, event);
}

static inline int done_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    return (void)stream, done_event(self, event);
}

static inline int done_device_wait(const gpuarena_driver *self) { return done_event(self, NULL); }

/* The group `events` of a table. */
#define DONE_EVENTS \
    { done_create, done_event, done_record, done_event, done_event, done_stream_wait, done_device_wait }

#endif
