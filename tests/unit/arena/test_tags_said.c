/* Tags: names, their bounds, what observers are told of them. What failures say of them: sentences.golden; reports:
   test_walk_report.c. It must not know how tags are counted. */
#include "arena_state.h"

static fake_device device;

static gpuarena *arena_with(const char *keys)
{
    fake_open(&device, GIB(64));
    gpuarena_config config = fake_config(&device);
    CHECK_INT(gpuarena_config_parse(keys, &config, NULL, 0), ==, GPUARENA_OK);
    strcpy(config.name, "serve");
    return state_arena(&config);
}

static void *tagged(gpuarena *arena, uint64_t bytes, uint32_t tag)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    request.bytes = bytes;
    request.tag = tag;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    return ptr;
}

static void test_names(void)
{
    static const char *const bad[] = { NULL, "", "a\nb", "caf\xc3\xa9", "12345678901234567890123456789012" };
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

static uint32_t seen[3];
static int seen_count;

static void watch(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)arena;
    if (seen_count < 3) seen[seen_count++] = action->block.tag;
    *(uint32_t *)user = gpuarena_tag_scope(*(uint32_t *)user);
}

/* An observer is told, and may change its thread's scope, which lasts. */
static void test_observer(void)
{
    gpuarena *arena = arena_with("initial=2M");
    uint32_t kv = gpuarena_tag("kv"), other = gpuarena_tag("other");
    CHECK_MSG(!gpuarena_tag("a\x7f"), "a name is printable ASCII");
    gpuarena_block block;
    CHECK_INT(gpuarena_observe(arena, watch, &other), ==, GPUARENA_OK);
    void *ptr = tagged(arena, 100, kv);
    CHECK_INT(gpuarena_observe(arena, NULL, NULL), ==, GPUARENA_OK);
    void *behind = state_alloc(arena, 100);
    CHECK_INT(gpuarena_lookup(arena, behind, &block), ==, GPUARENA_OK);
    CHECK_U64(block.tag, ==, gpuarena_tag("other"));
    CHECK_U64(gpuarena_tag_scope(0), ==, gpuarena_tag("other"));
    other = 0;
    CHECK_INT(gpuarena_observe(arena, watch, &other), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_observe(arena, NULL, NULL), ==, GPUARENA_OK);
    CHECK_MSG(seen_count == 2 && seen[0] == kv && seen[1] == kv, "alloc and free are told with the tag");
    state_end(arena, &device, "observer");
}

/* Last: there is no way back. */
static void test_full(void)
{
    gpuarena *arena = arena_with("");
    gpuarena_failure failure;
    gpuarena_tag_stats stats;
    char name[32];
    uint32_t made = 0, last = 0;
    for (uint32_t at = 0; at < GPUARENA_TAGS; at++) {
        snprintf(name, sizeof name, "name %" PRIu32, at);
        uint32_t tag = gpuarena_tag(name);
        if (tag) last = tag;
        made += tag != 0;
    }
    CHECK_MSG(made > 1000 && made < GPUARENA_TAGS, "names until there are %u", GPUARENA_TAGS);
    gpuarena_last_failure(NULL, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_NOT_SUPPORTED);
    CHECK_U64(gpuarena_tag("weights"), !=, 0);
    tagged(arena, 100, last);
    CHECK_INT(gpuarena_get_tag(arena, last, &stats), ==, GPUARENA_OK);
    CHECK_U64(stats.live_bytes, ==, 256);
    state_end(arena, &device, "as many tags as may be");
}

int main(void)
{
    test_names();
    test_observer();
    test_full();
    return tap_done();
}
