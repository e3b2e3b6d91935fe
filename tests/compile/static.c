/* A private copy of the library in one file: GPUARENA_STATIC, then the plain user's program over it.
   It must not link with another file: everything is in here, and nothing of it may be seen from outside but main.
   Compiled by compile.t as C and as C++, run, and its names looked at with nm. */
#define GPUARENA_STATIC
#include "user.c"
