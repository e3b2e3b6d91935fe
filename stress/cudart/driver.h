/* The driver's own interface, as far as it is served: functions that programs look up by name through the runtime.
   It must not know how they are looked up. A group of functions: a file, and its rows here.
   Tested by tests/test_cudart_launch.c and test_cudart_vm*.c. */
#ifndef STRESS_CUDART_DRIVER_H
#define STRESS_CUDART_DRIVER_H

#include <cuda.h>

typedef void (*driver_function)(void);

typedef struct driver_row {
    const char     *name;                        /* as it is asked for: without _v2 and the like */
    unsigned        since;                       /* the CUDA version that has this form of it, such as 3020 */
    driver_function function;
} driver_row;

/* Of driver_vm.c and driver_pointer.c, up to one without a name. */
extern const driver_row driver_vm_rows[], driver_pointer_rows[];

/* The latest row of that name that a CUDA version has. *known: 1 if any version has the name. */
const driver_row *driver_find(const char *name, unsigned version, int *known);

const char *driver_code_name(int code);          /* as "CUDA_ERROR_NO_DEVICE"; NULL: the driver has no such code */

#endif
