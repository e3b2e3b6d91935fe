/* The world of the streams test: a simulated machine, its streams and threads, an arena on it, faults, a generator;
   and what orders one stream behind another, so that a program made of it is legal by CUDA's rules.
   It must not know blocks or captures. Included by test_streams.c. */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

/* The implementation is private there, so that its idea of the calling thread can be set along with the machine's. */
#include "space_pages.h"

enum { WORLD_LEGACY = 0, WORLD_OWN = 1, WORLD_MADE = 3, WORLD_STREAMS = 9, WORLD_THREADS = 3 };
enum {                                           /* features; each program has about half of them */
    WITH_LEGACY = 1 << 0, WITH_PER_THREAD = 1 << 1, WITH_BLOCKING = 1 << 2, WITH_DESTROYS = 1 << 3,
    WITH_FAULTS = 1 << 4, WITH_HOST_FAULTS = 1 << 5, WITH_CAPTURES = 1 << 6, WITH_RELEASE = 1 << 7,
    WITH_ANY = 1 << 8, WITH_LARGE = 1 << 9, WITH_ALIGNMENT = 1 << 10, WITH_TRY = 1 << 11,
    WITH_LONG_WORK = 1 << 12, WITH_WAITS = 1 << 13, WITH_ALONE = 1 << 14, WITH_PRESSURE = 1 << 15,
    WITH_PAGES = 1 << 16,                        /* backing=paged, else segments */
    WITH_SILENCE = 1 << 17,                      /* the sums are asked less often */
    WITH_HEAPS = 1 << 18,                        /* streams have heaps from the second one on */
    WITH_LATE_HEAPS = 1 << 19,                   /* .. from some operation on */
    WITH_ALIKE = 1 << 22                         /* many blocks, of few sizes: as world_open is told */
};

typedef struct world_stream {
    gpuarena_stream handle;
    uint64_t thread;                             /* of a thread's own stream: whose; else 0 */
    int alive, blocking;
    int capture;                                 /* that it is in, from 1; 0: none */
} world_stream;

/* What happened in all programs, so that the test can tell that it happens at all. */
#define WORLD_TALLY(X) \
    X(allocs) X(refused) X(looked) X(settled) X(grown) X(released) X(waited) X(stolen) X(gpu_waits) X(event_errors) \
    X(relieved) X(any_allocs) X(try_refused) X(own_frees) X(other_frees) X(any_frees) X(uses) X(destroys) \
    X(same_handles) X(faults) X(host_faults) X(must_fit) X(captures) X(joins) X(forks) X(launches) X(set_allocs) \
    X(set_frees) X(outside_frees) X(set_releases) X(let_go) X(resets) X(limits) X(remapped) X(stuck) \
    X(own_segments) X(grown_blocks) X(shrunk_blocks)
typedef struct world_tally {
#define X(field) uint64_t field;
    WORLD_TALLY(X)
#undef X
} world_tally;

typedef struct world_state {
    sim *machine;
    gpuarena_driver driver;                      /* the machine's own, for the program's events */
    gpuarena *arena;
    void *bridge;                                /* the event that orders streams */
    world_stream streams[WORLD_STREAMS];
    uint64_t random, op, id, features, thread, limit;
    uint64_t host_bytes, device_bytes;
    int host_fails, host_failed, faulty;         /* this call's: host memory fails; it did; a driver call may */
    int captures, blocking_captures;             /* under way */
    gpuarena_streams streams_in_force;
    int struck;                                  /* a driver call has failed in this program */
    char trouble[320];                           /* the first thing that went wrong; "" */
} world_state;

static world_state world;
static world_tally tally;

static inline uint64_t draw(uint64_t bound) { return splitmix64_next(&world.random) % bound; }
static inline int one_in(uint64_t count) { return draw(count) == 0; }
static inline int with(uint64_t feature) { return (world.features & feature) != 0; }

/* As if another thread had named a stream: the next new stream makes the heaps, once there are two. */
static inline void world_want_heaps(void) { world.arena->heaps.wanted = 1; }
static inline uint32_t bit(int stream) { return stream < 0 ? 0 : (uint32_t)1 << stream; }

