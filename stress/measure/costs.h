/* What the driver's calls cost, measured one by one through its table, and fitted: a fixed part and one per
   MiB. It must not know whether the device is simulated. */
#ifndef STRESS_MEASURE_COSTS_H
#define STRESS_MEASURE_COSTS_H

#include "../sim/costs.h"

/* ---- What the driver's calls cost, measured one by one through its table */

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

/* obtain, give_back and info, and the calls of virtual memory, at sizes from 1 KiB, or a page, to 16 GiB, as far as
   half of what is free goes; every first call of a size is left out. Where memory runs out, other repeats and other
   sizes go on; a row needs most of its calls. Time is driver->now_ns where there is one, else the host's monotonic
   clock. Nothing stays held.
   -1 and EXIT_HARNESS: a call failed, or there is too little memory to tell a fixed part from one per MiB. */
int costs_measure(const gpuarena_driver *driver, costs_table *made, problem *why);

/* ---- Measured calls as costs, a fixed part and one per MiB, and as a file for --costs */

typedef struct costs_fit {
    size_t   row_count;                          /* 0: the kind was not met, all else is zero */
    sim_cost cost;
    double   worst;                              /* largest deviation of a row's median, as a share of it */
    uint64_t worst_bytes;                        /* .. and at which size */
} costs_fit;

/* Per MiB: the weighted median of the slopes between every two sizes, their distance being the weight (Theil-Sen), so
   that neither noise at small sizes nor one odd size decides; fixed: the median of what remains. Exact where the rows
   are. Kinds that take no memory have no part per MiB. */
costs_fit costs_fit_kind(const costs_table *table, sim_cost_kind kind);

/* What sim_costs_read accepts: about (any number of lines), every row and every size that was refused as comments,
   then a line for each kind that was met; the others keep their defaults. Write errors: ferror(out). */
void costs_write(FILE *out, const costs_table *table, const char *about);

#endif
