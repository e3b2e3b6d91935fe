/* Switches the header's asserts on: with -include, before any file of the system, whose features a test chooses. */
#define GPUARENA_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
