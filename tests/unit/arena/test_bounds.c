/* Bounds of single calls, counted: functions of the header that are called, inlined ones too, and bytes that it
   moves. A call that takes O(log n) takes hardly more at 16 times as many blocks, or segments; n calls hardly more
   each. It must not test the effects of calls. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static uint64_t steps;                           /* functions called, and cache lines moved by memmove */
void __cyg_profile_func_enter(void *function, void *site) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *function, void *site) __attribute__((no_instrument_function));
void __cyg_profile_func_enter(void *function, void *site) { (void)function; (void)site; steps++; }
void __cyg_profile_func_exit(void *function, void *site) { (void)function; (void)site; }

#include <string.h>
#define memmove(to, from, bytes) (steps += (bytes) / 64, memmove((to), (from), (bytes)))
#define GPUARENA_STATIC
#include "gpuarena.h"
#include "tap.h"
#undef memmove

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)

enum { FEW = 1000, MANY = 16 * FEW, PARTS = 5 };

/* ---- a device with any number of segments and handles, which keeps no books, and is done with all work at once */

static struct {
    gpuarena_driver table;
    uint64_t next, count;                        /* the next address, which rises or falls; the number of all
                                                    addresses */
    int falling, refuses;
} device;

static int bare_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)self, (void)kind;
    *free_bytes = *total_bytes = (uint64_t)1 << 48;
    return GPUARENA_STATUS_DONE;
}

static int bare_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                       gpuarena_stream stream)
{
    (void)self, (void)kind, (void)stream;
    if (device.falling) device.next -= bytes;
    *ptr = (void *)(uintptr_t)device.next;
    if (!device.falling) device.next += bytes;
    device.count++;
    return GPUARENA_STATUS_DONE;
}

static int bare_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                          gpuarena_stream stream)
{
    (void)self, (void)kind, (void)ptr, (void)bytes, (void)stream;
    if (device.refuses) return GPUARENA_STATUS_FAILED;
    device.count--;
    return GPUARENA_STATUS_DONE;
}

static int bare_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    (void)alignment;
    return bare_obtain(self, GPUARENA_MEMORY_DEVICE, address, bytes, NULL);
}

static int bare_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    return bare_give_back(self, GPUARENA_MEMORY_DEVICE, address, bytes, NULL);
}

static int bare_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    (void)self, (void)bytes, (void)traits;
    *page = ++device.count;
    return GPUARENA_STATUS_DONE;
}

static int bare_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    (void)page;
    return bare_give_back(self, GPUARENA_MEMORY_DEVICE, NULL, bytes, NULL);
}

static int bare_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    return (void)self, (void)address, (void)bytes, (void)page, GPUARENA_STATUS_DONE;
}

static int bare_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    return bare_map(self, address, bytes, mode);
}

static int bare_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    return bare_map(self, address, bytes, 0);
}

static int done_event(const gpuarena_driver *self, void *event)
{
    return (void)self, (void)event, GPUARENA_STATUS_DONE;
}

static int done_create(const gpuarena_driver *self, void **event)
{
    *event = &device;
    return done_event(self, NULL);
}

static int done_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    return (void)stream, done_event(self, event);
}

static int done_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    return (void)stream, done_event(self, event);
}

static int done_device_wait(const gpuarena_driver *self) { return done_event(self, NULL); }

/* ---- counts of steps */

static gpuarena *arena;
static void *blocks[MANY];

/* The steps of a call, which must have this result. */
#define STEPS(call, answer) (steps = 0, judge_answer((call), (answer), #call), steps)

static void judge_answer(gpuarena_result result, gpuarena_result answer, const char *call)
{
    uint64_t taken = steps;
    CHECK_MSG(result == answer, "%s: %s", call, gpuarena_result_name(result));
    steps = taken;
}

static void open_arena(const char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    const gpuarena_driver table = {
        .page_bytes = MIB(2), .memory = { bare_info, bare_obtain, bare_give_back },
        .vm = { bare_reserve, bare_release, bare_create, bare_destroy, bare_map, bare_access, bare_unmap },
        .events = { done_create, done_event, done_record, done_event, done_event, done_stream_wait, done_device_wait }
    };
    memset(&device, 0, sizeof device);
    device.table = table;
    device.next = (uint64_t)1 << 45;
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    config.driver = &device.table;
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
}

static uint64_t close_arena(void)
{
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    uint64_t taken = STEPS(gpuarena_destroy(arena), GPUARENA_OK);
    CHECK_MSG(device.count == 0, "all is given back");
    return taken;
}

static gpuarena_stream stream_of(int at) { return (gpuarena_stream)(intptr_t)(16 * (1 + at % 3)); }

static void *take(uint64_t bytes, gpuarena_stream stream)
{
    void *ptr = NULL;
    if (gpuarena_alloc(arena, &ptr, bytes, stream)) printf("Bail out! an allocation failed\n"), exit(1);
    return ptr;
}

