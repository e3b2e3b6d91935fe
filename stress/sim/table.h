/* The driver table of the simulated device, a file and a line here for each group of entries.
   It must not know what the entries do. In every entry, table->user is the sim_device.
   Tested by tests/test_sim_driver.c, test_sim_events.c and test_sim_capture.c. */
#ifndef STRESS_SIM_TABLE_H
#define STRESS_SIM_TABLE_H

#include "base.h"

void table_fill_memory(gpuarena_driver *driver);
void table_fill_vm(gpuarena_driver *driver);                 /* and page_bytes */
void table_fill_events(gpuarena_driver *driver);
void table_fill_capture(gpuarena_driver *driver);
void table_fill_clear(gpuarena_driver *driver);

#endif
