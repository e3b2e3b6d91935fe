// The header inside somebody else's extern "C" block, where it often ends up in C++ programs.
// It must not need C++11 or later: compile.t adds GPUARENA_IMPLEMENTATION on the command line, and not.
// Compiled by compile.t as C++, in every standard.
extern "C" {
#include "gpuarena.h"
}
