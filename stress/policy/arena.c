/* The one copy of the library that the stress program links.
   It must hold nothing else, so that what is measured is the header as users get it. */
#define GPUARENA_IMPLEMENTATION
#include "../../gpuarena.h"
