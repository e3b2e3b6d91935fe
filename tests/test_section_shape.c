/* gpuarena_check on arenas that are shaped: each promise of placement and kinds, broken on purpose, is named.
   It looks inside: nodes, ranges, trees. Run: make test TESTS=build/tests/test_section_shape */
#include "section.h"

static fake_device device;
static gpuarena *arena;

static void open_arena(const char *text)
{
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
}

static void close_arena(void)
{
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK(fake_close(&device));
}

static void *take(uint64_t bytes)
{
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, bytes, NULL), ==, GPUARENA_OK);
    return ptr;
}

/* Now the check names this. */
static void broken(const char *name)
{
    char message[200] = "";
    CHECK_INT(gpuarena_check(arena, message, sizeof message), ==, GPUARENA_CORRUPT);
    CHECK_MSG(strncmp(message, name, strlen(name)) == 0, "%s: %s", name, message);
}

static void test_buddies(void)
{
    open_arena("placement=buddy");
    void *first = take(256);
    (void)take(KIB(64));
    uint32_t index = gpuarena__node_around(arena, fake_address(first)), next;
    next = gpuarena__node_at(arena, index)->next;            /* its other half: free */
    gpuarena__set_remove(arena, next);
    gpuarena__node_at(arena, next)->size += 256;
    broken("a block is no buddy");
    gpuarena__node_at(arena, next)->size -= 256;
    gpuarena__set_insert(arena, next);
    arena->config.placement = GPUARENA_PLACE_GOOD;           /* where all neighbours join */
    arena->joined = 0;
    broken("two free blocks are neighbours");
    arena->config.placement = GPUARENA_PLACE_BUDDY;
    arena->joined = 1;
    close_arena();
}

static void test_bins(void)
{
    open_arena("placement=bins");
    (void)take(KIB(4));
    arena->config.bin_min_bytes = KIB(8);
    broken("a live block is of no bin");
    arena->config.bin_min_bytes = 512;
    close_arena();
}

static void test_kinds(void)
{
    open_arena("placement=best,small=1M,growth=exact");
    (void)take(KIB(4));
    (void)take(MIB(3));
    arena->ranges.first->small ^= 1;
    broken("a tree holds what it should not");
    arena->ranges.first->small ^= 1;
    uint64_t small = arena->config.small_bytes;
    arena->config.small_bytes = 0;
    broken("a segment is of another kind");
    arena->config.small_bytes = small;
    close_arena();
}

int main(void)
{
    test_buddies();
    test_bins();
    test_kinds();
    return tap_done();
}
