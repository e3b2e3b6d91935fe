/* The axis of release: idle memory that goes back by itself, when idle, by age, under pressure. Segments here; pages
   in test_release_paged.c. */
#include "arena_state.h"

enum { BLOCKS = 8 };
static fake_device device;
static void *blocks[BLOCKS];

static gpuarena *open_on(uint64_t total_bytes, const char *text)
{
    char message[300];
    fake_open(&device, total_bytes);
    gpuarena_config config = fake_config(&device);
    if (gpuarena_config_parse(text, &config, message, sizeof message)) printf("Bail out! %s\n", message);
    return state_arena(&config);
}

/* Blocks of 4 MiB with a segment each, freed one after the other: what is held after each free, in MiB. */
static void test_idle_of(const char *text, const uint64_t *held_mib)
{
    gpuarena *arena = open_on(GIB(1), text);
    int wrong = 0;
    for (int block = 0; block < 6; block++) blocks[block] = state_alloc(arena, MIB(4));
    for (int block = 0; block < 6; block++) {
        wrong += gpuarena_free(arena, blocks[block], NULL) != GPUARENA_OK || state_audit(arena, &device)[0];
        if (device.held_bytes == MIB(held_mib[block])) continue;
        wrong++;
        printf("# free %d: %" PRIu64 " MiB held\n", block, device.held_bytes >> 20);
    }
    CHECK_MSG(wrong == 0, "%s: what is held after each free", text);
    state_end(arena, &device, text);
}

static void test_idle(void)
{
    static const uint64_t half[] = { 24, 24, 16, 16, 8, 8 }, all[] = { 24, 24, 20, 16, 12, 8 },
                          none[] = { 24, 24, 12, 12, 12, 0 }, at_once[] = { 20, 16, 12, 8, 4, 0 },
                          one[] = { 24, 20, 16, 12, 8, 4 };
    test_idle_of("growth=exact,release=idle,release_at=8M", half);
    test_idle_of("growth=exact,release=idle,release_at=8M,release_keep=100%", all);
    test_idle_of("growth=exact,release=idle,release_at=8M,release_keep=0", none);
    test_idle_of("growth=exact,release=idle,release_at=1", at_once);
    test_idle_of("growth=exact,release=idle,release_at=4M,release_keep=100%", one);
}

/* What stays below the threshold is no cause for driver calls, whatever is freed and allocated. */
static void test_idle_calm(void)
{
    gpuarena *arena = open_on(GIB(1), "growth=exact,release=idle,release_at=8M");
    for (int block = 0; block < 4; block++) blocks[block] = state_alloc(arena, MIB(4));
    fake_forget_calls(&device);
    for (int round = 0; round < 1000; round++) {
        (void)gpuarena_free(arena, blocks[round % 4], NULL);
        blocks[round % 4] = state_alloc(arena, MIB(4) - (uint64_t)(round % 3));
    }
    CHECK_U64(device.calls[FAKE_OBTAIN] + device.calls[FAKE_GIVE_BACK] + device.calls[FAKE_INFO], ==, 0);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(4));
    state_end(arena, &device, "idle: reset, too");
}

/* One that the driver does not take stays, is counted, and goes later. */
static void test_refused(const char *text)
{
    gpuarena_stats stats;
    gpuarena *arena = open_on(GIB(1), text);
    for (int block = 0; block < 3; block++) blocks[block] = state_alloc(arena, MIB(4));
    fake_fail(&device, FAKE_ON_GIVE_BACK, 1, FAKE_FOR_EVER, GPUARENA_STATUS_FAILED);
    for (int block = 0; block < 3; block++) CHECK_INT(gpuarena_free(arena, blocks[block], NULL), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_MSG(stats.driver_error_count > 0 && stats.fail_count == 0 && stats.reserved_bytes == MIB(12),
              "%s: refused %" PRIu64 " times, and all is held", text, stats.driver_error_count);
    fake_heal(&device);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, 0);
    state_end(arena, &device, text);
}

/* ---- by age: a shadow of when the only block of each segment was freed last */

enum { SEGMENTS = 64, AGE = 7 };
typedef struct aged { uint64_t address, freed; int live; } aged;
static aged segments[SEGMENTS];
static int segment_count, released_count;

static aged *aged_at(uint64_t address)
{
    for (int at = 0; at < segment_count; at++) if (segments[at].address == address) return &segments[at];
    segments[segment_count].address = address;
    return &segments[segment_count++];
}

/* After a free: every idle segment younger than AGE operations is held, and no older one. 0: it is not so. */
static int aged_right(uint64_t clock)
{
    int right = 1;
    for (int at = 0; at < segment_count; at++) {
        int held = fake_range_of(&device, segments[at].address) != NULL;
        right = right && held == (segments[at].live || clock - segments[at].freed < AGE);
        if (held) continue;
        segments[at--] = segments[--segment_count];
        released_count++;
    }
    return right;
}

static aged *aged_live(uint64_t random)
{
    for (int tried = 0; tried < segment_count; tried++)
        if (segments[(random + (uint64_t)tried) % (uint64_t)segment_count].live)
            return &segments[(random + (uint64_t)tried) % (uint64_t)segment_count];
    return NULL;
}

