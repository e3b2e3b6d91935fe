/* The keys of what is taken for a request, and how much: parsed, written, in force, and refused with the keys named.
   It must not know the implementation. Run: make test, or prove build/tests/test_shape_config. */
#include "arena_state.h"

static fake_device device;

/* What creation says of a configuration's text; "": it was created, and *config is what is in force. */
static const char *refusal(const char *text, gpuarena_config *config)
{
    static char message[256];
    gpuarena_failure failure;
    gpuarena *arena = NULL;
    *config = fake_config(&device);
    if (gpuarena_config_parse(text, config, message, sizeof message) != GPUARENA_OK) return message;
    if (gpuarena_create(config, &arena) == GPUARENA_OK) {
        gpuarena_get_config(arena, config);
        return gpuarena_destroy(arena) == GPUARENA_OK ? "" : "not destroyed";
    }
    gpuarena_last_failure(NULL, &failure);
    memcpy(message, failure.detail, sizeof failure.detail);
    return failure.result == GPUARENA_INVALID_CONFIG ? message : "another result";
}

/* Each contradiction has a sentence of its own, which begins with the key. */
static void test_refusals(void)
{
    static const char *const rows[][2] = {
        { "bin_min=512", "bin_growth, bin_min, bin_max: only with placement=bins" },
        { "bin_growth=8,placement=buddy", "bin_growth, bin_min, bin_max: only with placement=bins" },
        { "placement=bins,bin_growth=6", "bin_growth: expected a power of two from 2 to 1024" },
        { "placement=bins,bin_growth=1", "bin_growth: expected a power of two from 2 to 1024" },
        { "placement=bins,bin_growth=2048", "bin_growth: expected a power of two from 2 to 1024" },
        { "placement=bins,bin_min=768", "bin_min: expected a power of two, alignment at least, 512T at most" },
        { "placement=bins,bin_min=256,alignment=512",
          "bin_min: expected a power of two, alignment at least, 512T at most" },
        { "placement=bins,bin_min=1024T", "bin_min: expected a power of two, alignment at least, 512T at most" },
        { "placement=bins,bin_max=1M", "bin_max: expected bin_min, some times bin_growth, 512T at most" },
        { "placement=bins,bin_max=256", "bin_max: expected bin_min, some times bin_growth, 512T at most" },
        { "placement=bins,bin_growth=1024,bin_max=8192T",
          "bin_max: expected bin_min, some times bin_growth, 512T at most" },
        { "round_divisions=3", "round_divisions: expected a power of two up to 128, or 0" },
        { "round_divisions=256", "round_divisions: expected a power of two up to 128, or 0" },
        { "round_divisions=1/4M:12", "round_divisions: expected a power of two up to 128, or 0" },
        { "round_divisions=4,placement=buddy",
          "round_divisions: not with placement=buddy or bins, which round themselves" },
        { "round_divisions=0/2M:4,placement=bins",
          "round_divisions: not with placement=buddy or bins, which round themselves" },
        { "split=ratio,placement=buddy",
          "split: not with placement=buddy, which halves, or bins, which never split" },
        { "split=remainder,placement=bins",
          "split: not with placement=buddy, which halves, or bins, which never split" },
        { "split_least=1M", "split_least: only with split=ratio or split=remainder" },
        { "split=ratio,split_least=1024T", "split_least: at most 512T" },
        { "split_over=1M", "split_over: only with split_max" },
        { "split_max=20M", "split_max: only with placement=best or placement=first" },
        { "split_max=20M,placement=bins", "split_max: only with placement=best or placement=first" },
        { "split_max=3M,placement=best", "split_max: expected a multiple of 2M from 4M to 512T" },
        { "split_max=2M,placement=best", "split_max: expected a multiple of 2M from 4M to 512T" },
        { "split_max=1024T,placement=best", "split_max: expected a multiple of 2M from 4M to 512T" },
        { "split_max=20M,split_over=1024T,placement=best", "split_over: at most 512T" },
        { "small_step=2M", "small_step: only with small" },
        { "small=1M", "small: only with placement=best or placement=first" },
        { "small=1M,placement=first,growth=fixed",
          "small: not with growth=fixed, which leaves nothing for its segments" },
        { "small=1M,placement=first,small_step=1024T",
          "small, small_step: at most 512T, and small_step below split_max" },
        { "small=1M,placement=first,small_step=20M,split_max=20M",
          "small, small_step: at most 512T, and small_step below split_max" },
        { "cache=1M,split=ratio", "cache: not with round_divisions or split" },
        { "cache=1M,round_divisions=0/2M:4", "cache: not with round_divisions or split" },
        { "cache=1M,alignment=2M", "cache: not with alignment above 1M, as no block would be kept" },
        { "cache=1M,placement=bins", "cache: only with placement=good" },
        { "cache=1M,release=age,release_age=9", "cache: not with release=idle or age, which look at every free" },
        { "cache=1M,release=idle", "cache: not with release=idle or age, which look at every free" },
        { "split=never", "split=never: expected always, ratio, remainder" },
        { "round_divisions=4/3M:2",
          "round_divisions=4/3M:2: expected a number, such as 4, or several by rising size, 1/512M:2/1G:4" },
    };
    gpuarena_config config;
    fake_open(&device, GIB(1));
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        CHECK_STR(refusal(rows[row][0], &config), rows[row][1]);
    config = fake_config(&device);
    config.round_by_size[0] = 2;
    gpuarena *arena;
    gpuarena_failure failure;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_STR(failure.detail, "round_by_size: its first entry must be 0; round_divisions is that");
    config = fake_config(&device);
    config.split = (gpuarena_split)9;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_STR(failure.detail, "split: expected always, ratio or remainder");
}

