/* Bounds of single calls, counted: functions of the header that are called, inlined ones too, and bytes that it
   moves. A call that takes O(log n) takes hardly more at 16 times as many blocks, or segments; n calls hardly more
   each. It must not test what the calls do. */
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
#include "section.h"
#undef memmove

enum { FEW = 1000, MANY = 16 * FEW, SEPARATORS = 2 };

/* Of a device with any number of segments, which keeps no books. Addresses rise, or fall. */
typedef struct bare_device {
    gpuarena_driver table;
    uint64_t next, count, obtained;
    int falling, refuses;
} bare_device;

static int bare_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)self;
    (void)kind;
    *free_bytes = *total_bytes = (uint64_t)1 << 48;
    return 0;
}

static int bare_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                       gpuarena_stream stream)
{
    bare_device *device = self->user;
    (void)kind;
    (void)stream;
    if (device->falling) device->next -= bytes;
    *ptr = (void *)(uintptr_t)device->next;
    if (!device->falling) device->next += bytes;
    device->count++;
    device->obtained++;
    return 0;
}

static int bare_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                          gpuarena_stream stream)
{
    bare_device *device = self->user;
    (void)kind;
    (void)ptr;
    (void)bytes;
    (void)stream;
    if (device->refuses) return GPUARENA_STATUS_FAILED;
    device->count--;
    return 0;
}

/* Events of a device that is done with all work at once. */
static int done_create(const gpuarena_driver *self, void **event)
{
    static char event_of_all;
    (void)self;
    *event = &event_of_all;
    return GPUARENA_STATUS_DONE;
}

static int done_event(const gpuarena_driver *self, void *event)
{
    return (void)self, (void)event, GPUARENA_STATUS_DONE;
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

static bare_device device;
static gpuarena *arena;
static void *blocks[MANY * SEPARATORS];

static void open_arena(const char *text)
{
    char message[200];
    gpuarena_config config = GPUARENA_INIT;
    const gpuarena_driver table = {
        .memory = { bare_info, bare_obtain, bare_give_back },
        .events = { done_create, done_event, done_record, done_event, done_event, done_stream_wait, done_device_wait }
    };
    memset(&device, 0, sizeof device);
    device.table = table;
    device.next = (uint64_t)1 << 45;
    device.table.user = &device;
    (void)gpuarena_config_parse(text, &config, message, sizeof message);
    config.driver = &device.table;
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
}

static void close_arena(void)
{
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_MSG(device.count == 0, "all is given back");
}

static void *take(uint64_t bytes)
{
    void *ptr = NULL;
    if (gpuarena_alloc(arena, &ptr, bytes, NULL)) printf("Bail out! an allocation failed\n"), exit(1);
    return ptr;
}

static void drop(void *ptr)
{
    if (gpuarena_free(arena, ptr, NULL)) printf("Bail out! a free failed\n"), exit(1);
}

/* Calls of one kind take no more than this share more at MANY than at FEW. */
static void judge(uint64_t few, uint64_t many, double most, const char *what)
{
    CHECK_MSG(few && (double)many <= (double)few * most, "%s: %" PRIu64 " steps at %d, %" PRIu64 " at %d", what, few,
              FEW, many, MANY);
}

/* ---- free blocks of one class */

/* So many free blocks of a class, and one that is longer, each between live ones. */
static void scatter(int count)
{
    void *longer;
    for (int at = 0; at < count; at++) {
        blocks[at] = take(KIB(64));
        (void)take(256);
    }
    longer = take(KIB(64) + 512);
    (void)take(256);
    for (int at = 0; at < count; at++) drop(blocks[at]);
    drop(longer);
}

/* A request that one block of its class alone fits, which is not in a slot; and one that none fits. */
static uint64_t pair_steps(int count, uint64_t bytes, gpuarena_result expected)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    uint64_t taken;
    open_arena("backing=segments,growth=step,step=4G");
    scatter(count);
    request.flags = GPUARENA_ALLOC_TRY;
    for (request.bytes = MIB(64); request.bytes > KIB(64); request.bytes /= 2)       /* the rest of the segment */
        while (gpuarena_can_alloc(arena, &request) == GPUARENA_OK) (void)take(request.bytes);
    for (request.bytes = KIB(64) + 768; gpuarena_can_alloc(arena, &request) == GPUARENA_OK;)
        (void)take(request.bytes);
    request.bytes = bytes;
    steps = 0;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, expected);
    if (ptr) drop(ptr);
    taken = steps;
    close_arena();
    return taken;
}

