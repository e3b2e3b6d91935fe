/* Configuration beyond the words of scripts and sentences.golden: the environment's default variable, tables of the
   driver that differ, values in force, a driver whose figures are nonsense. */
#include "scripted.h"

static gpuarena_result creation(const gpuarena_config *config)
{
    gpuarena *arena = NULL;
    gpuarena_result result = gpuarena_create(config, &arena);
    if (result == GPUARENA_OK && gpuarena_destroy(arena)) return GPUARENA_CORRUPT;
    return result;
}

/* The variable that is read if none is named, and one that is not set. Effects of a variable: growth.script. */
static void test_environment(void)
{
    gpuarena_config config, values;
    gpuarena *arena = NULL;
    script("device 1G plain");
    setenv("GPUARENA_CONF", "limit=64M", 1);
    for (int named = 0; named < 2; named++) {
        config = config_of("", -1);
        config.environment = named ? "NOT_SET_ANYWHERE" : NULL;
        CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
        gpuarena_get_config(arena, &values);
        CHECK_U64(values.limit_bytes, ==, named ? GPUARENA_NO_LIMIT : MIB(64));
        CHECK_STR(values.environment, "");       /* values in force are not filled from it again */
        CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    }
    unsetenv("GPUARENA_CONF");
    script_end();
}

/* Returns the detail of the latest failure without an arena. */
static const char *detail(void)
{
    static gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    return failure.detail;
}

/* A detail that is too long is cut, and ends with a mark: the detail of a bad variable, before there is an arena and
   once there is one; and of a text that is parsed. One that just fits is whole. */
static void test_long_details(void)
{
    static const struct { const char *variable, *text, *detail; } cases[] = {
        { "GPUARENA_CONF", "bogus=1",
          "GPUARENA_CONF: bogus=1: no such key, expected backing growth share peers page idle large init.." },
        { "IN_TWENTY_TWO_LETTERS_", "backing=managed,release=pressure",
          "IN_TWENTY_TWO_LETTERS_: release=pressure: only with backing=auto, paged, segments, pinned, as.." },
        { "IN_TWENTY_ONE_LETTERS", "backing=managed,release=pressure",
          "IN_TWENTY_ONE_LETTERS: release=pressure: only with backing=auto, paged, segments, pinned, async" } };
    gpuarena_config config = config_of("", -1), parsed = GPUARENA_INIT;
    char message[512];
    script("device 1G plain");
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        config.environment = cases[at].variable;
        setenv(cases[at].variable, cases[at].text, 1);
        CHECK_INT(creation(&config), ==, GPUARENA_INVALID_CONFIG);
        CHECK_MSG(!strcmp(detail(), cases[at].detail), "%s: %s", cases[at].variable, detail());
        unsetenv(cases[at].variable);
    }
    CHECK_INT(gpuarena_config_parse("bogus=1", &parsed, message, sizeof message), ==, GPUARENA_INVALID_CONFIG);
    CHECK_MSG(!strncmp(detail(), message, 93) && !strcmp(detail() + 93, ".."), "of a text: %s", detail());
    CHECK_MSG(strlen(message) > 200, "the message is whole: %s", message);
    script_end();
}

static int refuses_all(size_t bytes)
{
    return bytes > 0;
}

/* A failure for lack of host memory has nothing to say of the variable. */
static void test_no_host_memory(void)
{
    host_memory none = { .refuses = refuses_all };
    gpuarena_config config = config_of("", -1);
    script("device 1G plain");
    config.environment = NULL;
    host_serve(&none, &config);
    setenv("GPUARENA_CONF", "limit=64M", 1);
    CHECK_INT(creation(&config), ==, GPUARENA_HOST_MEMORY);
    CHECK_MSG(!*detail(), "%s", detail());
    unsetenv("GPUARENA_CONF");
    script_end();
}

/* Entries and values that must be equal in the tables of a parent and a sub-arena. X(field) */
#define TABLE(X) \
    X(user) X(device) X(null_is_per_thread) X(per_thread) X(page_bytes) X(peers) X(classify) X(code_name) X(now_ns) \
    X(memory.info) X(memory.obtain) X(memory.give_back) X(vm.reserve) X(vm.release) X(vm.create) X(vm.destroy) \
    X(vm.map) X(vm.access) X(vm.unmap) X(events.create) X(events.destroy) X(events.record) X(events.query) \
    X(events.host_wait) X(events.stream_wait) X(events.device_wait) X(capture.active) X(capture.exchange_mode) \
    X(clear) X(ipc.get_handle) X(ipc.open_handle) X(ipc.close_handle) X(fd.from_page) X(fd.to_page) X(peer)

