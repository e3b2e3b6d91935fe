/* Memory between processes: of cudaIpc, whole requests by a handle of bytes; of virtual memory, by file descriptors.
   It must not count calls or know of faults: whoever serves a call does that.

   A machine opens and imports what it exported itself, which a GPU refuses for cudaIpc: it stands for another
   process. Another process simulates devices of its own. In the scope SHARE_OTHERS it may open and import the memory:
   its device of the same number holds as many bytes, and the contents of both are in one file. The order of uses in
   two processes is not judged, and patterns stay with the process that filled. In the scope SHARE_OWN what another
   machine exported answers SIM_NOT_SUPPORTED.
   All answer with a code of the runtime; what only a mistake can ask for is a finding besides.
     get     the base of what an obtain gave. Memory of pools and of virtual memory is none, nor is what stands for
             another process's
     open    the same address each time; each open needs a close. Until then the memory must not be given back, which
             CUDA leaves undefined: memory_give_back refuses it, with a finding, but for parts of slabs that
             another process opened. Other memory by the same handle, once such a part is gone, is opened beside it.
             A process that this one may not look into: SIM_NOT_SUPPORTED
     close   what was opened
     export  a descriptor, the caller's to close, for a handle that was created to be exported
     import  another handle of the memory, while a handle of it is there. A descriptor alone does not hold this
             machine's own memory; on a GPU it does. The new handle is mapped and destroyed as any other */
#ifndef STRESS_SIM_SHARE_H
#define STRESS_SIM_SHARE_H

#include "devmem.h"

typedef enum share_scope { SHARE_OWN, SHARE_OTHERS } share_scope;

int share_get(const sim_device *device, share_scope scope, uint64_t address, unsigned char *handle);
int share_open_memory(const sim_device *device, share_scope scope, const unsigned char *handle, void **ptr);
int share_close(sim_device *device, uint64_t address);

/* Who keeps this request from being given back, for findings; NULL: nobody does. */
const char *share_holder(const sim_device *device, const devmem_place *place);

int share_export(const sim_device *device, share_scope scope, uint64_t page, int *fd);
int share_import(sim_device *device, share_scope scope, int fd, uint64_t *page);

#endif
