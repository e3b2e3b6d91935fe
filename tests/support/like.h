/* What the tests of models share: a model by its policy's text on a made-up device, blocks in the order of their
   allocation, and random operations that it and a reference model must answer alike.
   It must not know any allocator's rules. Included by test_like_*.c. */
#ifndef TESTS_LIKE_H
#define TESTS_LIKE_H

#include "stress/base/splitmix64.h"
#include "stress/policy/policy.h"
#include "like_model.h"
#include "tap.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define GIB(count) ((uint64_t)(count) << 30)

enum { LIKE_BLOCKS = 2048, LIKE_ASKED = 64 };

typedef struct like_device {                     /* rising addresses, side by side; events that are always complete */
    uint64_t total_bytes, held_bytes;
    uint64_t largest_bytes;                      /* more at once is refused */
    uint64_t base_address, next_address;
    uint64_t obtained, given_back;               /* calls, refused ones too */
    uint64_t asked[LIKE_ASKED];                  /* sizes of the first */
} like_device;

typedef struct like_bench {
    like_device     device;
    gpuarena_driver driver;
    model          *model;
    model_refusal   refused;
    size_t          count;
    uint64_t        requested_bytes;
    void           *blocks[LIKE_BLOCKS];         /* live ones, in order of their allocation */
    uint64_t        sizes[LIKE_BLOCKS];
} like_bench;

static inline int like_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total)
{
    const like_device *below = self->user;
    (void)kind;
    *free_bytes = below->total_bytes - below->held_bytes;
    *total = below->total_bytes;
    return GPUARENA_STATUS_DONE;
}

static inline int like_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    like_device *below = self->user;
    (void)kind;
    (void)stream;
    if (below->obtained < LIKE_ASKED) below->asked[below->obtained] = bytes;
    below->obtained++;
    if (bytes > below->largest_bytes || bytes > below->total_bytes - below->held_bytes)
        return GPUARENA_STATUS_NO_MEMORY;
    *ptr = (void *)(uintptr_t)below->next_address;
    below->next_address += bytes;
    below->held_bytes += bytes;
    return GPUARENA_STATUS_DONE;
}

static inline int like_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                 gpuarena_stream stream)
{
    like_device *below = self->user;
    (void)kind;
    (void)ptr;
    (void)stream;
    below->given_back++;
    below->held_bytes -= bytes;
    return GPUARENA_STATUS_DONE;
}

static inline int like_event(const gpuarena_driver *self, void **event)
{
    *event = self->user;
    return GPUARENA_STATUS_DONE;
}

static inline int like_event_done(const gpuarena_driver *self, void *event)
{
    (void)self;
    (void)event;
    return GPUARENA_STATUS_DONE;
}

static inline int like_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    (void)stream;
    return like_event_done(self, event);
}

static inline int like_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    (void)stream;
    return like_event_done(self, event);
}

static inline int like_device_wait(const gpuarena_driver *self)
{
    return like_event_done(self, NULL);
}

static inline void like_driver(like_device *below, gpuarena_driver *driver)
{
    memset(driver, 0, sizeof *driver);
    driver->user = below;
    driver->memory.info = like_info;
    driver->memory.obtain = like_obtain;
    driver->memory.give_back = like_give_back;
    driver->events.create = like_event;
    driver->events.destroy = driver->events.query = driver->events.host_wait = like_event_done;
    driver->events.record = like_record;
    driver->events.stream_wait = like_stream_wait;
    driver->events.device_wait = like_device_wait;
}

/* Ends the test program if there is no such model: nothing could be tested. */
static inline void like_open(like_bench *bench, const char *text, uint64_t total_bytes)
{
    policy chosen;
    problem why = { 0, "" };
    gpuarena_result result = GPUARENA_INVALID_CONFIG;
    memset(bench, 0, sizeof *bench);
    bench->device.total_bytes = total_bytes;
    bench->device.largest_bytes = UINT64_MAX;
    bench->device.base_address = bench->device.next_address = GIB(1024);
    like_driver(&bench->device, &bench->driver);
    if (!policy_parse(text, 0, &chosen, &why) && chosen.model) {
        uint64_t limit = chosen.config.limit_bytes ? chosen.config.limit_bytes : GPUARENA_NO_LIMIT;
        bench->model = model_open(chosen.model, &bench->driver, limit, &result, &bench->refused);
    }
    if (bench->model) return;
    printf("Bail out! no model '%s': %s %s\n", text, why.text, gpuarena_result_name(result));
    exit(1);
}

static inline model_use_now like_use(const like_bench *bench)
{
    model_use_now use;
    model_measure(bench->model, &use);
    return use;
}

static inline uint64_t like_reserved(const like_bench *bench)
{
    model_use_now use = like_use(bench);
    return use.live_bytes + use.free_bytes;
}

static inline void like_close(like_bench *bench, const char *name)
{
    CHECK_MSG(bench->device.held_bytes == like_reserved(bench), "%s: model and device agree", name);
    model_close(bench->model);
    CHECK_MSG(!bench->device.held_bytes, "%s: no memory left", name);
}

