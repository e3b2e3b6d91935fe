/* Fork after the first use of CUDA: the child is refused by its parent's arenas and by the driver table alike, frees
   nothing, and the parent goes on. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <sys/wait.h>
#include <unistd.h>

static gpuarena *arena;
static void *block;

/* The number of the first thing that is wrong; 0: nothing. */
static int child(const gpuarena_driver *driver)
{
    gpuarena_driver own = GPUARENA_INIT;
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena *made = NULL;
    char text[256] = "";
    if (gpuarena_free(arena, block, NULL) != GPUARENA_FORKED || gpuarena_destroy(arena) != GPUARENA_FORKED) return 1;
    if (gpuarena_driver_cuda(0, &own) != GPUARENA_FORKED || own.classify) return 2;
    gpuarena_last_failure(NULL, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    if (failure.result != GPUARENA_FORKED || !strstr(text, "exec")) return 3;
    config.environment = "";
    if (gpuarena_create(&config, &made) != GPUARENA_FORKED || made) return 4;
    config.driver = driver;                      /* a table of before */
    if (gpuarena_create(&config, &made) != GPUARENA_DRIVER_ERROR || made) return 5;
    gpuarena_last_failure(NULL, &failure);
    if (failure.driver_code != cudaErrorInitializationError) return 6;
    if (driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, block, MIB(2), NULL) != cudaErrorInitializationError)
        return 7;
    return 0;
}

static void run(void)
{
    gpuarena_driver driver = GPUARENA_INIT;
    gpuarena_config config = GPUARENA_INIT;
    int status = -1;
    sim *machine = machine_attach(NULL);
    config.environment = "";
    config.driver = &driver;
    CHECK_INT(gpuarena_driver_cuda(0, &driver), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &block, MIB(3), NULL), ==, GPUARENA_OK);
    uint64_t held = machine_held(machine, 0);
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        status = child(&driver);
        if (TAP_SANITIZED) _exit(status);        /* the parent's memory is no leak */
        exit(status);                            /* make coverage counts what ends by exit */
    }
    CHECK(process > 0 && waitpid(process, &status, 0) == process && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    CHECK_U64(machine_held(machine, 0), ==, held);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(machine_held(machine, 0), ==, 0);
    cudart_close(machine);
}
#endif

CUDA_TEST_MAIN(run)
