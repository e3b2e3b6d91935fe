/* Needs: what people ask of GPU memory, as far as policies without an arena can have it (the others: needs.script).
   Each has a scenario, and a verdict on each of four policies (needs[]). Does every need see what it is about? Each
   scenario must turn red for some policy, or for a defect planted in what it calls: the library's functions and the
   pool's, as the scenarios see them. It must not know how they measure. */
#include "scene.h"
#include "tap.h"

/* X(what, the need that must see it, on this policy) */
#define PLANTS(X) \
    X(LIMIT_DOUBLED, "limit", "paged") X(NOT_FIXED, "shares", "paged") X(HALF_FIXED, "modes", "paged") \
    X(TAKES_EARLY, "grabbed", "segments") X(TAKES_EARLY, "tiny", "segments") \
    X(ALWAYS_YES, "walls", "segments") X(NO_TRIM, "trim", "paged") X(ONE_REASON, "walls", "segments") \
    X(NO_WAIT, "late-free", "segments") X(NO_WAIT, "late-free", "paged") X(FREES_LOST, "trim", "segments") \
    X(FREES_LOST, "ring", "paged") X(FREES_LOST, "repeat", "segments") X(FREES_LOST, "lifetimes", "paged") \
    X(FREES_LOST, "again", "paged") X(FREES_LOST, "shapes", "segments") X(FREES_LOST, "batches", "paged") \
    X(ONE_LOST, "jump", "paged") X(ONE_LOST, "bound", "paged") X(ONE_LOST, "overshoot", "paged") \
    X(PADDED, "sizes", "paged") X(FREES_WAIT, "overlap", "paged") \
    /* nothing planted: policies that do not have what is needed */ \
    X(NOTHING, "limit", "raw") X(NOTHING, "shares", "raw") X(NOTHING, "overlap", "raw") \
    X(NOTHING, "tiny", "raw") X(NOTHING, "ring", "raw") X(NOTHING, "overshoot", "bfc") \
    X(NOTHING, "jump", "bfc") X(NOTHING, "bound", "bfc") X(NOTHING, "again", "pytorch") \
    X(NOTHING, "repeat", "pytorch") X(NOTHING, "sizes", "cub") X(NOTHING, "lifetimes", "ort") \
    X(NOTHING, "batches", "async")

typedef enum plant {
    NOTHING, LIMIT_DOUBLED, NOT_FIXED, HALF_FIXED, TAKES_EARLY, ALWAYS_YES, NO_TRIM, ONE_REASON, NO_WAIT,
    FREES_LOST, ONE_LOST, PADDED, FREES_WAIT
} plant;

static plant planted;
static uint64_t planted_count;                   /* of frees, or of allocations */

static void planted_settings(gpuarena_config *config)
{
    int is_fixed = config->growth == GPUARENA_GROWTH_FIXED;
    switch (planted) {
    case LIMIT_DOUBLED:   config->limit_bytes *= 2; break;
    case NOT_FIXED:       if (is_fixed) config->growth = GPUARENA_GROWTH_EXACT; break;
    case HALF_FIXED:      if (is_fixed) config->limit_bytes /= 2; break;
    case TAKES_EARLY:     if (!is_fixed) config->initial_bytes = (uint64_t)1 << 30; break;
    default:              break;
    }
}

static gpuarena_result planted_create(const gpuarena_config *config, gpuarena **arena)
{
    gpuarena_config changed = *config;
    planted_settings(&changed);
    return gpuarena_create(&changed, arena);
}

static void planted_walk_stats(const gpuarena *arena, gpuarena_stats *stats)
{
    gpuarena_walk_stats(arena, stats);
    if (planted == ALWAYS_YES) {
        stats->largest_free_bytes = stats->cached_bytes + stats->pending_bytes;
    }
}

static gpuarena_result planted_can_alloc(gpuarena *arena, const gpuarena_request *request)
{
    gpuarena_result result = gpuarena_can_alloc(arena, request);
    return planted == ALWAYS_YES ? GPUARENA_OK : result;
}

static gpuarena_result planted_trim(gpuarena *arena, uint64_t keep_bytes, uint64_t *released_bytes)
{
    return planted == NO_TRIM ? GPUARENA_OK : gpuarena_trim(arena, keep_bytes, released_bytes);
}

static void planted_last_failure(const gpuarena *arena, gpuarena_failure *failure)
{
    gpuarena_last_failure(arena, failure);
    if (planted == ONE_REASON && failure->reason) failure->reason = GPUARENA_REASON_DRIVER_REFUSED;
}

