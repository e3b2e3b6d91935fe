/* Configuration at its edges: shares, units, messages to the letter, contradictions, half-filled driver groups. */
#include "arena_state.h"

static fake_device device;

static const char *parse_message(const char *text, gpuarena_config *config)
{
    static char message[1024];
    strcpy(message, "untouched");
    gpuarena_config_parse(text, config, message, sizeof message);
    return message;
}

static void test_parse(void)
{
    gpuarena_config config = GPUARENA_INIT;
    CHECK_STR(parse_message("limit=100%", &config), "");
    CHECK_MSG(config.limit_base == GPUARENA_LIMIT_OF_TOTAL && config.limit_fraction >= 1
              && config.limit_fraction <= 1,
              "100%% is all of it");
    CHECK_STR(parse_message("limit=0.5%free", &config), "");
    CHECK_MSG(config.limit_base == GPUARENA_LIMIT_OF_FREE && config.limit_fraction * 1000 > 4.999
              && config.limit_fraction * 1000 < 5.001, "half a percent of what is free");
    CHECK_STR(parse_message("step=4g,step_max=2t,initial=3k", &config), "");
    CHECK_MSG(config.step_bytes == GIB(4) && config.step_max_bytes == (uint64_t)2 << 40
              && config.initial_bytes == 3072,
              "units in small letters");
    const char *const same[] = { "step=4G", "step=4GB", "step=4GiB", "step=4gib", "step=4gB", "step=4096MiB",
                                 "step=4294967296B" };
    for (size_t row = 0; row < sizeof same / sizeof *same; row++) {
        config.step_bytes = 0;
        CHECK_STR(parse_message(same[row], &config), "");
        CHECK_U64(config.step_bytes, ==, GIB(4));
    }
    const char *const units[] = { "step=4Gi", "step=4iB", "step=4GBs", "step=4BG", "step=GB", "step=4GiG",
                                  "step=4 G" };
    for (size_t row = 0; row < sizeof units / sizeof *units; row++)
        CHECK_MSG(strstr(parse_message(units[row], &config), "expected a size"), "%s", units[row]);
    const char *const bad[] = { "limit=18446744073709551615", "limit=0%", "limit=100.1%", "limit=100.0000000000001%",
                                "limit=-10%", "limit=110%",
                                "limit=0", "limit=4G%", "limit=%", "limit=80%total", "limit=total", "limit=1.5G",
                                "limit=80.%", "limit=0.12345678901234%", "limit=total-", "limit=free-2Gx" };
    const char *const wanted = ": expected 4G, none, 80%, 80%free, total-2G or free-2G";
    for (size_t row = 0; row < sizeof bad / sizeof *bad; row++) {
        gpuarena_config before = config;
        const char *message = parse_message(bad[row], &config);
        CHECK_MSG(strncmp(message, bad[row], 6) == 0 && strstr(message, wanted)
                  && !memcmp(&before, &config, sizeof config),
                  "%s", message);
    }
}

#define KEYS "backing growth share page idle large initial step step_max alignment limit headroom oversubscribe " \
             "release release_at release_keep release_age cache streams wait_ms scrub plan debug"