/* What is in force where a key is left out. */
static void test_defaults(void)
{
    static const char *const rows[][2] = {
        { "placement=bins", "placement=bins,bin_growth=8,bin_min=512,bin_max=2M" },
        { "placement=bins,alignment=4K", "placement=bins,bin_growth=8,bin_min=4K,bin_max=2M" },
        { "placement=bins,bin_growth=2,bin_max=64M", "placement=bins,bin_growth=2,bin_min=512,bin_max=64M" },
        { "placement=bins,bin_min=4M", "placement=bins,bin_growth=8,bin_min=4M,bin_max=4M" },
        { "placement=buddy", "placement=buddy" },
        { "split=ratio", "split=ratio,split_least=128M" },
        { "split=remainder", "split=remainder,split_least=1M" },
        { "split=remainder,split_least=1049088", "split=remainder,split_least=1049088" },
        { "placement=best,split_max=20M", "placement=best,split_max=20M,split_over=20M" },
        { "placement=first,small=1M,small_step=3M", "placement=first,small=1M,small_step=4M" },
        { "placement=best,small=1M", "placement=best,small=1M,small_step=2M" },
        { "round_divisions=1/512M:2/1G:4/2G:8", "round_divisions=1/512M:2/1G:4/2G:8" },
        { "round_divisions=0/32G:128", "round_divisions=0/32G:128" },
    };
    fake_open(&device, GIB(1));
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        gpuarena_config config;
        char text[512];
        CHECK_STR(refusal(rows[row][0], &config), "");
        CHECK_INT(config.backing, ==, GPUARENA_BACKING_SEGMENTS);
        config.backing = GPUARENA_BACKING_AUTO;
        config.growth = GPUARENA_GROWTH_AUTO;
        config.step_bytes = config.step_max_bytes = config.limit_bytes = config.alignment = 0;
        config.streams = GPUARENA_STREAMS_AUTO;
        gpuarena_config_text(&config, text, sizeof text);
        CHECK_STR(text, rows[row][1]);
    }
}

static uint64_t random_state = 11;

