/* Sections >>nodes, >>lookup and >>stream of the header, from inside: chunks, the table of live blocks under
   collisions, and the table of streams. It must not know policies. */
#include "section.h"

static fake_device device;

static gpuarena *open_arena(void)
{
    gpuarena *arena = NULL;
    fake_open(&device, (uint64_t)1 << 36);
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_EXACT;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    return arena;
}

/* Chunks are never moved: a node keeps its place while thousands are added. */
static void test_nodes(void)
{
    gpuarena *arena = open_arena();
    const gpuarena__node *first = gpuarena__node_at(arena, 1);
    CHECK(gpuarena__nodes_reserve(arena, 10000));
    CHECK(gpuarena__node_at(arena, 1) == first);
    CHECK_INT((uintptr_t)gpuarena__node_at(arena, 777) % SECTION_LINE, ==, 0);
    CHECK_INT(sizeof(gpuarena__node), ==, 64);
    CHECK(gpuarena__node_live(gpuarena__node_at(arena, 0)));
    CHECK_U64(arena->nodes.unused.count, ==, arena->nodes.chunk_count * SECTION_CHUNK - 1);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* Addresses whose homes are one slot: probing must find each, and removal must not hide those behind. */
static void test_collisions(void)
{
    gpuarena *arena = open_arena();
    uint32_t capacity = arena->lookup.mask + 1, made = 0, nodes[40];
    uint64_t addresses[40];
    int wrong = 0;
    CHECK(gpuarena__nodes_reserve(arena, 40));
    for (uint64_t address = (uint64_t)1 << 30; made < 40; address += 256) {
        if (gpuarena__home(&arena->lookup, address) != capacity - 3) continue;       /* so that probes wrap round */
        addresses[made] = address;
        nodes[made] = arena->nodes.unused.first;
        (void)gpuarena__node_take(arena, &arena->nodes.unused);
        gpuarena__node_at(arena, nodes[made])->address = address;
        gpuarena__lookup_insert(&arena->lookup, nodes[made++], address);
    }
    CHECK_INT(arena->lookup.longest, ==, 39);
    for (uint32_t gone = 0; gone < 40; gone++) {
        for (uint32_t left = gone; left < 40; left++) {
            const uint32_t *place = gpuarena__lookup_find(arena, addresses[left]);
            wrong += !place || *place != nodes[left];
        }
        *gpuarena__lookup_find(arena, addresses[gone]) = 0;
        wrong += gpuarena__lookup_find(arena, addresses[gone]) != NULL;
        gpuarena__node_drop(&arena->nodes.unused, nodes[gone], gpuarena__node_at(arena, nodes[gone]));
    }
    CHECK_MSG(wrong == 0, "40 addresses with one home: %d wrong", wrong);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* How many entries are looked at for a stream. */
static uint32_t probes(const gpuarena *arena, gpuarena_stream stream)
{
    const gpuarena__streams *streams = &arena->streams;
    const gpuarena__known *found = gpuarena__known_of(arena, stream);
    uint64_t own = stream == GPUARENA_OWN_STREAM ? gpuarena__thread_number() : 0;
    uint64_t home = (own ? own : (uint64_t)(uintptr_t)stream) * 0x9E3779B97F4A7C15u >> streams->known_shift;
    return 1 + (((uint32_t)(found - streams->known) - (uint32_t)home) & (streams->known_room - 1));
}

/* A stream is found, or found to be unknown, in a few steps, however many there are: such as are far apart, side by
   side, or alike in their low bits; and as well when half of them are forgotten. */
static void test_streams(unsigned shift)
{
    enum { STREAMS = 2000 };
    gpuarena *arena = open_arena();
    uint64_t known = 0, unknown = 0;
    uint32_t longest = 0;
    int wrong = 0;
    for (uint64_t at = 1; at <= STREAMS; at++) {
        void *ptr = NULL;
        wrong += gpuarena_alloc(arena, &ptr, 256, (gpuarena_stream)(uintptr_t)(at << shift)) != GPUARENA_OK;
    }
    for (int half = 0; half < 2; half++) {
        for (uint64_t at = 1; at <= STREAMS; at += 1u + (uint32_t)half) {
            uint32_t count = probes(arena, (gpuarena_stream)(uintptr_t)(at << shift));
            longest = count > longest ? count : longest;
            known += count;
            unknown += probes(arena, (gpuarena_stream)(uintptr_t)((STREAMS + at) << shift));
        }
        CHECK_MSG(probes(arena, GPUARENA_OWN_STREAM) <= 16, "a free on a block's own stream");
        CHECK_MSG(known <= 2 * STREAMS && unknown <= 4 * STREAMS && longest <= 32,
                  "streams << %u: %d known are found by %d looks, at most %d for one, others by %d", shift, STREAMS,
                  (int)known, (int)longest, (int)unknown);
        CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
        for (uint64_t at = 2; at <= STREAMS; at += 2)
            wrong += gpuarena_forget(arena, (gpuarena_stream)(uintptr_t)(at << shift)) != GPUARENA_OK;
        known = unknown = 0;
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_INT(gpuarena_reset(arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

int main(void)
{
    test_streams(0);
    test_streams(4);
    test_streams(12);
    test_streams(40);
    test_nodes();
    test_collisions();
    return tap_done();
}
