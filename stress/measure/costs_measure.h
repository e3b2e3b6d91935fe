/* What the driver's calls cost, measured one by one through its table. What a call is is measured too: one that took
   memory from the device, or gave it back, is of a block; one that did not, of a slab (sim/costs.h).
   It must not know whether the device is simulated, nor how costs are fitted.
   Tested by tests/test_costs.c. */
#ifndef STRESS_MEASURE_COSTS_MEASURE_H
#define STRESS_MEASURE_COSTS_MEASURE_H

#include "../base/problem.h"
#include "../sim/costs.h"

enum { COSTS_REPEATS = 15, COSTS_MOST_ROWS = 160, COSTS_MOST_REFUSED = 64 };

typedef struct costs_row {                       /* one kind of call at one size */
    sim_cost_kind kind;
    uint64_t bytes;                              /* of physical memory, whole granules; slabs: as asked; info: 0 */
    uint64_t sample_count, median_ns, least_ns, most_ns;
} costs_row;

typedef struct costs_table {
    costs_row rows[COSTS_MOST_ROWS];             /* by kind as met, then by size */
    size_t    count;
    uint64_t  refused[COSTS_MOST_REFUSED];       /* sizes at which there was no memory for most of the calls */
    size_t    refused_count;
    int       has_vm;                            /* 1: the device has virtual memory */
} costs_table;

/* Whether it is one of the kinds that costs_measure looks for, on the device of this table; whether such calls take
   memory, or give it back or access to it, so that they may have a part per MiB. */
int costs_measures(const costs_table *table, sim_cost_kind kind);
int costs_takes_memory(sim_cost_kind kind);

/* obtain, give_back and info, and the calls of virtual memory, at sizes from 1 KiB, or a page, to 16 GiB, as far as
   half of what is free goes; every first call of a size is left out. Where memory runs out, other repeats and other
   sizes go on; a row needs most of its calls. Time is driver->now_ns where there is one, else the host's monotonic
   clock. Nothing stays held.
   -1 and EXIT_HARNESS: a call failed, or there is too little memory to tell a fixed part from one per MiB. */
int costs_measure(const gpuarena_driver *driver, costs_table *made, problem *why);

#endif
