/* Several arenas in one process: who owns an address, whose block it is, ends in any order, one driver
   shared by two. */
#include "arena_state.h"

enum { ARENA_COUNT = 100 };

static fake_device device, second_device;

static gpuarena *open_named(fake_device *on, const char *name)
{
    gpuarena_config config = fake_config(on);
    snprintf(config.name, sizeof config.name, "%s", name);
    return state_arena(&config);
}

static void test_owner(void)
{
    fake_open(&device, GIB(1));
    fake_open(&second_device, GIB(1));
    gpuarena *first = open_named(&device, "first"), *second = open_named(&second_device, "second");
    char *mine = state_alloc(first, 1000), *theirs = state_alloc(second, 1000);
    CHECK_MSG(gpuarena_owner(mine) == first && gpuarena_owner(mine + 999) == first, "owner: a live block");
    CHECK_MSG(gpuarena_owner(mine + MIB(1)) == first, "owner: free memory too");
    CHECK_MSG(gpuarena_owner(theirs) == second, "owner: the other arena");
    CHECK_MSG(gpuarena_owner(NULL) == NULL && gpuarena_owner(&device) == NULL, "owner: NULL and host memory");
    CHECK_MSG(gpuarena_owner(mine + MIB(2)) == NULL && gpuarena_owner(mine - 1) == NULL,
              "owner: one past, one before");
    CHECK_MSG(gpuarena_owner(mine + MIB(2) - 1) == first, "owner: the last byte");
    CHECK_INT(gpuarena_free(first, mine, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(first, 0, NULL), ==, GPUARENA_OK);
    CHECK_MSG(gpuarena_owner(mine) == NULL, "owner: given back");
    state_end(second, &second_device, "second");
    CHECK_MSG(gpuarena_owner(theirs) == NULL, "owner: destroyed");
    CHECK_INT(gpuarena_free(first, theirs, NULL), ==, GPUARENA_FOREIGN_POINTER);
    state_end(first, &device, "first");
}

/* Two arenas whose segments lie side by side on one device. */
static void test_shared_driver(void)
{
    fake_open(&device, GIB(1));
    gpuarena *left = open_named(&device, "left"), *right = open_named(&device, "right");
    gpuarena_failure failure;
    gpuarena_stats left_stats, right_stats;
    gpuarena_device figures;
    char *in_left = state_alloc(left, MIB(2)), *in_right = state_alloc(right, MIB(2)), *more = state_alloc(left,
                                                                                                           MIB(2));
    CHECK_MSG(in_right == in_left + MIB(2) && more > in_right, "the ranges touch");
    CHECK_INT(gpuarena_free(left, in_right, NULL), ==, GPUARENA_WRONG_ARENA);
    gpuarena_last_failure(left, &failure);
    CHECK_MSG(strstr(failure.detail, "right") && failure.block.ptr == NULL, "named, and no block of ours: %s",
              failure.detail);
    CHECK_INT(gpuarena_free(right, in_left + 1, NULL), ==, GPUARENA_WRONG_ARENA);
    gpuarena_last_failure(right, &failure);
    CHECK_MSG(strstr(failure.detail, "left") != NULL, "named: %s", failure.detail);
    CHECK_INT(gpuarena_free(left, in_left, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(right, in_left, NULL), ==, GPUARENA_WRONG_ARENA);
    gpuarena_get_stats(left, &left_stats);
    gpuarena_get_stats(right, &right_stats);
    CHECK_U64(left_stats.reserved_bytes + right_stats.reserved_bytes, ==, device.slots.held_bytes);
    CHECK_INT(gpuarena_get_device(right, &figures), ==, GPUARENA_OK);
    CHECK_INT(figures.other_bytes, ==, (int64_t)left_stats.reserved_bytes);
    CHECK_STR(state_audit(left, NULL), "");
    CHECK_STR(state_audit(right, NULL), "");
    CHECK_INT(gpuarena_reset(left, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(left), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(right, in_right, NULL), ==, GPUARENA_OK);
    state_end(right, &device, "right");
}

/* A hundred arenas, ended in an order of their own, each address answered for as long as its arena lives. */
static void test_many(void)
{
    static gpuarena *arenas[ARENA_COUNT];
    static void *blocks[ARENA_COUNT];
    int wrong = 0;
    fake_open(&device, GIB(4));
    for (int index = 0; index < ARENA_COUNT; index++) {
        char name[32];
        snprintf(name, sizeof name, "arena %d", index);
        arenas[index] = open_named(&device, name);
        blocks[index] = state_alloc(arenas[index], 1000);
    }
    for (int round = 0; round < ARENA_COUNT; round++) {
        int ending = round * 37 % ARENA_COUNT;
        for (int index = 0; index < ARENA_COUNT; index++)
            wrong += gpuarena_owner(blocks[index]) != arenas[index];
        wrong += gpuarena_destroy(arenas[ending]) != GPUARENA_STILL_IN_USE;
        wrong += gpuarena_free(arenas[ending], blocks[ending], NULL) != GPUARENA_OK;
        wrong += gpuarena_destroy(arenas[ending]) != GPUARENA_OK;
        wrong += gpuarena_destroy(arenas[ending]) != GPUARENA_INVALID_ARGUMENT;
        arenas[ending] = NULL;
    }
    CHECK_MSG(wrong == 0, "%d arenas, ended in any order: %d wrong", ARENA_COUNT, wrong);
    CHECK_MSG(fake_close(&device), "nothing left");
}

int main(void)
{
    test_owner();
    test_shared_driver();
    test_many();
    return tap_done();
}
