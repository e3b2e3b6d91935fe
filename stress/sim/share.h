/* Memory between processes: of cudaIpc, whole requests by a handle of bytes; of virtual memory, by file descriptors.
   It must not count calls or know of faults: whoever serves a call does that.

   The other process is this one: what was exported here is opened and imported here, which a GPU refuses for cudaIpc.
   What another process exported is refused with SIM_NOT_SUPPORTED, because each process simulates devices of its own.
   All answer with a code of the runtime; what only a mistake can ask for is a finding besides.
     get     the base of what an obtain gave. Memory of pools and of virtual memory is none
     open    the same address each time; each open needs a close. Until then the memory must not be given back, which
             CUDA leaves undefined: memory_give_back refuses it, with a finding
     close   what was opened
     export  a descriptor, the caller's to close, for a handle that was created to be exported
     import  another handle of the memory, while a handle of it is there. A descriptor alone does not hold the memory;
             on a GPU it does. The new handle is mapped and destroyed as any other */
#ifndef STRESS_SIM_SHARE_H
#define STRESS_SIM_SHARE_H

#include "engine.h"

int share_get(const sim_device *device, uint64_t address, unsigned char *handle);
int share_open_memory(const sim_device *device, const unsigned char *handle, void **ptr);
int share_close(sim_device *device, uint64_t address, uint64_t *cost_ns);
int share_is_open(const sim *machine, uint64_t address);
void share_reset(const sim_device *device);      /* nothing of its memory is open any more: cudaDeviceReset */

int share_export(const sim_device *device, uint64_t page, int *fd);
int share_import(sim_device *device, int fd, uint64_t *page);

#endif
