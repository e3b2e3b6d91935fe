/* Tags: names, and their bounds. What failures say of them: sentences.golden; reports: test_walk_report.c; what
   observers are told: observe.script. It must not know how tags are counted. */
#include "arena_state.h"

static fake_device device;

static void test_names(void)
{
    static const char *const bad[] = { NULL, "", "a\nb", "a\x7f", "caf\xc3\xa9", "12345678901234567890123456789012" };
    uint32_t weights = gpuarena_tag("weights"), longest = gpuarena_tag("1234567890123456789012345678901");
    gpuarena_failure failure;
    CHECK_MSG(weights > INT32_MAX && gpuarena_tag("weights") == weights, "one name has one tag, 2^31 or more");
    CHECK_MSG(longest && longest != weights && gpuarena_tag(" \"\\") != longest,
              "names of 31 characters, and of any");
    CHECK_STR(gpuarena_tag_name(weights), "weights");
    CHECK_STR(gpuarena_tag_name(longest), "1234567890123456789012345678901");
    CHECK_MSG(!gpuarena_tag_name(0)[0] && !gpuarena_tag_name(7)[0] && !gpuarena_tag_name(UINT32_MAX)[0],
              "what is no tag has no name");
    for (size_t at = 0; at < sizeof bad / sizeof bad[0]; at++) {
        CHECK_U64(gpuarena_tag(bad[at]), ==, 0);
        gpuarena_last_failure(NULL, &failure);
        CHECK_INT(failure.result, ==, GPUARENA_INVALID_ARGUMENT);
    }
}

/* Last: there is no way back. */
static void test_full(void)
{
    gpuarena *arena = state_open(&device);
    gpuarena_request request = GPUARENA_INIT;
    void *ptr;
    gpuarena_failure failure;
    gpuarena_tag_stats stats;
    char name[32];
    uint32_t made = 0;
    for (uint32_t at = 0; at < GPUARENA_TAGS; at++) {
        snprintf(name, sizeof name, "name %" PRIu32, at);
        uint32_t tag = gpuarena_tag(name);
        if (tag) request.tag = tag;
        made += tag != 0;
    }
    CHECK_MSG(made > 1000 && made < GPUARENA_TAGS, "names until there are %u", GPUARENA_TAGS);
    gpuarena_last_failure(NULL, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_NOT_SUPPORTED);
    CHECK_U64(gpuarena_tag("weights"), !=, 0);
    request.bytes = 100;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_get_tag(arena, request.tag, &stats), ==, GPUARENA_OK);
    CHECK_U64(stats.live_bytes, ==, 256);
    state_end(arena, &device, "as many tags as may be");
}

int main(void)
{
    test_names();
    test_full();
    return tap_done();
}
