/* The simulated CUDA machine: several devices, one host clock in virtual nanoseconds (vns), costs, faults, a judge.
   It must not know of arenas, policies or workloads: it sees driver calls and the memory behind them.
   Deterministic: no wall clock, no real sleeping, no host addresses in any result. */
#ifndef STRESS_SIM_SIM_H
#define STRESS_SIM_SIM_H

#include "../base/text.h"
#include "base.h"

/* ---- Two compilations that work on one machine must agree on this */

/* The version, and the sizes of the engine's structures where this was compiled: a machine may be handed to code
   whose sim_build answers the same text. */
const char *sim_build(void);

/* Reads an option that the text of a device has beside its size: vm=on|off, mappings=N. 1; 0: another key, or a bad
   value. */
int sim_config_read(sim_config *config, slice key, slice value);

/* NULL and a problem, EXIT_USAGE, if the configuration is bad. The configuration is copied. sim_destroy(NULL) is
   fine, and so is destroying with memory held. */
sim *sim_create(const sim_config *config, problem *why);
void sim_destroy(sim *machine);

/* Fills a table of one device: user, device, page_bytes, classify, code_name, now_ns, per_thread, clear, peer and all
   groups; the rest is zero, and so are page_bytes, vm and fd without virtual memory. The first table of a device
   creates its context and charges the clock for it, but no call's counter. The sim must outlive the table. A device
   that does not exist: all zero. Several threads may call tables at once: one at a time is let in.
     obtain     requests below 2 MiB share slabs of 2 MiB, 256 B aligned; others are rounded up to whole granules,
                2 MiB aligned. Lowest addresses that fit. SIM_OUT_OF_MEMORY if free physical memory does not suffice.
                0 bytes: success and NULL, free of charge. PINNED memory is the host's: SIM_HOST_BYTES for all devices
                together. MANAGED memory takes nothing of either; there are SIM_HOST_BYTES of it for all devices
                together, and as much as one device has, to SIM_HOST_BYTES. Both in whole granules, and 0 bytes are
                SIM_INVALID_VALUE. ASYNC: from the device's own pool, in the order of the stream: memory.h
     give_back  the base and the very size of an obtain. Anything else: SIM_INVALID_VALUE and a finding, and nothing
                changed. NULL: success, of DEVICE memory free of charge. Memory that is given back forgets its
                contents. The call waits for all work of the device, as cudaFree does; PINNED and ASYNC do not: uses
                that are not known to be done, or not ordered before the stream's next command, are findings.
     info       free = capacity - context - held - rival. PINNED: the host's
     events     cudaEventCreateWithFlags (without timing), and so on; a query of one that is not complete answers
                SIM_NOT_READY. While streams capture, calls that CUDA prohibits then answer SIM_CAPTURE_* codes
     vm         cuMemAddressReserve and so on, in pages of SIM_GRANULE: memory.h has the effects and refusals of each
     capture    cudaStreamIsCapturing (1 for an invalid capture, too), cudaThreadExchangeStreamCaptureMode
     clear      cudaMemsetAsync with 0: from the call on the range has pattern 0, at the launch if it is captured. It
                is a use by an owner of its own. SIM_INVALID_VALUE, and a finding, where the range is not held
   A call that fails costs a fixed part alone: obtain malloc_block's, give_back free_slab's, info its own. */
void sim_driver(sim *machine, int device, gpuarena_driver *driver);

/* The host's clock, which ends at 2^64 - 1. Every operation of a workload advances it (2,000 vns by default); driver
   calls add their cost. */
uint64_t sim_now_ns(const sim *machine);
void     sim_advance(sim *machine, uint64_t ns);

/* Tells the sim that operation `op` (from 0) of the workload is next: rivals due at it or before act now, and
   findings name it. */
void sim_begin_op(sim *machine, uint64_t op);

/* From now on the watcher is told of memory that comes and goes, of any device; NULL: nobody. */
void sim_watch(sim *machine, sim_watch_fn *watch, void *user);

/* Another process takes so many bytes of the device's memory, at most those that are free, or gives back, at most
   those that it has. */
void sim_rival(sim *machine, int device, uint64_t bytes, int gives_back);

/* For campaigns that fail every call in turn: the nth call from now on (1: the next) of a kind, on any device, fails
   with the code; lasting: so does every later one. SIM_CALL_KINDS: of any kind. Replaces the one set before; nth 0:
   none. Comes before config.faults. sim_fail_fired: 1 if the one set last has made a call fail. */
void sim_fail_call(sim *machine, sim_call kind, uint64_t nth, int lasting, int code);
int  sim_fail_fired(const sim *machine);

