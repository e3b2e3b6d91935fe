/* Runs as a memory snapshot of PyTorch, which pytorch.org/memory_viz draws: a device a row, with its history of
   allocations, frees, segments and mapped pages, and what was there at the end.
   Knows nothing of how a run was recorded. */
#ifndef STRESS_REPORT_MEMVIZ_H
#define STRESS_REPORT_MEMVIZ_H

#include <stdio.h>

#include "../result/row.h"

/* A pickle of protocol 2 that names nothing to be imported. Addresses are those of the record's axis; frames are a
   block's tag and step; steps are annotations, too. Of it stress/import/torch_snapshot.py --device ROW --steps makes
   the row's operations again, work and waits left out. Write errors: ferror(out). */
void memviz_write(FILE *out, const row_list *list);

#endif
