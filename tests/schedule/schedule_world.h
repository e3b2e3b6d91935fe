/* One arena over a slot device for threads that are fibers: the header with its locks and thread-local variables
   taken over, driver calls that are judged and at which others may go on, blocks that are kept count of.
   It must not know what the threads do. Included by schedule_scenario.h. */
#ifndef TESTS_SCHEDULE_WORLD_H
#define TESTS_SCHEDULE_WORLD_H

#define GPUARENA_STATIC
#ifndef GPUARENA_NO_CUDA
#define GPUARENA_NO_CUDA
#endif
#define GPUARENA_TEST_LOCK "tests/schedule/schedule_lock.h"
#include "schedule.h"
#include "gpuarena.h"
#include "host_memory.h"
#include "slot_device.h"

enum { WORLD_BLOCKS = 24 };

typedef struct world_block { char *ptr; uint64_t bytes; } world_block;
typedef struct world_own {                       /* what a thread has of its own in the header */
    const gpuarena__frame *frames;
    gpuarena_failure failure;
    uint64_t number;
} world_own;

typedef struct world_kind { const char *name; gpuarena_backing backing; } world_kind;

typedef struct world_state {
    gpuarena *arena;
    const world_kind *kind;
    world_block blocks[WORLD_BLOCKS];            /* live */
    uint64_t alloc_count, free_count;            /* that answered OK */
    world_own owns[SCHEDULE_FIBERS + 1];         /* the last: of what runs outside */
    const gpuarena_driver *inside[SCHEDULE_FIBERS + 1];      /* whose call on memory each thread is in */
    gpuarena_status (*on_call)(slot_call call);  /* inside each driver call; what it answers. NULL: DONE */
    int is_lost;                                 /* the device: what it held is gone */
    int is_lowered;                              /* its limit: what arenas under it are asking for may pass that */
    host_memory host;                            /* kept to the end: a use after the free is seen, not suffered */
} world_state;

static world_state world;
static slot_device device;

static inline void world_swap(int from, int to)
{
    world_own *left = &world.owns[from == SCHEDULE_NOBODY ? SCHEDULE_FIBERS : from],
              *next = &world.owns[to == SCHEDULE_NOBODY ? SCHEDULE_FIBERS : to];
    left->frames = gpuarena__frames;
    left->failure = gpuarena__thread_failure;
    left->number = gpuarena__thread_number_;
    gpuarena__frames = next->frames;
    gpuarena__thread_failure = next->failure;
    gpuarena__thread_number_ = next->number;
}

/* ---- the device and the host, as the arena sees them */

static inline void world_blame(const char *what)
{
    schedule_blame("%s", what);
}

/* What is held, and what will be, is within the limit that is in force. */
static inline void world_judge_limit(const char *name, uint64_t claim_bytes)
{
    const gpuarena *arena = world.arena;
    if (!arena || !claim_bytes || world.is_lowered) return;
    if (arena->stats.reserved_bytes + arena->growing > arena->limit)
        schedule_blame("in %s: reserved + growing is above the limit", name);
    if (device.held_bytes + claim_bytes > arena->limit)
        schedule_blame("in %s: the device holds %d MiB and is asked for %d more, above the limit", name,
                       (int)(device.held_bytes >> 20), (int)(claim_bytes >> 20));
}

/* An arena has one call on memory in progress at a time (its driver is a copy of its own), and no lock that hits need
   is held in one, or in one that waits. */
