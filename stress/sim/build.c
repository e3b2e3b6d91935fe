/* The version and the sizes of what machines are made of.
   It must not know what is in them.
   Tested by tests/test_rival.c. */
#include "build.h"

#include "engine.h"

const char *sim_build(void)
{
    static char text[96];
    snprintf(text, sizeof text, GPUARENA_VERSION_TEXT " %zu %zu %zu %zu", sizeof(sim), sizeof(sim_device),
             sizeof(sim_config), sizeof(sim_counters));
    return text;
}
