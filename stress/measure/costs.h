/* The costs of driver calls, measured one by one through the driver's table, and fitted: a fixed part and one per
   MiB. It must not know whether the device is simulated. */
#ifndef STRESS_MEASURE_COSTS_H
#define STRESS_MEASURE_COSTS_H

#include "../sim/costs.h"

/* ---- The costs of driver calls, measured one by one through the driver's table */

enum { COSTS_REPEATS = 15, COSTS_MOST_ROWS = 160, COSTS_MOST_REFUSED = 64 };

typedef struct costs_row {                       /* one kind of call at one size */
    sim_cost_kind kind;
    uint64_t bytes;                              /* of physical memory, whole granules; slabs: as asked; info: 0 */
    uint64_t sample_count, median_ns, least_ns, most_ns;
} costs_row;

typedef struct costs_table {
    costs_row rows[COSTS_MOST_ROWS];             /* by kind as met, then by size */
    size_t    count;
    uint64_t  refused[COSTS_MOST_REFUSED];       /* sizes at which most of the calls found no memory */
    size_t    refused_count;
    int       has_vm;                            /* 1: the device has virtual memory */
} costs_table;

/* Tells whether costs_measure measures this kind on the device of the table. */
int costs_measures(const costs_table *table, sim_cost_kind kind);

/* Measures obtain, give_back and info, and the calls of virtual memory, at sizes from 1 KiB, or a page, to 16 GiB,
   but at most half of the free memory. Every first call of a size is left out. If memory runs out, other repeats and
   other sizes go on; a row needs more than half of its calls. Time is driver->now_ns where there is one, else the
   host's monotonic clock. No memory stays held.
   -1 and EXIT_HARNESS: a call failed, or there is too little memory to tell a fixed part from one per MiB. */
int costs_measure(const gpuarena_driver *driver, costs_table *made, problem *why);

/* ---- Measured calls as costs, a fixed part and one per MiB, and as a file for --costs */

typedef struct costs_fit {
    size_t   row_count;                          /* 0: no call was of the kind; all else is zero */
    sim_cost cost;
    double   worst;                              /* largest deviation of a row's median, as a share of it */
    uint64_t worst_bytes;                        /* the size of that row */
} costs_fit;

/* The cost per MiB is the weighted median of the slopes between every two sizes (Theil-Sen). The weight is the
   distance of the sizes, so that neither noise at small sizes nor one odd size decides. The fixed cost is the median
   of the remainders. The fit is exact if the rows lie on a line. Kinds that take no memory have no cost per MiB. */
costs_fit costs_fit_kind(const costs_table *table, sim_cost_kind kind);

/* Writes a file for sim_costs_read: `about` (any number of lines), every row and every refused size as comments, then
   a line for each measured kind. The other kinds keep their defaults. Write errors: ferror(out). */
void costs_write(FILE *out, const costs_table *table, const char *about);

#endif
