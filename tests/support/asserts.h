/* Switches the header's asserts on: with -include, before any file of the system, whose features a test may choose. */
#define GPUARENA_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
