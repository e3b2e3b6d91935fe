/* The driver table of the simulated device, a file and a line here for each group of entries.
   It must not know what the entries do. In every entry, table->user is the sim_device.
   Tested by tests/test_sim_driver.c. */
#ifndef STRESS_SIM_TABLE_H
#define STRESS_SIM_TABLE_H

#include "sim.h"

void table_fill_memory(gpuarena_driver *driver);

#endif
