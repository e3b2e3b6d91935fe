/* The driver table of the simulated device. It must not do what the entries do: it checks, counts, charges
   and calls the part of the machine that does it.
   Tested by tests/test_sim_driver.c, tests/test_sim_clear.c, tests/test_sim_events.c,
   tests/test_sim_capture.c and tests/test_sim_vm. */
#ifndef STRESS_SIM_TABLE_H
#define STRESS_SIM_TABLE_H

#include "base.h"

void table_fill_memory(gpuarena_driver *driver);
void table_fill_vm(gpuarena_driver *driver);                 /* and page_bytes */
void table_fill_events(gpuarena_driver *driver);
void table_fill_capture(gpuarena_driver *driver);
void table_fill_clear(gpuarena_driver *driver);

#endif
