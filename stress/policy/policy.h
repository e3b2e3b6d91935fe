/* Policies by name, and one at work on a device: a gpuarena configuration, a model of a known allocator, a rival
   library, or the raw baseline.
   Knows nothing of workloads or reports. */
#ifndef STRESS_POLICY_POLICY_H
#define STRESS_POLICY_POLICY_H

#include "model.h"
#include "rival.h"

typedef enum policy_family {
    POLICY_RAW,                                  /* the driver itself, one call an allocation: the baseline */
    POLICY_ARENA,                                /* gpuarena, as configured: the only one that can be looked into */
    POLICY_ASYNC,                                /* the driver's stream-ordered pool, one call an allocation */
    POLICY_MODEL,                                /* a known allocator's rules (policy/), which may have a limit */
    POLICY_RIVAL                                 /* another library, at its own defaults */
} policy_family;

typedef struct policy_kind {                     /* `stress list` */
    const char *name;                            /* in files and rules */
    const char *shown;                           /* to people, who may use it too; longer. NULL: that name */
    const char *summary, *options;
    policy_family family;
    const char *base;                            /* ARENA: configuration text below the user's keys */
    const model_kind *model;                     /* MODEL; else NULL */
} policy_kind;
int policy_kind_at(size_t index, policy_kind *kind);                         /* 0: past the last */
/* Tells whether there is a policy of the name before ':'; if not, a problem, EXIT_USAGE, names the nearest. */
int policy_is_named(const char *text, problem *why);
int policy_kind_in_all(const policy_kind *kind); /* `-p all`: the driver's, arenas that differ */

/* NAME or NAME:keys by the policy's name, in place: cudaMalloc becomes raw. */
void        policy_name_shorten(char *text);
/* NAME or NAME:keys by the name for people: raw becomes cudaMalloc. Returns made, which may be cut. */
const char *policy_name_shown(const char *text, char *made, size_t size);

typedef struct policy {
    const char *text;                            /* as asked for, or shortened; the caller's, must outlive it */
    policy_family family;
    gpuarena_config config;                      /* ARENA: still without a driver; MODEL: its limit alone */
    const model_kind *model;                     /* MODEL */
} policy;

/* NAME or NAME:key=value,.. -1 and a problem (EXIT_USAGE): unknown name, bad key, keys where there are none, or
   limit_bytes (0: not given) beside a `limit` key. limit_bytes binds arenas and models alone. */
int policy_parse(const char *text, uint64_t limit_bytes, policy *made, problem *why);

int policy_has_limit(const policy *self);        /* of its own keys, or --limit */
int policy_takes_limit(const policy *self);      /* 1: it can be given one; else the device can be smaller */

typedef struct pool {                            /* a policy at work */
    device         *device;
    gpuarena       *arena;                       /* NULL: not an ARENA */
    model          *model;                       /* NULL: not a MODEL */
    rival          *rival;                       /* NULL: not a RIVAL */
    uint64_t        alignment_bytes;             /* blocks are multiples of it; no arena: cudaMalloc's, or a model's
                                                    own where that is more */
    gpuarena_memory memory;                      /* raw, async: the kind that the driver is asked for */
    uint64_t        limit_bytes;                 /* in force; GPUARENA_NO_LIMIT: none */
    int             rounds_up;                   /* arena, with debug, or of CUDA's pool: the device may hold more
                                                    than it was asked for */
    int             in_order;                    /* memory comes in a stream's order, which others must follow */
    int             goes_home;                   /* a block goes back to the stream of its allocation: uses are told
                                                    that this one does not come after, as is a free elsewhere */
    uint64_t        requested_bytes;             /* no arena: kept here, as there is nobody to ask */
    uint64_t        live_bytes;                  /* raw, async: kept here, too */
    model_refusal   refused;                     /* no arena: the latest failure; requested_bytes: of
                                                    the block that it was about, 0: of none */
} pool;

/* Opens on a device, which must outlive it. -1 and a problem: a bad configuration is EXIT_USAGE, a rival that is not
   in this build EXIT_NO_DEVICE, all else EXIT_HARNESS. */
int  pool_open(pool *self, const policy *chosen, device *on, problem *why);
/* Frees live blocks, ends arena, model or rival; memory that cannot be given back is lost with the device. raw frees
   nothing: the device does. */
void pool_close(pool *self);

/* The results of gpuarena_alloc and gpuarena_free, for every family. `bytes` of a free: as allocated. */
gpuarena_result pool_alloc(pool *self, void **ptr, uint64_t bytes, gpuarena_stream stream);
gpuarena_result pool_free(pool *self, void *ptr, uint64_t bytes, gpuarena_stream stream);
/* The live block is used on this stream, and its free will not be behind that: an arena is told, by gpuarena_use, and
   a model that has a call for it. raw need not know, as cudaFree waits for the device; others have no call for it
   (pool_follows). */
gpuarena_result pool_use(pool *self, const void *ptr, gpuarena_stream stream);
/* Tells whether a free must be on the allocation's stream, which must have been made to wait for all other uses. */
int             pool_follows(const pool *self);
/* No call will name this stream again: it will be destroyed. */
gpuarena_result pool_forget(pool *self, gpuarena_stream stream);
/* Gives back to the device all that is not in use. */
gpuarena_result pool_trim(pool *self);

/* The bytes that a live block occupies; of a rival, which cannot say, the requested ones. */
uint64_t pool_block_bytes(const pool *self, const void *ptr, uint64_t requested_bytes);

/* Bytes now; *stats: the arena's own, zeroed for others. Of others, reserved are the bytes that the device holds; of
   raw nothing is free; of a rival all that it caches is. A model tells its live, free and pending bytes. The largest
   piece is left at 0. */
void pool_measure(const pool *self, memory_use *use, gpuarena_stats *stats);

/* The largest request that the free memory could serve now, of an arena or a model: may take a walk over its blocks.
   Of others 0. */
uint64_t pool_largest(const pool *self);

typedef struct pool_refusal {                    /* the latest failure, in numbers and as a sentence */
    uint64_t requested_bytes, free_bytes, largest_bytes;
    int      free_known;                         /* no arena: the device could be asked, and had a part in it */
    int      largest_known;                      /* no arena: no */
    const char *reason;
    char     text[512];
} pool_refusal;
void pool_last_refusal(pool *self, pool_refusal *refusal);

#endif
