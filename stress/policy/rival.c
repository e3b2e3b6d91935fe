/* Finds the library, binds it to the device, and hands calls through. */
#include "rival.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "../sim/sim.h"

#define RIVAL_SIM_NAME  "libcub-sim.so"          /* with the substitute for the CUDA runtime inside */
#define RIVAL_CUDA_NAME "libcub-cuda.so"         /* linked with the CUDA runtime */
#define RIVAL_NULL_NAME "libcub-null.so"         /* with a CUDA runtime inside that does nothing (null_cudart.cc) */

typedef struct rival_calls {                     /* what the library exports */
    int  (*open)(int device, const cub_library_memory *memory, cub_library **opened);
    void (*close)(cub_library *self);
    int  (*alloc)(cub_library *self, void **ptr, uint64_t bytes, void *stream);
    int  (*free)(cub_library *self, void *ptr);
    int  (*trim)(cub_library *self);
    void (*measure)(const cub_library *self, cub_library_use *use);
    void (*attach)(sim *machine);                /* the one for simulated devices alone */
} rival_calls;

struct rival {
    rival_calls  calls;
    sim         *machine;                        /* NULL: CUDA */
    cub_library *library;
};

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
static int rival_load(const char *name, int simulated, rival_calls *calls, problem *why)
{
    void *loaded = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    memset(calls, 0, sizeof *calls);
    if (loaded && rival_find(loaded, "cub_library_open", &calls->open)
        && rival_find(loaded, "cub_library_close", &calls->close)
        && rival_find(loaded, "cub_library_alloc", &calls->alloc)
        && rival_find(loaded, "cub_library_free", &calls->free)
        && rival_find(loaded, "cub_library_trim", &calls->trim)
        && rival_find(loaded, "cub_library_measure", &calls->measure)
        && (!simulated || rival_find(loaded, "cudart_attach", &calls->attach))) {
        return simulated ? rival_same_build(name, loaded, why) : 0;
    }
    const char *loader = loaded ? "it lacks a call" : dlerror();
    return problem_set(why, EXIT_NO_DEVICE, "%s: not found; make builds it where a C++17 compiler and the CUDA "
                       "Toolkit are (%s)", name, loader ? loader : "the loader gives no reason");
}

/* Before every call: rivals on several machines share one library. */
static void rival_enter(const rival *self)
{
    if (self->machine) self->calls.attach(self->machine);
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

static rival *rival_make(const rival_calls *calls, sim *machine, int ordinal, const cub_library_memory *memory,
                         problem *why)
{
    rival *made = program_need(1, sizeof *made);
    made->calls = *calls;
    made->machine = machine;
    rival_enter(made);
    if (!calls->open(ordinal, memory, &made->library)) return made;
    free(made);
    problem_set(why, EXIT_HARNESS, "no host memory for it");
    return NULL;
}

rival *rival_open(device *on, problem *why)
{
    rival_calls calls;
    sim *machine = device_simulated(on);
    const cub_library_memory memory = { on, machine ? NULL : rival_obtain, machine ? NULL : rival_give_back };
    if (rival_load(machine ? RIVAL_SIM_NAME : RIVAL_CUDA_NAME, machine != NULL, &calls, why)) return NULL;
    return rival_make(&calls, machine, device_driver(on)->device, &memory, why);
}

rival *rival_open_null(problem *why)
{
    rival_calls calls;
    const cub_library_memory memory = { NULL, NULL, NULL };
    return rival_load(RIVAL_NULL_NAME, 0, &calls, why) ? NULL : rival_make(&calls, NULL, 0, &memory, why);
}

void rival_close(rival *self)
{
    if (!self) return;
    rival_enter(self);
    self->calls.close(self->library);
    if (self->machine) self->calls.attach(NULL);
    free(self);
}

int rival_alloc(rival *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    rival_enter(self);
    return self->calls.alloc(self->library, ptr, bytes, stream);
}

int rival_free(rival *self, void *ptr)
{
    rival_enter(self);
    return self->calls.free(self->library, ptr);
}

int rival_trim(rival *self)
{
    rival_enter(self);
    return self->calls.trim(self->library);
}

void rival_measure(const rival *self, rival_use *use)
{
    self->calls.measure(self->library, use);
}

int rival_present(void)
{
    problem unused = { 0, "" };
    rival_calls calls;
    return !rival_load(RIVAL_SIM_NAME, 1, &calls, &unused);
}
