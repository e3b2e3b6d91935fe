/* What the codes of driver entries mean, and what the CUDA runtime and its driver call them: one table.
   It must not know which call answered with a code. */
#ifndef STRESS_SIM_CODES_H
#define STRESS_SIM_CODES_H

#include "base.h"

gpuarena_status codes_status(int code);          /* FAILED for any code that is not listed */
const char     *codes_name(int code);            /* "unrecognized error code" likewise, as cudaGetErrorName says */
const char     *codes_text(int code);            /* the same, as cudaGetErrorString says */
const char     *codes_driver_name(int code);     /* NULL: not listed, or the driver has no such code */
int             codes_is_of_driver(int code);    /* 0: listed, and the driver has no such code */

#endif
