/* Finds the library, and binds it to the device. */
#include "rival.h"

#include <dlfcn.h>

#define RIVAL_SIM_NAME  "libcub-sim.so"          /* with the substitute for the CUDA runtime inside */
#define RIVAL_CUDA_NAME "libcub-cuda.so"         /* linked with the CUDA runtime */
#define RIVAL_NULL_NAME "libcub-null.so"         /* with a CUDA runtime inside that does nothing (null_cudart.cc) */

/* ISO C has no way from an object pointer to a function's; POSIX promises that the bytes are the same. */
static int rival_find(void *loaded, const char *name, void *function)
{
    void *found = dlsym(loaded, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* The machine is handed to the library as it lies in memory. One without a build to tell is of an older one. */
static int rival_same_build(const char *name, void *loaded, problem *why)
{
    const char *(*build)(void) = NULL;
    if (rival_find(loaded, "cudart_build", &build) && !strcmp(build(), sim_build())) return 0;
    return problem_set(why, EXIT_NO_DEVICE, "%s is of another build: expected %s, found %s; make all builds it again",
                       name, sim_build(), build ? build() : "one that does not say");
}

/* A library stays loaded until the process ends: the CUDA runtime does not stand being unloaded. */
static int rival_load(const char *name, int simulated, rival *made, problem *why)
{
    void *loaded = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (loaded && simulated && rival_same_build(name, loaded, why)) return -1;
    made->calls = loaded ? dlsym(loaded, "cub_library_exports") : NULL;
    if (made->calls && (!simulated || rival_find(loaded, "cudart_attach", &made->attach))) return 0;
    const char *loader = loaded ? "it lacks a call" : dlerror();
    return problem_set(why, EXIT_NO_DEVICE, "%s: not found; make builds it where a C++17 compiler and the CUDA "
                       "Toolkit are (%s)", name, loader ? loader : "the loader gives no reason");
}

/* Rivals on several machines share one library. */
static void rival_enter(void *user)
{
    const rival *self = user;
    self->attach(self->machine);
}

static int rival_obtain(void *user, void **ptr, uint64_t bytes)
{
    const gpuarena_driver *driver = device_driver(user);
    return driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
}

static int rival_give_back(void *user, void *ptr, uint64_t bytes)
{
    const gpuarena_driver *driver = device_driver(user);
    return driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
}

static rival *rival_make(const char *name, sim *machine, int ordinal, cub_library_memory memory, problem *why)
{
    rival *made = program_need(1, sizeof *made);
    made->machine = machine;
    if (machine) {
        memory.user = made;
        memory.enter = rival_enter;
    }
    if (!rival_load(name, machine != NULL, made, why)) {
        if (!made->calls->open(ordinal, &memory, &made->library)) return made;
        problem_set(why, EXIT_HARNESS, "no host memory for it");
    }
    free(made);
    return NULL;
}

rival *rival_open(device *on, problem *why)
{
    sim *machine = device_simulated(on);
    const cub_library_memory memory = { on, NULL, machine ? NULL : rival_obtain, machine ? NULL : rival_give_back };
    return rival_make(machine ? RIVAL_SIM_NAME : RIVAL_CUDA_NAME, machine, device_driver(on)->device, memory, why);
}

rival *rival_open_null(problem *why)
{
    const cub_library_memory memory = { NULL, NULL, NULL, NULL };
    return rival_make(RIVAL_NULL_NAME, NULL, 0, memory, why);
}

void rival_close(rival *self)
{
    if (!self) return;
    self->calls->close(self->library);
    if (self->machine) self->attach(NULL);
    free(self);
}

int rival_present(void)
{
    problem unused = { 0, "" };
    rival loaded;
    return !rival_load(RIVAL_SIM_NAME, 1, &loaded, &unused);
}
