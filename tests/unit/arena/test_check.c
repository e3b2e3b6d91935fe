/* gpuarena_check from outside: clean after every call of a scripted life, its message, its arguments.
   Damage is tested with the sections. */
#include "arena_state.h"

static fake_device device;

static void clean(const gpuarena *arena, const char *name)
{
    char message[64];
    memset(message, 'x', sizeof message);
    gpuarena_result result = gpuarena_check(arena, message, sizeof message);
    const char *audit = state_audit(arena, &device);
    CHECK_MSG(result == GPUARENA_OK && message[0] == '\0' && audit[0] == '\0', "%s: check %s, audit %s", name,
              message, audit);
}

static void test_life(gpuarena_growth growth, uint64_t alignment)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    config.growth = growth;
    config.alignment = alignment;
    config.limit_bytes = MIB(128);
    gpuarena *arena = state_arena(&config);
    void *ptr = NULL, *blocks[20];
    clean(arena, "new");
    for (int block = 0; block < 20; block++) blocks[block] = state_alloc(arena, (uint64_t)1 << block);
    clean(arena, "20 blocks");
    for (int block = 0; block < 20; block += 2) (void)gpuarena_free(arena, blocks[block], NULL);
    clean(arena, "every second freed");
    (void)gpuarena_free(arena, blocks[0], NULL);
    (void)gpuarena_free(arena, (char *)blocks[19] + 1, NULL);
    clean(arena, "misuse");
    (void)gpuarena_alloc(arena, &ptr, MIB(129), NULL);
    clean(arena, "refused");
    (void)gpuarena_reserve(arena, MIB(100));
    clean(arena, "reserved");
    (void)gpuarena_set_limit(arena, MIB(10));
    clean(arena, "limit lowered");
    (void)gpuarena_set_limit(arena, GPUARENA_NO_LIMIT);
    (void)gpuarena_reset(arena, NULL);
    clean(arena, "reset");
    (void)gpuarena_trim(arena, 0, NULL);
    clean(arena, "trimmed");
    state_alloc(arena, MIB(3));
    clean(arena, "used again");
    state_end(arena, &device, "life");
}

static void test_arguments(void)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    gpuarena *arena = state_arena(&config);
    arena_state before, after;
    char message[2] = "x";
    state_alloc(arena, 1000);
    state_take(arena, &device, &before);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_check(arena, message, 0), ==, GPUARENA_OK);
    CHECK_MSG(message[0] == 'x', "size 0: nothing written");
    CHECK_INT(gpuarena_check(arena, message, 1), ==, GPUARENA_OK);
    CHECK_MSG(message[0] == '\0', "size 1: the NUL");
    state_take(arena, &device, &after);
    CHECK_MSG(state_same(&before, &after) && before.stats.misuse_count == after.stats.misuse_count,
              "check changes nothing");
    state_end(arena, &device, "arguments");
}

int main(void)
{
    static const gpuarena_growth growths[] = { GPUARENA_GROWTH_DOUBLE, GPUARENA_GROWTH_EXACT, GPUARENA_GROWTH_STEP,
                                               GPUARENA_GROWTH_FIXED };
    for (size_t index = 0; index < 4; index++) {
        test_life(growths[index], 0);
        test_life(growths[index], KIB(64));
    }
    test_arguments();
    return tap_done();
}