static inline gpuarena_status world_call_begin(const gpuarena_driver *self, slot_call call, uint64_t claim_bytes)
{
    int me = schedule_is_on() ? schedule.current : SCHEDULE_FIBERS;
    gpuarena_status status = GPUARENA_STATUS_DONE;
    if (call != SLOT_EVENT && (lock_helds[me].spins || lock_helds[me].registry))
        schedule_blame("driver %s is called inside a lock that every call needs", slot_names[call]);
    for (int at = 0; at <= SCHEDULE_FIBERS && call < SLOT_EVENT; at++)
        if (world.inside[at] == self)
            schedule_blame("driver %s is called while another call is in progress", slot_names[call]);
    if (call < SLOT_EVENT) world.inside[me] = self;
    world_judge_limit(slot_names[call], claim_bytes);
    schedule_point(slot_names[call]);
    if (world.on_call) status = world.on_call(call);
    world_judge_limit(slot_names[call], claim_bytes);
    return status;
}

static inline void world_call_end(const gpuarena_driver *self, slot_call call, uint64_t less_bytes)
{
    (void)self, (void)less_bytes;
    schedule_point(slot_names[call]);
    if (call < SLOT_EVENT) world.inside[schedule_is_on() ? schedule.current : SCHEDULE_FIBERS] = NULL;
}

static inline gpuarena_config world_config(void)
{
    gpuarena_config config = GPUARENA_INIT;
    config.backing = world.kind->backing;
    config.driver = &device.table;
    config.environment = "";
    config.limit_bytes = MIB(8);
    world.host.keeps = 1;
    host_serve(&world.host, &config);
    return config;
}

static inline void world_open_device(uint64_t total_bytes)
{
    slot_open(&device, 1, total_bytes);
    device.begin = world_call_begin;
    device.end = world_call_end;
    device.blame = world_blame;
}

/* ---- what the threads do */

static inline void world_claim(void *ptr, uint64_t bytes)
{
    int empty = WORLD_BLOCKS;
    for (int at = WORLD_BLOCKS - 1; at >= 0; at--) {
        const world_block *block = &world.blocks[at];
        if (!block->ptr) empty = at;
        else if (slot_address(ptr) < slot_address(block->ptr) + block->bytes
                 && slot_address(block->ptr) < slot_address(ptr) + bytes)
            schedule_blame("two live blocks overlap");
    }
    if (empty == WORLD_BLOCKS) schedule_blame("the test has too few blocks");
    else {
        world.blocks[empty].ptr = ptr;
        world.blocks[empty].bytes = bytes;
    }
}

static inline int world_disclaim(const void *ptr)
{
    for (int at = 0; at < WORLD_BLOCKS; at++)
        if (world.blocks[at].ptr == ptr) {
            world.blocks[at].ptr = NULL;
            return 1;
        }
    return 0;
}

static inline void world_go_on(void)
{
    if (schedule_is_on()) schedule.fibers[schedule.current].is_pausing = 0;
}

static inline gpuarena_result world_try(void **ptr, uint64_t bytes, int stream)
{
    gpuarena_result result;
    *ptr = NULL;
    world_go_on();
    result = gpuarena_alloc(world.arena, ptr, bytes, slot_stream(stream));
    if (result == GPUARENA_OK) {
        world.alloc_count++;
        world_claim(*ptr, bytes);
    }
    return result;
}

/* An allocation that must succeed. */
static inline void *world_alloc(uint64_t bytes, int stream)
{
    void *ptr;
    gpuarena_result result = world_try(&ptr, bytes, stream);
    if (result != GPUARENA_OK)
        schedule_blame("an allocation of %d KiB failed: %s", (int)(bytes >> 10), gpuarena_result_name(result));
    return ptr;
}

/* The memory may be another's as soon as the arena has it. */
static inline gpuarena_result world_free(void *ptr, int stream)
{
    int is_ours = world_disclaim(ptr);
    gpuarena_result result;
    world_go_on();
    result = gpuarena_free(world.arena, ptr, slot_stream(stream));
    if (result == GPUARENA_OK) world.free_count++;
    if (is_ours && result != GPUARENA_OK) schedule_blame("a free failed: %s", gpuarena_result_name(result));
    return result;
}

#define WANT(condition) do { if (!(condition)) schedule_blame("not so: %s", #condition); } while (0)

#endif
