/* The driver's own interface, as far as it is served: functions of libcuda that programs link, or look up by name.
   Each is listed where it stands. A file whose functions take a stream, or use the default one, defines DRIVER_FORM
   first: 1 where stream 0 is the legacy one, 2 where it is the calling thread's. */
#ifndef STRESS_CUDART_DRIVER_H
#define STRESS_CUDART_DRIVER_H

#include <cuda.h>

#include "call.h"

#ifndef DRIVER_FORM
#define DRIVER_FORM 0
#endif

typedef void (*driver_function)(void);

typedef struct driver_row {
    const char     *name;                        /* as it is asked for: without _v2 and the like */
    unsigned        since;                       /* the CUDA version that has this form of it, such as 3020 */
    int             form;                        /* 1, 2: of a stream; 0: of none */
    driver_function function;
} driver_row;

/* Puts a function on the list, which the linker makes of all files' pointers to rows. */
#define DRIVER_LIST(text, symbol, since) \
    static const driver_row driver_row_##symbol = { text, since, DRIVER_FORM, (driver_function)symbol }; \
    static const driver_row *const driver_listed_##symbol __attribute__((used, section("driver_rows"))) \
        = &driver_row_##symbol;

/* A function of libcuda under the name that cuda.h gives it, and its row. */
#define DRIVER_EXPORT CUDART_EXPORT CUresult CUDAAPI
#define DRIVER(name, since, parameters) \
    DRIVER_LIST(#name, name, since) \
    DRIVER_EXPORT name parameters

/* The answer of the runtime's call, as the driver's code. The thread's last error stays as it was. */
#define DRIVER_DOES(runtime_call) \
    (driver_keep_error() ? driver_answer(runtime_call) : CUDA_ERROR_NOT_INITIALIZED)
int      driver_keep_error(void);                /* 0: libcuda is not initialized */
CUresult driver_answer(cudaError_t code);

/* The beginning of a function that makes no call of the runtime. */
#define DRIVER_NEEDS_INIT if (!call_initialized(0)) return CUDA_ERROR_NOT_INITIALIZED

CUcontext driver_context(int ordinal);           /* a device's; -1: of no device, NULL */

/* A function that is an expression; and one that is one call of the runtime. */
#define DRIVER_ANSWERS(name, since, parameters, answer) \
    DRIVER_LIST(#name, name, since) \
    DRIVER_EXPORT name parameters { return (answer); }
#define DRIVER_FUNCTION(name, since, parameters, runtime_call) \
    DRIVER_LIST(#name, name, since) \
    DRIVER_EXPORT name parameters { return DRIVER_DOES(runtime_call); }

/* A function that is one call of the runtime, if the arguments fit. taken: the use of `made`, which the call
   fills. */
#define DRIVER_TAKES(name, since, parameters, fits, type, runtime_call, taken) \
    DRIVER_LIST(#name, name, since) \
    DRIVER_EXPORT name parameters \
    { \
        type made; \
        CUresult code = (fits) ? DRIVER_DOES(runtime_call) : CUDA_ERROR_INVALID_VALUE; \
        if (code == CUDA_SUCCESS) taken; \
        return code; \
    }

/* The body of a function that looks at the thread's own state, as CALL_LOOKS has it; such a function; and one that is
   a call of its own, as CALL_DOES has it. */
#define DRIVER_LOOK(answer) { DRIVER_NEEDS_INIT; CALL_LOOKS(CUresult, answer); }
#define DRIVER_LOOKS(name, since, parameters, answer) \
    DRIVER_LIST(#name, name, since) \
    DRIVER_EXPORT name parameters DRIVER_LOOK(answer)
#define DRIVER_CALLED(name, parameters, begun, answer) \
    DRIVER_EXPORT name parameters \
    { \
        call self; \
        DRIVER_NEEDS_INIT; \
        if (begun) self.code = (answer); \
        return (CUresult)call_end_driver(&self); \
    }
#define DRIVER_CALL(name, since, parameters, begun, answer) \
    DRIVER_LIST(#name, name, since) \
    DRIVER_CALLED(name, parameters, begun, answer)

/* A function that is a call of its own, whose body follows, as CUDART_SERVED_BY has it. It does not use DRIVER_CALL:
   cuda.h defines some names as macros, such as cuMemGetAddressRange, and DRIVER_CALL would list their expansions. */
#define DRIVER_SERVED(name, since, parameters, names, begun) \
    static int serve_##name(call *self, CALL_LIST parameters); \
    DRIVER_LIST(#name, name, since) \
    DRIVER_CALLED(name, parameters, begun, serve_##name(&self, CALL_LIST names)) \
    static int serve_##name(call *self, CALL_LIST parameters)

#endif