static uint64_t random_next(void)
{
    uint64_t value = random_state += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static uint64_t random_size(void)
{
    uint64_t value = random_next(), down = random_next() % 64, up = random_next() % 30;
    return value % 3 == 0 ? 0 : value >> down << up;
}

static void test_round_trip(void)
{
    int wrong = 0;
    for (int round = 0; round < 20000 && wrong == 0; round++) {
        gpuarena_config config = GPUARENA_INIT, parsed = GPUARENA_INIT;
        char text[512], again[512], message[128];
        config.placement = (gpuarena_placement)(random_next() % 5);
        config.bin_growth = (uint32_t)random_size();
        config.bin_min_bytes = random_size();
        config.bin_max_bytes = random_size();
        config.round_divisions = (uint32_t)(random_next() % 3 ? random_size() : 0);
        for (int at = 1; at < 16; at++)
            if (random_next() % 6 == 0) config.round_by_size[at] = (uint8_t)random_next();
        config.split = (gpuarena_split)(random_next() % 3);
        config.split_least_bytes = random_size();
        config.split_max_bytes = random_size();
        config.split_over_bytes = random_size();
        config.small_bytes = random_size();
        config.small_step_bytes = random_size();
        wrong += gpuarena_config_text(&config, text, sizeof text) != strlen(text);
        wrong += gpuarena_config_parse(text, &parsed, message, sizeof message) != GPUARENA_OK;
        wrong += memcmp(&parsed, &config, sizeof config) != 0;
        gpuarena_config_text(&parsed, again, sizeof again);
        wrong += strcmp(text, again) != 0;
        if (wrong) printf("# \"%s\" then \"%s\": %s\n", text, again, message);
    }
    CHECK_MSG(wrong == 0, "20,000 random configurations: text, parsed, text");
}

/* Lists that are none: of round_divisions. */
static void test_lists(void)
{
    static const char *const bad[] = { "", "/", "4/", "/2M:4", "4/2M", "4/2M:", "4/:4", "4/2M:4/", "4/2M:4/2M:8",
        "4/4M:4/2M:8", "4/1M:4", "4/64G:4", "4/2M:0", "4/2M:256", "4/2M:4x", "4294967296",
        "-4", "4/18446744073709551616:4" };
    for (size_t row = 0; row < sizeof bad / sizeof *bad; row++) {
        gpuarena_config config = GPUARENA_INIT, zero = GPUARENA_INIT;
        char text[64], message[160];
        snprintf(text, sizeof text, "round_divisions=%s", bad[row]);
        CHECK_MSG(gpuarena_config_parse(text, &config, message, sizeof message) == GPUARENA_INVALID_CONFIG
                  && strstr(message, "1/512M:2/1G:4") && !memcmp(&config, &zero, sizeof zero), "%s", message);
    }
}

/* The environment fills what is left at zero, the list as one. */
static void test_environment(void)
{
    gpuarena_config config = fake_config(&device);
    gpuarena *arena;
    fake_open(&device, GIB(1));
    config.environment = "GPUARENA_TEST_SHAPE";
    CHECK_INT(setenv("GPUARENA_TEST_SHAPE", "round_divisions=0/2M:4,placement=best,small=1M,split=ratio", 1), ==, 0);
    config.small_bytes = MIB(2);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    gpuarena_get_config(arena, &config);
    CHECK_MSG(config.round_by_size[1] == 4 && config.small_bytes == MIB(2) && config.split == GPUARENA_SPLIT_RATIO
              && config.placement == GPUARENA_PLACE_BEST, "filled in");
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    config = fake_config(&device);
    config.environment = "GPUARENA_TEST_SHAPE";
    config.round_by_size[2] = 2;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    gpuarena_get_config(arena, &config);
    CHECK_MSG(config.round_by_size[1] == 0 && config.round_by_size[2] == 2, "a list that is given stays");
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    unsetenv("GPUARENA_TEST_SHAPE");
}

int main(void)
{
    test_refusals();
    test_defaults();
    test_round_trip();
    test_lists();
    test_environment();
    return tap_done();
}
