// A C++ program that ends its arena at exit, at a moment that its argument chooses: before or after the CUDA runtime has
// shut down. It prints the results of the calls; it must not know their reasons. Built and run by cuda_life.t.
#define GPUARENA_IMPLEMENTATION
#include "../../../gpuarena.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static gpuarena *arena;
static void *block;

static void finish()
{
    void *late = NULL;
    if (!arena) return;
    gpuarena_result grown = gpuarena_alloc(arena, &late, (uint64_t)64 << 20, NULL);
    gpuarena_result freed = gpuarena_free(arena, block, NULL);
    if (late) gpuarena_free(arena, late, NULL);
    std::printf("alloc %s, free %s, destroy %s\n", gpuarena_result_name(grown), gpuarena_result_name(freed),
                gpuarena_result_name(gpuarena_destroy(arena)));
    arena = NULL;
}

struct owner {
    bool active;
    ~owner() { if (active) finish(); }
};
static owner early = { false };                   // its destructor is registered before main, so it runs after all else

static int begin()
{
    gpuarena_config config = GPUARENA_INIT;
    config.environment = "";
    return gpuarena_create(&config, &arena) || gpuarena_alloc(arena, &block, 1000, NULL);
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "";
    if (!std::strcmp(when, "atexit-before")) std::atexit(finish);
    if (begin()) return 1;
    if (!std::strcmp(when, "atexit-after")) std::atexit(finish);
    if (!std::strcmp(when, "static-early")) early.active = true;
    if (!std::strcmp(when, "static-late")) {
        static owner late = { true };
        (void)late;
    }
    if (!std::strcmp(when, "main")) finish();
    return 0;
}
