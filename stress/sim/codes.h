/* What the codes of driver entries mean, and what the CUDA runtime calls them: one table of all it has.
   It must not know which call answered with a code. */
#ifndef STRESS_SIM_CODES_H
#define STRESS_SIM_CODES_H

#include "base.h"

gpuarena_status codes_status(int code);          /* FAILED for any code that is not listed */
const char     *codes_name(int code);            /* "unrecognized error code" likewise, as cudaGetErrorName says */
const char     *codes_text(int code);            /* the same, as cudaGetErrorString says */

#endif