static inline void blame(const char *property, int code)
{
    if (!world.trouble[0]) snprintf(world.trouble, sizeof world.trouble, "property: %s (%d)", property, code);
}

/* ---- threads: one that really runs, several by name */

static inline void world_be(uint64_t thread)
{
    world.thread = thread;
    sim_thread(world.machine, thread);
    gpuarena__thread_number_ = thread;
}

/* The handle, called by the thread that may. */
static inline gpuarena_stream world_enter(int stream)
{
    if (world.streams[stream].thread) world_be(world.streams[stream].thread);
    if (stream == WORLD_LEGACY && one_in(4)) return (gpuarena_stream)(intptr_t)1;
    return world.streams[stream].handle;
}

/* ---- the arena's means: host memory and device memory, watched */

static inline void *world_host_alloc(size_t bytes, void *user)
{
    (void)user;
    if (world.host_fails) {
        world.host_failed = 1;
        return NULL;
    }
    world.host_bytes += bytes;
    return malloc(bytes);
}

static inline void world_host_free(void *memory, size_t bytes, void *user)
{
    (void)user;
    world.host_bytes -= bytes;
    free(memory);
}

static inline sim_counters world_counters(void)
{
    sim_counters counters;
    sim_get_counters(world.machine, 0, &counters);
    return counters;
}

static inline uint64_t world_held(void) { return world_counters().held_bytes; }

/* The device holds more for the arena: never more than it may, not for an instant. */
static inline int world_grown(int code)
{
    if (!code && world_held() > world.limit) blame("what is held never passes the limit", (int)(world_held() >> 20));
    return code;
}

static inline int world_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                               gpuarena_stream stream)
{
    return world_grown(world.driver.memory.obtain(self, kind, ptr, bytes, stream));
}

static inline int world_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    return world_grown(world.driver.vm.create(self, page, bytes, traits));
}

/* ---- faults: one of the arena's next call on the driver, or all of its calls for host memory */

static inline void world_arm(void)
{
    static const sim_call kinds[] = { SIM_CALL_EVENT_WITH_FLAGS, SIM_CALL_EVENT_RECORD, SIM_CALL_EVENT_QUERY,
                                      SIM_CALL_STREAM_WAIT_EVENT, SIM_CALL_DEVICE_SYNCHRONIZE, SIM_CALL_OBTAIN,
                                      SIM_CALL_EVENT_RECORD, SIM_CALL_EVENT_QUERY, SIM_CALL_STREAM_WAIT_EVENT,
                                      SIM_CALL_STREAM_IS_CAPTURING };
    static const sim_call pages[] = { SIM_CALL_VM_RESERVE, SIM_CALL_VM_CREATE, SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS,
                                      SIM_CALL_VM_UNMAP, SIM_CALL_VM_DESTROY, SIM_CALL_VM_RELEASE };
    world.faulty = with(WITH_FAULTS) && one_in(3);
    world.host_fails = with(WITH_HOST_FAULTS) && one_in(8);
    world.host_failed = 0;
    if (!world.faulty) return;
    sim_call kind = with(WITH_PAGES) && one_in(2) ? pages[draw(COUNT(pages))] : kinds[draw(COUNT(kinds))];
    int refuses = kind == SIM_CALL_OBTAIN || kind == SIM_CALL_VM_RESERVE || kind == SIM_CALL_VM_CREATE;
    sim_fail_call(world.machine, kind, one_in(2) ? 1 : 1 + draw(3), one_in(2),
                  refuses ? SIM_OUT_OF_MEMORY : SIM_UNKNOWN);
}

/* 1: the call met a fault. */
static inline int world_disarm(void)
{
    int fired = world.faulty && sim_fail_fired(world.machine), failed = world.host_failed;
    if (world.faulty) sim_fail_call(world.machine, SIM_CALL_KINDS, 0, 0, 0);
    world.faulty = world.host_fails = world.host_failed = 0;
    world.struck |= fired;
    tally.faults += (uint64_t)fired;
    tally.host_faults += (uint64_t)failed;
    return fired || failed;
}

/* ---- streams */

