/* Scenarios about growth: how much more is taken than is needed, and that a limit is kept to the byte.
   It must not know how a policy chooses its steps.
   Included by test_needs.c. */
#include "scene.h"

enum { GROWTH_BLOCKS = 96, GROWTH_PRESSES = 2000 };

typedef struct growth_block { void *ptr; uint64_t bytes; } growth_block;

/* Random blocks of 64 KiB to 512 MiB, more than the limit has room for; then all are freed. */
static void growth_press(ground *on, uint64_t *refused)
{
    growth_block blocks[GROWTH_BLOCKS] = { { 0 } };
    uint64_t random = on->of->seed;
    *refused = 0;
    for (int step = 0; step < GROWTH_PRESSES; step++) {
        growth_block *block = &blocks[splitmix64_below(&random, GROWTH_BLOCKS)];
        if (block->ptr) ground_free(on, block->ptr, block->bytes, NULL);
        block->bytes = ((uint64_t)65536 << splitmix64_below(&random, 14)) + splitmix64_below(&random, 65536);
        block->ptr = ground_alloc(on, block->bytes, NULL);
        *refused += (uint64_t)!block->ptr;
    }
    for (int at = 0; at < GROWTH_BLOCKS; at++) {
        if (blocks[at].ptr) ground_free(on, blocks[at].ptr, blocks[at].bytes, NULL);
    }
}

static void growth_limit(scene *self)
{
    const uint64_t limit = 5000 * MIB;
    const ground_shape shape = { .limit_bytes = limit };
    ground on;
    uint64_t refused;
    if (!ground_open(&on, self, &shape)) {
        growth_press(&on, &refused);
        void *whole = ground_alloc(&on, limit, NULL);
        if (whole) ground_free(&on, whole, limit, NULL);
        void *more = ground_alloc(&on, limit + 1, NULL);
        scene_say(self, whole && !more && ground_held_peak(&on) == limit, "held at most %" PRIu64 " of %" PRIu64 "; %"
                  PRIu64 " refused; all of it %d, a byte more %d", ground_held_peak(&on), limit, refused, !!whole,
                  !!more);
    }
    ground_close(&on);
}

/* The highest of reserved over live, while tensors of 1 to 32 MiB come to 4 GiB; from 512 MiB on. */
static double growth_ratio(ground *on)
{
    uint64_t random = on->of->seed, live = 0;
    double worst = 0.0;
    while (live < 4 * GIB) {
        uint64_t bytes = MIB + splitmix64_below(&random, 31 * MIB / 512) * 512;
        if (!ground_alloc(on, bytes, NULL)) return 0.0;
        live += bytes;
        double ratio = (double)ground_reported(on) / (double)live;
        if (live >= 512 * MIB && ratio > worst) worst = ratio;
    }
    return worst;
}

static void growth_exact(gpuarena_config *config, void *user)
{
    ground_fixed(config, user);
    config->growth = GPUARENA_GROWTH_EXACT;
}

static double growth_worst(scene *self, const ground_shape *shape)
{
    ground on;
    double worst = ground_open(&on, self, shape) ? 0.0 : growth_ratio(&on);
    ground_close(&on);
    return worst;
}

static void growth_overshoot(scene *self)
{
    const ground_shape own = { 0 }, exact = { .adapt = growth_exact };
    double mine = growth_worst(self, &own), least = growth_worst(self, &exact);
    scene_say(self, mine > 0.0 && mine <= 2.0 && least > 0.0 && least <= 1.2, "at most %.3f of live, exact %.3f",
              mine, least);
}

/* ---- beforehand or as needed: does training fit under the same limit, a little above its peak? */
static int growth_fits(scene *self, const op_stream *stream, uint64_t limit, void (*adapt)(gpuarena_config *, void *))
{
    const ground_shape shape = { .capacity_bytes = 64 * GIB, .limit_bytes = limit, .adapt = adapt };
    ground on;
    ground_played played = { 0, 1, 0, 0 };
    if (!ground_open(&on, self, &shape)) ground_play(&on, stream, &played);
    ground_close(&on);
    return !played.refused;
}

