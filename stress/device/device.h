/* One device at work, for one pass: simulated, or reached through CUDA. The seam between policies and hardware.
   It must not know of policies, workloads or reports. */
#ifndef STRESS_DEVICE_DEVICE_H
#define STRESS_DEVICE_DEVICE_H

#include "../../gpuarena.h"
#include "../sim/sim.h"

typedef struct device_config {
    int        is_cuda;                          /* 0: simulated, as `sim` says */
    int        ordinal;                          /* CUDA's; a simulated one is device 0 of its machine */
    sim_config sim;
    uint64_t   op_ns;                            /* simulated: the host's virtual time an operation */
    int        is_unjudged;                      /* simulated: 1: nobody asks for findings, uses are not followed */
} device_config;

typedef struct device_counters {                 /* since the device was opened */
    uint64_t calls;                              /* on memory: obtain, give back, reserve, create, map and so on;
                                                    refused ones included; not asking how much there is */
    uint64_t call_vns;                           /* simulated: host time spent in them; CUDA: 0, see is_virtual */
    int      is_virtual;                         /* 1: there is a virtual clock, and call_vns is its */
    uint64_t held_bytes;                         /* simulated: physical, of pinned and managed memory too. CUDA:
                                                    requests of 2 MiB and more through the table, in whole granules of
                                                    2 MiB; every granule in which a smaller one, or one of the
                                                    driver's pool, lies; and pages created, mapped or spare: a device
                                                    keeps at least this */
    uint64_t held_peak_bytes;                    /* highest so far, not only between operations; simulated: of each
                                                    kind of memory, summed */
    uint64_t pool_kept_bytes;                    /* simulated: of held, memory that pools of cudaMallocAsync have and
                                                    did not hand out, which is no arena's; CUDA: 0, as it is not
                                                    counted */
    uint64_t pool_kept_peak_bytes;               /* the pools' peak less the peak of memory handed out */
} device_counters;

typedef struct device device;

/* NULL and a problem: a bad configuration is EXIT_USAGE, a CUDA device that is absent or a build without CUDA
   EXIT_NO_DEVICE, all else EXIT_HARNESS. */
device *device_open(const device_config *config, problem *why);
/* Gives back all that is held still. -1 and EXIT_HARNESS: some of it stays on a CUDA device; the device is closed
   anyway. self NULL is fine, so is why NULL. */
int     device_close(device *self, problem *why);

/* The table through which policies reach it; lives as long as the device. Its groups memory and vm count. Several
   threads may call it at once: one at a time is let in, but for CUDA's streams, which CUDA minds. All else here is
   called while none of them does. */
const gpuarena_driver *device_driver(const device *self);
sim *device_simulated(const device *self);       /* the machine behind it; NULL: CUDA */
uint64_t device_now_vns(const device *self);     /* the host's virtual clock; CUDA: 0 */

/* Operation `op` of the workload is next: the virtual clock advances, rivals act. CUDA: nothing. */
void device_begin_op(device *self, uint64_t op);
/* The thread that makes the calls from now on, to the table and below: a number of its own, from 1. CUDA knows its
   threads itself. */
void device_thread(device *self, uint64_t thread);
void device_count(const device *self, device_counters *counters);
/* From now on the watcher is told of memory that comes and goes; NULL: nobody. */
void device_watch(device *self, sim_watch_fn *watch, void *user);

/* The GPU work of a program, beside its allocations: no policy sees these calls, and none is counted. NULL is
   the device's default stream; it is no more ordered with created ones than these are with each other: by
   device_follow alone. Those of one device that are left when it is closed go with it.
     work     work of so long on the stream. CUDA, which has no kernels here: nothing
     access   commands that the stream was given before use this memory, and later ones may: of sim_access the
              operation is the one begun last. owner: a block's own number, from 1. CUDA: writes the bytes that
              device_fill would have written with owner as its pattern, but not the first and the last: on the stream,
              so that one that comes too late is seen in another's block. Of 2 MiB and more, whole granules alone
     follow   stream waits for all commands so far of `other`
   0, or -1 and a problem (EXIT_HARNESS): the device failed. */
int  device_stream_create(device *self, gpuarena_stream *stream, problem *why);
int  device_stream_destroy(device *self, gpuarena_stream stream, problem *why);      /* its work goes on */
int  device_work(device *self, gpuarena_stream stream, uint64_t work_ns, problem *why);
int  device_access(device *self, gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t owner,
                   problem *why);
int  device_follow(device *self, gpuarena_stream stream, gpuarena_stream other, problem *why);

/* How much of its memory is free now: the driver is asked. */
int  device_free_bytes(const device *self, uint64_t *free_bytes, problem *why);

/* Calls sim_rival. CUDA has no other process to ask: -1 and a problem. */
int  device_rival(device *self, uint64_t bytes, int gives_back, problem *why);

/* On a simulated device these are sim_holds, sim_fill and sim_verify (sim/sim.h). On CUDA the bytes are really
   written and read back, by synchronous copies, and a fill waits for all commands so far of the stream; -1 and a
   problem from fill and verify: the device failed. */
int device_holds(const device *self, const void *ptr, uint64_t bytes);
int device_fill(device *self, gpuarena_stream stream, const void *ptr, uint64_t bytes, uint64_t pattern,
                problem *why);
int device_verify(device *self, const void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset,
                  problem *why);

#endif
