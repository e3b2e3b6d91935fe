/* Pools at work, raw, arena, models and rival, on a simulated device. Texts of policies: tests/cli/cases/cli.case.
   It must not know of workloads or rows. */
#include "stress/policy/policy.h"
#include "tap.h"

static problem why;

static int parse(const char *text, uint64_t limit_bytes, policy *made)
{
    why.exit_code = 0;
    why.text[0] = '\0';
    return policy_parse(text, limit_bytes, made, &why);
}

static void test_raw(device *on)
{
    policy made;
    pool opened;
    memory_use use;
    gpuarena_stats stats;
    pool_refusal refusal;
    void *ptr = NULL, *none = &use;
    device_counters counters;
    CHECK_INT(parse("raw", 0, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, 0);
    CHECK_INT(pool_alloc(&opened, &ptr, 1000, NULL), ==, GPUARENA_OK);
    pool_measure(&opened, &use, &stats);
    CHECK_U64(use.requested_bytes, ==, 1000);
    CHECK_U64(use.live_bytes, ==, 1024);
    device_count(on, &counters);
    CHECK_U64(use.reserved_bytes, ==, counters.held_bytes);
    CHECK(use.reserved_bytes > 0);
    CHECK_INT(pool_alloc(&opened, &none, 0, NULL), ==, GPUARENA_OK);
    CHECK(none == NULL);
    CHECK_INT(pool_free(&opened, NULL, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(pool_use(&opened, ptr, NULL), ==, GPUARENA_OK);
    CHECK(pool_forget(&opened, NULL) == GPUARENA_OK && !pool_follows(&opened));
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

static void test_arena(device *on)
{
    policy made;
    pool opened;
    memory_use use;
    gpuarena_stats stats;
    pool_refusal refusal;
    void *ptr = NULL;
    device_counters counters;
    CHECK_INT(parse("segments:alignment=512", 8 << 20, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, 0);
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
    CHECK_U64(refusal.largest_bytes, ==, pool_largest(&opened));
    CHECK(refusal.text[0] != '\0');
    gpuarena_stream stream = NULL;
    CHECK_INT(device_stream_create(on, &stream, &why), ==, 0);
    CHECK_INT(pool_use(&opened, ptr, stream), ==, GPUARENA_OK);
    CHECK_INT(pool_use(&opened, &opened, stream), ==, GPUARENA_FOREIGN_POINTER);
    CHECK_INT(pool_follows(&opened), ==, 0);
    CHECK_INT(pool_forget(&opened, stream), ==, GPUARENA_OK);
    CHECK_INT(device_stream_destroy(on, stream, &why), ==, 0);
    pool_close(&opened);
    device_count(on, &counters);
    CHECK_MSG(counters.held_bytes == 0, "closing with a live block leaves nothing held");
    CHECK_INT(parse("config:step=3M,growth=exact", 0, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    why.exit_code = 0;
    CHECK_INT(parse("config:initial=1000G", 0, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    why.exit_code = 0;
    CHECK_INT(parse("config:initial=80G,headroom=2M", 0, &made), ==, 0);     /* sound, and more than there is */
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_HARNESS);
}

/* Each model: a block, its figures, a refusal in its words, and nothing held in the end. */
static void test_model_at_work(device *on, const model_kind *kind)
{
    policy made;
    pool opened;
    memory_use use;
    gpuarena_stats stats;
    pool_refusal refusal;
    device_counters counters;
    void *ptr = NULL, *none = &use;
    CHECK_INT(parse(kind->name, 64 << 20, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, 0);
    CHECK_U64(opened.limit_bytes, ==, 64 << 20);
    CHECK(pool_follows(&opened) == !pool_goes_home(&opened));
    CHECK_INT(pool_alloc(&opened, &ptr, 1000, NULL), ==, GPUARENA_OK);
    pool_measure(&opened, &use, &stats);
    CHECK_MSG(use.requested_bytes == 1000 && use.live_bytes >= 1000 && use.reserved_bytes >= use.live_bytes,
              "%s: 1,000 bytes", kind->name);
    CHECK_U64(pool_block_bytes(&opened, ptr, 1000), ==, use.live_bytes);
    CHECK(pool_alloc(&opened, &none, 0, NULL) == GPUARENA_OK && !none);
    CHECK_INT(pool_free(&opened, NULL, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(pool_alloc(&opened, &none, 65 << 20, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    pool_last_refusal(&opened, &refusal);
    CHECK_STR(refusal.reason, "over_limit");
    CHECK_MSG(strstr(refusal.text, "over_limit for a block of 68157440 bytes; reserved are ") == refusal.text,
              "%s: %s", kind->name, refusal.text);
    CHECK_INT(pool_alloc(&opened, &none, UINT64_MAX, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(pool_free(&opened, &opened, 1, NULL), ==, GPUARENA_FOREIGN_POINTER);
    CHECK_INT(pool_free(&opened, ptr, 1000, NULL), ==, GPUARENA_OK);
    CHECK_INT(pool_trim(&opened), ==, GPUARENA_OK);
    pool_measure(&opened, &use, &stats);
    CHECK_MSG(use.requested_bytes + use.live_bytes + use.free_bytes + use.reserved_bytes == 0, "%s: all given back",
              kind->name);
    pool_close(&opened);
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, 0);
    CHECK_INT(pool_alloc(&opened, &ptr, 5 << 20, NULL), ==, GPUARENA_OK);
    pool_close(&opened);
    device_count(on, &counters);
    CHECK_MSG(counters.held_bytes == 0, "%s: closing with a live block leaves nothing held", kind->name);
}

/* Where the library is not: the name, what is missing and where it would come from. */
static void test_rival_absent(device *on)
{
    policy made;
    pool opened;
    CHECK_INT(parse("cub-library", 0, &made), ==, 0);
    CHECK_INT(pool_open(&opened, &made, on, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_NO_DEVICE);
    CHECK(strstr(why.text, "policy 'cub-library': libcub-sim.so: not found; make builds it where a C++17 compiler"));
    why.exit_code = 0;
}

/* A device of 64 MiB with these faults, and raw at work on it. */
static device *open_faulty(const char *faults, pool *opened)
{
    policy made;
    device_config config;
    memset(&config, 0, sizeof config);
    config.sim.capacity_bytes = 64 << 20;
    config.sim.faults = faults;
    device *on = device_open(&config, &why);
    CHECK(on && parse("raw", 0, &made) == 0 && pool_open(opened, &made, on, &why) == 0);
    return on;
}

/* What a refusal says of a device that does not answer, and of a call that asks for nothing. */
static void test_refusals(void)
{
    pool opened;
    pool_refusal refusal;
    void *ptr = NULL;
    device *on = open_faulty("obtain:1=700", &opened);
    CHECK_INT(pool_alloc(&opened, &ptr, 1000, NULL), ==, GPUARENA_DEVICE_LOST);
    pool_last_refusal(&opened, &refusal);
    CHECK_STR(refusal.text, "cudaErrorIllegalAddress (700) for a block of 1000 bytes");
    CHECK_INT(refusal.free_known, ==, 0);
    device_close(on, NULL);
    on = open_faulty("info:1", &opened);
    CHECK_INT(pool_alloc(&opened, &ptr, 65 << 20, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    pool_last_refusal(&opened, &refusal);
    CHECK_STR(refusal.text, "cudaErrorMemoryAllocation (2) for a block of 68157440 bytes");
    CHECK_INT(refusal.free_known, ==, 0);
    pool_last_refusal(&opened, &refusal);
    CHECK(refusal.free_known && refusal.free_bytes == 64 << 20);
    device_close(on, NULL);
    on = open_faulty("give_back:1", &opened);
    CHECK_INT(pool_alloc(&opened, &ptr, 1000, NULL), ==, GPUARENA_OK);
    CHECK_INT(pool_free(&opened, ptr, 1000, NULL), ==, GPUARENA_DRIVER_ERROR);
    pool_last_refusal(&opened, &refusal);
    CHECK_STR(refusal.text, "cudaFree of 1000 bytes: cudaErrorUnknown (999)");
    CHECK_INT(refusal.free_known, ==, 0);
    device_close(on, NULL);
}

int main(void)
{
    device_config config;
    memset(&config, 0, sizeof config);
    why.exit_code = 0;
    device *on = device_open(&config, &why);
    CHECK(on != NULL);
    if (on) {
        test_raw(on);
        test_arena(on);
        for (size_t at = 0; model_kind_at(at); at++) test_model_at_work(on, model_kind_at(at));
        if (!rival_present()) test_rival_absent(on);
    }
    device_close(on, NULL);
    test_refusals();
    return tap_done();
}
