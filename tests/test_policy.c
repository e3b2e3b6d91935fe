/* Policies: their text, limits, and pools at work, raw and arena, on a simulated device.
   It must not know of workloads or rows.
   Run: build/tests/test_policy */
#include "../stress/policy.h"
#include "tap.h"

static problem why;

static int parse(const char *text, uint64_t limit_bytes, policy *made)
{
    why.exit_code = 0;
    why.text[0] = '\0';
    return policy_parse(text, limit_bytes, made, &why);
}

static void test_text(void)
{
    policy made;
    CHECK(parse("raw", 0, &made) == 0 && made.raw);
    CHECK(parse("raw", 1 << 30, &made) == 0 && made.config.limit_bytes == 0);
    CHECK(parse("segments", 1 << 30, &made) == 0 && !made.raw && made.config.limit_bytes == 1 << 30);
    CHECK(made.config.backing == GPUARENA_BACKING_SEGMENTS && made.config.environment && !*made.config.environment);
    CHECK(parse("config:growth=step,step=4M", 0, &made) == 0 && made.config.step_bytes == 4194304);
    CHECK(parse("segments:limit=80%", 0, &made) == 0 && made.config.limit_base == GPUARENA_LIMIT_OF_TOTAL);
    static const char *const bad[] = { "", "rwa", "raw:x=1", "segments:", "config:nokey=1", "config:step=-1",
                                       "Segments", "segments2", "config:step=4M,step=4M" };
    for (size_t index = 0; index < sizeof bad / sizeof bad[0]; index++) {
        CHECK_MSG(parse(bad[index], 0, &made) == -1 && why.exit_code == EXIT_USAGE && why.text[0],
                  "'%s' is refused: %s", bad[index], why.text);
    }
    CHECK(parse("segments:limit=1G", 1 << 30, &made) == -1);
    CHECK(strstr(why.text, "--limit") != NULL);
    CHECK(parse("segments:limit=80%", 1 << 30, &made) == -1);
    for (size_t index = 0; policy_kind_at(index); index++) {
        CHECK_MSG(parse(policy_kind_at(index)->name, 0, &made) == 0, "'%s' of the table parses",
                  policy_kind_at(index)->name);
    }
}

static void test_raw(sim *device)
{
    policy made;
    pool opened;
    memory_use use;
    gpuarena_stats stats;
    pool_refusal refusal;
    void *ptr = NULL, *none = &use;
    sim_counters counters;
    CHECK_INT(parse("raw", 0, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, device, &why), ==, 0);
    CHECK_INT(pool_alloc(&opened, &ptr, 1000, NULL), ==, GPUARENA_OK);
    pool_measure(&opened, &use, &stats);
    CHECK_U64(use.requested_bytes, ==, 1000);
    CHECK_U64(use.live_bytes, ==, 1024);
    sim_get_counters(device, 0, &counters);
    CHECK_U64(use.reserved_bytes, ==, counters.held_bytes);
    CHECK(use.reserved_bytes > 0);
    CHECK_INT(pool_alloc(&opened, &none, 0, NULL), ==, GPUARENA_OK);
    CHECK(none == NULL);
    CHECK_INT(pool_free(&opened, NULL, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(pool_alloc(&opened, &none, UINT64_C(1) << 40, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    pool_last_refusal(&opened, &refusal);
    CHECK_STR(refusal.reason, "driver_refused");
    CHECK_U64(refusal.requested_bytes, ==, UINT64_C(1) << 40);
    CHECK_INT(refusal.largest_known, ==, 0);
    CHECK_INT(pool_free(&opened, ptr, 1000, NULL), ==, GPUARENA_OK);
    pool_measure(&opened, &use, &stats);
    CHECK_U64(use.requested_bytes + use.live_bytes + use.reserved_bytes, ==, 0);
    pool_close(&opened);
}

static void test_arena(sim *device)
{
    policy made;
    pool opened;
    memory_use use;
    gpuarena_stats stats;
    pool_refusal refusal;
    void *ptr = NULL;
    sim_counters counters;
    CHECK_INT(parse("segments:alignment=512", 8 << 20, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, device, &why), ==, 0);
    CHECK_U64(opened.alignment_bytes, ==, 512);
    CHECK_U64(opened.limit_bytes, ==, 8 << 20);
    CHECK_INT(pool_alloc(&opened, &ptr, 1000, NULL), ==, GPUARENA_OK);
    pool_measure(&opened, &use, &stats);
    CHECK_U64(use.requested_bytes, ==, 1000);
    CHECK_U64(use.live_bytes, ==, 1024);
    CHECK_U64(use.reserved_bytes, ==, stats.reserved_bytes);
    CHECK_U64(use.free_bytes, ==, use.reserved_bytes - 1024);
    CHECK_INT(pool_alloc(&opened, &ptr, 9 << 20, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    pool_last_refusal(&opened, &refusal);
    CHECK_STR(refusal.reason, "over_limit");
    CHECK_U64(refusal.free_bytes, ==, use.free_bytes);
    CHECK_U64(refusal.largest_bytes, ==, use.largest_bytes);
    CHECK(refusal.text[0] != '\0');
    pool_close(&opened);
    sim_get_counters(device, 0, &counters);
    CHECK_MSG(counters.held_bytes == 0, "closing with a live block leaves nothing held");
    CHECK_INT(parse("config:step=3M,growth=exact", 0, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, device, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    why.exit_code = 0;
    CHECK_INT(parse("config:initial=1000G", 0, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, device, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    why.exit_code = 0;
    CHECK_INT(parse("config:initial=80G,headroom=2M", 0, &made), ==, 0);     /* sound, and more than there is */
    CHECK_INT(pool_open(&opened, &made, device, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_HARNESS);
}

int main(void)
{
    sim_config config;
    memset(&config, 0, sizeof config);
    test_text();
    why.exit_code = 0;
    sim *device = sim_create(&config, &why);
    CHECK(device != NULL);
    if (device) {
        test_raw(device);
        test_arena(device);
    }
    sim_destroy(device);
    return tap_done();
}
