/* Subjects, pairs and lanes, and rounds over them; pairs among free blocks; instructions, by callgrind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                              /* for sched_setaffinity */
#endif
#include "stage.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <sys/wait.h>

#include "../base/progress.h"
#include "../sim/entries.h"

/* ---- A device that costs nothing: every call of its table succeeds in constant time, and no memory is behind
        addresses. It must not allocate, lock or make system calls */

#define NULL_DRIVER_TOTAL ((uint64_t)256 << 30)
#define NULL_DRIVER_PAGE  ((uint64_t)2 << 20)

static uint64_t null_driver_address = NULL_DRIVER_PAGE;
static uint64_t null_driver_page;

/* A page lies between two ranges, so that they never touch. */
static void *null_driver_range(uint64_t bytes)
{
    uint64_t taken = (bytes + 2 * NULL_DRIVER_PAGE - 1) / NULL_DRIVER_PAGE * NULL_DRIVER_PAGE;
    return (void *)(uintptr_t)__atomic_fetch_add(&null_driver_address, taken, __ATOMIC_RELAXED);
}

static int null_driver_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                            uint64_t *total_bytes)
{
    (void)self; (void)kind;
    *free_bytes = *total_bytes = NULL_DRIVER_TOTAL;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    (void)self; (void)kind; (void)stream;
    *ptr = null_driver_range(bytes);
    return GPUARENA_STATUS_DONE;
}

static int null_driver_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    (void)self;
    if (alignment > NULL_DRIVER_PAGE) return GPUARENA_STATUS_NOT_SUPPORTED;
    *address = null_driver_range(bytes);
    return GPUARENA_STATUS_DONE;
}

static int null_driver_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    (void)self; (void)bytes; (void)traits;
    *page = __atomic_add_fetch(&null_driver_page, 1, __ATOMIC_RELAXED);
    return GPUARENA_STATUS_DONE;
}

static int null_driver_event(const gpuarena_driver *self, void **event)
{
    static char null_driver_event;
    (void)self;
    *event = &null_driver_event;
    return GPUARENA_STATUS_DONE;
}

/* All other entries. */
static int null_driver_done(const gpuarena_driver *behind, ...)
{
    (void)behind;
    return GPUARENA_STATUS_DONE;
}

#define NULL_DRIVER_ENTRY(group, name, names) \
    static int null_driver_##group##_##name ENTRY_##group##_##name \
    { \
        const gpuarena_driver *behind = self; \
        return null_driver_done names; \
    }
ENTRIES_MEMORY(NULL_DRIVER_ENTRY)
ENTRIES_VM(NULL_DRIVER_ENTRY)
ENTRIES_EVENTS(NULL_DRIVER_ENTRY)

/* Fills in a device of 256 GiB, always free, with virtual memory in pages of 2 MiB, and with events that are done as
   soon as they are recorded. Any number of threads may use it. Each address is given out once in a process. They
   start at the same address in every run, so that two runs of a program see equal ones. */
static void null_driver_fill(gpuarena_driver *driver)
{
    memset(driver, 0, sizeof *driver);
    driver->page_bytes = NULL_DRIVER_PAGE;
#define X(group, name, names) driver->group.name = null_driver_##group##_##name;
    ENTRIES_MEMORY(X)
    ENTRIES_VM(X)
    ENTRIES_EVENTS(X)
#undef X
    driver->memory.info = null_driver_info;
    driver->memory.obtain = null_driver_obtain;
    driver->vm.reserve = null_driver_reserve;
    driver->vm.create = null_driver_create;
    driver->events.create = null_driver_event;
}

/* ---- The table */

#define CASES_GIB ((uint64_t)1 << 30)