static inline gpuarena_result like_take(like_bench *bench, uint64_t bytes)
{
    void *ptr = NULL;
    gpuarena_result result = model_alloc(bench->model, &ptr, bytes, NULL, &bench->refused);
    if (result != GPUARENA_OK || bench->count == LIKE_BLOCKS) return result;
    bench->sizes[bench->count] = bytes;
    bench->blocks[bench->count++] = ptr;
    bench->requested_bytes += bytes;
    return result;
}

/* Takes so many of a size; 1: all were to be had. */
static inline int like_take_many(like_bench *bench, int count, uint64_t bytes)
{
    while (count && like_take(bench, bytes) == GPUARENA_OK) count--;
    return !count;
}

/* The one at this place; the last takes its place. 1: it was live. */
static inline int like_drop(like_bench *bench, size_t at)
{
    gpuarena_result result = model_free(bench->model, bench->blocks[at], NULL, &bench->refused);
    bench->requested_bytes -= bench->sizes[at];
    bench->blocks[at] = bench->blocks[--bench->count];
    bench->sizes[at] = bench->sizes[bench->count];
    return result == GPUARENA_OK;
}

/* Frees all live blocks from this one on; 1: each was one. */
static inline int like_drop_from(like_bench *bench, size_t first)
{
    int wrong = 0;
    while (bench->count > first) wrong += !like_drop(bench, bench->count - 1);
    return !wrong;
}

static inline uint64_t like_slack(const like_bench *bench)
{
    return like_use(bench).live_bytes - bench->requested_bytes;
}

/* 1: these are the sizes that the driver was asked for, in MiB; 0 ends the list. */
static inline int like_asked(const like_bench *bench, const uint64_t *sizes_mib)
{
    size_t index = 0;
    for (; sizes_mib[index]; index++) {
        if (bench->device.asked[index] == MIB(sizes_mib[index])) continue;
        printf("#   call %d asked for %" PRIu64 " bytes, not %" PRIu64 " MiB\n", (int)index,
               bench->device.asked[index], sizes_mib[index]);
        return 0;
    }
    return bench->device.obtained == index;
}

/* A size below 2^bits, log-uniform; one in four a power of two or next to one, where rules have their borders. */
static inline uint64_t like_draw_size(uint64_t *state, unsigned bits)
{
    uint64_t top = UINT64_C(1) << splitmix64_next(state) % bits, low = splitmix64_next(state) % top;
    return splitmix64_next(state) % 4 ? top + low : top + splitmix64_next(state) % 3 - 1 + !(top - 1);
}

/* Random allocations and frees on both; 1: every block at the reference's address, and the same bytes live and
   reserved after every operation. */
static inline int like_follow(like_bench *bench, like_model *reference, int op_count, int most_live, unsigned bits)
{
    uint64_t state = 8, bytes;
    for (int op = 0; op < op_count; op++) {
        uint64_t found = 0, expected = 0;
        int frees = bench->count && (bench->count == (size_t)most_live || splitmix64_next(&state) % 100 < 47);
        if (frees) {
            size_t at = splitmix64_next(&state) % bench->count;
            bytes = (uint64_t)(uintptr_t)bench->blocks[at] - bench->device.base_address;
            like_free(reference, bytes);
            found = !like_drop(bench, at);
        } else {
            bytes = like_draw_size(&state, bits);
            expected = like_alloc(reference, bytes);
            found = UINT64_MAX;
            if (like_take(bench, bytes) == GPUARENA_OK)
                found = (uint64_t)(uintptr_t)bench->blocks[bench->count - 1] - bench->device.base_address;
        }
        uint64_t live = like_use(bench).live_bytes, reserved = like_reserved(bench);
        if (found == expected && live == reference->live_bytes && reserved == reference->reserved_bytes) continue;
        printf("#   operation %d, %s %" PRIu64 ": at %" PRIu64 ", live %" PRIu64 ", reserved %" PRIu64
               "; the reference: %" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n", op, frees ? "free at" : "alloc", bytes,
               found, live, reserved, expected, reference->live_bytes, reference->reserved_bytes);
        return 0;
    }
    return 1;
}

/* The four mixes that all models are followed through. */
static inline void like_mixes(like_bench *bench, like_model *reference, const char *text, const like_rules *rules,
                              uint64_t step_bytes)
{
    static const struct { unsigned bits; int live; } mixes[] = {
        { 12, 1000 }, { 21, 600 }, { 27, 200 }, { 30, 100 } };
    for (size_t at = 0; at < sizeof mixes / sizeof mixes[0]; at++) {
        like_open(bench, text, GIB(4096));
        like_begin(reference, rules, step_bytes);
        CHECK_MSG(like_follow(bench, reference, 20000, mixes[at].live, mixes[at].bits),
                  "%s: 20,000 operations below 2^%u bytes, as the reference has them", text, mixes[at].bits);
        like_close(bench, "the reference's operations");
    }
}

#endif
