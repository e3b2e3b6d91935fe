/* What the examples from 02 on share: a simulated GPU of 80 GiB behind a driver table, and a failure in words.
   It must not hide a call of the library that an example is about. Used by examples/0*.c alone. */
#ifndef EXAMPLES_EXAMPLE_H
#define EXAMPLES_EXAMPLE_H

#include "../gpuarena.h"
#include "../stress/sim/sim.h"
#include <inttypes.h>
#include <stdio.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

/* Runs an example against device 0 of a simulated machine; what it returns is the exit status. */
static int example_main(int (*example)(const gpuarena_driver *driver))
{
    problem trouble = {0};
    sim_config machine_config = {0};
    sim *machine = sim_create(&machine_config, &trouble);
    gpuarena_driver driver = GPUARENA_INIT;
    int status;
    if (!machine) return fprintf(stderr, "%s\n", trouble.text), 1;
    sim_driver(machine, 0, &driver);
    status = example(&driver);
    sim_destroy(machine);
    return status;
}

/* Prints what was tried, and why the arena's latest call failed. */
static void example_explain(const char *tried, const gpuarena *arena)
{
    gpuarena_failure failure;
    char text[512];
    gpuarena_last_failure(arena, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    printf("%s -> %s\n    %s\n", tried, gpuarena_result_name(failure.result), text);
}

#endif
