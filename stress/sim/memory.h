/* What obtaining memory, giving it back and asking for it do on one device, whoever asks: driver table or runtime.
   It must not count calls or know of faults but for the lies it is told to tell: whoever serves a call does that. */
#ifndef STRESS_SIM_MEMORY_H
#define STRESS_SIM_MEMORY_H

#include "engine.h"

#define MEMORY_ANY_BYTES UINT64_MAX              /* given back by its address alone, as cudaFree does */

/* All answer with a code of the runtime and, where it is not the fixed part that *cost_ns has already, what the call
   costs. lie: FAULT_CALL for the truth. Giving memory back waits for all work of the device, as cudaFree does, and
   that is part of its cost. */
int memory_obtain(sim_device *device, fault_type lie, void **ptr, uint64_t bytes, uint64_t *cost_ns);
int memory_give_back(sim_device *device, uint64_t address, uint64_t bytes, uint64_t *cost_ns);

void memory_reset(sim_device *device);           /* all that is held is given back, lies too: cudaDeviceReset */

/* ---- Memory of other kinds than a device's: pinned memory of the host, and managed memory */

void banks_create(sim *machine, uint64_t device_bytes);

/* As memory_obtain and memory_give_back, on behalf of a device. Managed memory waits for it when given back, as
   cudaFree does; of pinned memory a use that the host does not know to be done is a finding. */
int bank_obtain(sim_device *device, sim_bank kind, void **ptr, uint64_t bytes, uint64_t *cost_ns);
int bank_give_back(sim_device *device, sim_bank kind, uint64_t address, uint64_t bytes, uint64_t *cost_ns);

/* ---- Memory of pools, in the order of streams, as cudaMallocAsync has it: chunks of the device's memory, pieces in
        them, and what is kept */

typedef struct mempool_block mempool_block;
typedef struct mempool {
    struct mempool *next;                       /* of the device */
    treap    chunks;                             /* obtains, the latest first; their pieces are what is handed out; a
                                                    weight has what may go: the more, the fewer bytes */
    treap    free;                               /* all else of them, by offset; weight: 1 while it settles */
    treap    ends;                               /* the same by bytes; the heavier, the sooner its work ends */
    treap   *lines;                              /* .. and apart: quiet ones, then line by line of who freed them; the
                                                    heavier, the earlier they were freed */
    uint32_t line_count;
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
void mempool_trim(sim_device *device, mempool *self, uint64_t keep_bytes);

void mempools_count(const sim_device *device, sim_counters *counters);

/* Codes, and what the call costs. The stream may be another device's; while it is captured: SIM_NOT_SUPPORTED, as
   what graphs hold of their own is not simulated. action: the call's name, for findings. Taking back: the stream must
   come after all uses of the piece, and what uses it after handing out, else it is a finding. bytes of
   mempool_take_back: as asked for, or MEMORY_ANY_BYTES. */
int mempool_hand_out(sim_device *device, mempool *self, stream_queue *to, void **ptr, uint64_t bytes,
                     uint64_t *cost_ns);
int mempool_take_back(sim_device *device, stream_queue *by, uint64_t address, uint64_t bytes, const char *action);

#endif