/* 1: work may be given to it, and it may be recorded and waited for, outside of captures. */
static inline int world_is_usable(int stream)
{
    const world_stream *at = &world.streams[stream];
    return at->alive && !at->capture && (stream != WORLD_LEGACY || !world.blocking_captures);
}

/* A usable stream, or -1. */
static inline int world_pick(void)
{
    int usable[WORLD_STREAMS], count = 0;
    for (int stream = 0; stream < WORLD_STREAMS; stream++)
        if (world_is_usable(stream)) usable[count++] = stream;
    return count ? usable[draw((uint64_t)count)] : -1;
}

static inline int world_all_usable(uint32_t mask)
{
    for (int stream = 0; stream < WORLD_STREAMS; stream++)
        if ((mask & bit(stream)) && !world_is_usable(stream)) return 0;
    return 1;
}

/* The one has all the other was given before its next work, be it in one capture. */
static inline void world_follow(int stream, int other)
{
    if (stream == other) return;
    int code = world.driver.events.record(&world.driver, world.bridge, world_enter(other));
    code = code ? code : world.driver.events.stream_wait(&world.driver, world_enter(stream), world.bridge);
    if (code) blame("the program's own wait of a stream", code);
}

static inline void world_follow_all(int stream, uint32_t mask)
{
    for (int other = 0; other < WORLD_STREAMS; other++)
        if (mask & bit(other)) world_follow(stream, other);
}

static inline void world_work(int stream)
{
    uint64_t work_ns = with(WITH_LONG_WORK) ? draw(40000) : draw(9000);
    int code = sim_work(world.machine, 0, world_enter(stream), work_ns);
    if (code) blame("the program's own work", code);
}

static inline void world_use(int stream, const void *ptr, uint64_t bytes, uint64_t owner)
{
    int code = sim_access(world.machine, 0, world_enter(stream), ptr, bytes, owner, world.op);
    if (code) blame("the program's own use", code);
}

static inline void world_make_stream(int stream)
{
    world_stream *made = &world.streams[stream];
    int blocking = with(WITH_BLOCKING) && one_in(2);
    gpuarena_stream before = made->handle, handle = NULL;
    if (sim_stream_create(world.machine, 0, blocking, &handle)) blame("the program's own stream", 0);
    world_stream fresh = { handle, 0, 1, blocking, 0 };
    *made = fresh;
    tally.same_handles += before == handle;
}

/* ---- the beginning and the end of a program */

static inline void world_config_pages(gpuarena_config *config)
{
    static const double idles[] = { 0, 0, -1, 0.2, 1 };
    static const uint64_t larges[] = { 0, 0, MIB(1), MIB(3) };
    config->page_bytes = one_in(4) ? MIB(4) : 0;
    config->idle_fraction = idles[draw(COUNT(idles))];
    config->large_bytes = larges[draw(COUNT(larges))];
}

static inline gpuarena_config world_config(gpuarena_driver *table, uint64_t device_bytes)
{
    static const gpuarena_growth growths[] = { GPUARENA_GROWTH_FIXED, GPUARENA_GROWTH_EXACT, GPUARENA_GROWTH_STEP,
                                               GPUARENA_GROWTH_DOUBLE, GPUARENA_GROWTH_FIXED };
    static const gpuarena_streams reuses[] = { GPUARENA_STREAMS_SAME, GPUARENA_STREAMS_EVENTS,
                                               GPUARENA_STREAMS_STEAL };
    gpuarena_config config = GPUARENA_INIT;
    *table = world.driver;
    table->per_thread = (gpuarena_stream)(intptr_t)2;       /* cudaStreamPerThread's handle */
    table->memory.obtain = world_obtain;
    table->vm.create = world_create;
    config.environment = "";
    config.driver = table;
    config.backing = with(WITH_PAGES) ? GPUARENA_BACKING_PAGED : GPUARENA_BACKING_SEGMENTS;
    config.host_alloc = world_host_alloc;
    config.host_free = world_host_free;
    config.streams = one_in(4) ? reuses[draw(COUNT(reuses))] : GPUARENA_STREAMS_AUTO;
    config.wait_ms = config.streams != GPUARENA_STREAMS_SAME && one_in(6);
    config.growth = growths[draw(with(WITH_PAGES) ? 2 : COUNT(growths))];
    if (config.growth == GPUARENA_GROWTH_STEP) config.step_bytes = MIB(2) << draw(3);
    if (with(WITH_PAGES)) world_config_pages(&config);
    config.limit_bytes = world.limit = MIB(4) + MIB(2) * draw((device_bytes - MIB(4)) / MIB(2));
    return config;
}