static void drop(void *ptr, gpuarena_stream stream)
{
    if (gpuarena_free(arena, ptr, stream)) printf("Bail out! a free failed\n"), exit(1);
}

/* Calls of one kind take no more than this share more at MANY than at FEW. */
static void judge(uint64_t few, uint64_t many, double most, const char *what)
{
    CHECK_MSG(few && (double)many <= (double)few * most, "%s: %" PRIu64 " steps at %d, %" PRIu64 " at %d", what, few,
              FEW, many, MANY);
}

/* ---- free blocks of one class, each between live ones, and one that is longer: of an arena that has no others.
        A request that the longer one alone fits, which is not in a slot; and one that none fits. */

static uint64_t pair_steps(int count, uint64_t bytes, gpuarena_result expected)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    open_arena("backing=segments,growth=step,step=4G");
    for (int at = 0; at <= count; at++) {
        blocks[at] = take(at < count ? KIB(64) : KIB(64) + 512, NULL);
        (void)take(256, NULL);
    }
    for (int at = 0; at <= count; at++) drop(blocks[at], NULL);
    request.flags = GPUARENA_ALLOC_TRY;
    for (request.bytes = MIB(64); request.bytes > KIB(64); request.bytes /= 2)       /* the rest of the segment */
        while (gpuarena_can_alloc(arena, &request) == GPUARENA_OK) (void)take(request.bytes, NULL);
    for (request.bytes = KIB(64) + 768; gpuarena_can_alloc(arena, &request) == GPUARENA_OK;)
        (void)take(request.bytes, NULL);
    request.bytes = bytes;
    uint64_t taken = STEPS(gpuarena_alloc_ex(arena, &ptr, &request), expected);
    if (ptr) taken += STEPS(gpuarena_free(arena, ptr, NULL), GPUARENA_OK);
    (void)close_arena();
    return taken;
}

static void test_class(void)
{
    static const struct { uint64_t bytes; gpuarena_result result; const char *name; } rows[] = {
        { KIB(64) + 512, GPUARENA_OK, "a pair whose class has one block that fits" },
        { KIB(64) + 768, GPUARENA_OUT_OF_MEMORY, "a refusal where none of the class fits" } };
    for (int at = 0; at < 2; at++)
        judge(pair_steps(FEW, rows[at].bytes, rows[at].result), pair_steps(MANY - 1, rows[at].bytes, rows[at].result),
              2, rows[at].name);
}

/* ---- growth of paged memory, beside free blocks that are less than a page, each between live ones */

static uint64_t growth_cost(int count)
{
    gpuarena_stats before, after;
    open_arena("backing=paged,limit=256G,idle=100%");
    for (int at = 0; at < count; at++) {
        blocks[at] = take(KIB(512), NULL);
        (void)take(KIB(512), NULL);
    }
    for (int at = 0; at < count; at++) drop(blocks[at], NULL);
    gpuarena_get_stats(arena, &before);
    steps = 0;
    for (int at = 0; at < 16; at++) (void)take(MIB(4), NULL);
    uint64_t taken = steps;
    gpuarena_get_stats(arena, &after);
    CHECK_U64(after.reserved_bytes - before.reserved_bytes, >=, MIB(4 * 15));
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    (void)close_arena();
    return taken;
}

/* ---- figures, where free blocks of several streams lie side by side */

static uint64_t figures_cost(int count)
{
    gpuarena_stats stats, walked;
    open_arena("backing=segments,growth=step,step=4G");
    for (int at = 0; at < count; at++) blocks[at] = take(KIB(64), stream_of(at));
    for (int at = 0; at < count; at++) drop(blocks[at], stream_of(at));
    uint64_t taken = STEPS((gpuarena_get_stats(arena, &stats), GPUARENA_OK), GPUARENA_OK);
    gpuarena_walk_stats(arena, &walked);
    CHECK_U64(stats.largest_free_bytes, ==, 0);
    stats.largest_free_bytes = walked.largest_free_bytes;
    CHECK_U64(walked.largest_free_bytes, ==, walked.reserved_bytes);
    CHECK_MSG(memcmp(&stats, &walked, sizeof stats) == 0, "walk_stats adds one figure to get_stats");
    (void)close_arena();
    return taken;
}

/* ---- segments: one a block. Of n calls each takes O(log n): 16 times as many take less than 40 times as much. */

