/* The frame of every call of the runtime: lock, life, the calling thread's device and last error, fault, clock. It
   must not know the effects of any call. */
#ifndef STRESS_CUDART_CALL_H
#define STRESS_CUDART_CALL_H

#include <cuda_runtime_api.h>

#include "../sim/engine.h"

/* A function that a CUDA program may call; and its name in programs that are compiled with
   CUDA_API_PER_THREAD_DEFAULT_STREAM, where no stream makes a difference. */
#define CUDART_EXPORT __attribute__((visibility("default")))
#define CUDART_ALSO(name, other) \
    extern __typeof__(name) other __attribute__((alias(#name), visibility("default")))

enum { CALL_NESTED_LAUNCHES = 16, CALL_CONTEXTS = 32 };

typedef struct call_launch { dim3 grid, block; size_t shared_bytes; cudaStream_t stream; } call_launch;

typedef struct call_thread {                     /* the state of one thread */
    uint64_t epoch;                              /* of the machine that it was at work on */
    int      device;                             /* the current one */
    int      last_error;
    int      kept_error;                         /* last_error, while a driver function calls the runtime */
    int      is_called_back;                     /* inside a host function: no call is permitted there */
    int      has_context;                        /* a context is current: its device is `device` */
    int      stack[CALL_CONTEXTS];               /* of cuCtxPushCurrent: devices, -1 for none */
    int      stack_count;
    call_launch launches[CALL_NESTED_LAUNCHES];  /* pushed by <<< >>> and not popped yet */
    int      launch_count;
} call_thread;

typedef engine_call call;                        /* device: the thread's current one, or that of the call's memory */

/* 1: the call is to be served, which sets code and cost_ns. 0: code says why not. call_end in both cases.
     call_begin     for the current device
     call_begin_at  for the device whose address it is; the current one if it is no device's
     call_open      1: there is a machine, and self->device is the current one; then
     call_serve     for the device given; NULL: the current one. Creates its context, unless the kind's trait says
                    that it needs none. bytes: of a kind whose faults look at sizes, else 0 */
int call_begin(call *self, sim_call kind);
int call_begin_at(call *self, sim_call kind, const void *ptr);
int call_open(call *self, sim_call kind);
int call_serve(call *self, sim_device *device, uint64_t bytes);
cudaError_t call_end(call *self);                /* keeps the last error */
int call_end_driver(call *self);                 /* of the driver's interface, which has no last error */

/* libcuda is initialized by cuInit, and by every call of the runtime but those that look at the thread's own state.
   is_now: from now on. 1: it is. */
int call_initialized(int is_now);

/* A look at the thread's own state, by calls that nothing makes fail but life itself: then the code, else 0. leave:
   the code. */
int  call_enter(call *self);
int  call_leave(call *self);

/* The body of a function that is one call: begun begins it, answer is its code then; expressions in `self`. */
#define CALL_DOES(begun, answer) \
    call self; \
    if (begun) self.code = (answer); \
    return call_end(&self)

/* The body of a function that only looks at the thread's own state. */
#define CALL_LOOKS(type, answer) \
    call self; \
    if (call_enter(&self) == SIM_SUCCESS) self.code = (answer); \
    return (type)call_leave(&self)

/* A function that is one call, whole. */
#define CUDART_FUNCTION(name, parameters, answer) \
    CUDART_EXPORT cudaError_t name parameters { CALL_DOES(call_begin(&self, SIM_CALL_OF_##name), answer); }

/* A function whose body follows and answers a code, in words of its parameters and `self`, which is a pointer there.
   names: the parameters without their types. Begun for the current device, or by `begun`. */
#define CALL_LIST(...) __VA_ARGS__
#define CUDART_SERVED_BY(name, parameters, names, begun) \
    static int serve_##name(call *self, CALL_LIST parameters); \
    CUDART_EXPORT cudaError_t name parameters { CALL_DOES(begun, serve_##name(&self, CALL_LIST names)); } \
    static int serve_##name(call *self, CALL_LIST parameters)
#define CUDART_SERVED(name, parameters, names) \
    CUDART_SERVED_BY(name, parameters, names, call_begin(&self, SIM_CALL_OF_##name))

/* A code: there is somewhere to put a value, or not. */
#define CALL_PUT(to, value) ((to) ? (*(to) = (value), SIM_SUCCESS) : SIM_INVALID_VALUE)

/* ---- The simulated device in numbers: one table for attributes and properties */

int attributes_of(const sim_device *device, enum cudaDeviceAttr attribute);  /* of one that the toolkit knows */

/* ---- Which functions that are not served were called */

void refused_print(FILE *out);                   /* a line for each that was: "refused NAME COUNT" */

/* ---- Pinned memory of the host: which blocks cudaHostAlloc and cudaMallocHost gave, and on behalf of which device.
        Managed memory, which cudaMallocManaged gave, is of the same sort here, and so is the program's own that
        cudaHostRegister was given. One thread at a time */

typedef enum host_kind { HOST_PINNED, HOST_MANAGED, HOST_REGISTERED } host_kind;

typedef struct host_block {
    treap_node  place;                           /* by address */
    void       *ptr;
    uint64_t    bytes;
    uint64_t    machine;                         /* its handles.serial: it may be gone */
    int         ordinal;
    host_kind   kind;
} host_block;

void  host_reset(const sim_device *owner);       /* gives back memory that this device's calls obtained */
const host_block *host_find(const void *ptr);    /* that ptr lies in; NULL: none */

/* ---- Streams by the runtime's handles, and the names of calls in programs compiled with per-thread default
        streams */

/* CUDART_THREAD_FORM(cudaX, cudaX_ptsz)(..) { .. }: the same call where stream 0 is the calling thread's. */
#define CUDART_THREAD_FORM(name, form) CUDART_EXPORT __typeof__(name) form; cudaError_t form
/* A function that is one call, in both forms, of which a parameter is `stream`; and one that begins with that. */
#define CUDART_FORMS(name, parameters, begun, answer) \
    CUDART_EXPORT cudaError_t name parameters { CALL_DOES(begun, answer); } \
    CUDART_THREAD_FORM(name, name##_ptsz) parameters \
    { \
        stream = stream_of_thread(stream); \
        CALL_DOES(begun, answer); \
    }
#define CUDART_STREAM_FUNCTION(name, parameters, answer) \
    CUDART_FORMS(name, parameters, stream_begin(&self, SIM_CALL_OF_##name, stream), answer)

int stream_begin(call *self, sim_call kind, cudaStream_t stream);    /* call_begin, and the stream is one: found */
cudaStream_t stream_of_thread(cudaStream_t stream);          /* 0 becomes the thread's, all others stay */

#endif
