/* Handles of streams, events and graphs: numbers that say which object, and whether it is still that one.
   It must not know of calls, nor what the objects are.
   Tested by tests/test_cudart_streams.c and tests/test_sim_order.c. */
#ifndef STRESS_SIM_HANDLES_H
#define STRESS_SIM_HANDLES_H

#include "base.h"

typedef enum handle_kind { HANDLE_NONE, HANDLE_STREAM, HANDLE_EVENT, HANDLE_GRAPH, HANDLE_GRAPH_EXEC,
                           HANDLE_PAGE } handle_kind;

typedef struct handle_record { uint64_t value; void *object; handle_kind kind; } handle_record;

typedef struct handles {                         /* zeroed: none */
    handle_record *records;
    uint32_t *idle;                              /* as long as the records; the latest last */
    uint32_t  count, capacity, idle_count;
    int       reuse;                             /* 1: new ones may be those of what is gone, as CUDA's may */
} handles;

/* A handle for an object: never 0, 1 or 2; but for reuse, never the same twice in 2^24 uses of a record. serial:
   tells machines apart, where it matters. NULL: no host memory. */
void *handles_create(handles *all, uint64_t serial, handle_kind kind, void *object);
/* The object; NULL: not of this kind now. each: the index-th record's, and its handle. */
void *handles_find(const handles *all, const void *value, handle_kind kind);
void *handles_each(const handles *all, uint32_t index, handle_kind kind, void **value);
void  handles_drop(handles *all, const void *value);         /* of an object */
void  handles_destroy(handles *all);             /* the objects are the caller's */

#endif
