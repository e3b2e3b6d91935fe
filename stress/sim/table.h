/* The driver table of the simulated device. It must not do what the entries do: it checks, counts, charges
   and calls the part of the machine that does it. */
#ifndef STRESS_SIM_TABLE_H
#define STRESS_SIM_TABLE_H

#include "base.h"

void table_fill_memory(gpuarena_driver *driver);
void table_fill_vm(gpuarena_driver *driver);                 /* and page_bytes */
void table_fill_events(gpuarena_driver *driver);
void table_fill_capture(gpuarena_driver *driver);
void table_fill_clear(gpuarena_driver *driver);

#endif