const cases_row cases_rows[] = {
    { "random 16", CASES_WARM, 16, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "random 1000", CASES_WARM, 1000, 0, 1, 1, CASES_CUB, "<= 0.1667", 1, "random 1000 instructions", "<= 470" },
    { "random 20000", CASES_WARM, 20000, 0, 1, 1, CASES_CUB, "<= 0.125", 0, NULL, NULL },
    { "cold 16", CASES_COLD, 16, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "cold 1000", CASES_COLD, 1000, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "cold 20000", CASES_COLD, 20000, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "4 KiB", CASES_WARM, 1000, 4096, 1, 1, CASES_MUTEX, "<= 1.4", 1, "4 KiB instructions", NULL },
    { "1 GiB", CASES_WARM, 16, CASES_GIB, 1, 1, CASES_SMALL, NULL, 0, NULL, NULL },
    { "2 threads 2 streams", CASES_CROWD, 1000, 0, 2, 2, CASES_ONE_THREAD, ">= 1.6", 0, NULL, NULL },
    { "4 threads 1 stream", CASES_CROWD, 1000, 0, 4, 1, CASES_ONE_THREAD, ">= 0.8", 0, NULL, NULL },
    { .name = NULL },
};

const char *cases_other_name(cases_other other)
{
    static const char *const names[] = { "cub-library", "two mutex pairs", "1 KiB", "one thread" };
    return names[other];
}

/* A ratio as rows show it, with 4 decimals. */
static double cases_shown(double ratio)
{
    char text[64];
    snprintf(text, sizeof text, "%.4f", ratio);
    return strtod(text, NULL);
}

const char *cases_met(const char *target, double exact_low, double exact_high)
{
    double bound = strtod(target + 3, NULL), low = cases_shown(exact_low), high = cases_shown(exact_high);
    if (target[0] == '<') return high <= bound ? "yes" : low > bound ? "no" : "unclear";
    return low >= bound ? "yes" : high < bound ? "no" : "unclear";
}

/* ---- Log-uniform sizes */

void sizes_draw(uint64_t *sizes, size_t count, uint64_t seed)
{
    uint64_t random = seed;
    for (size_t index = 0; index < count; index++) {
        double part = (double)(splitmix64_next(&random) >> 11) / 9007199254740992.0;         /* 2^53: below 1 */
        sizes[index] = (uint64_t)exp2(8.0 + 12.0 * part);
    }
}

/* ---- Opening, closing, verifying */

const char *subject_name(subject_kind kind)
{
    static const char *const names[] = { "segments", "paged", "cub-library", "mutex" };
    return names[kind];
}

int subject_open(subject *self, subject_kind kind, problem *why)
{
    gpuarena_driver driver;
    gpuarena_config config = GPUARENA_INIT;
    *self = (subject){ .kind = kind };
    if (pthread_mutex_init(&self->mutex, NULL)) return problem_set(why, EXIT_HARNESS, "no mutex");
    if (kind == SUBJECT_MUTEX) return 0;
    if (kind == SUBJECT_CUB) {
        self->rival = rival_open_null(why);
        return self->rival ? 0 : -1;
    }
    null_driver_fill(&driver);
    config.driver = &driver;
    config.environment = "";
    config.limit_bytes = SUBJECT_LIMIT_BYTES;
    config.backing = kind == SUBJECT_PAGED ? GPUARENA_BACKING_PAGED : GPUARENA_BACKING_SEGMENTS;
    gpuarena_result result = gpuarena_create(&config, &self->arena);
    if (!result) return 0;
    return problem_set(why, EXIT_HARNESS, "%s: no arena: %s", subject_name(kind), gpuarena_result_name(result));
}

void subject_close(subject *self)
{
    rival_close(self->rival);
    if (self->arena) {
        (void)gpuarena_reset(self->arena, NULL);
        (void)gpuarena_destroy(self->arena);
    }
    (void)pthread_mutex_destroy(&self->mutex);
}

int subject_verify(const subject *self, uint64_t live_count, problem *why)
{
    gpuarena_stats now;
    char message[256];
    const char *name = subject_name(self->kind);
    if (!self->arena) return 0;
    gpuarena_get_stats(self->arena, &now);
    if (now.requested_bytes + now.slack_bytes != now.live_bytes
        || now.live_bytes + now.pending_bytes + now.cached_bytes != now.reserved_bytes) {
        return problem_set(why, EXIT_VERIFY, "%s: bytes do not sum", name);
    }
    if (now.reserved_peak_bytes > SUBJECT_LIMIT_BYTES) {
        return problem_set(why, EXIT_VERIFY, "%s: %" PRIu64 " bytes reserved, above the limit", name,
                           now.reserved_peak_bytes);
    }
    if (now.live_count != live_count) {
        return problem_set(why, EXIT_VERIFY, "%s: %" PRIu64 " blocks live, expected %" PRIu64, name, now.live_count,
                           live_count);
    }
    if (!gpuarena_check(self->arena, message, sizeof message)) return 0;
    return problem_set(why, EXIT_VERIFY, "%s: %s", name, message);
}

