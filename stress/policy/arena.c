/* The one copy of the library that the stress program links.
   It must hold nothing else, so that the header is measured as users get it. */
#define GPUARENA_IMPLEMENTATION
#include "../../gpuarena.h"
