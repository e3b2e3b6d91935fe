/* Configuration: fields and text, the environment, groups of the driver, values in force. What is said of texts and
   fields that are refused: sentences.golden. */
#include "stress/base/splitmix64.h"
#include "arena_state.h"

static fake_device device;

/* Which key sets which field: no two figures are the same. */
static void test_fields(void)
{
    gpuarena_config config = GPUARENA_INIT;
    CHECK_INT(gpuarena_config_parse("backing=segments,growth=step,initial=256,step=64K,step_max=512M,alignment=1K,"
                                    "limit=4G,headroom=1T,page=4M,idle=12.5%,large=16M,share=whole",
                                    &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_MSG(config.backing == GPUARENA_BACKING_SEGMENTS && config.growth == GPUARENA_GROWTH_STEP
              && config.share == GPUARENA_SHARE_WHOLE, "names");
    CHECK_MSG(config.initial_bytes == 256 && config.step_bytes == KIB(64) && config.step_max_bytes == MIB(512)
              && config.alignment == 1024 && config.limit_bytes == GIB(4) && config.headroom_bytes == GIB(1024)
              && config.page_bytes == MIB(4) && config.large_bytes == MIB(16), "sizes");
    CHECK_MSG(config.idle_fraction * 8 > 0.9999999 && config.idle_fraction * 8 < 1.0000001, "a share");
    CHECK_INT(config.limit_base, ==, GPUARENA_LIMIT_BYTES);
    CHECK_INT(gpuarena_config_parse("limit=80%free,idle=0,release=age,release_age=7,streams=same,wait_ms=3,"
                                    "scrub=both,plan=off,debug=passthrough,oversubscribe=1,release_at=9M,"
                                    "release_keep=25%",
                                    &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_U64(config.step_bytes, ==, KIB(64));   /* keys not named keep their values */
    CHECK_MSG(config.limit_base == GPUARENA_LIMIT_OF_FREE && config.limit_fraction > 0.7999999
              && config.limit_fraction < 0.8000001 && !config.limit_bytes, "a share of what is free");
    CHECK_MSG(config.idle_fraction < 0 && config.release == GPUARENA_RELEASE_AGE && config.release_age == 7
              && config.streams == GPUARENA_STREAMS_SAME && config.wait_ms == 3 && config.scrub == GPUARENA_SCRUB_BOTH
              && config.plan == GPUARENA_PLAN_OFF && config.debug == GPUARENA_DEBUG_PASSTHROUGH
              && config.oversubscribe == 1 && config.release_bytes == MIB(9) && config.release_keep * 4 > 0.9999999
              && config.release_keep * 4 < 1.0000001, "all other keys");
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

static gpuarena_config random_config(void)
{
    gpuarena_config config;
    memset(&config, 0, sizeof config);
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
    if (config.limit_base == GPUARENA_LIMIT_OF_TOTAL || config.limit_base == GPUARENA_LIMIT_OF_FREE)
        config.limit_fraction = random_next() % 9 ? (double)(1 + random_next() % 1000000) / 1e6 : 1e-16;
    else config.limit_bytes = config.limit_base ? random_size() | 1 : random_size();
    return config;
}

/* Text of any configuration parses back to the same, and is the same text again. */
static void test_round_trip(void)
{
    int wrong = 0;
    for (int round = 0; round < 20000 && wrong == 0; round++) {
        gpuarena_config config = random_config(), parsed;
        char text[512], again[512], message[128];
        memset(&parsed, 0, sizeof parsed);
        wrong += gpuarena_config_text(&config, text, sizeof text) != strlen(text);
        wrong += gpuarena_config_parse(text, &parsed, message, sizeof message) != GPUARENA_OK;
        gpuarena_config_text(&parsed, again, sizeof again);
        double apart = parsed.limit_fraction - config.limit_fraction,
               idle_apart = parsed.idle_fraction - config.idle_fraction;
        wrong += idle_apart > 1e-14 || idle_apart < -1e-14 || apart > 1e-14 || apart < -1e-14;
        parsed.limit_fraction = config.limit_fraction;
        parsed.idle_fraction = config.idle_fraction;
        wrong += memcmp(&parsed, &config, sizeof config) != 0 || strcmp(text, again) != 0;
        if (wrong) printf("# \"%s\" then \"%s\": %s\n", text, again, message);
    }
    CHECK_MSG(wrong == 0, "20,000 random configurations: text, parsed, text");
    gpuarena_config config = GPUARENA_INIT;
    char text[64], part[64];
    CHECK_INT(gpuarena_config_parse("step=4M,limit=3G", &config, NULL, 0), ==, GPUARENA_OK);
    size_t length = gpuarena_config_text(&config, text, sizeof text);
    for (size_t size = 1; size <= length + 1; size++) {
        wrong += gpuarena_config_text(&config, part, size) != length
            || strlen(part) != (size > length ? length : size - 1) || strncmp(part, text, strlen(part)) != 0;
    }
    CHECK_MSG(wrong == 0 && gpuarena_config_text(&config, NULL, 0) == length, "truncated as snprintf");
    char small[8];
    CHECK_INT(gpuarena_config_parse("colour=red", &config, small, sizeof small), ==, GPUARENA_INVALID_CONFIG);
    CHECK_MSG(strlen(small) == sizeof small - 1, "a message, too");
}

/* The variable that is read if none is named, and one that is not set. What a variable does: growth.script. */
static void test_environment(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device), values;
    setenv("GPUARENA_CONF", "limit=64M", 1);
    for (int named = 0; named < 2; named++) {
        config.environment = named ? "NOT_SET_ANYWHERE" : NULL;
        gpuarena *arena = state_arena(&config);
        gpuarena_get_config(arena, &values);
        CHECK_U64(values.limit_bytes, ==, named ? GPUARENA_NO_LIMIT : MIB(64));
        CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    }
    unsetenv("GPUARENA_CONF");
    CHECK_MSG(fake_close(&device), "nothing left behind");
}

static gpuarena_result creation(const gpuarena_config *config)
{
    gpuarena *arena = NULL;
    gpuarena_result result = gpuarena_create(config, &arena);
    if (result == GPUARENA_OK) (void)gpuarena_destroy(arena);
    return result;
}

/* The only function of these groups that creation calls. */
static int keep_mode(const gpuarena_driver *self, int *mode)
{
    return (void)self, (void)mode, 0;
}

/* All functions of a group are set, or none. */
static void test_groups(void)
{
    typedef void (*function)(void);
    static const struct { size_t offset, count; } groups[] = {
        { offsetof(gpuarena_driver, vm), 7 }, { offsetof(gpuarena_driver, events), 7 },
        { offsetof(gpuarena_driver, capture), 2 } };
    function some = (function)keep_mode;
    gpuarena_driver table;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.driver = &table;
    for (size_t group = 0; group < 3; group++) {
        int wrong = 0;
        for (unsigned set = 0; set < 1u << groups[group].count; set++) {
            table = device.slots.table;
            for (size_t entry = 0; entry < groups[group].count; entry++)
                if (set >> entry & 1)
                    memcpy((char *)&table + groups[group].offset + entry * sizeof some, &some, sizeof some);
            int whole = set == 0 || set == (1u << groups[group].count) - 1;
            wrong += creation(&config) != (whole ? GPUARENA_OK : GPUARENA_INVALID_CONFIG);
        }
        CHECK_MSG(wrong == 0, "group %d: all functions, or none", (int)group);
    }
    CHECK_MSG(fake_close(&device), "nothing left behind");
}

/* What must be the same in the tables of a parent and a sub-arena. X(field) */
#define TABLE(X) \
    X(user) X(device) X(null_is_per_thread) X(per_thread) X(page_bytes) X(peers) X(classify) X(code_name) X(now_ns) \
    X(memory.info) X(memory.obtain) X(memory.give_back) X(vm.reserve) X(vm.release) X(vm.create) X(vm.destroy) \
    X(vm.map) X(vm.access) X(vm.unmap) X(events.create) X(events.destroy) X(events.record) X(events.query) \
    X(events.host_wait) X(events.stream_wait) X(events.device_wait) X(capture.active) X(capture.exchange_mode) \
    X(clear) X(ipc.get_handle) X(ipc.open_handle) X(ipc.close_handle) X(fd.from_page) X(fd.to_page) X(peer)

static int any_peer(const gpuarena_driver *self, int32_t peer) { return (void)self, (void)peer, 0; }

static void test_other_drivers(void)
{
    gpuarena_driver other;
    int wrong = 0;
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    device.slots.table.peer = any_peer;
    config.peers = 4;                            /* which are no difference */
    gpuarena *whole = state_arena(&config);
    config.parent = whole;
    config.oversubscribe = 1;
    config.driver = &other;
#define X(field) + sizeof other.field
    CHECK_MSG(sizeof(void *) != 8 || sizeof other == 0 TABLE(X), "the table's fields are all known here");
#undef X
#define X(field) \
    other = device.slots.table; \
    ((unsigned char *)&other.field)[0] ^= 1; \
    wrong += creation(&config) != GPUARENA_INVALID_CONFIG;
    TABLE(X)
#undef X
    CHECK_MSG(wrong == 0, "another driver than the parent's is refused, whatever differs: %d are not", wrong);
    memset(&other, 0x5A, sizeof other);          /* what lies between the fields is no difference */
#define X(field) other.field = device.slots.table.field;
    TABLE(X)
#undef X
    CHECK_INT(creation(&config), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(whole), ==, GPUARENA_OK);
    config.driver = &device.slots.table;         /* what has ended is no parent */
    CHECK_INT(creation(&config), ==, GPUARENA_INVALID_CONFIG);
    CHECK_MSG(fake_close(&device), "nothing left behind");
}

/* What is in force can be read, and makes the same again. */
static void test_in_force(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device), values, again;
    char text[256], text_again[256];
    gpuarena *arena = state_arena(&config);
    memset(&values, 0x5A, sizeof values);
    gpuarena_get_config(arena, &values);
    CHECK_STR(values.name, "arena");
    CHECK_STR(values.environment, "");
    CHECK_MSG(values.limit_base == GPUARENA_LIMIT_BYTES && values.limit_bytes == GPUARENA_NO_LIMIT
              && values.initial_bytes == 0 && values.headroom_bytes == 0 && values.page_bytes == 0
              && values.large_bytes == 0 && !(values.idle_fraction > 0 || values.idle_fraction < 0)
              && values.zero_begin == 0 && values.zero_end == 0, "fields without a value");
    CHECK_MSG(values.driver && values.driver != &device.slots.table && values.driver->user == &device
              && values.host_alloc == host_alloc && values.host_free == host_free
              && values.host_user == &device.host, "driver: the arena's own copy; host functions");
    gpuarena_config_text(&values, text, sizeof text);
    CHECK_INT(gpuarena_set_limit(arena, MIB(77)), ==, GPUARENA_OK);
    gpuarena_get_config(arena, &again);
    CHECK_U64(again.limit_bytes, ==, MIB(77));
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    values.driver = &device.slots.table;
    arena = state_arena(&values);
    gpuarena_get_config(arena, &again);
    gpuarena_config_text(&again, text_again, sizeof text_again);
    CHECK_STR(text_again, text);
    state_end(arena, &device, "in force");
}

/* A driver whose figures are nonsense: sums with them do not wrap, nor make what is asked of them look small. */
static void test_nonsense(void)
{
    fake_open(&device, UINT64_MAX);
    gpuarena_config config = fake_config(&device);
    CHECK_INT(gpuarena_config_parse("growth=exact,release=pressure,release_at=4194304T", &config, NULL, 0), ==,
              GPUARENA_OK);
    gpuarena *arena = state_arena(&config);
    CHECK_INT(gpuarena_free(arena, state_alloc(arena, MIB(8)), NULL), ==, GPUARENA_OK);
    CHECK_MSG(state_alloc(arena, MIB(16)) != NULL, "as much as there can be is to be left: what is idle goes");
    CHECK_U64(device.slots.held_bytes, ==, MIB(16));
    state_end(arena, &device, "nonsense");
    fake_open(&device, UINT64_MAX);
    config.release_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(creation(&config), ==, GPUARENA_INVALID_CONFIG);
    config.release_bytes = 0;
    config.headroom_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(creation(&config), ==, GPUARENA_INVALID_CONFIG);
}

/* Fields with values that no text has. */
static void test_no_values(void)
{
    gpuarena_config config = GPUARENA_INIT;
    char text[64];
    config.growth = (gpuarena_growth)99;
    config.limit_base = GPUARENA_LIMIT_OF_TOTAL;
    for (int at = 0; at < 2; at++) {
        config.limit_fraction = at ? 1.5 : -1;
        gpuarena_config_text(&config, text, sizeof text);
        CHECK_STR(text, "growth=unknown,limit=0%");
    }
    config.growth = GPUARENA_GROWTH_AUTO;
    config.limit_base = GPUARENA_LIMIT_BYTES;
    for (int at = 0; at < 2; at++) {
        config.limit_fraction = at ? 1 : -1;
        gpuarena_config_text(&config, text, sizeof text);
        CHECK_STR(text, "limit=0");
    }
    for (int at = 0; at < 2; at++) {             /* of such a device nobody is a peer */
        fake_open(&device, GIB(1));
        device.slots.table.device = at ? 64 : -1;
        config = fake_config(&device);
        state_end(state_arena(&config), &device, "device");
    }
    CHECK_INT(gpuarena_config_text(NULL, text, sizeof text), ==, 0);
    CHECK_INT(gpuarena_failure_text(NULL, text, sizeof text), ==, 0);
}

int main(void)
{
    test_fields();
    test_round_trip();
    test_environment();
    test_groups();
    test_other_drivers();
    test_in_force();
    test_nonsense();
    test_no_values();
    return tap_done();
}