static void test_class(void)
{
    judge(pair_steps(FEW, KIB(64) + 512, GPUARENA_OK), pair_steps(MANY, KIB(64) + 512, GPUARENA_OK), 2,
          "a pair whose class has one block that fits");
    judge(pair_steps(FEW, KIB(64) + 768, GPUARENA_OUT_OF_MEMORY),
          pair_steps(MANY, KIB(64) + 768, GPUARENA_OUT_OF_MEMORY),
          2, "a refusal where none of the class fits");
}

/* ---- figures, where free blocks of several streams lie side by side */

static uint64_t figures_cost(int count)
{
    gpuarena_stats stats, walked;
    uint64_t taken;
    int failed = 0;
    open_arena("backing=segments,growth=step,step=4G");
    for (int at = 0; at < count; at++) {
        failed += gpuarena_alloc(arena, &blocks[at], KIB(64), slot_stream(1 + at % 3)) != 0;
    }
    for (int at = 0; at < count; at++) failed += gpuarena_free(arena, blocks[at], slot_stream(1 + at % 3)) != 0;
    CHECK_MSG(!failed, "%d blocks of 3 streams", count);
    steps = 0;
    gpuarena_get_stats(arena, &stats);
    taken = steps;
    gpuarena_walk_stats(arena, &walked);
    CHECK_U64(stats.largest_free_bytes, ==, 0);
    stats.largest_free_bytes = walked.largest_free_bytes;
    CHECK_U64(walked.largest_free_bytes, ==, walked.reserved_bytes);
    CHECK_MSG(memcmp(&stats, &walked, sizeof stats) == 0, "walk_stats adds one figure to get_stats");
    close_arena();
    return taken;
}

static void test_figures(void)
{
    judge(figures_cost(FEW), figures_cost(MANY), 1.0, "get_stats with three streams");
}

/* ---- segments: one a block. Of n calls each takes O(log n): 16 times as many take less than 40 times as much. */

typedef struct costs { uint64_t growing, stats, trim, limit, destroy; } costs;

static costs segments_cost(int count, int falling)
{
    costs taken;
    gpuarena_stats stats;
    open_arena("backing=segments,growth=exact");
    device.falling = falling;
    steps = 0;
    for (int at = 0; at < count; at++) blocks[at] = take(MIB(2 + at % 7 * 2));
    taken.growing = steps;
    for (int at = 0; at < count; at++) drop(blocks[at]);
    steps = 0;
    gpuarena_get_stats(arena, &stats);
    taken.stats = steps;
    CHECK_U64(device.count, ==, (uint64_t)count);
    steps = 0;
    CHECK_INT(gpuarena_trim(arena, stats.reserved_bytes * 2 / 3, NULL), ==, GPUARENA_OK);
    taken.trim = steps;
    steps = 0;
    CHECK_INT(gpuarena_set_limit(arena, stats.reserved_bytes / 3), ==, GPUARENA_OK);
    taken.limit = steps;
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    steps = 0;
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    taken.destroy = steps;
    CHECK_MSG(device.count == 0, "all is given back");
    return taken;
}

static void test_segments(int falling)
{
    costs few = segments_cost(FEW, falling), many = segments_cost(MANY, falling);
    judge(few.growing, many.growing, 40, falling ? "growth, addresses fall" : "growth, addresses rise");
    judge(few.stats, many.stats, 1.5, "get_stats");
    judge(few.trim, many.trim, 40, "trim");
    judge(few.limit, many.limit, 40, "set_limit");
    judge(few.destroy, many.destroy, 40, "destroy");
}

/* Segments that the driver refuses to take are each looked at once. A loop that calls no function makes no step, so
   this is the processor's time, against that of a release of all of them. */
static void test_refused(void)
{
    gpuarena_stats stats;
    clock_t begin, refused, released;
    open_arena("backing=segments,growth=exact");
    for (int at = 0; at < MANY; at++) blocks[at] = take(MIB(2));
    for (int at = 0; at < MANY; at++) drop(blocks[at]);
    gpuarena_get_stats(arena, &stats);
    device.refuses = 1;
    begin = clock();
    CHECK_INT(gpuarena_trim(arena, stats.reserved_bytes - MIB(2), NULL), ==, GPUARENA_DRIVER_ERROR);
    refused = clock() - begin;
    CHECK_U64(device.count, ==, (uint64_t)MANY);
    device.refuses = 0;
    begin = clock();
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    released = clock() - begin;
    CHECK_MSG(refused <= 10 * released, "%d segments are refused in %ld ticks, released in %ld", MANY, (long)refused,
              (long)released);
    close_arena();
}

int main(void)
{
    test_class();
    test_figures();
    test_segments(0);
    test_segments(1);
    test_refused();
    return tap_done();
}
