/* What the tests of models share: a model by its policy's text, on a made-up device or a simulated one; programs of
   takes and frees; and random operations that it and a reference model must answer alike.
   It must not know any allocator's rules. Included by test_like.c. */
#ifndef TESTS_LIKE_H
#define TESTS_LIKE_H

#include "stress/base/cli.h"
#include "stress/base/splitmix64.h"
#include "stress/policy/policy.h"
#include "done_events.h"
#include "like_model.h"
#include "tap.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define GIB(count) ((uint64_t)(count) << 30)

enum { LIKE_BLOCKS = 2048 };

typedef struct like_device {                     /* rising addresses, side by side; events that are always complete */
    uint64_t total_bytes, held_bytes;
    uint64_t largest_bytes;                      /* more at once is refused */
    uint64_t base_address, next_address;
    uint64_t calls;                              /* refused ones too */
} like_device;

typedef struct like_bench {
    like_device     device;
    device         *simulated;                   /* instead of it, for models of virtual memory */
    gpuarena_driver driver;
    model          *model;
    model_refusal   refused;
    gpuarena_stream stream;
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
    below->calls++;
    if (bytes > below->largest_bytes || bytes > below->total_bytes - below->held_bytes)
        return GPUARENA_STATUS_NO_MEMORY;
    *ptr = (void *)(uintptr_t)below->next_address;
    below->next_address += (bytes + 255) / 256 * 256;
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
    below->calls++;
    below->held_bytes -= bytes;
    return GPUARENA_STATUS_DONE;
}

static inline void like_driver(like_device *below, gpuarena_driver *driver)
{
    const gpuarena_driver made = { .events = DONE_EVENTS };
    *driver = made;
    driver->user = below;
    driver->memory.info = like_info;
    driver->memory.obtain = like_obtain;
    driver->memory.give_back = like_give_back;
}

/* Ends the test program if there is no such model. simulated: NULL, or the device that it is on. */
static inline void like_open(like_bench *bench, const char *text, uint64_t total_bytes, device *simulated)
{
    policy chosen;
    problem why = { 0, "" };
    gpuarena_result result = GPUARENA_INVALID_CONFIG;
    memset(bench, 0, sizeof *bench);
    bench->simulated = simulated;
    bench->device.total_bytes = total_bytes;
    bench->device.largest_bytes = UINT64_MAX;
    bench->device.base_address = bench->device.next_address = GIB(1024);
    if (simulated) bench->driver = *device_driver(simulated);
    else like_driver(&bench->device, &bench->driver);
    if (!policy_parse(text, 0, &chosen, &why) && chosen.model) {
        uint64_t limit = chosen.config.limit_bytes ? chosen.config.limit_bytes : GPUARENA_NO_LIMIT;
        bench->model = model_open(chosen.model, &bench->driver, limit, &result, &bench->refused);
    }
    if (bench->model) return;
    printf("Bail out! no model '%s': %s %s\n", text, why.text, gpuarena_result_name(result));
    exit(1);
}

static inline memory_use like_use(const like_bench *bench)
{
    memory_use use;
    model_measure(bench->model, &use);
    return use;
}

static inline uint64_t like_held(const like_bench *bench)
{
    device_counters counters;
    if (!bench->simulated) return bench->device.held_bytes;
    device_count(bench->simulated, &counters);
    return counters.held_bytes;
}

static inline void like_close(like_bench *bench, const char *name)
{
    memory_use use = like_use(bench);
    device_counters counters = { 0 };
    int agree = like_held(bench) == use.live_bytes + use.free_bytes;
    model_close(bench->model);
    if (bench->simulated) device_count(bench->simulated, &counters);
    CHECK_MSG(agree && !like_held(bench) && !counters.findings,
              "%s: model and device agree, and no memory is left", name);
}

