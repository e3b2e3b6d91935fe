/* Another library's allocator at work on a device, loaded when it is wanted: CUB's CachingDeviceAllocator.
   It must not know of policies, workloads or reports; nothing of CUDA or C++ is needed to build it. */
#ifndef STRESS_POLICY_RIVAL_H
#define STRESS_POLICY_RIVAL_H

#include "../device/device.h"
#include "cub_library.h"

typedef struct rival {                           /* whose calls are made on its library */
    const cub_library_calls *calls;
    cub_library *library;
    void       (*attach)(sim *machine);          /* of the one for simulated devices alone */
    sim         *machine;                        /* NULL: CUDA */
} rival;

/* NULL and a problem: the library is not in this build, or one of another build is found (EXIT_NO_DEVICE, with the
   loader's words), or it cannot be opened (EXIT_HARNESS). Its cudaMalloc and cudaFree are served, counted and known
   by the device like everybody's: on a simulated one by its machine, behind a CUDA runtime of the library's own; on
   CUDA by the device's table. The loader finds it by bare name, beside the program. Any number may be open. The
   device must outlive it. One thread at a time may be in rivals. */
rival *rival_open(device *on, problem *why);
/* Opens the library over a CUDA runtime whose every call succeeds in constant time, for timing it by itself. */
rival *rival_open_null(problem *why);
/* Gives back to the device all that the library still holds, live blocks too; NULL is fine. */
void rival_close(rival *self);

int rival_present(void);                         /* 1: the one for simulated devices can be loaded */

#endif
