/* Presets as text: a name first, keys behind it, the environment; each prints and parses back to the same.
   It must not know how an arena with one behaves: tests/test_like_*.c do.
   Run: make test, or prove build/tests/test_presets */
#include "paged.h"

typedef struct preset { const char *name, *what, *text, *lacks; } preset;
static const preset presets[] = {
#define X(name, what, text, lacks) { name, what, text, lacks },
    GPUARENA_PRESETS(X)
#undef X
};

static char message[512];

static gpuarena_config parsed(const char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_result result = gpuarena_config_parse(text, &config, message, sizeof message);
    if (result != GPUARENA_OK) CHECK_MSG(0, "%s: %s", text, message);
    return config;
}

/* The text of a configuration, in one of two buffers in turn. */
static const char *text_of(const gpuarena_config *config)
{
    static char texts[2][1024];
    static int turn;
    turn = !turn;
    gpuarena_config_text(config, texts[turn], sizeof texts[turn]);
    return texts[turn];
}

static void test_texts(void)
{
    for (size_t at = 0; at < COUNT(presets); at++) {
        gpuarena_config by_name = parsed(presets[at].name), by_text = parsed(presets[at].text);
        CHECK_MSG(memcmp(&by_name, &by_text, sizeof by_name) == 0, "%s is its text", presets[at].name);
        CHECK_STR(text_of(&by_name), presets[at].text);
        CHECK_MSG(presets[at].what[0] && presets[at].lacks[0], "%s says what it is, and what it is not",
                  presets[at].name);
        CHECK_MSG(!strpbrk(presets[at].name, ",=: ") && strlen(presets[at].name) < 32, "%s can stand in text",
                  presets[at].name);
    }
}

/* Each makes an arena, and the values in force of that are text that makes the same. */
static void test_arenas(void)
{
    for (size_t at = 0; at < COUNT(presets); at++) {
        sim_bench device = bench_open_sized(GIB(1), NULL);
        gpuarena_config config = parsed(presets[at].name), values, again;
        gpuarena *arena = NULL, *other = NULL;
        char text[1024];
        config.driver = &device.driver;
        config.environment = "";
        CHECK_MSG(gpuarena_create(&config, &arena) == GPUARENA_OK, "%s makes an arena", presets[at].name);
        gpuarena_get_config(arena, &values);
        gpuarena_config_text(&values, text, sizeof text);
        config = parsed(text);
        config.driver = &device.driver;
        config.environment = "";
        CHECK_MSG(gpuarena_create(&config, &other) == GPUARENA_OK, "so does %s", text);
        gpuarena_get_config(other, &again);
        CHECK_STR(text_of(&again), text);
        CHECK(gpuarena_destroy(arena) == GPUARENA_OK && gpuarena_destroy(other) == GPUARENA_OK);
        bench_close(&device);
    }
}

static void test_keys(void)
{
    gpuarena_config config = parsed("pytorch,limit=4G,round_divisions=4");
    gpuarena_config plain = parsed("pytorch");
    CHECK(config.limit_bytes == GIB(4) && config.round_divisions == 4);
    config.limit_bytes = 0;
    config.round_divisions = 0;
    CHECK_MSG(memcmp(&config, &plain, sizeof config) == 0, "and nothing else");
    config = parsed("bfc,growth=exact,step_max=0");
    CHECK_MSG(config.growth == GPUARENA_GROWTH_EXACT && config.step_max_bytes == 0, "keys go before its own");
    config = parsed("headroom=1G");
    CHECK_INT(gpuarena_config_parse("ort", &config, message, sizeof message), ==, GPUARENA_OK);
    CHECK_MSG(config.headroom_bytes == GIB(1) && config.growth == GPUARENA_GROWTH_DOUBLE, "over what is there");
}

static void test_refusals(void)
{
    static const struct { const char *text, *said; } cases[] = {
        { "limit=4G,bfc", "bfc: a preset, which must stand first" },
        { "bfc,bfc", "bfc: a preset, which must stand first" },
        { "bfc,limit=4G,rmm", "rmm: a preset, which must stand first" },
        { "bfd", "bfd: no preset and no key, expected bfc pytorch pytorch-expandable rmm cub ort, or key=value" },
        { "BFC", "BFC: no preset and no key" }, { "bfc=1", "bfc=1: no such key, expected backing" },
        { "bfc ", "bfc : no preset" }, { "bfc,", ": no such key" }, { ",bfc", ": no such key" },
        { "pytorch-", "pytorch-: no preset" }, { "bfc,growth", "growth: expected a value for growth" },
        { "bfc,growth=half,growth=half", "growth=half: growth is given twice" } };
    for (size_t at = 0; at < COUNT(cases); at++) {
        gpuarena_config config = parsed("step=6M"), before = config;
        gpuarena_result result = gpuarena_config_parse(cases[at].text, &config, message, sizeof message);
        CHECK_MSG(result == GPUARENA_INVALID_CONFIG && strncmp(message, cases[at].said, strlen(cases[at].said)) == 0
                  && memcmp(&config, &before, sizeof config) == 0, "'%s': %s", cases[at].text, message);
    }
}

static void test_environment(void)
{
    sim_bench device = bench_open_sized(GIB(8), NULL);
    gpuarena_config config = GPUARENA_INIT, values;
    gpuarena *arena = NULL;
    setenv("GPUARENA_CONF", "pytorch,limit=4G", 1);
    config.driver = &device.driver;
    config.exact_bytes = MIB(6);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    gpuarena_get_config(arena, &values);
    CHECK_MSG(values.limit_bytes == GIB(4) && values.alignment == 512 && values.placement == GPUARENA_PLACE_BEST
              && values.small_bytes == MIB(1), "a preset and a key from the environment");
    CHECK_U64(values.exact_bytes, ==, MIB(6));
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    unsetenv("GPUARENA_CONF");
    bench_close(&device);
}

int main(void)
{
    test_texts();
    test_arenas();
    test_keys();
    test_refusals();
    test_environment();
    return tap_done();
}
