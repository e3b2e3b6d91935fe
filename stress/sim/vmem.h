/* What the calls of virtual memory do on one device, whoever makes them: driver table or runtime. Addresses, physical
   handles and mappings are three things, each with a life of its own.
   It must not count calls or know of faults: whoever serves a call does that.

   All sizes are multiples of SIM_GRANULE, all addresses of granules, and no range leaves its reservation. All calls
   answer with a code of the runtime and, where it is not the fixed part that *cost_ns has already, what the call
   costs. One that fails changes nothing, and what only a mistake can ask for is a finding besides: all but the size
   and the alignment of reserve and create.
     reserve  addresses, aligned to `alignment`: 0 or a power of two. SIM_OUT_OF_MEMORY: the device's are used up;
              all devices share 2^47 bytes of addresses, and none has one that another has, or that an obtain has
     release  the very address and size that were reserved, and nothing mapped there
     create   memory without addresses, taken from the device's now. It never fragments. Contents: unknown. is_shared:
              it may be exported
     destroy  gives up the handle. Its memory goes now, or with the last mapping. VMEM_ANY_BYTES: whatever its size
     map      all of a handle of this device, onto reserved addresses that nothing is mapped to, in as many places as
              you like. Nobody has access at first
     access   mode 0 takes it away, 1 gives it, for every device in `accessors` (bit i: device i), to any number of
              whole mappings without a hole. SIM_OUT_OF_MEMORY: more mappings than config.most_mappings are live
     unmap    any number of whole mappings without a hole
   Contents and the order of uses belong to physical granules, wherever they are mapped. Neither unmap nor access nor
   destroy waits for GPU work: a use through these addresses that the host does not know to be done is a finding. So
   is a use of reserved addresses without access, and if it is GPU work, its device is lost with SIM_ILLEGAL_ADDRESS.
   Costs: rows vm_* of costs.h; per MiB what is given access, and what goes: whichever call lets it go. */
#ifndef STRESS_SIM_VMEM_H
#define STRESS_SIM_VMEM_H

#include "devmem.h"

#define VMEM_ANY_BYTES UINT64_MAX

int vmem_reserve(sim_device *device, uint64_t bytes, uint64_t alignment, uint64_t *address, uint64_t *cost_ns);
int vmem_release(sim_device *device, uint64_t address, uint64_t bytes, uint64_t *cost_ns);
int vmem_create(sim_device *device, uint64_t bytes, int is_shared, uint64_t *handle, uint64_t *cost_ns);
int vmem_destroy(sim_device *device, uint64_t handle, uint64_t bytes, uint64_t *cost_ns);
int vmem_map(sim_device *device, uint64_t address, uint64_t bytes, uint64_t handle, uint64_t *cost_ns);
int vmem_access(sim_device *device, uint64_t address, uint64_t bytes, uint64_t accessors, uint32_t mode,
                uint64_t *cost_ns);
int vmem_unmap(sim_device *device, uint64_t address, uint64_t bytes, uint64_t *cost_ns);

/* For whoever is given an address or a handle alone: the device whose it is, which is the one to ask. NULL: nobody's.
   Addresses: engine_owner. */
sim_device *vmem_device_of(const sim *machine, uint64_t handle);

/* Between processes (share.h): the memory of a handle, if it may be exported, else NULL and a finding; another handle
   of memory by one that still is; and a handle of memory whose bytes are those in a file, from `place` on, or, file
   being 0, its own. The memory goes with the last handle and the last mapping. */
devmem_page *vmem_exported(const sim_device *device, uint64_t handle);
int vmem_import(sim_device *device, uint64_t exported, uint64_t *handle);
int vmem_import_file(sim_device *device, uint64_t bytes, int file, uint64_t place, uint64_t *handle);

/* As cuMemGetAccess: 1 if the device may use what is mapped at the address. */
int vmem_has_access(const sim_device *device, uint64_t address, int accessor);

#endif
