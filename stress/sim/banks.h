/* Memory of other kinds than a device's: pinned memory of the host, and managed memory. One bank a kind, with
   addresses, physical memory, contents and uses like a device's, for all devices together.
   It must not count calls or know of faults. Tested by tests/test_sim_kinds.c. */
#ifndef STRESS_SIM_BANKS_H
#define STRESS_SIM_BANKS_H

#include "engine.h"

void banks_create(sim *machine, uint64_t device_bytes);      /* before the machine has devices */
void banks_destroy(sim *machine);

/* As memory_obtain and memory_give_back, on behalf of a device. Managed memory waits for it when given back, as
   cudaFree does; of pinned memory a use that the host does not know to be done is a finding. */
int bank_obtain(sim_device *device, sim_bank kind, void **ptr, uint64_t bytes, uint64_t *cost_ns);
int bank_give_back(sim_device *device, sim_bank kind, uint64_t address, uint64_t bytes, uint64_t *cost_ns);
int bank_info(const sim_device *device, uint64_t *free_bytes, uint64_t *total_bytes);    /* the host's */

#endif