static void segments_cost(int count, int falling, uint64_t taken[PARTS])
{
    gpuarena_stats stats;
    open_arena("backing=segments,growth=exact");
    device.falling = falling;
    steps = 0;
    for (int at = 0; at < count; at++) blocks[at] = take(MIB(2 + at % 7 * 2), NULL);
    taken[0] = steps;
    for (int at = 0; at < count; at++) drop(blocks[at], NULL);
    taken[1] = STEPS((gpuarena_get_stats(arena, &stats), GPUARENA_OK), GPUARENA_OK);
    CHECK_U64(device.count, ==, (uint64_t)count);
    taken[2] = STEPS(gpuarena_trim(arena, stats.reserved_bytes * 2 / 3, NULL), GPUARENA_OK);
    taken[3] = STEPS(gpuarena_set_limit(arena, stats.reserved_bytes / 3), GPUARENA_OK);
    taken[4] = close_arena();
}

static void test_segments(int falling)
{
    static const struct { const char *name; double most; } parts[PARTS] = {
        { "growth", 40 }, { "get_stats", 1.5 }, { "trim", 40 }, { "set_limit", 40 }, { "destroy", 40 } };
    uint64_t few[PARTS], many[PARTS];
    char name[64];
    segments_cost(FEW, falling, few);
    segments_cost(MANY, falling, many);
    for (int at = 0; at < PARTS; at++) {
        snprintf(name, sizeof name, "%s, addresses %s", parts[at].name, falling ? "fall" : "rise");
        judge(few[at], many[at], parts[at].most, name);
    }
}

/* Segments that the driver refuses to take are each looked at once. A loop that calls no function makes no step, so
   this is the processor's time, against that of a release of all of them. */
static void test_refused(void)
{
    gpuarena_stats stats;
    open_arena("backing=segments,growth=exact");
    for (int at = 0; at < MANY; at++) blocks[at] = take(MIB(2), NULL);
    for (int at = 0; at < MANY; at++) drop(blocks[at], NULL);
    gpuarena_get_stats(arena, &stats);
    device.refuses = 1;
    clock_t begin = clock();
    CHECK_INT(gpuarena_trim(arena, stats.reserved_bytes - MIB(2), NULL), ==, GPUARENA_DRIVER_ERROR);
    clock_t refused = clock() - begin;
    CHECK_U64(device.count, ==, (uint64_t)MANY);
    device.refuses = 0;
    begin = clock();
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    clock_t released = clock() - begin;
    CHECK_MSG(refused <= 10 * released, "%d segments are refused in %ld ticks, released in %ld", MANY, (long)refused,
              (long)released);
    (void)close_arena();
}

/* ---- calls that pass over free memory: each looks at no more of it than it needs */

/* Idle handles of several pages, of one size, that all go back: of a quarter as many blocks, each with eight. */
static uint64_t trim_cost(int count)
{
    count /= 4;
    open_arena("backing=paged,idle=100%");
    for (int at = 0; at < count; at++) blocks[at] = take(MIB(32), NULL);
    CHECK_U64(device.count, <, (uint64_t)count * 16);
    for (int at = 0; at < count; at++) drop(blocks[at], NULL);
    uint64_t taken = STEPS(gpuarena_trim(arena, 0, NULL), GPUARENA_OK);
    CHECK_U64(device.count, <=, 4);              /* ranges of addresses */
    (void)close_arena();
    return taken;
}

/* A free above a lowered limit, on the arena's only stream, which makes no page idle. */
static uint64_t over_limit_cost(int count)
{
    open_arena("backing=paged,limit=256G");
    for (int at = 0; at < 2 * count; at++) blocks[at % MANY] = take(KIB(512), NULL);
    for (int at = 0; at < count; at += 2) drop(blocks[at], NULL);
    CHECK_INT(gpuarena_set_limit(arena, MIB(64)), ==, GPUARENA_OK);
    uint64_t taken = STEPS(gpuarena_free(arena, blocks[count / 2 + 1], NULL), GPUARENA_OK);
    (void)close_arena();
    return taken;
}

/* A resize by a page, where holes and free blocks lie behind the block by turns. */
static uint64_t resize_cost(int count)
{
    open_arena("backing=paged,idle=100%");
    for (int at = 0; at < count; at++) blocks[at] = take(MIB(4), NULL);
    for (int at = 1; at < count; at += 2) drop(blocks[at], NULL);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    for (int at = 2; at < count; at += 2) drop(blocks[at], NULL);
    uint64_t taken = STEPS(gpuarena_resize(arena, blocks[0], MIB(6), NULL), GPUARENA_OK);
    (void)close_arena();
    return taken;
}

int main(void)
{
    test_class();
    judge(growth_cost(FEW), growth_cost(MANY), 1.5, "growth beside free blocks");
    judge(figures_cost(FEW), figures_cost(MANY), 1.0, "get_stats with three streams");
    test_segments(0);
    test_segments(1);
    test_refused();
    judge(trim_cost(FEW), trim_cost(MANY), 40, "trim of large handles");
    judge(over_limit_cost(FEW), over_limit_cost(MANY), 1.5, "a free above a lowered limit");
    judge(resize_cost(FEW), resize_cost(MANY), 1.5, "a resize in place");
    return tap_done();
}
