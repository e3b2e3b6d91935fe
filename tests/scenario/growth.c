/* Scenarios about growth: what is taken first, and how much more than is needed.
   It must not know how a policy chooses its steps.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>
#include <string.h>

#include "stress/base/splitmix64.h"
#include "scenarios.h"

/* Held at creation, and with one block of 1 MiB. -1: not opened. */
static int growth_touch(scene *self, const ground_shape *shape, uint64_t *at_creation, uint64_t *with_one)
{
    ground on;
    int failed = ground_open(&on, self, shape);
    if (!failed) {
        *at_creation = ground_held(&on);
        (void)ground_alloc(&on, MIB, NULL);
        *with_one = ground_held(&on);
    }
    ground_close(&on);
    return failed;
}

void growth_first_touch(scene *self)
{
    const uint64_t limit = 1 * GIB, most = 64 * MIB;
    const ground_shape grows = { .limit_bytes = limit };
    const ground_shape fixed = { .limit_bytes = limit, .adapt = ground_fixed };
    uint64_t start, first, whole, then;
    if (scene_is_model(self)) return;
    if (growth_touch(self, &grows, &start, &first)) return;
    if (self->chosen->family != POLICY_ARENA) {
        scene_say(self, 0, "%s at the start, %s with the first MiB; %s has no switch to take %s beforehand",
                  scene_size(self, start), scene_size(self, first), self->chosen->text, scene_size(self, limit));
        return;
    }
    if (growth_touch(self, &fixed, &whole, &then)) return;
    scene_say(self, !start && first <= most && whole == limit && then == limit, "growing: %s at creation, %s with "
              "the first MiB (at most %s); growth=fixed: %s at creation, %s with it, of a limit of %s",
              scene_size(self, start), scene_size(self, first), scene_size(self, most), scene_size(self, whole),
              scene_size(self, then), scene_size(self, limit));
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

void growth_overshoot(scene *self)
{
    const ground_shape own = { 0 }, exact = { .adapt = growth_exact };
    double mine = growth_worst(self, &own), least = growth_worst(self, &exact);
    scene_say(self, mine > 0.0 && mine <= 2.0 && least > 0.0 && least <= 1.2, "while tensors of 1 to 32 MiB come to "
              "4 GiB, from 512 MiB on at most %.3f times what is live is held (2.000)%s%.3f%s", mine,
              self->chosen->family == POLICY_ARENA ? "; with growth=exact " : " and again ", least, " (1.200)");
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

void growth_modes(scene *self)
{
    op_stream stream;
    if (scene_lacks(self, "memory taken beforehand to compare with")) return;
    if (scene_workload(self, "train:steps=2,layers=8,hidden=2048", &stream)) return;
    uint64_t limit = stream.requested_peak_bytes / 100 * 115 / (2 * MIB) * (2 * MIB);
    int before = growth_fits(self, &stream, limit, ground_fixed), grown = growth_fits(self, &stream, limit, NULL);
    scene_say(self, before && grown, "training under a limit of 1.15 times its peak, %s: taken beforehand it is %s, "
              "growing %s", scene_size(self, limit), before ? "served" : "refused", grown ? "served" : "refused");
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

void growth_walls(scene *self)
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
        scene_say(self, ptr || (known && full && !strcmp(reason, "fragmented")), "of 32 blocks of 32 MiB every "
                  "second is freed: 256 MiB in one are %s%s%s", ptr ? "served" : "refused, ", reason,
                  ptr ? "" : known ? ", and the gauge and can_alloc said so before" : ", and nothing said so before");
    }
    ground_close(&on);
}

/* ---- shapes that change at every step: does what is held come to rest? */
void growth_shapes(scene *self)
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
        scene_say(self, !refused && held[2] <= held[0] + held[0] / 10, "%d steps, each of another length: %s held at "
                  "most in the first third of them, %s in two, %s in all (1.10 times the first)", GROWTH_STEPS,
                  scene_size(self, held[0]), scene_size(self, held[1]), scene_size(self, held[2]));
    }
    ground_close(&on);
}

/* ---- an embedding: small until it is first trained, then a table, a dense gradient and two optimizer slots */
void growth_jump(scene *self)
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
        scene_say(self, served && over <= 1.05, "a table of 1,000,003 rows of 300 float32, %s: %s held; at the first "
                  "step gradient and two slots come: %s held, %.3f times what is live (1.050)", scene_size(self,
                                                                                                           table),
                  scene_size(self, start), scene_size(self, jumped), over);
    }
    ground_close(&on);
}

/* ---- the steps that it takes, as the observer is told */
typedef struct growth_seen { uint64_t steps[64], count, sum; } growth_seen;

static void growth_observe(gpuarena *arena, const gpuarena_action *action, void *user)
{
    growth_seen *seen = user;
    (void)arena;
    if (action->kind != GPUARENA_ACTION_GROW) return;
    if (seen->count < 64) seen->steps[seen->count] = action->block.bytes;
    seen->count++;
    seen->sum += action->block.bytes;
}

static void growth_set_observer(gpuarena_config *config, void *user)
{
    config->observe = growth_observe;
    config->observe_user = user;
}

void growth_steps(scene *self)
{
    growth_seen seen;
    const ground_shape shape = { .adapt = growth_set_observer, .user = &seen };
    char steps[160] = "";
    size_t used = 0;
    ground on;
    gpuarena_device card = GPUARENA_INIT;
    memset(&seen, 0, sizeof seen);
    if (scene_lacks(self, "steps to choose or to see")) return;
    if (!ground_open(&on, self, &shape)) {
        for (int at = 0; at < 400; at++) (void)ground_alloc(&on, MIB, NULL);
        gpuarena_get_device(on.pool.arena, &card);
        for (uint64_t at = 0; at < seen.count && at < 10; at++) {
            used += (size_t)snprintf(steps + used, sizeof steps - used, "%s%" PRIu64, at ? ", " : "",
                                     seen.steps[at] / MIB);
        }
        scene_say(self, seen.count > 0 && seen.sum == ground_held(&on) && card.page_bytes == 2 * MIB, "400 blocks "
                  "of 1 MiB: %" PRIu64 " steps, of %s%s MiB, together %s, as the device holds; granules of %s",
                  seen.count,
                  steps, seen.count > 10 ? ", .." : "", scene_size(self, seen.sum), scene_size(self,
                                                                                               card.page_bytes));
    }
    ground_close(&on);
}
