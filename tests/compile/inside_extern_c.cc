// The header inside somebody else's extern "C" block, where it often ends up in C++ programs.
// The file must not need C++11 or later: compile.t compiles it with and without GPUARENA_IMPLEMENTATION.
// Compiled by compile.t as C++, in every standard.
extern "C" {
#include "gpuarena.h"
}
