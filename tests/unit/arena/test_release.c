/* Idle memory that goes back by age, against a shadow; and figures of a device that are nonsense. Examples:
   growth.script and paged.script. */
#include "arena_state.h"

static fake_device device;

static gpuarena *open_on(uint64_t total_bytes, const char *text)
{
    char message[300];
    fake_open(&device, total_bytes);
    gpuarena_config config = fake_config(&device);
    if (gpuarena_config_parse(text, &config, message, sizeof message)) printf("Bail out! %s\n", message);
    return state_arena(&config);
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

/* A driver whose figures are nonsense: sums with them do not wrap, nor make what is asked of them look small. */
static void test_pressure_nonsense(void)
{
    gpuarena *arena = open_on(UINT64_MAX, "growth=exact,release=pressure,release_at=4194304T");
    CHECK_INT(gpuarena_free(arena, state_alloc(arena, MIB(8)), NULL), ==, GPUARENA_OK);
    CHECK_MSG(state_alloc(arena, MIB(16)) != NULL, "as much as there can be is to be left: what is idle goes");
    CHECK_U64(device.held_bytes, ==, MIB(16));
    state_end(arena, &device, "pressure, nonsense");
    fake_open(&device, UINT64_MAX);
    gpuarena_config config = fake_config(&device);
    config.release = GPUARENA_RELEASE_PRESSURE;
    config.release_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    config.release_bytes = 0;
    config.headroom_bytes = UINT64_MAX - MIB(1);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
}

int main(void)
{
    test_age();
    test_pressure_nonsense();
    return tap_done();
}
