/* Handles of streams and events: numbers that say which record, and whether it is still that one.
   It must not know of calls. One thread at a time.
   Tested by tests/test_cudart_streams.c. */
#ifndef STRESS_SIM_CUDART_HANDLES_H
#define STRESS_SIM_CUDART_HANDLES_H

#include "../engine.h"

typedef enum handle_kind { HANDLE_NONE, HANDLE_STREAM, HANDLE_EVENT } handle_kind;

typedef struct handle {
    handle_kind kind;
    uint32_t    generation;                      /* of its handles; grows when the record is used again */
    uint64_t    machine;                         /* its runtime_serial: it may be gone */
    int         ordinal;                         /* of the device */
    unsigned    flags;
    int         is_recorded;                     /* an event: and when */
    uint64_t    recorded_ns;
} handle;

/* A handle for a new record: never 0, 1 or 2, never the same twice in 2^32 uses of a record. NULL: no host memory. */
void   *handles_create(handle_kind kind, const sim_device *device, unsigned flags);
/* The record, until the next create; NULL: the value is none of this kind and machine now. */
handle *handles_find(const void *value, handle_kind kind, const sim *machine);
void    handles_destroy(handle *record);
void    handles_reset(const sim_device *device); /* destroys all of a device's */

#endif
