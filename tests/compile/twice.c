/* The header before, with and after the implementation, as happens when other headers include it too.
   It must not define any other macro of the header.
   Compiled by compile.t as C and as C++. */
#include "gpuarena.h"
#define GPUARENA_IMPLEMENTATION
#include "gpuarena.h"
#include "gpuarena.h"
