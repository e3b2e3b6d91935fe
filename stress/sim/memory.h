/* Calls about memory on one device, for any caller: driver table or runtime. It must not count calls or know of
   faults, but for the lies it is told to tell: the code that serves a call does that. */
#ifndef STRESS_SIM_MEMORY_H
#define STRESS_SIM_MEMORY_H

#include "engine.h"

#define MEMORY_ANY_BYTES UINT64_MAX              /* given back by its address or handle alone, as cudaFree does */

/* On behalf of a call, and of its device. All answer with a code of the runtime, and set the cost of the call where
   it is not the fixed part. Giving memory back waits for all work of the device, as cudaFree does, and that is part
   of its cost. is_done: the caller says that no work on it is left; a use that the host does not know to be done is a
   finding. */
int memory_obtain(engine_call *self, void **ptr, uint64_t bytes);
int memory_give_back(engine_call *self, uint64_t address, uint64_t bytes, int is_done);

void memory_reset(sim_device *device);           /* all that is held is given back, lies too: cudaDeviceReset */

/* ---- Memory of other kinds than a device's: pinned memory of the host, and managed memory */

void banks_create(sim *machine, uint64_t device_bytes);

/* Like memory_obtain and memory_give_back, but 0 bytes are refused (SIM_INVALID_VALUE), and giving NULL back costs
   the fixed part. Giving managed memory back waits for the device, as cudaFree does; of pinned memory a use that the
   host does not know to be done is a finding. */
int bank_obtain(engine_call *self, sim_bank kind, void **ptr, uint64_t bytes);
int bank_give_back(engine_call *self, sim_bank kind, uint64_t address, uint64_t bytes);

/* ---- Memory of pools, in the order of streams, as cudaMallocAsync has it: chunks of the device's memory, cut into
        pieces that are handed out and blocks that are free */

typedef struct mempool_block mempool_block;
typedef struct mempool {
    struct mempool *next;                        /* of the device */
    sim_device *device;
    treap    chunks;                             /* obtains, the latest first; their pieces are what is handed out; a
                                                    weight has what may go: the more, the fewer bytes */
    treap    free;                               /* all else of them, by offset; weight: 1 while it settles */
    treap    ends;                               /* the same by bytes; the heavier, the sooner its work ends */
    treap   *lines;                              /* .. and apart: quiet ones, then line by line of who freed them; the
                                                    heavier, the earlier they were freed */
    size_t   line_count;
    uint64_t serial;                             /* of the latest piece or chunk */
    uint64_t threshold_bytes, most_bytes;        /* most: 0: all the device has */
    uint64_t reserved_bytes, reserved_peak_bytes, used_bytes, used_peak_bytes;
    int      follow, opportunistic, internal;    /* all 1 at first */
    int      is_closed;                          /* goes when it holds no more */
} mempool;

struct mempool_block {
    treap_node  by_offset, by_end, by_position;
    address_range *chunk;
    uint64_t    offset, bytes;
    int         is_quiet;                        /* outlived by the host */
    uint64_t    stream, position;                /* who freed it, and at which of its commands */
    uint32_t    line;
    stream_mark freed;
};

mempool *mempool_of(sim_device *device);         /* the device's own, made if need be */
mempool *mempool_create(sim_device *device);
void     mempools_destroy(sim_device *device);

/* Chunks that are all free go back, down to so many bytes. */
void mempool_trim(mempool *self, uint64_t keep_bytes);

void mempools_count(const sim_device *device, sim_counters *counters);

/* On behalf of a call, to its stream or from it; codes. Handing out sets the cost of the call. The stream may be
   another device's; while it is captured: SIM_NOT_SUPPORTED, as memory of graphs is not simulated. action: the call's
   name, for findings. It is a finding if the stream that takes a piece back does not come after all uses of it, or if
   a use does not come after the handing out. bytes of mempool_take_back: as asked for, or MEMORY_ANY_BYTES. */
int mempool_hand_out(mempool *self, engine_call *by, void **ptr, uint64_t bytes);
int mempool_take_back(const engine_call *self, uint64_t address, uint64_t bytes, const char *action);

