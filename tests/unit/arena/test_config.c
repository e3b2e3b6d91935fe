/* Configuration: text in and out, every key and bad value, environment, contradictions, values in force. */
#include "stress/base/splitmix64.h"
#include "arena_state.h"

static fake_device device;

static void test_good_text(void)
{
    gpuarena_config config = GPUARENA_INIT;
    char message[128] = "x";
    CHECK_INT(gpuarena_config_parse("backing=segments,growth=step,initial=256,step=64K,step_max=512M,"
                                    "alignment=1K,limit=4G,headroom=1T,cache=3M", &config, message, sizeof message),
              ==, GPUARENA_OK);
    CHECK_MSG(config.backing == GPUARENA_BACKING_SEGMENTS && config.growth == GPUARENA_GROWTH_STEP,
              "names");
    CHECK_MSG(config.initial_bytes == 256 && config.step_bytes == KIB(64) && config.step_max_bytes == MIB(512)
              && config.alignment == 1024 && config.limit_bytes == GIB(4) && config.headroom_bytes == GIB(1024)
              && config.cache_bytes == MIB(3),
              "sizes, binary units");
    CHECK_INT(config.limit_base, ==, GPUARENA_LIMIT_BYTES);
    CHECK_INT(gpuarena_config_parse("backing=paged,growth=auto,share=ipc,page=4M,idle=12.5%,large=16M",
                                    &config, message, sizeof message), ==, GPUARENA_OK);
    CHECK_MSG(config.backing == GPUARENA_BACKING_PAGED && config.growth == GPUARENA_GROWTH_AUTO
              && config.share == GPUARENA_SHARE_WHOLE, "names of pages");
    CHECK_MSG(config.page_bytes == MIB(4) && config.large_bytes == MIB(16) && config.idle_fraction > 0.1249999
              && config.idle_fraction < 0.1250001, "sizes of pages");
    CHECK_INT(gpuarena_config_parse("share=rdma,idle=0", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_MSG(config.share == GPUARENA_SHARE_WHOLE && config.idle_fraction < 0, "whole for rdma, and none idle");
    CHECK_INT(gpuarena_config_parse("backing=auto,idle=100%", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_MSG(config.backing == GPUARENA_BACKING_AUTO && config.idle_fraction * 2 > 1.9999999, "auto, and all idle");
    static const struct { const char *text; gpuarena_growth growth; } growths[] = {
        { "growth=fixed", GPUARENA_GROWTH_FIXED }, { "growth=exact", GPUARENA_GROWTH_EXACT },
        { "growth=double", GPUARENA_GROWTH_DOUBLE } };
    for (size_t index = 0; index < 3; index++) {
        CHECK_INT(gpuarena_config_parse(growths[index].text, &config, NULL, 0), ==, GPUARENA_OK);
        CHECK_INT(config.growth, ==, growths[index].growth);
    }
    CHECK_MSG(config.step_bytes == KIB(64), "keys not named keep their values");
    CHECK_INT(gpuarena_config_parse("limit=80%", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_MSG(config.limit_base == GPUARENA_LIMIT_OF_TOTAL && config.limit_fraction > 0.7999999
              && config.limit_fraction < 0.8000001, "80%%");
    CHECK_INT(gpuarena_config_parse("limit=50%free", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_MSG(config.limit_base == GPUARENA_LIMIT_OF_FREE && config.limit_fraction > 0.4999999
              && config.limit_fraction < 0.5000001, "50%%free");
    CHECK_INT(gpuarena_config_parse("limit=total-2G", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_MSG(config.limit_base == GPUARENA_LIMIT_TOTAL_MINUS && config.limit_bytes == GIB(2), "total-2G");
    CHECK_INT(gpuarena_config_parse("limit=free-512M", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_MSG(config.limit_base == GPUARENA_LIMIT_FREE_MINUS && config.limit_bytes == MIB(512), "free-512M");
    CHECK_INT(gpuarena_config_parse("", &config, message, sizeof message), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_config_parse("step=18446744073709551615", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_U64(config.step_bytes, ==, UINT64_MAX);
}

static void test_bad_text(void)
{
    static const struct { const char *text, *key; } bad[] = {
        { "colour=1", "colour" }, { "Growth=step", "Growth" }, { "growth=fast", "growth" }, { "growth=", "growth" },
        { "growth", "growth" }, { "backing=pages", "backing" }, { "backing=disk", "backing" },
        { "share=all", "share" }, { "page=", "page" }, { "page=2.5M", "page" }, { "large=-8M", "large" },
        { "idle=", "idle" }, { "idle=5", "idle" }, { "idle=-5%", "idle" }, { "idle=101%", "idle" },
        { "idle=5%free", "idle" }, { "idle=0.05", "idle" }, { "idle=5%,idle=5%", "idle" },
        { "initial=x", "initial" }, { "step=", "step" }, { "step=-1", "step" }, { "step=+1", "step" }, { "step= 1",
                                                                                                         "step" },
        { "step=1.5M", "step" }, { "step=1Q", "step" }, { "step=1MM", "step" }, { "step=M", "step" }, { "step=0x10",
                                                                                                        "step" },
        { "step=18446744073709551616", "step" }, { "step=99999999999999999999999", "step" }, { "step=16777216T",
                                                                                               "step" },
        { "step_max=1e9", "step_max" }, { "alignment=abc", "alignment" }, { "headroom=1,headroom=2", "headroom" },
        { "step=2M,growth=step,step=4M", "step" }, { "limit=101%", "limit" }, { "limit=0%", "limit" }, { "limit=-5%",
                                                                                                         "limit" },
        { "limit=%", "limit" }, { "limit=50%total", "limit" }, { "limit=nan%", "limit" }, { "limit=total", "limit" },
        { "limit=total-", "limit" }, { "limit=free-x", "limit" }, { "limit=total+2G", "limit" }, { "limit=2G-total",
                                                                                                   "limit" },
        { "limit=nones", "limit" }, { "growth=step,colour=1", "colour" }, { "limit=1e2%", "limit" }, { "limit=0x5%",
                                                                                                       "limit" } };
    static const char *const malformed[] = { "=4", ",", "step=2M,", ",step=2M", "step=2M,,growth=step", "=",
                                             "\xff=\xff", " " };
    for (size_t index = 0; index < sizeof bad / sizeof bad[0]; index++) {
        gpuarena_config config, untouched;
        char message[256] = "";
        memset(&config, 0x11, sizeof config);
        untouched = config;
        gpuarena_result result = gpuarena_config_parse(bad[index].text, &config, message, sizeof message);
        CHECK_MSG(result == GPUARENA_INVALID_CONFIG && strstr(message, bad[index].key)
                  && memcmp(&config, &untouched, sizeof config) == 0, "%s: %s: %s", bad[index].text,
                  gpuarena_result_name(result), message);
    }
    for (size_t index = 0; index < sizeof malformed / sizeof malformed[0]; index++) {
        gpuarena_config config = GPUARENA_INIT;
        char message[8];
        gpuarena_result result = gpuarena_config_parse(malformed[index], &config, message, sizeof message);
        CHECK_MSG(result == GPUARENA_INVALID_CONFIG && memchr(message, 0, sizeof message), "malformed %d: %s",
                  (int)index,
                  gpuarena_result_name(result));
    }
    gpuarena_config config = GPUARENA_INIT;
    CHECK_INT(gpuarena_config_parse(NULL, &config, NULL, 0), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_config_parse("step=2M", NULL, NULL, 0), ==, GPUARENA_INVALID_ARGUMENT);
}

static uint64_t random_state = 7;

static uint64_t random_next(void) { return splitmix64_next(&random_state); }

static uint64_t random_size(void)
{
    uint64_t value = random_next(), down = random_next() % 64, up = random_next() % 30;
    return value % 3 == 0 ? 0 : value >> down << up;
}

/* Text of any configuration parses back to the same, and is the same text again. */
static void test_round_trip(void)
{
    int wrong = 0;
    for (int round = 0; round < 20000 && wrong == 0; round++) {
        gpuarena_config config = GPUARENA_INIT, parsed = GPUARENA_INIT;
        char text[512], again[512], message[128];
        config.backing = (gpuarena_backing)(random_next() % 3);
        config.growth = (gpuarena_growth)(random_next() % 5);
        config.share = (gpuarena_share)(random_next() % 2);
        config.page_bytes = random_size();
        config.large_bytes = random_size();
        if (random_next() % 2)
            config.idle_fraction = random_next() % 4 ? (double)(1 + random_next() % 1000) / 1e3 : -1;
        config.initial_bytes = random_size();
        config.step_bytes = random_size();
        config.step_max_bytes = random_size();
        config.alignment = random_size();
        config.headroom_bytes = random_size();
        config.limit_base = (gpuarena_limit_base)(random_next() % 5);
        int share = config.limit_base == GPUARENA_LIMIT_OF_TOTAL || config.limit_base == GPUARENA_LIMIT_OF_FREE;
        if (share) config.limit_fraction = (double)(1 + random_next() % 1000000) / 1e6;
        else config.limit_bytes = config.limit_base ? random_size() | 1 : random_size();
        size_t length = gpuarena_config_text(&config, text, sizeof text);
        wrong += length != strlen(text);
        wrong += gpuarena_config_parse(text, &parsed, message, sizeof message) != GPUARENA_OK;
        double apart = parsed.limit_fraction - config.limit_fraction;
        double idle_apart = parsed.idle_fraction - config.idle_fraction;
        wrong += parsed.backing != config.backing || parsed.growth != config.growth
            || parsed.share != config.share
            || parsed.page_bytes != config.page_bytes || parsed.large_bytes != config.large_bytes
            || idle_apart > 1e-14 || idle_apart < -1e-14
            || parsed.initial_bytes != config.initial_bytes || parsed.step_bytes != config.step_bytes
            || parsed.step_max_bytes != config.step_max_bytes || parsed.alignment != config.alignment
            || parsed.headroom_bytes != config.headroom_bytes || parsed.limit_base != config.limit_base
            || parsed.limit_bytes != config.limit_bytes || apart > 1e-14 || apart < -1e-14;
        gpuarena_config_text(&parsed, again, sizeof again);
        wrong += strcmp(text, again) != 0;
        if (wrong) printf("# \"%s\" then \"%s\": %s\n", text, again, message);
    }
    CHECK_MSG(wrong == 0, "20,000 random configurations: text, parsed, text");
    gpuarena_config config = GPUARENA_INIT;
    char text[64], part[64];
    CHECK_U64(gpuarena_config_text(&config, text, sizeof text), ==, 0);
    CHECK_STR(text, "");
    config.step_bytes = MIB(4);
    config.limit_bytes = GIB(3);
    size_t length = gpuarena_config_text(&config, text, sizeof text);
    CHECK_STR(text, "step=4M,limit=3G");
    for (size_t size = 1; size <= length + 1; size++) {
        wrong += gpuarena_config_text(&config, part, size) != length || strlen(part) != (size > length ? length
                                                                                         : size - 1);
        wrong += strncmp(part, text, strlen(part)) != 0;
    }
    CHECK_MSG(wrong == 0 && gpuarena_config_text(&config, NULL, 0) == length, "truncated as snprintf");
}

/* The variable fills fields left at zero, and only those. */
static void test_environment(void)
{
    gpuarena_config config, values;
    gpuarena *arena = NULL;
    setenv("GPUARENA_CONF", "growth=step,step=8M,limit=64M", 1);
    setenv("MY_ARENA", "growth=step,step=6M", 1);
    setenv("BROKEN_ARENA", "step=banana", 1);
    static const struct {
        const char *name;
        uint64_t step_bytes, limit_bytes;
        gpuarena_growth growth;
    } cases[] = {
        { NULL, MIB(8), MIB(64), GPUARENA_GROWTH_STEP }, { "", MIB(2), GPUARENA_NO_LIMIT, GPUARENA_GROWTH_DOUBLE },
        { "MY_ARENA", MIB(6), GPUARENA_NO_LIMIT, GPUARENA_GROWTH_STEP },
        { "NOT_SET_ANYWHERE", MIB(2), GPUARENA_NO_LIMIT, GPUARENA_GROWTH_DOUBLE } };
    for (size_t index = 0; index < 4; index++) {
        fake_open(&device, GIB(1));
        config = fake_config(&device);
        config.environment = cases[index].name;
        arena = state_arena(&config);
        gpuarena_get_config(arena, &values);
        CHECK_MSG(values.step_bytes == cases[index].step_bytes && values.growth == cases[index].growth
                  && values.limit_bytes == cases[index].limit_bytes, "environment %d", (int)index);
        CHECK_MSG(gpuarena_destroy(arena) == GPUARENA_OK && fake_close(&device), "ended");
    }
    fake_open(&device, GIB(1));
    config = fake_config(&device);
    config.environment = NULL;
    config.step_bytes = MIB(10);
    config.limit_bytes = MIB(32);
    arena = state_arena(&config);
    gpuarena_get_config(arena, &values);
    CHECK_MSG(values.step_bytes == MIB(10) && values.growth == GPUARENA_GROWTH_STEP && values.limit_bytes == MIB(32),
              "fields set in code win over the environment");
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    config.step_bytes = 0;
    config.environment = "BROKEN_ARENA";
    gpuarena_failure failure;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_MSG(strncmp(failure.detail, "BROKEN_ARENA: step=banana", 25) == 0, "a broken variable: %s", failure.detail);
    unsetenv("GPUARENA_CONF");
    CHECK_MSG(fake_close(&device), "nothing left behind");
}

static void refuse(const gpuarena_config *config, const char *key)
{
    gpuarena *arena = NULL;
    gpuarena_failure failure;
    gpuarena_result result = gpuarena_create(config, &arena);
    gpuarena_last_failure(NULL, &failure);
    CHECK_MSG(result == GPUARENA_INVALID_CONFIG && arena == NULL && failure.result == result
              && strstr(failure.detail, key)
              && device.host_bytes == 0 && device.held_bytes == 0, "%s: %s: %s", key, gpuarena_result_name(result),
              failure.detail);
}

#define REFUSE(field, value, key) do { \
        gpuarena_config bad = fake_config(&device); \
        bad.field = (value); \
        refuse(&bad, key); \
    } while (0)

static void test_contradictions(void)
{
    fake_open(&device, GIB(1));
    const gpuarena_config zero = fake_config(&device);
    gpuarena_config config;
    REFUSE(zero_begin, 1, "");
    REFUSE(zero_end, 1, "");
    REFUSE(backing, GPUARENA_BACKING_PAGED, "backing");
    REFUSE(backing, (gpuarena_backing)9, "backing");
    REFUSE(share, (gpuarena_share)9, "share");
    REFUSE(idle_fraction, 1.5, "idle");
    REFUSE(large_bytes, UINT64_MAX, "large");
    REFUSE(growth, (gpuarena_growth)9, "growth");
    REFUSE(limit_base, (gpuarena_limit_base)9, "limit");
    REFUSE(alignment, 128, "alignment");
    REFUSE(alignment, 384, "alignment");
    REFUSE(alignment, MIB(4), "alignment");
    REFUSE(limit_base, GPUARENA_LIMIT_OF_TOTAL, "limit");
    REFUSE(host_alloc, NULL, "host");
    REFUSE(host_free, NULL, "host");
    static const double fractions[] = { -0.5, 1.0000001, 1e300, -1e300 };
    for (size_t index = 0; index < 4; index++) {
        config = zero;
        config.limit_base = GPUARENA_LIMIT_OF_FREE;
        config.limit_fraction = fractions[index];
        refuse(&config, "limit");
    }
    volatile double nothing = 0;
    config.limit_fraction = nothing / nothing;
    refuse(&config, "limit");
    static const gpuarena_growth stepless[] = { GPUARENA_GROWTH_FIXED, GPUARENA_GROWTH_EXACT };
    for (size_t index = 0; index < 2; index++) {
        config = zero;
        config.growth = stepless[index];
        config.step_bytes = MIB(2);
        refuse(&config, "step");
        config.step_bytes = 0;
        config.step_max_bytes = MIB(2);
        refuse(&config, "step_max");
    }
    config = zero;
    config.growth = GPUARENA_GROWTH_FIXED;
    config.initial_bytes = MIB(2);
    refuse(&config, "initial");
    config = zero;
    config.step_bytes = MIB(8);
    config.step_max_bytes = MIB(4);
    refuse(&config, "step_max");
    config = zero;
    config.initial_bytes = MIB(8);
    config.limit_bytes = MIB(4);
    refuse(&config, "initial");
    for (int row = 0; row < 3; row++) {
        config = zero;
        config.backing = GPUARENA_BACKING_SEGMENTS;
        config.page_bytes = row == 0 ? MIB(4) : 0;
        config.idle_fraction = row == 1 ? 0.5 : 0;
        config.large_bytes = row == 2 ? MIB(16) : 0;
        refuse(&config, row == 0 ? "page: only with backing=paged" : row == 1 ? "idle: only" : "large: only");
    }
    gpuarena_driver partial = device.table;
    config = zero;
    config.driver = &partial;
    partial.memory.info = NULL;
    refuse(&config, "driver");
    partial = device.table;
    partial.memory.give_back = NULL;
    refuse(&config, "driver");
    CHECK_U64(device.calls[FAKE_OBTAIN] + device.calls[FAKE_GIVE_BACK], ==, 0);
}

static int vm_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    (void)self;
    (void)address;
    return bytes == 0;
}

static int device_wait(const gpuarena_driver *self)
{
    return self == NULL;
}

/* Names that reports cannot show, and tables that are half filled. */
static void test_names_and_groups(void)
{
    gpuarena_driver partial = device.table;
    gpuarena_config config = fake_config(&device);
    config.driver = &partial;
    partial.vm.unmap = vm_unmap;
    refuse(&config, "vm");
    partial = device.table;
    partial.events.device_wait = device_wait;
    refuse(&config, "events");
    gpuarena_config named = fake_config(&device);
    strcpy(named.name, "tab\tinside");
    refuse(&named, "name");
    memset(named.name, 'x', sizeof named.name);
    refuse(&named, "name");
    CHECK_MSG(fake_close(&device), "nothing left behind");
}

static void test_in_force(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device), values, again, parsed = GPUARENA_INIT;
    char text[256];
    gpuarena *arena = state_arena(&config);
    memset(&values, 0x5A, sizeof values);
    gpuarena_get_config(arena, &values);
    CHECK_STR(values.name, "arena");
    CHECK_MSG(values.backing == GPUARENA_BACKING_SEGMENTS && values.growth == GPUARENA_GROWTH_DOUBLE
              && values.step_bytes == MIB(2)
                  && values.step_max_bytes == MIB(256)
              && values.alignment == 256 && values.limit_base == GPUARENA_LIMIT_BYTES
              && values.limit_bytes == GPUARENA_NO_LIMIT && values.initial_bytes == 0 && values.headroom_bytes == 0
              && values.share == GPUARENA_SHARE_NONE && values.page_bytes == 0 && values.large_bytes == 0
              && !(values.idle_fraction > 0 || values.idle_fraction < 0) && values.zero_begin == 0
              && values.zero_end == 0, "defaults in force");
    CHECK_MSG(values.driver && values.driver != &device.table && values.driver->user == &device
              && values.host_alloc == fake_host_alloc && values.host_free == fake_host_free
              && values.host_user == &device, "driver: the arena's own copy; host functions");
    gpuarena_config_text(&values, text, sizeof text);
    CHECK_MSG(gpuarena_config_parse(text, &parsed, NULL, 0) == GPUARENA_OK && parsed.step_bytes == values.step_bytes
              && parsed.limit_bytes == values.limit_bytes && parsed.growth == values.growth, "as printed: %s", text);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    values.driver = &device.table;
    arena = state_arena(&values);
    gpuarena_get_config(arena, &again);
    again.driver = values.driver;
    CHECK_MSG(strcmp(again.name, values.name) == 0 && again.step_bytes == values.step_bytes
              && again.step_max_bytes == values.step_max_bytes && again.limit_bytes == values.limit_bytes
              && again.alignment == values.alignment && again.growth == values.growth,
                  "an arena of the values in force has them too");
    state_end(arena, &device, "in force");
    fake_open(&device, GIB(1));
    config = fake_config(&device);
    config.step_bytes = MIB(512);
    arena = state_arena(&config);
    gpuarena_get_config(arena, &values);
    CHECK_MSG(values.step_bytes == MIB(512) && values.step_max_bytes == MIB(512), "step_max: step if that is more");
    CHECK_INT(gpuarena_set_limit(arena, MIB(77)), ==, GPUARENA_OK);
    gpuarena_get_config(arena, &values);
    CHECK_U64(values.limit_bytes, ==, MIB(77));
    state_end(arena, &device, "step_max");
}

int main(void)
{
    test_good_text();
    test_bad_text();
    test_round_trip();
    test_environment();
    test_contradictions();
    test_names_and_groups();
    test_in_force();
    return tap_done();
}
