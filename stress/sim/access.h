/* The judge of use: which memory is used by whom, on which stream, and whether that comes after all that others did
   to it. It must not know of calls, nor why anything is used. */
#ifndef STRESS_SIM_ACCESS_H
#define STRESS_SIM_ACCESS_H

#include "devmem.h"
#include "streams.h"

typedef struct access_range {
    uint64_t address, bytes;
    uint64_t owner;                              /* whoever the memory was handed to, by a number never used again */
    uint64_t op;                                 /* for findings */
    int      is_launched;                        /* 1: by a graph, */
    uint64_t captured_op;                        /* captured then: it is a finding if others had it since, */
    uint64_t captured_mapping;                   /* or if it was mapped anew: the machine's mapping_serial of then */
} access_range;

#define ACCESS_BY_OBTAIN ((uint64_t)1 << 63)     /* | address of a request: as owner; nobody's number */
#define ACCESS_BY_CLEAR  ((uint64_t)3 << 62)     /* | serial of a clear: the same */

/* The stream's latest command uses the range: not after all that others did to it, or not held, is a finding, one at
   most. The stream's device is lost, if these are reserved addresses that it may not use. */
void access_use(sim_device *device, const stream_queue *by, const access_range *range);
uint64_t access_owner_of(const sim_device *device, uint64_t address);    /* the request or reservation it is in */

/* Memory is about to go, and what is said of its touches with it. A use that the host does not know to be done is a
   finding. offset: of the device's addresses, mapped. */
void access_end(sim_device *device, uint64_t offset, uint64_t bytes, const char *action);

/* Addresses, all mapped, are about to go, while the memory stays. A use through them that the host does not know to
   be done is a finding. */
void access_leave(sim_device *device, uint64_t offset, uint64_t bytes, const char *action);

/* A page that is mapped nowhere is about to go. is_reported: such a use was a finding before. */
void access_end_page(const sim_device *device, devmem_page *page, int is_reported, const char *action);

/* What is wrong with a range of this memory that the device does not reach: for findings. */
const char *access_lack(const sim_device *memory, uint64_t offset);

#endif