/* ---- Virtual memory: addresses, physical handles and mappings are three things, each with a life of its own.

   All sizes are multiples of SIM_GRANULE, all addresses of granules, and no range leaves its reservation. All calls
   are made for a call, whose device and cost they are about, and answer with a code of the runtime. One that fails
   changes nothing. A call that only a mistake can make is a finding besides: all but the size and the alignment of
   reserve and create.
     reserve  addresses, aligned to `alignment`: 0 or a power of two. SIM_OUT_OF_MEMORY: the device's are used up;
              all devices share 2^47 bytes of addresses, and none has one that another has, or that an obtain has
     release  the very address and size that were reserved, and nothing mapped there
     create   memory without addresses, taken from the device's now. It never fragments. Contents: unknown. is_shared:
              it may be exported; is_rdma: network cards reach it
     destroy  gives up the handle. Its memory goes now, or with the last mapping. MEMORY_ANY_BYTES: any size
     map      all of a handle of this device, onto reserved addresses that nothing is mapped to, in as many places as
              you like. Nobody has access at first
     access   mode 0 takes it away, 1 gives it, for every device in `accessors` (bit i: device i), to any number of
              whole mappings without a hole. SIM_OUT_OF_MEMORY: more mappings than config.most_mappings are live
     unmap    any number of whole mappings without a hole
   Contents and the order of uses belong to physical granules, wherever they are mapped. Neither unmap nor access nor
   destroy waits for GPU work: a use through these addresses that the host does not know to be done is a finding. So
   is a use of reserved addresses without access, and if it is GPU work, its device is lost with SIM_ILLEGAL_ADDRESS.
   Costs: rows vm_* of costs.h. Memory that is given access, and memory that goes, costs per MiB; of memory that goes
   the call pays that lets it go. */

int vmem_reserve(engine_call *self, uint64_t bytes, uint64_t alignment, void **address);
int vmem_release(engine_call *self, uint64_t address, uint64_t bytes);
int vmem_create(engine_call *self, uint64_t bytes, int is_shared, int is_rdma, uint64_t *handle);
int vmem_destroy(engine_call *self, uint64_t handle, uint64_t bytes);
int vmem_map(engine_call *self, uint64_t address, uint64_t bytes, uint64_t handle);
int vmem_access(engine_call *self, uint64_t address, uint64_t bytes, uint64_t accessors, uint32_t mode);
int vmem_unmap(engine_call *self, uint64_t address, uint64_t bytes);

/* The device of a handle, which is the one to ask about it. NULL: it is no handle. For addresses: engine_owner. */
sim_device *vmem_device_of(const sim *machine, uint64_t handle);

/* Between processes: the memory of a handle, if it may be exported, else NULL and a finding; another handle
   of memory by one that still is; and a handle of memory whose bytes are those in a file, from `place` on, or, file
   being 0, its own. The memory goes with the last handle and the last mapping. */
devmem_page *vmem_exported(const sim_device *device, uint64_t handle);
int vmem_import(sim_device *device, uint64_t exported, uint64_t *handle);
int vmem_import_file(sim_device *device, uint64_t bytes, int file, uint64_t place, uint64_t *handle);

/* Tells whether the device `accessor` may use the memory mapped at the address, as cuMemGetAccess does. */
int vmem_has_access(const sim_device *device, uint64_t address, int accessor);

/* ---- Memory between processes: of cudaIpc, whole requests by a handle of bytes; of virtual memory, by descriptors

   A machine opens and imports its own exports, which a GPU refuses for cudaIpc: it stands for another process.
   Another process simulates devices of its own. In the scope SHARE_OTHERS it may open and import the memory: its
   device of the same number holds as many bytes, and the contents of both are in one file. The order of uses in two
   processes is not judged, and patterns stay with the process that filled. In the scope SHARE_OWN another machine's
   exports answer SIM_NOT_SUPPORTED.
   All answer with a code of the runtime; a call that only a mistake can make is a finding besides.
     get     takes the base of an obtained request. Memory of pools and of virtual memory is none, nor is memory that
             stands for another process's
     open    the same address each time; each open needs a close. Until then the memory must not be given back, which
             CUDA leaves undefined: memory_give_back refuses it, with a finding, but for parts of slabs that
             another process opened. Other memory by the same handle, once such a part is gone, is opened beside it.
             A process that this one may not look into: SIM_NOT_SUPPORTED
     close   ends one open
     export  a descriptor, the caller's to close, for a handle that was created to be exported
     import  another handle of the memory, while a handle of it is there. A descriptor alone does not hold this
             machine's own memory; on a GPU it does. The new handle is mapped and destroyed as any other */

typedef enum share_scope { SHARE_OWN, SHARE_OTHERS } share_scope;

int share_get(const sim_device *device, share_scope scope, uint64_t address, unsigned char *handle);
int share_open_memory(const sim_device *device, share_scope scope, const unsigned char *handle, void **ptr);
int share_close(sim_device *device, uint64_t address);

/* The reason why this request must not be given back, for findings; NULL: there is none. */
const char *share_holder(const sim_device *device, const devmem_place *place);

int share_export(const sim_device *device, share_scope scope, uint64_t page, int *fd);
int share_import(sim_device *device, share_scope scope, int fd, uint64_t *page);

#endif