/* NO_WAIT: what is free now, else what can be grown, as if there were no other streams. ONE_LOST: of two blocks one
   is taken twice as large. */
static gpuarena_result planted_alloc(gpuarena *arena, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    request.stream = stream;
    request.flags = GPUARENA_ALLOC_TRY;
    if (planted == PADDED) return gpuarena_alloc(arena, ptr, bytes + 4096, stream);
    if (planted == ONE_LOST && planted_count++ % 2) return gpuarena_alloc(arena, ptr, 2 * bytes, stream);
    if (planted != NO_WAIT || planted_count++ < 1) return gpuarena_alloc(arena, ptr, bytes, stream);
    return gpuarena_alloc_ex(arena, ptr, &request);
}

/* FREES_LOST: every third. FREES_WAIT: until the device is done, as cudaFree does. */
static gpuarena_result planted_free(gpuarena *arena, void *ptr, gpuarena_stream stream)
{
    gpuarena_config config;
    if (planted == FREES_LOST && planted_count++ % 3 == 0) return GPUARENA_OK;
    if (planted == FREES_WAIT) {
        gpuarena_get_config(arena, &config);
        config.driver->events.device_wait(config.driver);
    }
    return gpuarena_free(arena, ptr, stream);
}

#define gpuarena_create planted_create
#define gpuarena_walk_stats planted_walk_stats
#define gpuarena_can_alloc planted_can_alloc
#define gpuarena_trim planted_trim
#define gpuarena_last_failure planted_last_failure
#define gpuarena_alloc planted_alloc
#define gpuarena_free planted_free
#include "stress/policy/pool.c"
#include "growth.c"
#include "held.c"
#include "sharing.c"
#include "small.c"
#include "waits.c"

typedef struct need {
    const char *name;
    void      (*act)(scene *self);
    const char *verdicts;
    const char *sentence;                        /* when it passes */
} need;

/* In the order of stress/README.md. verdicts: on raw, bfc, segments and paged; P: pass, F: fail, -: not its need. */
static const need needs[] = {
    { "limit", growth_limit, "FPPP",
      "5000 MiB are never passed at any call of the driver, and all of them are to be had" },
    { "shares", sharing_shares, "FPPP",
      "four programs have the same parts of a device in whatever order they start" },
    { "grabbed", sharing_grabbed, "FPPP",
      "a library took 12 of 16 GiB first: nothing held at creation, the rest to be used, or a share of it" },
    { "overshoot", growth_overshoot, "PFPP",
      "while 4 GiB of tensors come, from 512 MiB on at most twice what is live is held; growth=exact: 1.2 times" },
    { "modes", growth_modes, "F-PP",
      "training fits under 1.15 times its peak, both with memory taken beforehand and with growth" },
    { "walls", growth_walls, "PFPP",
      "half of what is free, in pieces, is served in one; or refused as fragmented, as gauge and dry run told" },
    { "shapes", growth_shapes, "PPPP",
      "with other shapes at each of 300 steps what is held comes to rest: 1.1 times that of the first 100" },
    { "jump", growth_jump, "PFPP",
      "an embedding's first step, four times its table: at most 1.05 times what is live is held" },
    { "trim", held_trim, "PPPP",
      "4 GiB that were freed go back to the device by one call, while others stay live" },
    { "again", held_again, "FPPP",
      "the same step again: a hundredth of the first time's driver calls, from the third on none; 1 % more in use" },
    { "repeat", held_repeat, "PPPP",
      "the same step five times within what it took the first time" },
    { "lifetimes", held_lifetimes, "PPPP",
      "what is freed after its last use lowers what is held as much as what is live, to a tenth" },
    { "bound", held_bound, "PFPP",
      "training holds at most 1.25 times the lower bound, the peak of what is live" },
    { "overlap", waits_overlap, "FPPP",
      "batches copied and used on two streams: in frees the host waits for no more than a tenth of the GPU's work" },
    { "late-free", waits_late, "PPPP",
      "what another stream freed and still works on serves the next request, behind that work" },
    { "tiny", small_model, "FPPP",
      "a tiny model trains in one granule of 2 MiB, without a driver call after the first epoch" },
    { "sizes", small_sizes, "PPPP",
      "20,000, 40,000 and 80,000 bytes take at most 512 more each" },
    { "batches", small_batches, "PPPP",
      "the largest batch is found by trying: 75 % of what there are bytes for; what was live is intact" },
    { "ring", small_ring, "FPPP",
      "ten times the device's size passes through a ring, without a driver call after the first lap" },
};
enum { NEEDS = sizeof needs / sizeof needs[0] };