/* ---- The loop, and the clock around it */

/* subject_alloc and subject_free return 0 on success. With the mutex alone, each is a lock and an unlock, because
   each call of an allocator takes its lock once. They are inline, so that they add only the choice of the subject. */
static inline int subject_lock(subject *self)
{
    return pthread_mutex_lock(&self->mutex) || pthread_mutex_unlock(&self->mutex);
}

static inline int subject_alloc(subject *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    if (self->arena) return gpuarena_alloc(self->arena, ptr, bytes, stream);
    if (self->rival) return self->rival->calls->alloc(self->rival->library, ptr, bytes, stream);
    return subject_lock(self);
}

static inline int subject_free(subject *self, void *ptr, gpuarena_stream stream)
{
    if (self->arena) return gpuarena_free(self->arena, ptr, stream);
    if (self->rival) return self->rival->calls->free(self->rival->library, ptr);
    return subject_lock(self);
}

static uint64_t pairs_next_bytes(pairs *self)
{
    return self->sizes[self->at++ % PAIRS_SIZES];
}

void pairs_close(pairs *self)
{
    free(self->blocks);
    self->blocks = NULL;
}

/* Chooses a random block. One multiplication is enough: the harness must cost little beside the calls it measures. */
static inline void **pairs_choose(pairs *self)
{
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return &self->blocks[(self->random >> 32) * self->live >> 32];
}

static inline void pairs_replace(pairs *self, void **block, void *freed, uint64_t bytes)
{
    self->failed |= subject_free(self->on, freed, self->stream);
    self->failed |= subject_alloc(self->on, block, bytes, self->stream);
}

void pairs_run(pairs *self, uint64_t count)
{
    for (uint64_t done = 0; done < count; done++) {
        void **block = pairs_choose(self);
        pairs_replace(self, block, *block, pairs_next_bytes(self));
    }
}

void pairs_counted(pairs *self, uint64_t count)
{
    pairs_run(self, count);
}

/* Nanoseconds of a pair, measured over many in one go, after some to warm up. */
static double pairs_warm_ns(pairs *self, uint64_t count)
{
    pairs_run(self, count / 4);
    uint64_t begin_ns = rounds_clock_ns();
    pairs_run(self, count);
    return (double)(rounds_clock_ns() - begin_ns) / (double)count;
}

/* Nanoseconds of a pair, measured one by one, each after PAIRS_COLD_BYTES were touched to empty the caches. The
   harness's own data, the clock's included, is warm again when the pair begins. The clock is progress_clock_ns, which
   costs little, because reading it is part of the pair. */
static double pairs_cold_ns(pairs *self, uint64_t count)
{
    static volatile unsigned char cold[PAIRS_COLD_BYTES];
    uint64_t total_ns = 0;
    for (uint64_t done = 0; done < count; done++) {
        for (size_t at = 0; at < PAIRS_COLD_BYTES; at += 64) cold[at]++;
        void **block = pairs_choose(self), *freed = *block;
        uint64_t bytes = pairs_next_bytes(self);
        (void)progress_clock_ns();
        uint64_t begin_ns = progress_clock_ns();
        pairs_replace(self, block, freed, bytes);
        total_ns += progress_clock_ns() - begin_ns;
    }
    return (double)total_ns / (double)count;
}

/* ---- On a thread of its own, and on several threads at once */

static void pairs_fill(void *user)
{
    pairs *self = user;
    for (uint32_t index = 0; index < self->live && !self->failed; index++) {
        self->failed = subject_alloc(self->on, &self->blocks[index], pairs_next_bytes(self), self->stream);
    }
    if (!self->failed) pairs_run(self, PAIRS_WARM);
}