static void test_messages(void)
{
    gpuarena_config config = GPUARENA_INIT;
    CHECK_STR(parse_message("step=1M,step=1M", &config), "step=1M: step is given twice");
    CHECK_STR(parse_message("colour=red", &config), "colour=red: no such key, expected " KEYS);
    CHECK_STR(parse_message("growth", &config), "growth: expected a value for growth");
    CHECK_STR(parse_message("backing=disk", &config),
              "backing=disk: expected auto, paged, segments, pinned, managed, async");
    CHECK_STR(parse_message("share=all", &config), "share=all: expected none, whole");
    CHECK_STR(parse_message("idle=5", &config), "idle=5: expected 0, 5%, or another share up to 100%");
    CHECK_STR(parse_message("growth=more", &config), "growth=more: expected auto, fixed, exact, step, double");
    CHECK_STR(parse_message("step=1Q", &config), "step=1Q: expected a size, such as 64K or 4G, up to 512T");
    CHECK_STR(parse_message("step=1M,", &config), ": no such key, expected " KEYS);
    CHECK_STR(parse_message("b\1cking=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &config),
              "b?cking=aaaaaaaaaaaaaaaa..: no such key, expected " KEYS);
}

/* What there was once: its line says what to use instead; all of the text is refused with it. */
static void test_former(void)
{
    static const char *const former[][2] = {
        { "bfc", "bfc: a rival in stress, no configuration" },
        { "pytorch,limit=4G", "pytorch: a rival in stress, no configuration" },
        { "step=4M,pytorch-expandable", "pytorch-expandable: a rival in stress, no configuration" },
        { "rmm", "rmm: a rival in stress, no configuration" }, { "cub", "cub: a rival in stress, no configuration" },
        { "ort", "ort: a rival in stress, no configuration" },
        { "growth=half", "growth=half: gone; stress -p rmm is a model of it" },
        { "placement=best", "placement=best: gone; stress -p best-fit, first-fit and cub are models of it" },
        { "placement", "placement: gone; stress -p best-fit" },
        { "bin_growth=8", "bin_growth=8: gone; stress -p cub is" },
        { "bin_min=512", "bin_min=512: gone; stress -p cub is" },
        { "bin_max=2M", "bin_max=2M: gone; stress -p cub is" },
        { "round_divisions=1/512M:2", "round_divisions=1/512M:2: gone; round requests before they are made" },
        { "split=ratio", "split=ratio: gone; what a request leaves of a block is always cut off" },
        { "split_least=1", "split_least=1: gone; what a request leaves" },
        { "split_max=4M", "split_max=4M: gone; stress -p pytorch is" },
        { "split_over=1", "split_over=1: gone; stress -p pytorch is" },
        { "small=1M", "small=1M: gone; an arena of its own for small requests keeps them apart" },
        { "small_step=2M", "small_step=2M: gone; an arena of its own" },
        { "exact=10M", "exact=10M: gone; allocate with GPUARENA_ALLOC_DEDICATED, or use growth=exact" },
        { "backoff=tenth", "backoff=tenth: gone; after a refusal the surplus over the need is halved" } };
    gpuarena_config config = GPUARENA_INIT, before = config;
    for (size_t row = 0; row < sizeof former / sizeof *former; row++) {
        const char *message = parse_message(former[row][0], &config);
        CHECK_MSG(strncmp(message, former[row][1], strlen(former[row][1])) == 0 && !strstr(message, "expected")
                  && !memcmp(&before, &config, sizeof config), "%s", message);
    }
    CHECK_STR(parse_message("bfd", &config), "bfd: no such key, expected " KEYS);
}

/* What creation says of a configuration. */
static const char *refusal(const gpuarena_config *config)
{
    static char detail[96];
    gpuarena *arena = NULL;
    gpuarena_failure failure;
    if (gpuarena_create(config, &arena) == GPUARENA_OK) {
        (void)gpuarena_destroy(arena);
        return "created";
    }
    gpuarena_last_failure(NULL, &failure);
    memcpy(detail, failure.detail, sizeof detail);
    return failure.result == GPUARENA_INVALID_CONFIG ? detail : "another result";
}

static void test_contradictions(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.limit_base = GPUARENA_LIMIT_OF_TOTAL;
    config.limit_fraction = 0.5;
    CHECK_STR(refusal(&config), "created");
    config.limit_bytes = GIB(1);
    CHECK_STR(refusal(&config), "limit: give bytes or a fraction, not both");
    config.limit_base = GPUARENA_LIMIT_BYTES;
    CHECK_STR(refusal(&config), "limit: give bytes or a fraction, not both");
    config.limit_fraction = 0;
    CHECK_STR(refusal(&config), "created");
    config.initial_bytes = GIB(1);
    CHECK_STR(refusal(&config), "created");
    config.initial_bytes = GIB(1) + 1;
    CHECK_STR(refusal(&config), "initial: above the device's size");
    config.limit_bytes = config.initial_bytes = MIB(512);
    CHECK_STR(refusal(&config), "created");
    config.initial_bytes = MIB(512) + 1;
    CHECK_STR(refusal(&config), "initial: above the limit");
    config.initial_bytes = 0;
    config.step_bytes = ((uint64_t)1 << 49) + 1;
    CHECK_STR(refusal(&config), "step: expected a size, such as 64K or 4G, up to 512T");
    config.step_bytes = MIB(4);
    config.step_max_bytes = MIB(2);
    CHECK_STR(refusal(&config), "step_max: below step");
    config.step_bytes = MIB(2);
    config.step_max_bytes = ((uint64_t)1 << 49) + 1;
    CHECK_STR(refusal(&config), "step_max: expected a size, such as 64K or 4G, up to 512T");
    config.step_max_bytes = 0;
    config.growth = GPUARENA_GROWTH_EXACT;
    CHECK_STR(refusal(&config), "step: only with growth=step, double");
    config.growth = GPUARENA_GROWTH_STEP;
    CHECK_STR(refusal(&config), "created");
    config.step_max_bytes = MIB(8);
    CHECK_STR(refusal(&config), "step_max: only with growth=double");
}

static void test_limits(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    const double fractions[] = { 0, -0.5, 1.000001, 1e300 };
    config.limit_base = GPUARENA_LIMIT_OF_FREE;
    for (size_t row = 0; row < sizeof fractions / sizeof *fractions; row++) {
        config.limit_fraction = fractions[row];
        CHECK_STR(refusal(&config), "limit: a fraction must be above 0 and at most 1 (100%)");
    }
    config.limit_fraction = 1;
    CHECK_STR(refusal(&config), "created");
    config.limit_fraction = 0.0001;
    CHECK_STR(refusal(&config), "limit: 107374 bytes are less than one segment of 2M");
    config.limit_fraction = 0;
    config.limit_base = GPUARENA_LIMIT_TOTAL_MINUS;
    config.limit_bytes = GIB(2);
    CHECK_STR(refusal(&config), "limit: 0 bytes are less than one segment of 2M");
    config.limit_bytes = GIB(1) - MIB(2);
    CHECK_STR(refusal(&config), "created");
    config.limit_base = GPUARENA_LIMIT_BYTES;
    config.limit_bytes = GIB(1) + 1;
    CHECK_STR(refusal(&config), "limit: 1073741825 is above the device's 1073741824 bytes");
    config.limit_base = (gpuarena_limit_base)5;
    CHECK_STR(refusal(&config), "limit_base: no such value");
}

/* The only function of these groups that creation calls. */
static int keep_mode(const gpuarena_driver *self, int *mode)
{
    return (void)self, (void)mode, 0;
}

/* Every function of a group alone, and every function of it missing. */
static void test_groups(void)
{
    gpuarena_driver table;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.driver = &table;
    typedef void (*function)(void);
    function some = (function)keep_mode;
    const struct { size_t offset, count; const char *says; } groups[] = {
        { offsetof(gpuarena_driver, vm), 7, "driver.vm: set all of its functions, or none" },
        { offsetof(gpuarena_driver, events), 7, "driver.events: set all of its functions, or none" },
        { offsetof(gpuarena_driver, capture), 2, "driver.capture: set both of its functions, or none" }
    };
    for (size_t group = 0; group < 3; group++)
        for (unsigned set = 0; set < 1u << groups[group].count; set++) {
            table = device.table;
            for (size_t entry = 0; entry < groups[group].count; entry++)
                if (set >> entry & 1)
                    memcpy((char *)&table + groups[group].offset + entry * sizeof some, &some, sizeof some);
            const char *said = refusal(&config);
            const char *wanted = set == 0 || set == (1u << groups[group].count) - 1 ? "created" : groups[group].says;
            if (strcmp(said, wanted) || set == 1) CHECK_STR(said, wanted);
        }
}

/* What is in force can be read, and makes the same again. */
static void test_in_force(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device), found, again;
    char text[200], text_again[200];
    config.environment = "GPUARENA_TEST_NOT_SET";
    config.limit_base = GPUARENA_LIMIT_OF_TOTAL;
    config.limit_fraction = 0.25;
    config.growth = GPUARENA_GROWTH_STEP;
    gpuarena *arena = state_arena(&config);
    gpuarena_get_config(arena, &found);
    CHECK_MSG(found.limit_base == GPUARENA_LIMIT_BYTES && found.limit_bytes == MIB(256)
              && !(found.limit_fraction > 0),
              "the limit is in bytes");
    CHECK_STR(found.environment, "");
    CHECK_STR(found.name, "arena");
    gpuarena_config_text(&found, text, sizeof text);
    CHECK_STR(text, "backing=segments,growth=step,step=64M,alignment=256,limit=256M,streams=steal");
    state_end(arena, &device, "first");
    found.driver = &device.table;
    arena = state_arena(&found);
    gpuarena_get_config(arena, &again);
    gpuarena_config_text(&again, text_again, sizeof text_again);
    CHECK_STR(text_again, text);
    state_end(arena, &device, "again");
}