static const need *need_of(const char *name)
{
    size_t index = 0;
    while (index < NEEDS && strcmp(needs[index].name, name)) index++;
    return index < NEEDS ? &needs[index] : NULL;
}

/* The verdict of this need on this policy, with this planted. */
static const scene *verdict(plant what, const need *asked, const char *on, uint64_t seed, int without_vm)
{
    static scene shown;
    policy chosen;
    problem why = { 0, "" };
    memset(&shown, 0, sizeof shown);
    if (!asked || policy_parse(on, 0, &chosen, &why)) {
        snprintf(shown.said, sizeof shown.said, "%.230s", asked ? why.text : "no such need");
        return &shown;
    }
    shown.chosen = &chosen;
    shown.device.op_ns = 2000;
    shown.device.sim.without_vm = (uint32_t)without_vm;
    shown.seed = seed;
    planted = what;
    planted_count = 0;
    asked->act(&shown);
    planted = NOTHING;
    if (shown.trouble.exit_code) snprintf(shown.said, sizeof shown.said, "%.230s", shown.trouble.text);
    return &shown;
}

static const char letters[] = { '?', 'P', 'F', '-' };

static void check_verdict(const need *asked, const char *on, uint64_t seed, int without_vm, char expected)
{
    const scene *shown = verdict(NOTHING, asked, on, seed, without_vm);
    char found = shown->trouble.exit_code ? '!' : letters[shown->verdict];
    CHECK_MSG(found == expected, "%s on %s, seed %d%s: %c", asked->name, on, (int)seed,
              without_vm ? ", without virtual memory" : "", found);
    if (found == 'P') CHECK_MSG(strpbrk(shown->said, "0123456789") != NULL, "what was measured is said in numbers");
    if (found != expected) printf("#   expected %c: %s\n#   %s\n", expected, asked->sentence, shown->said);
}

static void test_verdicts(void)
{
    static const char *const policies[] = { "raw", "bfc", "segments", "paged" };
    for (size_t index = 0; index < NEEDS; index++) {
        for (size_t at = 0; at < 4; at++) check_verdict(&needs[index], policies[at], 1, 0, needs[index].verdicts[at]);
    }
}

static void test_other_seeds(void)
{
    for (size_t index = 0; index < NEEDS; index++) {
        check_verdict(&needs[index], "segments", 1, 1, needs[index].verdicts[2]);
        for (uint64_t seed = 2; seed <= 6; seed++) {
            check_verdict(&needs[index], "segments", seed, 0, needs[index].verdicts[2]);
            check_verdict(&needs[index], "paged", seed, 0, needs[index].verdicts[3]);
        }
    }
}

typedef struct planting { plant what; const char *what_text, *name, *on; } planting;
static const planting plantings[] = {
#define X(what, name, on) { what, #what, name, on },
    PLANTS(X)
#undef X
};
enum { PLANTINGS = sizeof plantings / sizeof plantings[0] };

static void test_each_is_seen(void)
{
    for (size_t at = 0; at < PLANTINGS; at++) {
        const planting *each = &plantings[at];
        const scene *shown = verdict(each->what, need_of(each->name), each->on, 1, 0);
        CHECK_MSG(shown->verdict == NEED_FAIL && !shown->trouble.exit_code, "%s on %s: %s: red", each->what_text,
                  each->on, each->name);
        if (shown->verdict != NEED_FAIL) printf("#   verdict %d: %s\n", (int)shown->verdict, shown->said);
        if (each->what == NOTHING) continue;
        shown = verdict(NOTHING, need_of(each->name), each->on, 1, 0);
        CHECK_MSG(shown->verdict == NEED_PASS, "without it: green");
        if (shown->verdict != NEED_PASS) printf("#   verdict %d: %s\n", (int)shown->verdict, shown->said);
    }
}

static void test_every_need_can_fail(void)
{
    for (size_t index = 0; index < NEEDS; index++) {
        int red = 0;
        for (size_t at = 0; at < PLANTINGS; at++) red += !strcmp(plantings[at].name, needs[index].name);
        CHECK_MSG(red > 0, "%s: turns red for something", needs[index].name);
    }
}

int main(void)
{
    test_verdicts();
    test_other_seeds();
    test_each_is_seen();
    test_every_need_can_fail();
    return tap_done();
}