/* From now on the device's memory pools obtain whole chunks of so many bytes, rounded up to granules, to 4 TiB; 0:
   SIM_POOL_CHUNK. With SIM_GRANULE a pool of requests in whole granules holds the bytes that were asked for, and no
   more. Chunks that they have stay as they are. -1, and nothing changed: more than that, or no such device. */
int sim_pool_chunk(sim *machine, int device, uint64_t bytes);

void        sim_get_counters(const sim *machine, int device, sim_counters *counters);
void        sim_get_sums(const sim *machine, int device, sim_counters *counters);        /* all but calls and vns */
void        sim_reset_counters(sim *machine, int device);    /* to 0; held_peak_bytes becomes held_bytes */

/* The judge's findings, all devices', oldest first: each tells the action, its operation and its memory, with
   addresses relative to their device. NULL past the last. The first 64 texts are kept, all are counted. Memory still
   held at the end is no finding. */
const char *sim_finding(const sim *machine, uint64_t index);
int         sim_finding_is_of_order(const sim *machine, uint64_t index);     /* 1: two uses that nothing orders */
uint64_t    sim_finding_count(const sim *machine);           /* all, not reset with the counters */

/* Contents, symbolically: a pattern a range, kept with the physical granules behind the addresses. sim_fill and
   sim_verify of a range that is not wholly held are findings. sim_verify: 1 if every byte of the range still has the
   pattern, else 0 and the offset of the first that has not (0 if the range is not held). Memory that was just
   obtained or created has no pattern at all, and memory that is mapped elsewhere keeps its own. A range of 0 bytes is
   held, filled and verified anywhere. Cost: granules and pieces touched. */
void sim_fill(sim *machine, int device, const void *ptr, uint64_t bytes, uint64_t pattern);
int  sim_verify(sim *machine, int device, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset);

/* Tells whether the range lies wholly inside memory held by one obtain of this device, as long as it was asked for;
   or is all mapped, within one reservation, with access for this device. */
int sim_holds(const sim *machine, int device, const void *ptr, uint64_t bytes);

/* ---- Streams, for whoever runs a workload. These are the program's own calls, so that none is counted, made to fail
        or charged; but waits advance the clock, and those of a lost device answer its code. `stream`: NULL or 1 is
        the device's legacy stream, 2 the calling thread's. An int that is answered is a code, unless said
        otherwise. */

/* The thread that calls from now on, be it to tables, to here or, as far as streams and captures go, to the runtime.
   0: the one that really does. */
void sim_thread(sim *machine, uint64_t thread);

/* reuse 1: from now on a new stream may have the handle of one that was destroyed. Its id is its own in any case. */
void sim_reuse_handles(sim *machine, int reuse);

int sim_stream_create(sim *machine, int device, int is_blocking, gpuarena_stream *stream);
int sim_stream_destroy(sim *machine, int device, gpuarena_stream stream);    /* at once: its work goes on */
int sim_stream_query(sim *machine, int device, gpuarena_stream stream);
int sim_stream_wait(sim *machine, int device, gpuarena_stream stream);
int sim_device_wait(sim *machine, int device);
/* The follower waits for all commands so far of the stream. */
int sim_stream_follow(sim *machine, int device, gpuarena_stream follower, gpuarena_stream stream);

/* sim_work is GPU work of so many virtual nanoseconds. sim_access is a use of memory by the stream, at this point of
   its order. owner: to whom the memory was handed, a number that is never used again, below 2^63; op: for findings.
   It is a finding if some byte of it was used by another owner before, and that use does not come before this one by
   streams, events and waits of the host. The clock alone orders nothing. Captured uses are judged when the graph is
   launched, as of the op of the launch. Such a use is a finding, too, if another owner used the memory since the
   capture, other than by a graph, since the memory of a graph must stay its own; or if its addresses were mapped
   anew. A range that is not held as sim_holds says, by this device or another, is a finding; in reserved addresses
   the stream's device is lost then, with SIM_ILLEGAL_ADDRESS. Memory that was mapped elsewhere since is the same
   memory: its uses there come after these. */
int sim_work(sim *machine, int device, gpuarena_stream stream, uint64_t work_ns);
int sim_access(sim *machine, int device, gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t owner,
               uint64_t op);

/* mode: 0 global, 1 thread-local, 2 relaxed, as CUDA's. graph: NULL, if the code is not 0. A graph may be launched
   any number of times. A graph that there is when the machine is destroyed goes with it. */
int sim_capture_begin(sim *machine, int device, gpuarena_stream stream, int mode);
int sim_capture_end(sim *machine, int device, gpuarena_stream stream, void **graph);
int sim_graph_launch(sim *machine, int device, void *graph, gpuarena_stream stream, uint64_t op);
int sim_graph_destroy(sim *machine, void *graph);

#endif