int pairs_open(pairs *self, subject *on, uint32_t live, uint64_t bytes, gpuarena_stream stream, uint64_t seed,
               int is_apart, problem *why)
{
    uint64_t unused_ns;
    *self = (pairs){ .on = on, .stream = stream, .live = live, .random = seed };
    if (!bytes) sizes_draw(self->sizes, PAIRS_SIZES, seed);
    for (size_t index = 0; bytes && index < PAIRS_SIZES; index++) self->sizes[index] = bytes;
    self->blocks = program_need(live, sizeof *self->blocks);
    if (!is_apart) pairs_fill(self);
    else if (crowd_run(NULL, pairs_fill, self, 1, sizeof *self, &unused_ns, why)) return -1;
    if (!self->failed) return 0;
    return problem_set(why, EXIT_HARNESS, "%s: block refused: %d", subject_name(on->kind), self->failed);
}

/* Gives each thread a processor of its own, if this program may use enough processors. A scheduler could leave two
   threads on one processor for a whole lap. */
static void pairs_pin(const pairs *self)
{
    cpu_set_t allowed, own;
    size_t processor = 0, before = self->number;
    if (sched_getaffinity(0, sizeof allowed, &allowed) || (size_t)CPU_COUNT(&allowed) < self->crowd_count) return;
    while (!CPU_ISSET(processor, &allowed) || before--) processor++;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    (void)sched_setaffinity(0, sizeof own, &own);
}

/* Warms up with a tenth of the pairs. */
static void pairs_warm_lap(void *user)
{
    pairs *self = user;
    pairs_pin(self);
    pairs_run(self, self->lap / 10);
}

static void pairs_lap(void *user)
{
    pairs *self = user;
    pairs_run(self, self->lap);
}

int pairs_crowd_ns(pairs *crowd, size_t count, uint64_t each, double *ns, problem *why)
{
    uint64_t span_ns = 0;
    for (size_t index = 0; index < count; index++) {
        crowd[index].lap = each;
        crowd[index].number = index;
        crowd[index].crowd_count = count;
    }
    if (crowd_run(pairs_warm_lap, pairs_lap, crowd, count, sizeof *crowd, &span_ns, why)) return -1;
    *ns = (double)span_ns / (double)(each * count);
    return 0;
}

/* ---- Lanes, and rounds over them */

enum { STAGE_SMALL_BYTES = 1024 };

typedef struct stage_length { size_t warm, least, most; uint64_t pairs; } stage_length;
static const stage_length stage_lengths[] = {
    [CASES_WARM] = { 2, 25, ROUNDS_MOST_COUNT, 8192 }, [CASES_COLD] = { 2, 25, 101, 24 },
    [CASES_CROWD] = { 1, 11, 31, 40000 },
};

static int stage_open_lane(stage *self, subject_kind kind, uint64_t bytes, uint64_t seed, problem *why)
{
    static char handles[CASES_MOST_THREADS];     /* of streams: no call of the null device looks behind them */
    stage_lane *lane = &self->lanes[self->lane_count++];
    problem trouble = { 0, "" };
    if (subject_open(&lane->on, kind, &trouble)) {
        return trouble.exit_code == EXIT_NO_DEVICE ? 0 : problem_set(why, trouble.exit_code, "%s", trouble.text);
    }
    lane->members = self->row->threads;
    lane->crowd = program_need(lane->members, sizeof *lane->crowd);
    for (size_t index = 0; index < lane->members; index++) {
        gpuarena_stream stream = (gpuarena_stream)(void *)&handles[index % self->row->streams];
        if (pairs_open(&lane->crowd[index], &lane->on, self->row->live, bytes, stream, seed + index,
                       lane->members > 1, why)) return -1;
    }
    return 0;
}

/* Opens a lane for each kind of arena, and lanes for the subjects they are compared with. */
int stage_open(stage *self, const cases_row *row, uint64_t seed, problem *why)
{
    *self = (stage){ .row = row, .rounds = { .random = seed } };
    for (int kind = 0; kind < STAGE_ARENAS; kind++) {
        if (stage_open_lane(self, (subject_kind)kind, row->bytes, seed, why)) return -1;
    }
    if (row->other == CASES_CUB) return stage_open_lane(self, SUBJECT_CUB, row->bytes, seed, why);
    if (row->other == CASES_MUTEX) return stage_open_lane(self, SUBJECT_MUTEX, row->bytes, seed, why);
    for (int kind = 0; kind < STAGE_ARENAS; kind++) {
        const stage_lane one_thread = { .crowd = self->lanes[kind].crowd, .members = 1, .is_borrowed = 1 };
        if (row->other == CASES_ONE_THREAD) self->lanes[self->lane_count++] = one_thread;
        else if (stage_open_lane(self, (subject_kind)kind, STAGE_SMALL_BYTES, seed, why)) return -1;
    }
    return 0;
}

