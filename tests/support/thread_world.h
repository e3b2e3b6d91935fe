/* Shared parts of tests with real threads: devices; arenas on them, alone or in trees, with the bytes that each
   holds; and a shadow of device memory: who has each 256 bytes, and until when which stream's work uses them. Memory
   is a simulated machine's, which judges its calls, inside the only lock: an arena makes one call on memory at a
   time, and two arenas of two devices may make one each. Nothing else orders threads, lest races hide: streams and
   events are numbers here. Work of stream n ends at a time. The first streams' handles are n * 16; from SLOT_STREAMS
   on come threads' own, if the table has a handle for these. It must not know the arena's inside. Included by tests
   in threads/. */
#ifndef TESTS_THREAD_WORLD_H
#define TESTS_THREAD_WORLD_H

#include <pthread.h>
#include <sched.h>
#include "stress/sim/entries.h"
#include "arena_walk.h"
#include "host_memory.h"
#include "sim_device.h"
#include "space_fit.h"

enum { SLOT_STREAMS = 4, SLOT_OWNS = 65, SLOT_EVENTS = 256, TICK_NS = 20000 };
enum { THREAD_DEVICES = 2, THREAD_ARENAS = 10, THREAD_UNIT = 256, THREAD_FOLD = 256,
       THREAD_UNITS = (4 << 20) / THREAD_UNIT * 1024 };      /* 4 GiB */

/* freed: when the work of the last user's streams ends, with the stream in the low bits. owner: the live block; 0:
   there is none. */
enum { THREAD_STREAM = 127 };
typedef struct thread_memory { uint64_t freed[2]; uint32_t owner; } thread_memory;
typedef struct thread_fold {
    thread_memory whole, part, *units;           /* units: NULL: none was wanted so far */
    uint32_t unit_count;
} thread_fold;

typedef struct thread_shadow {
    uint64_t base;                               /* the lowest address */
    unsigned char soiled[THREAD_UNITS];          /* of arenas that clear: 1: it may hold somebody's data */
    thread_fold folds[THREAD_UNITS / THREAD_FOLD];
} thread_shadow;

typedef struct thread_device {
    gpuarena_driver table, real;                 /* real: the machine's own */
    sim *machine;
    uint64_t total_bytes;
    pthread_mutex_t lock;                        /* of the machine; members below are atomic */
    uint64_t clock_ns, busy_until_ns[SLOT_STREAMS + SLOT_OWNS], event_done_ns[SLOT_EVENTS];
    uint32_t event_count;
    thread_shadow shadows[2];                    /* of segments, and of virtual memory */
} thread_device;

typedef struct thread_arena {
    thread_device *device;
    host_memory host;
    gpuarena *arena;
    const gpuarena_driver *table;                /* a sub-arena's own copy: by it calls are known */
    struct thread_arena *parent;                 /* NULL: none */
    uint64_t held_bytes;                         /* here and below */
    uint64_t ceiling_bytes;                      /* the limit, and while it is being changed the higher one */
    pthread_mutex_t limit_lock;                  /* taken by who changes it, if nobody does */
    uint64_t limit_bytes;
    int inside;                                  /* calls on memory in progress */
    gpuarena_scrub scrub;
} thread_arena;

static thread_device thread_devices[THREAD_DEVICES];
static uint64_t thread_device_bytes = MIB(128);              /* of the next that are opened */
static thread_arena thread_arenas[THREAD_ARENAS];            /* the first of each device have no parents */
static __thread int thread_number;               /* 0: the first thread */
static int thread_yields;                        /* in each driver call, and between calls, others
                                                    have their go */
static const char *thread_trouble;               /* the first; NULL: none */

