/* What the tests of presets share: an arena by its configuration text on a made-up device, blocks in the order of
   their allocation, and random operations that an arena and a reference model must answer alike.
   It must not know any allocator's rules. Included by tests/test_like_*.c. */
#ifndef TESTS_LIKE_H
#define TESTS_LIKE_H

#include "arena_state.h"
#include "like_model.h"

enum { LIKE_BLOCKS = 2048 };

typedef struct like_bench {
    fake_device device;
    gpuarena   *arena;
    size_t      count;
    void       *blocks[LIKE_BLOCKS];             /* live ones, in order of their allocation */
} like_bench;

/* Ends the test program if the preset makes no arena: nothing could be tested. */
static inline void like_open(like_bench *bench, const char *text, uint64_t total_bytes)
{
    char message[256] = "";
    fake_open(&bench->device, total_bytes);
    bench->count = 0;
    bench->arena = NULL;
    gpuarena_config config = fake_config(&bench->device);
    gpuarena_result result = gpuarena_config_parse(text, &config, message, sizeof message);
    if (result == GPUARENA_OK) bench->arena = state_arena(&config);
    if (bench->arena) return;
    printf("Bail out! no arena '%s': %s\n", text, message);
    exit(1);
}

/* 1: what is said to be the largest request that needs no growth is just that. */
static inline int like_largest(const like_bench *bench)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_stats stats;
    void *ptr = NULL;
    int longer, just;
    gpuarena_get_stats(bench->arena, &stats);
    request.flags = GPUARENA_ALLOC_TRY;
    request.bytes = stats.largest_free_bytes + 1;
    longer = gpuarena_alloc_ex(bench->arena, &ptr, &request) == GPUARENA_OK;
    request.bytes = stats.largest_free_bytes;
    just = gpuarena_alloc_ex(bench->arena, &ptr, &request) == GPUARENA_OK;
    return !longer && just && gpuarena_free(bench->arena, ptr, NULL) == GPUARENA_OK;
}

/* As state_end, but for largest_free_bytes: not every free block may serve every request here. */
static inline void like_close(like_bench *bench, const char *name)
{
    char message[128] = "";
    arena_state state;
    state_take(bench->arena, &bench->device, &state);
    const gpuarena_stats *stats = &state.stats;
    gpuarena_check(bench->arena, message, sizeof message);
    CHECK_MSG(!state.wrong && !state_sums(stats)[0] && !message[0], "%s: sound %s%s%s", name,
              state.wrong ? state.wrong : "", state_sums(stats), message);
    CHECK_MSG(state.live_count == stats->live_count && state.live_bytes == stats->live_bytes
              && state.free_bytes == stats->cached_bytes && state.requested_bytes == stats->requested_bytes
              && bench->device.held_bytes == stats->reserved_bytes, "%s: blocks, statistics and device agree", name);
    CHECK_MSG(like_largest(bench), "%s: the largest request that needs no growth", name);
    CHECK_MSG(gpuarena_reset(bench->arena, NULL) == GPUARENA_OK && gpuarena_destroy(bench->arena) == GPUARENA_OK,
              "%s: ended", name);
    CHECK_MSG(fake_close(&bench->device), "%s: no memory left, every call legal", name);
}

static inline gpuarena_result like_take(like_bench *bench, uint64_t bytes)
{
    void *ptr = NULL;
    gpuarena_result result = gpuarena_alloc(bench->arena, &ptr, bytes, NULL);
    if (result == GPUARENA_OK && bench->count < LIKE_BLOCKS) bench->blocks[bench->count++] = ptr;
    return result;
}

/* Takes so many of a size; 1: all were to be had. */
static inline int like_take_many(like_bench *bench, int count, uint64_t bytes)
{
    while (count && like_take(bench, bytes) == GPUARENA_OK) count--;
    return !count;
}

/* Frees all live blocks from this one on, the oldest first; 1: each was one. */
static inline int like_drop_from(like_bench *bench, size_t first)
{
    int wrong = 0;
    for (size_t at = first; at < bench->count; at++)
        wrong += gpuarena_free(bench->arena, bench->blocks[at], NULL) != GPUARENA_OK;
    bench->count = first;
    return !wrong;
}

static inline gpuarena_stats like_stats(const like_bench *bench)
{
    gpuarena_stats stats;
    gpuarena_get_stats(bench->arena, &stats);
    return stats;
}

/* 1: these are the sizes that the driver was asked for since the arena was made, in MiB; 0 ends the list. */
static inline int like_asked(const like_bench *bench, const uint64_t *sizes_mib)
{
    size_t index = 0;
    for (; sizes_mib[index]; index++) {
        if (bench->device.asked[index] == MIB(sizes_mib[index])) continue;
        printf("#   call %d asked for %" PRIu64 " bytes, not %" PRIu64 " MiB\n", (int)index,
               bench->device.asked[index], sizes_mib[index]);
        return 0;
    }
    return bench->device.calls[FAKE_OBTAIN] == index;
}

static inline uint64_t like_draw(uint64_t *state)            /* splitmix64 */
{
    uint64_t value = (*state += 0x9E3779B97F4A7C15u);
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

/* A size below 2^bits, log-uniform; one in four a power of two or next to one, where rules have their borders. */
static inline uint64_t like_draw_size(uint64_t *state, unsigned bits)
{
    uint64_t top = UINT64_C(1) << like_draw(state) % bits, low = like_draw(state) % top;
    return like_draw(state) % 4 ? top + low : top + like_draw(state) % 3 - 1 + !(top - 1);
}

/* Random allocations and frees on both; 1: every block at the model's address, and the same bytes live and reserved
   after every operation. */
static inline int like_follow(like_bench *bench, like_model *model, int op_count, int most_live, unsigned bits)
{
    uint64_t state = 8, bytes;
    for (int op = 0; op < op_count; op++) {
        uint64_t found = 0, expected = 0;
        int frees = bench->count && (bench->count == (size_t)most_live || like_draw(&state) % 100 < 47);
        if (frees) {
            size_t at = like_draw(&state) % bench->count;
            bytes = fake_address(bench->blocks[at]) - bench->device.base_address;
            like_free(model, bytes);
            if (gpuarena_free(bench->arena, bench->blocks[at], NULL) != GPUARENA_OK) found = 1;
            bench->blocks[at] = bench->blocks[--bench->count];
        } else {
            bytes = like_draw_size(&state, bits);
            expected = like_alloc(model, bytes);
            found = UINT64_MAX;
            if (like_take(bench, bytes) == GPUARENA_OK)
                found = fake_address(bench->blocks[bench->count - 1]) - bench->device.base_address;
        }
        gpuarena_stats stats = like_stats(bench);
        if (found == expected && stats.live_bytes == model->live_bytes
            && stats.reserved_bytes == model->reserved_bytes) continue;
        printf("#   operation %d, %s %" PRIu64 ": at %" PRIu64 ", live %" PRIu64 ", reserved %" PRIu64
               "; the model: %" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n", op, frees ? "free at" : "alloc", bytes,
               found, stats.live_bytes, stats.reserved_bytes, expected, model->live_bytes, model->reserved_bytes);
        return 0;
    }
    return 1;
}

#endif
