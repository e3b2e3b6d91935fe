/* The frame of every call of the runtime: lock, life, the calling thread's device and last error, fault, clock.
   It must not know what any call does. */
#ifndef STRESS_CUDART_CALL_H
#define STRESS_CUDART_CALL_H

#include <cuda_runtime_api.h>

#include "../sim/engine.h"

/* What a CUDA program may call; and the same call under the name that it has in programs that are compiled with
   CUDA_API_PER_THREAD_DEFAULT_STREAM, where no stream makes a difference. */
#define CUDART_EXPORT __attribute__((visibility("default")))
#define CUDART_ALSO(name, other) \
    extern __typeof__(name) other __attribute__((alias(#name), visibility("default")))

enum { CALL_NESTED_LAUNCHES = 16, CALL_CONTEXTS = 32 };

typedef struct call_launch { dim3 grid, block; size_t shared_bytes; cudaStream_t stream; } call_launch;

typedef struct call_thread {                     /* what each thread has of its own */
    uint64_t epoch;                              /* of the machine that it was at work on */
    int      device;                             /* the current one */
    int      last_error;
    int      kept_error;                         /* last_error, while a driver function calls the runtime */
    int      has_context;                        /* a context is current: its device is `device` */
    int      stack[CALL_CONTEXTS];               /* of cuCtxPushCurrent: devices, -1 for none */
    int      stack_count;
    call_launch launches[CALL_NESTED_LAUNCHES];  /* pushed by <<< >>> and not popped yet */
    int      launch_count;
} call_thread;

typedef struct call {
    sim         *machine;
    sim_device  *device;                         /* the thread's current one, or the one the call is counted for */
    call_thread *thread;
    sim_call     kind;
    fault_type   lie;                            /* of cudaMalloc */
    int          code;                           /* the answer; 0 unless said otherwise */
    uint64_t     cost_ns;                        /* the kind's fixed part unless said otherwise */
} call;

/* 1: the call is to be served, which sets code and cost_ns. 0: code says why not. call_end in both cases.
     call_begin       reaches the current device: creates its context, fails if it is lost. bytes: of cudaMalloc or 0
     call_begin_at    the same, for the device whose address it is; the current one if it is no device's
     call_begin_bare  reaches no device
     call_open, then call_serve: reaches the device given, which needs no context */
int call_begin(call *self, sim_call kind, uint64_t bytes);
int call_begin_at(call *self, sim_call kind, const void *ptr);
int call_begin_bare(call *self, sim_call kind);
int call_open(call *self, sim_call kind);        /* 1: there is a machine, and self->device is the current one */
int call_serve(call *self, sim_device *device, uint64_t bytes);
cudaError_t call_end(call *self);                /* keeps the last error */
int call_end_driver(call *self);                 /* of the driver's interface, which has no last error */

/* A look at the thread's own state, by calls that nothing makes fail but life itself: then the code, else 0. */
int  call_enter(call *self);
void call_leave(call *self);

/* The body of a function that is one call: how it is begun, and what it answers then; expressions in `self`. */
#define CALL_DOES(begun, answer) \
    call self; \
    if (begun) self.code = (answer); \
    return call_end(&self)

sim_device *call_find_device(const call *self, int ordinal);     /* NULL: there is none */

#endif
