/* Several arenas in one process: who owns an address, ends in any order. Whose block it is: memory.script. */
#include "arena_state.h"

enum { ARENA_COUNT = 100 };

static fake_device device, second_device;

static gpuarena *open_on(fake_device *on)
{
    gpuarena_config config = fake_config(on);
    return state_arena(&config);
}

static void test_owner(void)
{
    gpuarena *first = state_open(&device), *second = state_open(&second_device);
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

/* A hundred arenas, ended in an order of their own, each address answered for as long as its arena lives. */
static void test_many(void)
{
    static gpuarena *arenas[ARENA_COUNT];
    static void *blocks[ARENA_COUNT];
    int wrong = 0;
    fake_open(&device, GIB(4));
    for (int index = 0; index < ARENA_COUNT; index++) {
        arenas[index] = open_on(&device);
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

static int is_listed(gpuarena *const *arenas, int count)
{
    gpuarena *at = gpuarena_next(NULL);
    for (int number = 0; number < count; number++, at = gpuarena_next(at))
        if (at != arenas[number]) return 0;
    return at == NULL;
}

/* All arenas, those of trees too, in the order in which they were made. */
static void test_next(void)
{
    gpuarena *arenas[5];
    gpuarena_config config = GPUARENA_INIT;
    fake_open(&device, GIB(1));
    CHECK(is_listed(NULL, 0));
    arenas[0] = open_on(&device);
    config.environment = "";
    for (int at = 1; at < 5; at++) {
        config.parent = arenas[at % 2 ? 0 : at - 1];
        arenas[at] = state_arena(&config);
    }
    CHECK(is_listed(arenas, 5));
    CHECK_INT(gpuarena_destroy(arenas[2]), ==, GPUARENA_OK);
    arenas[2] = arenas[3], arenas[3] = arenas[4];
    CHECK(is_listed(arenas, 4));
    arenas[4] = state_arena(&config);
    CHECK(is_listed(arenas, 5));
    for (int at = 5; at-- > 0;) CHECK_INT(gpuarena_destroy(arenas[at]), ==, GPUARENA_OK);
    CHECK(is_listed(NULL, 0));
}

int main(void)
{
    test_next();
    test_owner();
    test_many();
    return tap_done();
}