/* Segments of one block each: bursts of allocations, and of frees. */
static void test_age(void)
{
    uint64_t clock = 0, random = 1;
    int wrong = 0;
    gpuarena *arena = open_on(GIB(4), "growth=exact,release=age,release_age=7");
    device.scattered = 1;
    for (int step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        aged *one = step / 16 % 2 || random >> 60 < 3 ? aged_live(random >> 33) : NULL;
        clock++;
        if (one) {
            one->live = 0;
            one->freed = clock;
            wrong += gpuarena_free(arena, fake_pointer(one->address), NULL) != GPUARENA_OK || !aged_right(clock);
        } else aged_at(fake_address(state_alloc(arena, MIB(4))))->live = 1;
        if (step % 64 == 0) wrong += state_audit(arena, &device)[0] != '\0';
    }
    CHECK_MSG(wrong == 0 && released_count > 1000, "20,000 steps, %d segments went by age: %d wrong", released_count,
              wrong);
    state_end(arena, &device, "age");
}

/* ---- under pressure */

static void test_pressure(void)
{
    gpuarena *arena = open_on(MIB(100), "growth=exact,release=pressure,release_at=30M");
    gpuarena_stats stats;
    for (int block = 0; block < 6; block++) blocks[block] = state_alloc(arena, MIB(8));
    void *pin = state_alloc(arena, MIB(8));      /* 56 held */
    for (int block = 0; block < 4; block++) CHECK_INT(gpuarena_free(arena, blocks[block], NULL), ==, GPUARENA_OK);
    CHECK_U64(device.held_bytes, ==, MIB(56));
    uint64_t infos = device.calls[FAKE_INFO];
    for (int round = 0; round < 100; round++)    /* hits ask nothing */
        (void)gpuarena_free(arena, state_alloc(arena, MIB(8)), NULL);
    CHECK_U64(device.calls[FAKE_INFO], ==, infos);
    blocks[0] = state_alloc(arena, MIB(10));     /* 44 - 10 are left: enough */
    CHECK_U64(device.held_bytes, ==, MIB(66));
    blocks[1] = state_alloc(arena, MIB(10));     /* 34 - 10: 6 are lacking, and go back by 8 */
    CHECK_U64(device.held_bytes, ==, MIB(68));
    blocks[2] = state_alloc(arena, MIB(20));     /* 32 - 20: 18 are lacking, and all 24 that are idle go */
    CHECK_U64(device.held_bytes, ==, MIB(64));
    blocks[3] = state_alloc(arena, MIB(30));     /* nothing is idle: it grows all the same */
    CHECK_U64(device.held_bytes, ==, MIB(94));
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.release_count, ==, 4);
    CHECK_INT(gpuarena_free(arena, pin, NULL), ==, GPUARENA_OK);
    device.rival_bytes = MIB(6);                 /* frees do not look at the device */
    CHECK_U64(device.held_bytes, ==, MIB(94));
    state_end(arena, &device, "pressure");
}

/* Where the device does not say, growth goes on as ever. */
static void test_pressure_unsaid(void)
{
    gpuarena *arena = open_on(MIB(100), "growth=exact,release=pressure,release_at=100M");
    blocks[0] = state_alloc(arena, MIB(8));
    CHECK_INT(gpuarena_free(arena, blocks[0], NULL), ==, GPUARENA_OK);
    fake_fail(&device, FAKE_ON_INFO, 1, 1, GPUARENA_STATUS_FAILED);
    CHECK_MSG(state_alloc(arena, MIB(16)) != NULL, "no figures: it grows");
    CHECK_U64(device.held_bytes, ==, MIB(24));
    CHECK_MSG(state_alloc(arena, MIB(10)) != NULL, "figures: what is idle goes");
    CHECK_U64(device.held_bytes, ==, MIB(26));
    state_end(arena, &device, "pressure, unsaid");
}

/* A driver whose figures are nonsense: sums with them do not wrap, nor make what is asked of them look small. */
static void test_pressure_nonsense(void)
{
    gpuarena_failure failure;
    gpuarena *arena = open_on(UINT64_MAX, "growth=exact,release=pressure,release_at=4194304T");
    blocks[0] = state_alloc(arena, MIB(8));
    CHECK_INT(gpuarena_free(arena, blocks[0], NULL), ==, GPUARENA_OK);
    CHECK_MSG(state_alloc(arena, MIB(16)) != NULL, "as much as there can be is to be left: what is idle goes");
    CHECK_U64(device.held_bytes, ==, MIB(16));
    state_end(arena, &device, "pressure, nonsense");
    fake_open(&device, UINT64_MAX);
    gpuarena_config config = fake_config(&device);
    config.release = GPUARENA_RELEASE_PRESSURE;
    config.release_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    config.release_bytes = 0;
    config.headroom_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
}

int main(void)
{
    test_idle();
    test_idle_calm();
    test_refused("growth=exact,release=idle,release_at=1");
    test_refused("growth=exact,release=age,release_age=1");
    test_age();
    test_pressure();
    test_pressure_unsaid();
    test_pressure_nonsense();
    return tap_done();
}
