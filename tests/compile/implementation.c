/* The file of a program that holds the implementation, nothing else, and the header included twice.
   It must not define any other macro of the header: compile.t adds them on the command line.
   Compiled by compile.t as C and as C++, and its names looked at with nm. */
#define GPUARENA_IMPLEMENTATION
#include "gpuarena.h"
#include "gpuarena.h"