/* pressure: what the arena calls before it refuses, in programs that have it. */
static inline void world_open(uint64_t seed, int alike, gpuarena_pressure_fn *pressure)
{
    gpuarena_driver table;
    memset(&world, 0, sizeof world);
    world.random = seed;
    world.features = splitmix64_next(&world.random);
    world.features |= splitmix64_next(&world.random) & (WITH_CAPTURES | WITH_DESTROYS | WITH_FAULTS);
    world.device_bytes = MIB(12) + MIB(2) * draw(14);
    sim_bench bench = bench_open_sized(world.device_bytes, NULL);
    world.machine = bench.machine;
    world.driver = bench.driver;
    sim_reuse_handles(world.machine, 1);
    world_be(1);
    if (with(WITH_ALONE) && (world.features >> 20 & 3)) world.features &= ~(uint64_t)WITH_ALONE;
    world.features = alike ? world.features | WITH_ALIKE : world.features & ~(uint64_t)WITH_ALIKE;
    for (int stream = 0; stream < WORLD_STREAMS; stream++) {
        world_stream *at = &world.streams[stream];
        at->blocking = 1;
        at->alive = !with(WITH_ALONE) && (stream == WORLD_LEGACY ? with(WITH_LEGACY) : with(WITH_PER_THREAD));
        if (stream >= WORLD_OWN && stream < WORLD_MADE) {
            at->handle = (gpuarena_stream)(intptr_t)2;
            at->thread = (uint64_t)stream;
        }
    }
    int made = with(WITH_ALONE) ? 1 : 2 + (int)draw(WORLD_STREAMS - WORLD_MADE - 1);
    for (int stream = WORLD_MADE; stream < WORLD_STREAMS; stream++) {
        world.streams[stream].alive = 0;
        if (stream < WORLD_MADE + made) world_make_stream(stream);
    }
    if (world.driver.events.create(&world.driver, &world.bridge)) blame("the program's own event", 0);
    gpuarena_config config = world_config(&table, world.device_bytes);
    config.pressure = with(WITH_PRESSURE) ? pressure : NULL;
    world.streams_in_force = config.streams;
    gpuarena_result result = gpuarena_create(&config, &world.arena);
    if (result) blame("create", result);
    else if (with(WITH_HEAPS)) world_want_heaps();
}

/* All that the arena made is gone. Events: those of the program itself are one, and its bridge. */
static inline void world_close(void)
{
    gpuarena_stats stats;
    gpuarena_walk_stats(world.arena, &stats);
    if (stats.event_error_count && !world.struck && !with(WITH_HOST_FAULTS))
        blame("event errors are counted where there were", 0);
    gpuarena_result result = gpuarena_destroy(world.arena);
    if (result) blame("destroy", result);
    sim_counters counters = world_counters();
    if (counters.held_bytes || world.host_bytes) blame("memory is left at the end", 0);
    if (counters.handle_count || counters.mapping_count || counters.reserved_address_bytes)
        blame("handles, mappings or addresses are left at the end", (int)counters.mapping_count);
    uint64_t events = counters.calls[SIM_CALL_EVENT_WITH_FLAGS] - counters.calls[SIM_CALL_EVENT_DESTROY];
    if (!world.struck && events != 1) blame("events are left at the end", (int)events);
    if (with(WITH_ALONE) && !with(WITH_PAGES)
        && counters.calls[SIM_CALL_EVENT_RECORD] + counters.calls[SIM_CALL_EVENT_QUERY])
        blame("one stream alone, and events", (int)counters.calls[SIM_CALL_EVENT_RECORD]);
    sim_destroy(world.machine);
}

#endif