void stage_close(stage *self)
{
    for (stage_lane *lane = self->lanes; lane < self->lanes + self->lane_count; lane++) {
        if (lane->is_borrowed) continue;
        for (size_t member = 0; lane->crowd && member < lane->members; member++) pairs_close(&lane->crowd[member]);
        free(lane->crowd);
        subject_close(&lane->on);
    }
}

static int stage_measure_lane(void *user, size_t index, size_t round, problem *why)
{
    stage *self = user;
    stage_lane *lane = &self->lanes[index];
    double *ns = &lane->ns[round];
    if (!lane->crowd) return 0;
    switch (self->row->way) {
    case CASES_WARM:  *ns = pairs_warm_ns(lane->crowd, self->pair_count); break;
    case CASES_COLD:  *ns = pairs_cold_ns(lane->crowd, self->pair_count); break;
    case CASES_CROWD: return pairs_crowd_ns(lane->crowd, lane->members, self->pair_count, ns, why);
    }
    return 0;
}

const stage_lane *stage_other(const stage *self, size_t arena)
{
    return &self->lanes[self->lane_count == STAGE_LANES ? STAGE_ARENAS + arena : STAGE_ARENAS];
}

rounds_interval stage_ratio(const stage *self, size_t arena)
{
    const stage_lane *mine = &self->lanes[arena], *other = stage_other(self, arena);
    if (!other->crowd) return rounds_value(&self->rounds, mine->ns);
    if (self->row->other == CASES_ONE_THREAD) return rounds_ratio(&self->rounds, other->ns, mine->ns);
    return rounds_ratio(&self->rounds, mine->ns, other->ns);
}

static double stage_worst_share(void *user)
{
    const stage *self = user;
    double worst = 0.0;
    for (size_t arena = 0; arena < STAGE_ARENAS; arena++) {
        double share = rounds_share(stage_ratio(self, arena));
        if (share > worst) worst = share;
    }
    return worst;
}

int stage_measure(stage *self, int is_quick, const rounds_length *limits, problem *why)
{
    static const stage_length quick = { 1, 3, 3, 16 };
    const stage_length *shape = is_quick ? &quick : &stage_lengths[self->row->way];
    self->rounds.length = (rounds_length){ shape->warm, shape->least, shape->most,
                                           is_quick ? 0.0 : limits->precision, limits->budget_ns };
    self->pair_count = shape->pairs;
    return rounds_run(&self->rounds, self->lane_count, stage_measure_lane, stage_worst_share, self, why);
}

/* pairs_counted is called through a volatile pointer, so that it is never inlined: callgrind looks for its name. */
void stage_count(stage *self)
{
    void (*volatile counted)(pairs *one, uint64_t count) = pairs_counted;
    for (size_t index = 0; index < self->lane_count; index++) {
        if (self->lanes[index].crowd) counted(self->lanes[index].crowd, STAGE_COUNTED_PAIRS);
    }
}

int stage_verify(const stage *self, problem *why)
{
    for (const stage_lane *lane = self->lanes; lane < self->lanes + self->lane_count; lane++) {
        int failed = 0;
        for (size_t member = 0; lane->crowd && member < lane->members; member++) {
            failed |= lane->crowd[member].failed;
        }
        if (failed) return problem_set(why, EXIT_VERIFY, "%s: a call failed", self->row->name);
        if (!lane->is_borrowed && lane->crowd
            && subject_verify(&lane->on, (uint64_t)self->row->live * lane->members, why)) return -1;
    }
    return 0;
}

/* ---- Pairs among free blocks */

ARRAY_ORDER(holes_by_address, device_range, ->address)

/* 0; 1: refused; -1 and a problem: anything else. */
static int holes_result(holes_field *self, gpuarena_result result, problem *why)
{
    if (!result) return 0;
    pool_last_refusal(&self->pool, &self->refusal);
    if (result == GPUARENA_OUT_OF_MEMORY) return 1;
    return problem_set(why, EXIT_HARNESS, "making holes: %s: %s", gpuarena_result_name(result), self->refusal.text);
}