static void growth_modes(scene *self)
{
    op_stream stream;
    if (scene_lacks(self, "memory taken beforehand to compare with")) return;
    if (scene_workload(self, "train:steps=2,layers=8,hidden=2048", &stream)) return;
    uint64_t limit = stream.requested_peak_bytes / 100 * 115 / (2 * MIB) * (2 * MIB);
    int before = growth_fits(self, &stream, limit, ground_fixed), grown = growth_fits(self, &stream, limit, NULL);
    scene_say(self, before && grown, "under %" PRIu64 " fixed fits %d, growing fits %d", limit, before, grown);
    op_stream_free(&stream);
}

/* ---- walls: free memory in pieces that do not touch, and a request for half of it in one */
enum { GROWTH_WALLS = 32 };

static int growth_known(ground *on, uint64_t bytes)
{
    gpuarena_stats stats;
    gpuarena_request request = GPUARENA_INIT;
    if (!on->pool.arena) return 0;
    request.bytes = bytes;
    gpuarena_walk_stats(on->pool.arena, &stats);
    return stats.largest_free_bytes < bytes && gpuarena_can_alloc(on->pool.arena, &request) != GPUARENA_OK;
}

static void growth_walls(scene *self)
{
    const uint64_t held = 32 * MIB, wanted = 256 * MIB;
    const ground_shape shape = { .capacity_bytes = 2 * GIB, .limit_bytes = 1 * GIB };
    void *blocks[GROWTH_WALLS];
    pool_refusal refusal;
    ground on;
    if (!ground_open(&on, self, &shape)) {
        int full = 1;
        for (int at = 0; at < GROWTH_WALLS; at++) full &= (blocks[at] = ground_alloc(&on, held, NULL)) != NULL;
        for (int at = 0; at < GROWTH_WALLS; at += 2) {
            if (blocks[at]) ground_free(&on, blocks[at], held, NULL);
        }
        int known = growth_known(&on, wanted);
        void *ptr = ground_alloc(&on, wanted, NULL);
        pool_last_refusal(&on.pool, &refusal);
        const char *reason = ptr ? "" : refusal.reason;
        scene_say(self, ptr || (known && full && !strcmp(reason, "fragmented")),
                  "256 MiB in one are served %d, %s; known before %d", !!ptr, reason, known);
    }
    ground_close(&on);
}

/* ---- shapes that change at every step: does what is held come to rest? */
static void growth_shapes(scene *self)
{
    enum { GROWTH_STEPS = 300, GROWTH_TENSORS = 12 };
    const ground_shape shape = { 0 };
    ground on;
    uint64_t random = self->seed, held[3] = { 0 };
    int refused = 0;
    if (!ground_open(&on, self, &shape)) {
        for (int step = 0; step < GROWTH_STEPS; step++) {
            uint64_t length = 512 + splitmix64_below(&random, 3584), bytes[GROWTH_TENSORS];
            void *tensors[GROWTH_TENSORS];
            for (int at = 0; at < GROWTH_TENSORS; at++) {
                bytes[at] = length * 4096 * (uint64_t)(1 + at % 4);
                tensors[at] = ground_alloc(&on, bytes[at], NULL);
                refused += !tensors[at];
            }
            for (int at = 0; at < GROWTH_TENSORS; at++) {
                if (tensors[at]) ground_free(&on, tensors[at], bytes[at], NULL);
            }
            held[step / (GROWTH_STEPS / 3)] = ground_held_peak(&on);
        }
        scene_say(self, !refused && held[2] <= held[0] + held[0] / 10, "held in a third %" PRIu64 ", in two %" PRIu64
                  ", in all %" PRIu64, held[0], held[1], held[2]);
    }
    ground_close(&on);
}

/* ---- an embedding: small until it is first trained, then a table, a dense gradient and two optimizer slots */
static void growth_jump(scene *self)
{
    const uint64_t table = (uint64_t)1000003 * 300 * 4;
    const ground_shape shape = { 0 };
    ground on;
    if (!ground_open(&on, self, &shape)) {
        void *weights = ground_alloc(&on, table, NULL);
        uint64_t start = ground_held(&on);
        int served = weights != NULL;
        for (int at = 0; at < 3; at++) served &= ground_alloc(&on, table, NULL) != NULL;
        uint64_t jumped = ground_held(&on);
        double over = (double)jumped / (4.0 * (double)table);
        scene_say(self, served && over <= 1.05, "held %" PRIu64 ", then %" PRIu64 ", %.3f of live", start, jumped,
                  over);
    }
    ground_close(&on);
}
