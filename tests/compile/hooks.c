/* The implementation over a host allocator and an assert of the program's own.
   It must not touch malloc or free itself: compile.t looks whether the object asks for them.
   Compiled by compile.t as C and as C++, with and without NDEBUG. */
#include <assert.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
extern void *own_allocate(size_t bytes);
extern void own_release(void *memory);
#ifdef __cplusplus
}
#endif

#define GPUARENA_MALLOC(bytes) own_allocate(bytes)
#define GPUARENA_FREE(memory) own_release(memory)
#define GPUARENA_ASSERT(condition) assert(condition)
#define GPUARENA_IMPLEMENTATION
#include "gpuarena.h"
