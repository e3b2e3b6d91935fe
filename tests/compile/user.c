/* A plain user of the header: no implementation here, a driver over host memory, one allocation. Links with another
   file.
   It must not know how the implementation is built, in which language, or with which macros.
   Compiled by compile.t as C and as C++, in every standard; it exits 0 when the arena works. */
#include "gpuarena.h"
#include <stdlib.h>

static int user_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)self;
    (void)kind;
    *free_bytes = *total_bytes = (uint64_t)1 << 30;
    return GPUARENA_STATUS_DONE;
}

static int user_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                       gpuarena_stream stream)
{
    (void)self;
    (void)kind;
    (void)stream;
    return posix_memalign(ptr, 4096, (size_t)bytes) ? GPUARENA_STATUS_NO_MEMORY : GPUARENA_STATUS_DONE;
}

static int user_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                          gpuarena_stream stream)
{
    (void)self;
    (void)kind;
    (void)bytes;
    (void)stream;
    free(ptr);
    return GPUARENA_STATUS_DONE;
}

static int user_of_arena(gpuarena *arena)
{
    float *numbers = NULL;
#ifdef __cplusplus
    if (gpuarena_alloc(arena, &numbers, 1000, GPUARENA_ANY_STREAM)) return 2;            /* the typed overload */
#else
    void *memory = NULL;
    if (gpuarena_alloc(arena, &memory, 1000, GPUARENA_ANY_STREAM)) return 2;
    numbers = (float *)memory;
#endif
    numbers[0] = 1;
    return gpuarena_free(arena, numbers, GPUARENA_OWN_STREAM) ? 3 : 0;
}

int main(void)
{
    gpuarena_driver driver = GPUARENA_INIT;
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    int status;
    driver.memory.info = user_info;
    driver.memory.obtain = user_obtain;
    driver.memory.give_back = user_give_back;
    config.driver = &driver;
    config.limit_bytes = (uint64_t)4 << 20;
    config.environment = "";
    if (gpuarena_create(&config, &arena)) return 1;
    status = user_of_arena(arena);
    return gpuarena_destroy(arena) ? 4 : status;
}