/* A block keeps its stream, and GPUARENA_OWN_STREAM is that one. */
static void test_streams(void)
{
    gpuarena_stream stream = (gpuarena_stream)(uintptr_t)0x5500;
    gpuarena_block block;
    void *ptr = NULL;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    CHECK_INT(gpuarena_alloc(arena, &ptr, 1000, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_lookup(arena, (char *)ptr + 999, &block), ==, GPUARENA_OK);
    CHECK(block.stream == stream && block.ptr == ptr && block.serial == 1);
    CHECK_INT(gpuarena_free(arena, ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_lookup(arena, ptr, &block), ==, GPUARENA_OK);
    CHECK(block.stream == GPUARENA_ANY_STREAM && block.state == GPUARENA_STATE_FREE && block.serial == 0);
    void *next = state_alloc(arena, 1000);       /* a driver without events: free blocks wait for no stream */
    void *last = state_alloc(arena, 1000);
    CHECK_INT(gpuarena_free(arena, next, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, last, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_lookup(arena, next, &block), ==, GPUARENA_OK);
    CHECK(block.stream == GPUARENA_ANY_STREAM && block.bytes == MIB(2));
    state_end(arena, &device, "streams");
}

int main(void)
{
    test_parse();
    test_messages();
    test_former();
    test_contradictions();
    test_limits();
    test_groups();
    test_in_force();
    test_streams();
    return tap_done();
}
