/* Models at work on a simulated device. Other policies, and a rival that is not there: tests/cli/cases.
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

/* Each model at work: a block, its figures, a refusal in its words, and nothing held in the end. */
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
    CHECK(pool_follows(&opened) == !opened.goes_home);
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

int main(void)
{
    device_config config;
    policy_kind kind;
    memset(&config, 0, sizeof config);
    why.exit_code = 0;
    device *on = device_open(&config, &why);
    CHECK(on != NULL);
    if (on) {
        for (size_t at = 0; policy_kind_at(at, &kind); at++) if (kind.model) test_model_at_work(on, kind.model);
    }
    device_close(on, NULL);
    return tap_done();
}