/* Allocates blocks and frees every second one by address, so that a live block lies between two free ones. */
static int holes_fill(holes_field *self, uint64_t holes, uint64_t seed, problem *why)
{
    const size_t count = (size_t)(2 * holes);
    uint64_t *sizes = program_need(count, sizeof *sizes);
    device_range *blocks = program_need(count, sizeof *blocks);
    int failed = 0;
    sizes_draw(sizes, count, seed);
    for (size_t at = 0; at < count && !failed; at++) {
        void *ptr = NULL;
        failed = holes_result(self, pool_alloc(&self->pool, &ptr, sizes[at], NULL), why);
        blocks[at] = (device_range){ (uintptr_t)ptr, sizes[at] };
    }
    if (!failed) qsort(blocks, count, sizeof *blocks, holes_by_address);
    for (size_t at = 0; at < count && !failed; at += 2) {
        void *ptr = (void *)(uintptr_t)blocks[at].address;
        failed = holes_result(self, pool_free(&self->pool, ptr, blocks[at].bytes, NULL), why);
    }
    for (size_t index = 0; !failed && index < HOLES_SIZES; index++) {
        self->sizes[index] = blocks[2 * splitmix64_below(&seed, holes)].bytes;
    }
    free(blocks);
    free(sizes);
    return failed;
}

int holes_open(holes_field *self, const device_config *config, const policy *chosen, uint64_t holes, uint64_t seed,
               problem *why)
{
    memset(self, 0, sizeof *self);
    self->device = device_open(config, why);
    if (!self->device) return -1;
    if (pool_open(&self->pool, chosen, self->device, why)) {
        memset(&self->pool, 0, sizeof self->pool);
        return -1;
    }
    return holes_fill(self, holes, seed, why);
}

int holes_close(holes_field *self, problem *why)
{
    if (self->device) pool_close(&self->pool);
    int failed = device_close(self->device, why);
    self->device = NULL;
    return failed;
}

void holes_pairs(holes_field *self, uint64_t count)
{
    for (uint64_t done = 0; done < count; done++) {
        uint64_t bytes = self->sizes[self->at++ % HOLES_SIZES];
        void *ptr = NULL;
        gpuarena_result taken = pool_alloc(&self->pool, &ptr, bytes, NULL);
        gpuarena_result given = pool_free(&self->pool, ptr, bytes, NULL);
        if (!self->failed) self->failed = taken ? taken : given;
    }
}

void holes_counted(holes_field *self, uint64_t count)
{
    holes_pairs(self, count);
}

/* ---- One run under callgrind, which writes a part for each call of the function and one for the end, each with a
        line `summary: N` */

enum { CALLGRIND_ABSENT = 127 };                 /* a shell's exit code if there is no such program */

int callgrind_count(const char *line, const char *function, uint64_t *instructions, size_t count, problem *why)
{
    char read[256], *command;
    size_t parts = 0, length;
    FILE *text = program_stream(&command, &length);
    fprintf(text, "exec valgrind --tool=callgrind --collect-atstart=no --toggle-collect=%s --dump-after=%s "
            "--combine-dumps=yes --callgrind-out-file=/dev/fd/3 %s 3>&1 </dev/null >/dev/null 2>&1", function,
            function, line);
    fclose(text);
    FILE *run = popen(command, "r");             /* unlike system(), it leaves the caller's signals alone */
    free(command);
    while (run && fgets(read, sizeof read, run)) {
        uint64_t counted;
        if (sscanf(read, "summary: %" SCNu64, &counted) == 1 && parts++ < count) instructions[parts - 1] = counted;
    }
    int status = run ? pclose(run) : -1;
    if (status == -1) return problem_set(why, EXIT_HARNESS, "valgrind: cannot be run: %s", strerror(errno));
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code == CALLGRIND_ABSENT) return 1;
    if (code) return problem_set(why, EXIT_HARNESS, "under callgrind it ended with status %d", code);
    if (parts == count + 1) return 0;
    return problem_set(why, EXIT_HARNESS, "callgrind counted %zu calls, expected %zu", parts ? parts - 1 : 0, count);
}