static void test_other_drivers(void)
{
    gpuarena_driver other;
    int wrong = 0;
    script("device 1G of 3; arena whole peers=2");           /* which are no difference */
    gpuarena_config config = config_of("oversubscribe=1", 0);
    config.driver = &other;
#define X(field) + sizeof other.field
    CHECK_MSG(sizeof(void *) != 8 || sizeof other == 0 TABLE(X), "the table's fields are all known here");
#undef X
#define X(field) \
    other = device.table; \
    ((unsigned char *)&other.field)[0] ^= 1; \
    wrong += creation(&config) != GPUARENA_INVALID_CONFIG;
    TABLE(X)
#undef X
    CHECK_MSG(wrong == 0, "another driver than the parent's is refused, whatever differs: %d are not", wrong);
    other = device.table;
    CHECK_INT(creation(&config), ==, GPUARENA_OK);
    config.driver = &device.table;
    script("destroy whole");                     /* an ended arena is no parent */
    CHECK_INT(creation(&config), ==, GPUARENA_INVALID_CONFIG);
    script_end();
}

/* Values in force can be read, and make an arena with these values again. */
static void test_in_force(void)
{
    gpuarena_config values, again;
    char text[256], text_again[256];
    gpuarena *arena = NULL;
    script("device 1G plain; arena");
    memset(&values, 0x5A, sizeof values);
    gpuarena_get_config(arena_now(), &values);
    CHECK_MSG(!strcmp(values.name, "arena") && !values.environment[0], "name, environment");
    CHECK_MSG(values.limit_base == GPUARENA_LIMIT_BYTES && values.limit_bytes == GPUARENA_NO_LIMIT
              && values.initial_bytes == 0 && values.headroom_bytes == 0 && values.page_bytes == 0
              && values.large_bytes == 0 && !(values.idle_fraction > 0 || values.idle_fraction < 0)
              && values.zero_begin == 0 && values.zero_end == 0, "fields without a value");
    CHECK_MSG(values.driver && values.driver != &device.table && values.driver->user == device.table.user
              && values.host_alloc == host_alloc && values.host_free == host_free
              && values.host_user == &device.host, "driver: the arena's own copy; host functions");
    gpuarena_config_text(&values, text, sizeof text);
    script("limit 77M; force limit=77M; destroy");
    values.driver = &device.table;
    CHECK_INT(gpuarena_create(&values, &arena), ==, GPUARENA_OK);
    gpuarena_get_config(arena, &again);
    gpuarena_config_text(&again, text_again, sizeof text_again);
    CHECK_STR(text_again, text);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    script("arena half limit=50%");              /* of which the bytes are in force */
    gpuarena_get_config(arena_now(), &values);
    values.driver = &device.table;
    CHECK_INT(creation(&values), ==, GPUARENA_OK);
    script_end();
}

/* A share of -0 equals 0, and so is the default. */
static void test_minus_zero(void)
{
    char text[256];
    script("device 1G plain");
    gpuarena_config config = config_of("backing=segments", -1);
    config.idle_fraction = config.release_keep = -0.0;
    gpuarena_config_text(&config, text, sizeof text);
    CHECK_STR(text, "backing=segments");
    CHECK_INT(creation(&config), ==, GPUARENA_OK);
    script_end();
}

/* A driver whose figures are nonsense: sums with them do not wrap, nor make a request look small. */
static int endless(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)self, (void)kind;
    *total_bytes = UINT64_MAX;
    *free_bytes = UINT64_MAX - device_counters().held_bytes;
    return 0;
}

static void test_nonsense(void)
{
    script("device 1G plain");
    device.table.memory.info = endless;
    script("arena growth=exact,release=pressure,release_at=4194304T; a 1 8M; f 1; a 2 16M; expect reserved = 16M;"
           "f 2; destroy");
    gpuarena_config config = config_of("release=pressure", -1);
    config.release_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(creation(&config), ==, GPUARENA_INVALID_CONFIG);
    config.release_bytes = 0;
    config.headroom_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(creation(&config), ==, GPUARENA_INVALID_CONFIG);
    script_end();
    for (int at = 0; at < 2; at++) {             /* of such a device nobody is a peer */
        script("device 1G plain");
        device.table.device = at ? 64 : -1;
        script("arena; a 1 1M; expect 1.bytes = 1M");
        script_end();
    }
}

int main(void)
{
    test_environment();
    test_long_details();
    test_no_host_memory();
    test_other_drivers();
    test_in_force();
    test_minus_zero();
    test_nonsense();
    return tap_done();
}