static inline void thread_blame(const char *what)
{
    const char *none = NULL;
    (void)__atomic_compare_exchange_n(&thread_trouble, &none, what, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#define WANT(condition) do { if (!(condition)) thread_blame("not so: " #condition); } while (0)

/* ---- calls of the device */

static inline thread_device *slot_of(const gpuarena_driver *self) { return (thread_device *)self->user; }
static inline gpuarena_stream slot_stream(int number) { return (gpuarena_stream)(intptr_t)(number * 16); }

/* A sub-arena is known by its table; the calls of others are those of a device's first arena. */
static inline thread_arena *thread_arena_of(const gpuarena_driver *self)
{
    for (int at = 0; at < THREAD_ARENAS; at++)
        if (__atomic_load_n(&thread_arenas[at].table, __ATOMIC_RELAXED) == self) return &thread_arenas[at];
    return &thread_arenas[slot_of(self) == &thread_devices[0] ? 0 : 1];
}

static inline void thread_yield(void) { if (thread_yields) sched_yield(); }

/* ---- clock: of the device, and for each stream when its work ends */

static inline uint64_t slot_load(const uint64_t *time_ns) { return __atomic_load_n(time_ns, __ATOMIC_RELAXED); }

/* Sets a time to a later one, unless it is later already. */
static inline void slot_raise(uint64_t *time_ns, uint64_t at_least)
{
    uint64_t now = slot_load(time_ns);
    while (now < at_least
           && !__atomic_compare_exchange_n(time_ns, &now, at_least, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static inline void slot_wait_all(thread_device *device)
{
    for (int at = 0; at < SLOT_STREAMS + SLOT_OWNS; at++)
        slot_raise(&device->clock_ns, slot_load(&device->busy_until_ns[at]));
}

static inline uint64_t slot_now_ns(const gpuarena_driver *self)
{
    return __atomic_add_fetch(&slot_of(self)->clock_ns, TICK_NS, __ATOMIC_RELAXED);
}

/* Adds work of this duration to the stream, behind its earlier work. */
static inline void slot_work(thread_device *device, int stream, uint64_t span_ns)
{
    slot_raise(&device->busy_until_ns[stream], slot_load(&device->clock_ns));
    __atomic_fetch_add(&device->busy_until_ns[stream], span_ns, __ATOMIC_RELAXED);
}

/* ---- memory */

/* A call begins, with the lock: an arena makes one at a time; and in each its limit holds, and the limits of all
   above. claim_bytes: how many more bytes the device may hold because of it. */
static inline const gpuarena_driver *thread_enter(const gpuarena_driver *self, uint64_t claim_bytes)
{
    thread_arena *at = thread_arena_of(self);
    if (__atomic_fetch_add(&at->inside, 1, __ATOMIC_RELAXED)) thread_blame("two driver calls on memory at once");
    for (; claim_bytes && at; at = at->parent) {
        uint64_t held = __atomic_add_fetch(&at->held_bytes, claim_bytes, __ATOMIC_RELAXED);
        if (held > __atomic_load_n(&at->ceiling_bytes, __ATOMIC_RELAXED))
            thread_blame("the device is asked for more than the limit");
    }
    thread_yield();
    pthread_mutex_lock(&slot_of(self)->lock);
    return &slot_of(self)->real;
}

/* A call ends. less_bytes: the part of the claim that it has not got, or the bytes that it has given back. */
static inline int thread_leave(const gpuarena_driver *self, uint64_t less_bytes, int code)
{
    thread_arena *at = thread_arena_of(self);
    if (code && code != SIM_OUT_OF_MEMORY) thread_blame("a driver call is refused");
    pthread_mutex_unlock(&slot_of(self)->lock);
    __atomic_fetch_sub(&at->inside, 1, __ATOMIC_RELAXED);
    for (; less_bytes && at; at = at->parent) __atomic_fetch_sub(&at->held_bytes, less_bytes, __ATOMIC_RELAXED);
    return code ? GPUARENA_STATUS_NO_MEMORY : GPUARENA_STATUS_DONE;
}

/* X(group, name, names, takes, gives): names: arguments of the machine's call; bytes that a call takes, or gives
   back. */
#define THREAD_ENTRIES(X) \
    X(vm, reserve, (behind, address, bytes, alignment), 0, 0) X(vm, release, (behind, address, bytes), 0, 0) \
    X(vm, create, (behind, page, bytes, traits), bytes, 0) X(vm, destroy, (behind, page, bytes), 0, bytes) \
    X(vm, map, (behind, address, bytes, page), 0, 0) X(vm, access, (behind, address, bytes, mode), 0, 0) \
    X(vm, unmap, (behind, address, bytes), 0, 0)
#define X(group, name, names, takes, gives) \
    static inline int slot_##name ENTRY_##group##_##name \
    { \
        const gpuarena_driver *behind = thread_enter(self, takes); \
        int code = behind->group.name names; \
        return thread_leave(self, code ? takes : gives, code); \
    }
THREAD_ENTRIES(X)
#undef X

/* Every kind of memory is taken from that of the device. */
static inline int slot_info ENTRY_memory_info
{
    const gpuarena_driver *behind = thread_enter(self, 0);
    (void)kind;
    return thread_leave(self, 0, behind->memory.info(behind, GPUARENA_MEMORY_DEVICE, free_bytes, total_bytes));
}

/* Obtains a segment, which the shadow records if it is the first device's. */
static inline int slot_obtain ENTRY_memory_obtain
{
    int code = bench_obtain(thread_enter(self, bytes), bytes, ptr);
    (void)kind, (void)stream;
    if (!code && slot_of(self) == thread_devices) (void)shadow_enter(bench_number(*ptr), bytes);
    return thread_leave(self, code ? bytes : 0, code);
}

/* Waits for the device, as cudaFree does; cudaFreeHost need not. */
static inline int slot_give_back ENTRY_memory_give_back
{
    int code = bench_give_back(thread_enter(self, 0), ptr, bytes);
    (void)stream;
    if (!code && slot_of(self) == thread_devices) (void)shadow_leave(bench_number(ptr));
    if (kind == GPUARENA_MEMORY_DEVICE || kind == GPUARENA_MEMORY_MANAGED) slot_wait_all(slot_of(self));
    return thread_leave(self, bytes, code);
}

/* ---- streams, events: an event is the time when the work that it was recorded behind ends */

static inline int slot_number(const thread_device *device, gpuarena_stream stream)
{
    intptr_t number = (intptr_t)stream / 16;
    if (stream && stream == device->table.per_thread) return SLOT_STREAMS + thread_number;
    if (number >= 0 && number < SLOT_STREAMS) return (int)number;
    thread_blame("a stream that is none");
    return 0;
}

/* A call begins: when this stream's work ends; when the work before the event ends. */
static inline uint64_t *slot_busy(const gpuarena_driver *self, gpuarena_stream stream)
{
    return &slot_of(self)->busy_until_ns[slot_number(slot_of(self), stream)];
}

static inline uint64_t *slot_event(const gpuarena_driver *self, const void *event)
{
    thread_device *device = slot_of(self);
    uint64_t number = bench_number(event);
    thread_yield();
    if (number && number < SLOT_EVENTS && number <= __atomic_load_n(&device->event_count, __ATOMIC_RELAXED))
        return &device->event_done_ns[number];
    thread_blame("an event that is none");
    return &device->event_done_ns[0];
}

static inline int slot_event_create ENTRY_events_create
{
    thread_yield();
    uint32_t number = __atomic_add_fetch(&slot_of(self)->event_count, 1, __ATOMIC_RELAXED);
    *event = bench_at(NULL, number);
    return number < SLOT_EVENTS ? GPUARENA_STATUS_DONE : GPUARENA_STATUS_NO_MEMORY;
}

static inline int slot_event_destroy ENTRY_events_destroy
{
    return (void)slot_event(self, event), GPUARENA_STATUS_DONE;
}

static inline int slot_event_record ENTRY_events_record
{
    uint64_t *done_ns = slot_event(self, event);
    __atomic_store_n(done_ns, slot_load(slot_busy(self, stream)), __ATOMIC_RELAXED);
    return GPUARENA_STATUS_DONE;
}

static inline int slot_event_query ENTRY_events_query
{
    uint64_t done_ns = slot_load(slot_event(self, event));
    return done_ns <= slot_now_ns(self) ? GPUARENA_STATUS_DONE : GPUARENA_STATUS_NOT_READY;
}

static inline int slot_event_host_wait ENTRY_events_host_wait
{
    slot_raise(&slot_of(self)->clock_ns, slot_load(slot_event(self, event)));
    return GPUARENA_STATUS_DONE;
}

static inline int slot_event_stream_wait ENTRY_events_stream_wait
{
    slot_raise(slot_busy(self, stream), slot_load(slot_event(self, event)));
    return GPUARENA_STATUS_DONE;
}

static inline int slot_device_wait ENTRY_events_device_wait
{
    thread_yield();
    slot_wait_all(slot_of(self));
    return GPUARENA_STATUS_DONE;
}

/* ---- the shadow: who has memory, until when the streams of its last user work, and which memory may still hold
   data */

/* The shadow with this address, and the unit there. */
static inline thread_shadow *thread_shadow_of(const thread_arena *self, const void *ptr, uint64_t *unit)
{
    thread_shadow *shadows = self->device->shadows;
    for (int at = 0; at < 2; at++) {
        *unit = (bench_number(ptr) - shadows[at].base) / THREAD_UNIT;
        if (bench_number(ptr) % THREAD_UNIT == 0 && *unit < THREAD_UNITS) return &shadows[at];
    }
    thread_blame("a block is not on the device");
    *unit = 0;
    return shadows;
}

/* When a stream's work ends, with its number; stream -1: none's. */
static inline uint64_t thread_until(const thread_arena *self, int stream)
{
    if (stream < 0) return 0;
    return (__atomic_load_n(&self->device->busy_until_ns[stream], __ATOMIC_RELAXED) & ~(uint64_t)THREAD_STREAM)
        | (uint64_t)stream;
}

/* Judges that the last user's work on this memory is done, or that this stream is behind it. */
static inline void thread_judge_order(const thread_arena *self, const thread_memory *memory, int stream)
{
    uint64_t now = __atomic_load_n(&self->device->clock_ns, __ATOMIC_RELAXED);
    for (int at = 0; at < 2; at++) {
        uint64_t freed = __atomic_load_n(&memory->freed[at], __ATOMIC_RELAXED);
        if ((int)(freed & THREAD_STREAM) != stream && freed > (now | THREAD_STREAM)
            && freed > (thread_until(self, stream) | THREAD_STREAM))
            thread_blame("memory is another stream's still");
    }
}

static inline void thread_set_freed(thread_memory *memory, const uint64_t freed[2])
{
    for (int at = 0; at < 2; at++) __atomic_store_n(&memory->freed[at], freed[at], __ATOMIC_RELAXED);
}

/* An event of a piece of memory: of a whole fold, or of a unit of one, beside which the fold's record of its other
   units stands. */
typedef struct thread_event {
    enum { THREAD_TAKE, THREAD_LEAVE, THREAD_CLEAR } kind;
    uint32_t number;                             /* of the block */
    int stream;                                  /* that has it */
    uint64_t freed[2];                           /* by whom, until when */
} thread_event;

static inline void thread_visit(const thread_arena *self, thread_fold *fold, thread_memory *unit,
                                const thread_event *event)
{
    thread_memory *memory = unit ? unit : &fold->whole, *beside = unit ? &fold->whole : &fold->part;
    uint32_t owner = event->kind == THREAD_TAKE ? event->number : 0;
    if (event->kind != THREAD_LEAVE) {
        thread_judge_order(self, memory, event->stream);
        thread_judge_order(self, beside, event->stream);
    }
    if (event->kind != THREAD_TAKE) thread_set_freed(memory, event->freed);
    if (event->kind == THREAD_LEAVE && unit) {
        thread_set_freed(&fold->part, event->freed);
        __atomic_fetch_sub(&fold->unit_count, 1, __ATOMIC_RELAXED);
    }
    if (event->kind == THREAD_TAKE && unit) __atomic_fetch_add(&fold->unit_count, 1, __ATOMIC_RELAXED);
    if (event->kind == THREAD_CLEAR) owner = __atomic_load_n(&memory->owner, __ATOMIC_RELAXED);
    else owner = __atomic_exchange_n(&memory->owner, owner, __ATOMIC_RELAXED);
    if (owner != (event->kind == THREAD_LEAVE ? event->number : 0)
        || (event->kind == THREAD_TAKE && (unit ? __atomic_load_n(&fold->whole.owner, __ATOMIC_RELAXED)
                                                : __atomic_load_n(&fold->unit_count, __ATOMIC_RELAXED))))
        thread_blame("memory is two blocks' at once");
}

/* A unit of the fold, made when the first one is wanted. */
static inline thread_memory *thread_unit(thread_fold *fold, uint64_t number)
{
    thread_memory *units = __atomic_load_n(&fold->units, __ATOMIC_ACQUIRE), *fresh = NULL;
    if (!units && (fresh = calloc(THREAD_FOLD, sizeof *fresh))
        && __atomic_compare_exchange_n(&fold->units, &units, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        units = fresh;
    if (units != fresh) free(fresh);
    return &units[number];
}

/* Applies an event to a range: to whole folds, and to units where it has a part of one. */
static inline void thread_visit_all(const thread_arena *self, const void *ptr, uint64_t bytes,
                                    const thread_event *event)
{
    uint64_t at;
    thread_shadow *of = thread_shadow_of(self, ptr, &at);
    uint64_t end = at + (bytes + THREAD_UNIT - 1) / THREAD_UNIT;
    while (at < end && at < THREAD_UNITS) {
        int is_whole = at % THREAD_FOLD == 0 && end - at >= THREAD_FOLD;
        thread_fold *fold = &of->folds[at / THREAD_FOLD];
        thread_visit(self, fold, is_whole ? NULL : thread_unit(fold, at % THREAD_FOLD), event);
        at += is_whole ? THREAD_FOLD : 1;
    }
}

/* The block's memory had no owner, and is the block's now. */
static inline void thread_claim(thread_arena *self, const void *ptr, uint64_t bytes, uint32_t number, int stream)
{
    const thread_event event = { THREAD_TAKE, number, stream, { 0, 0 } };
    thread_visit_all(self, ptr, bytes, &event);
}

/* also: another stream that used it; -1: none. */
static inline void thread_disclaim(thread_arena *self, const void *ptr, uint64_t bytes, uint32_t number, int stream,
                                   int also)
{
    const thread_event event = { THREAD_LEAVE, number, stream,
                                 { thread_until(self, stream), thread_until(self, also) } };
    thread_visit_all(self, ptr, bytes, &event);
}

/* The arena clears; memory of the device may hold data from the start, unless it clears frees alone. */
static inline void thread_scrub(thread_arena *self, gpuarena_scrub scrub)
{
    self->scrub = scrub;
    for (int at = 0; at < 2; at++)
        memset(self->device->shadows[at].soiled, scrub & GPUARENA_SCRUB_ALLOC ? 1 : 0, THREAD_UNITS);
}

/* Nobody has a block any more. */
static inline void thread_judge_clear(const thread_arena *self)
{
    for (int at = 0; at < 2; at++)
        if (self->scrub == GPUARENA_SCRUB_FREE && memchr(self->device->shadows[at].soiled, 1, THREAD_UNITS))
            thread_blame("what was freed was not cleared");
}

/* From one byte to another a block holds data now; the bytes held none before. */
static inline void thread_soil(thread_arena *self, const void *ptr, uint64_t from, uint64_t to)
{
    uint64_t unit, first = (from + THREAD_UNIT - 1) / THREAD_UNIT, end = (to + THREAD_UNIT - 1) / THREAD_UNIT;
    if (!self->scrub || end <= first) return;
    unsigned char *soiled = thread_shadow_of(self, ptr, &unit)->soiled + unit;
    if (memchr(soiled + first, 1, end - first)) thread_blame("what is had was not cleared");
    memset(soiled + first, 1, end - first);
}

/* Nothing reads cleared memory; but it is held, nobody's, and no stream's except behind all that used it. */
static inline int slot_clear ENTRY_device_clear
{
    const thread_arena *at = thread_arena_of(self);
    thread_device *device = at->device;
    int number = slot_number(device, stream);
    uint64_t unit;
    thread_yield();
    pthread_mutex_lock(&device->lock);
    if (!sim_holds(device->machine, (int)(device - thread_devices), ptr, bytes))
        thread_blame("what is not held is cleared");
    pthread_mutex_unlock(&device->lock);
    slot_work(device, number, 1000);
    const thread_event event = { THREAD_CLEAR, 0, number, { thread_until(at, number), 0 } };
    thread_visit_all(at, ptr, bytes, &event);
    memset(&thread_shadow_of(at, ptr, &unit)->soiled[unit], 0, bytes / THREAD_UNIT);
    return GPUARENA_STATUS_DONE;
}

/* ---- arenas */

/* Prepares one of the arenas, which is not yet made; returns the configuration that all arenas have. */
static inline gpuarena_config thread_prepare(thread_arena *self, thread_device *device, uint64_t limit_bytes)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->limit_lock, NULL);
    self->device = device;
    self->limit_bytes = self->ceiling_bytes = limit_bytes;
    config.driver = &device->table;
    config.environment = "";
    config.limit_bytes = limit_bytes;
    host_serve(&self->host, &config);
    return config;
}

/* The first segment, and the first addresses, lie lowest. */
static inline void thread_find_bases(thread_device *device)
{
    const gpuarena_driver *real = &device->real;
    void *segment = NULL, *range = NULL;
    WANT(!bench_obtain(real, SIM_GRANULE, &segment) && !bench_give_back(real, segment, SIM_GRANULE));
    WANT(!real->vm.reserve(real, &range, SIM_GRANULE, 0) && !real->vm.release(real, range, SIM_GRANULE));
    device->shadows[0].base = bench_number(segment);
    device->shadows[1].base = bench_number(range);
}

/* The first or the second arena, on a device of its own, which is opened. */
static inline gpuarena_config thread_open(thread_arena *self, gpuarena_backing kind, uint64_t limit_bytes)
{
    static const gpuarena_driver table = {
        .now_ns = slot_now_ns, .page_bytes = SIM_GRANULE,
        .memory = { slot_info, slot_obtain, slot_give_back },
        .vm = { slot_reserve, slot_release, slot_create, slot_destroy, slot_map, slot_access, slot_unmap },
        .events = { slot_event_create, slot_event_destroy, slot_event_record, slot_event_query, slot_event_host_wait,
                    slot_event_stream_wait, slot_device_wait },
        .clear = slot_clear };
    thread_device *device = &thread_devices[self - thread_arenas];
    const sim_config machine = { THREAD_DEVICES, thread_device_bytes, 0, NULL, NULL, 0, 0 };
    for (thread_shadow *of = device->shadows; of < device->shadows + 2; of++) {
        for (size_t at = 0; at < COUNT(of->folds); at++) free(of->folds[at].units);
        memset(of->folds, 0, sizeof of->folds);
        if (self->scrub) memset(of->soiled, 0, sizeof of->soiled);           /* of arenas that were open here
                                                                                before */
    }
    sim_destroy(device->machine);
    memset(device, 0, offsetof(thread_device, shadows));
    device->total_bytes = thread_device_bytes;
    pthread_mutex_init(&device->lock, NULL);
    device->machine = bench_machine(&machine);
    sim_driver(device->machine, (int)(device - thread_devices), &device->real);
    thread_find_bases(device);
    device->table = table;
    device->table.user = device;
    if (device == thread_devices) memset(&shadow, 0, sizeof shadow);
    gpuarena_config config = thread_prepare(self, device, limit_bytes);
    config.backing = kind;
    return config;
}

/* Changes the limit, unless another thread does so now. */
static inline void thread_set_limit(thread_arena *self, uint64_t bytes)
{
    if (pthread_mutex_trylock(&self->limit_lock)) return;
    if (bytes > self->limit_bytes) __atomic_store_n(&self->ceiling_bytes, bytes, __ATOMIC_RELAXED);
    WANT(gpuarena_set_limit(self->arena, bytes) == GPUARENA_OK);
    __atomic_store_n(&self->ceiling_bytes, bytes, __ATOMIC_RELAXED);
    self->limit_bytes = bytes;
    pthread_mutex_unlock(&self->limit_lock);
}

/* Nothing is left of the objects that thread_open made. */
static inline void thread_judge_left(thread_arena *self)
{
    const sim *machine = self->device->machine;
    sim_counters counters;
    sim_get_counters(machine, (int)(self->device - thread_devices), &counters);
    if (counters.held_bytes || counters.handle_count || counters.reserved_address_bytes)
        thread_blame("device memory is left");
    if (sim_finding_count(machine)) {
        static char finding[400];
        snprintf(finding, sizeof finding, "%s", sim_finding(machine, 0));
        thread_blame(finding);
    }
    if (self->held_bytes) thread_blame("memory is held that is not there");
    if (host_close(&self->host)) thread_blame(host_close(&self->host));
}

/* ---- trees of arenas, all on the first one's device */

static int thread_tree_count;

/* A device for a tree of arenas to be made. */
static inline void thread_tree_open(uint64_t device_bytes)
{
    memset(thread_arenas, 0, sizeof thread_arenas);
    thread_device_bytes = device_bytes;
    (void)thread_open(&thread_arenas[0], GPUARENA_BACKING_AUTO, 0);
    thread_tree_count = 0;
}

/* The next arena of the tree, under another, or the first under none (-1). Its limit may be more than the others
   leave, or the device has. 0: it was not made. */
static inline int thread_tree_make(int parent, uint64_t limit_bytes, const char *text)
{
    thread_arena *self = &thread_arenas[thread_tree_count];
    gpuarena_config config = thread_prepare(self, &thread_devices[0], limit_bytes);
    uint64_t most_bytes = self->device->total_bytes;
    if (parent >= 0) {
        self->parent = &thread_arenas[parent];
        config.parent = self->parent->arena;
    }
    config.oversubscribe = 1;
    config.limit_bytes = limit_bytes < most_bytes ? limit_bytes : most_bytes;
    snprintf(config.name, sizeof config.name, "tenant %d", thread_tree_count);
    if (gpuarena_config_parse(text, &config, NULL, 0) || gpuarena_create(&config, &self->arena)
        || gpuarena_set_limit(self->arena, limit_bytes)) return 0;
    gpuarena_get_config(self->arena, &config);
    __atomic_store_n(&self->table, config.driver, __ATOMIC_RELAXED);
    return ++thread_tree_count;
}

/* The parent of all comes last. */
static inline void thread_tree_close(void)
{
    for (int at = thread_tree_count; at-- > 0;) WANT(gpuarena_destroy(thread_arenas[at].arena) == GPUARENA_OK);
    for (int at = 0; at < thread_tree_count; at++) thread_judge_left(&thread_arenas[at]);
}

#endif