static inline gpuarena_result like_take(like_bench *bench, uint64_t bytes)
{
    void *ptr = NULL;
    gpuarena_result result = model_alloc(bench->model, &ptr, bytes, bench->stream, &bench->refused);
    if (result != GPUARENA_OK || bench->count == LIKE_BLOCKS || !ptr) return result;
    bench->sizes[bench->count] = bytes;
    bench->blocks[bench->count++] = ptr;
    bench->requested_bytes += bytes;
    return result;
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

/* ---- programs: see test_like.c */
typedef struct like_program {
    const char *policy;
    int         simulated_gib;                   /* 0: the made-up device of 4 GiB */
    const char *device, *name, *text;            /* device: `room:BYTES`, `obtain>SIZE`, or as it is */
} like_program;

static inline uint64_t like_size(const char *text)
{
    uint64_t bytes = 0;
    if (slice_size(slice_of(text), &bytes)) return bytes;
    printf("Bail out! '%s' is no size\n", text);
    exit(1);
}

static inline int like_free_numbered(like_bench *bench, size_t at)
{
    if (!bench->sizes[at]) return 1;
    bench->requested_bytes -= bench->sizes[at];
    bench->sizes[at] = 0;
    return model_free(bench->model, bench->blocks[at], bench->stream, &bench->refused) == GPUARENA_OK;
}

/* `-`, `-3`, `-3..`, `-3..5` */
static inline int like_free_words(like_bench *bench, const char *word)
{
    size_t first = (size_t)strtoull(word + 1, NULL, 10), last = first;
    const char *dots = strstr(word, "..");
    int freed = 1;
    if (!word[1] || (dots && !dots[2])) last = bench->count - 1;
    else if (dots) last = (size_t)strtoull(dots + 2, NULL, 10);
    for (size_t at = first; bench->count && at <= last; at++) freed &= like_free_numbered(bench, at);
    return freed;
}

/* `8x16M`, `1..1023`, `16M` */
static inline int like_take_words(like_bench *bench, const char *word)
{
    const char *times = strchr(word, 'x'), *dots = strstr(word, "..");
    uint64_t first = dots ? strtoull(word, NULL, 10) : 1, last = 1;
    if (dots || times) last = strtoull(dots ? dots + 2 : word, NULL, 10);
    uint64_t bytes = dots ? 0 : like_size(times ? times + 1 : word);
    int taken = 1;
    for (uint64_t at = first; at <= last; at++) taken &= like_take(bench, dots ? at : bytes) == GPUARENA_OK;
    for (size_t at = 0; at < bench->count; at++) taken &= (uintptr_t)bench->blocks[at] % 256 == 0;
    return taken;
}

static inline uint64_t like_calls(const like_bench *bench)
{
    device_counters counters;
    if (!bench->simulated) return bench->device.calls;
    device_count(bench->simulated, &counters);
    return counters.calls;
}

/* `live:1M` and the like; 1: it is so. */
static inline int like_figure(const like_bench *bench, const char *word)
{
    memory_use use = like_use(bench);
    uint64_t address = bench->count > 1 ? (uint64_t)(uintptr_t)bench->blocks[bench->count - 2] : 0;
    uint64_t newest = bench->count ? (uint64_t)(uintptr_t)bench->blocks[bench->count - 1] : 0;
    const struct { const char *name; uint64_t found; } figures[] = {
        { "live:", use.live_bytes }, { "free:", use.free_bytes }, { "pending:", use.pending_bytes },
        { "slack:", use.live_bytes - bench->requested_bytes }, { "=", like_held(bench) },
        { "calls:", like_calls(bench) },
        { "largest:", bench->refused.largest_bytes }, { "after:", newest - address }
    };
    for (size_t at = 0; at < sizeof figures / sizeof figures[0]; at++) {
        size_t length = strlen(figures[at].name);
        if (strncmp(word, figures[at].name, length)) continue;
        if (figures[at].found == like_size(word + length)) return 1;
        printf("#   %s: found %" PRIu64 "\n", word, figures[at].found);
        return 0;
    }
    printf("Bail out! '%s' is no word of a program\n", word);
    exit(1);
}

/* One word; 1: it is as it says. */
static inline int like_word(like_bench *bench, const char *word)
{
    if (word[0] == '-') return like_free_words(bench, word);
    if (word[0] == '!') return like_take(bench, like_size(word + 1)) == GPUARENA_OUT_OF_MEMORY;
    if (word[0] == '&') return bench->blocks[bench->count - 1] == bench->blocks[strtoull(word + 1, NULL, 10)];
    if (!strcmp(word, "trim")) return model_trim(bench->model, &bench->refused) == GPUARENA_OK;
    if (word[0] == '@') {
        bench->stream = (gpuarena_stream)(intptr_t)(16 * strtoll(word + 1, NULL, 10));
        return 1;
    }
    if (!strncmp(word, "use:", 4)) {
        void *block = bench->blocks[strtoull(word + 4, NULL, 10)];
        return model_use(bench->model, block, bench->stream, &bench->refused) == GPUARENA_OK;
    }
    return word[0] >= '0' && word[0] <= '9' ? like_take_words(bench, word) : like_figure(bench, word);
}

static inline void like_run(like_bench *bench, const like_program *program)
{
    char words[512], wrong[64] = "";
    device_config config;
    problem why = { 0, "" };
    uint64_t room = GIB(program->simulated_gib ? program->simulated_gib : 4);
    memset(&config, 0, sizeof config);
    config.sim.capacity_bytes = room;
    device *simulated = program->simulated_gib ? device_open(&config, &why) : NULL;
    if (!strncmp(program->device, "room:", 5)) room = like_size(program->device + 5);
    like_open(bench, program->policy, room, simulated);
    if (!strncmp(program->device, "obtain>", 7)) bench->device.largest_bytes = like_size(program->device + 7);
    snprintf(words, sizeof words, "%s", program->text);
    for (char *word = strtok(words, " "); word && !wrong[0]; word = strtok(NULL, " ")) {
        if (!like_word(bench, word)) snprintf(wrong, sizeof wrong, ", but for '%s'", word);
    }
    CHECK_MSG(!wrong[0], "%s: %s%s", program->policy, program->name, wrong);
    bench->stream = NULL;
    (void)like_free_words(bench, "-");
    like_close(bench, program->policy);
    if (simulated) device_close(simulated, NULL);
}

/* ---- random operations */

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
            size_t at = (size_t)(splitmix64_next(&state) % bench->count);
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
        uint64_t live = like_use(bench).live_bytes, reserved = like_held(bench);
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
        like_open(bench, text, GIB(4096), NULL);
        like_begin(reference, rules, step_bytes);
        CHECK_MSG(like_follow(bench, reference, 20000, mixes[at].live, mixes[at].bits),
                  "%s: 20,000 operations below 2^%u bytes, as the reference has them", text, mixes[at].bits);
        like_close(bench, "the reference's operations");
    }
}

#endif
