/* The driver's own interface, as far as it is served: functions of libcuda that programs link, or look up by name.
   It must not know how they are looked up. A group of functions: a file, and its rows here. */
#ifndef STRESS_CUDART_DRIVER_H
#define STRESS_CUDART_DRIVER_H

#include <cuda.h>

#include "call.h"

/* A function of libcuda under the name that cuda.h gives it, and its row. */
#define DRIVER_EXPORT CUDART_EXPORT CUresult CUDAAPI
#define DRIVER_ROW(name, since) { #name, since, (driver_function)name }

/* What the runtime's call answers, as the driver's code. The thread's last error stays what it was. */
#define DRIVER_DOES(runtime_call) (driver_keep_error(), driver_answer(runtime_call))
void     driver_keep_error(void);
CUresult driver_answer(cudaError_t code);

/* X(name, since, parameters, runtime_call): a function that is one call of the runtime, and its row. */
#define DRIVER_FUNCTION(name, since, parameters, runtime_call) \
    DRIVER_EXPORT name parameters { return DRIVER_DOES(runtime_call); }
#define DRIVER_FUNCTION_ROW(name, since, parameters, runtime_call) { #name, since, (driver_function)name },

/* As CALL_DOES. */
#define CALL_DRIVER_DOES(begun, answer) \
    call self; \
    if (begun) self.code = (answer); \
    return (CUresult)call_end_driver(&self)

typedef void (*driver_function)(void);

typedef struct driver_row {
    const char     *name;                        /* as it is asked for: without _v2 and the like */
    unsigned        since;                       /* the CUDA version that has this form of it, such as 3020 */
    driver_function function;
} driver_row;

/* Of the files that have these names, up to one without a name. */
extern const driver_row driver_vm_rows[], driver_share_rows[], driver_context_rows[], driver_memory_rows[],
                        driver_stream_rows[], driver_kernel_rows[], driver_refused_rows[];

/* The latest row of that name that a CUDA version has. *known: 1 if any version has the name. per_thread: the form in
   which stream 0 is the calling thread's; it is served for functions that have no stream. */
const driver_row *driver_find(const char *name, unsigned version, int per_thread, int *known);

#endif
