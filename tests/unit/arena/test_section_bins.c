/* Sections >>bits, >>bins, >>nodes, >>lookup and >>stream of the header, from inside: roundings at every edge, every
   size class at both edges, the promise of digests, tables under collisions. Bins are fed nodes that lie in no
   segment. */
#define GPUARENA_STATIC
#include "scripted.h"

/* Constants that the header takes back at its end. */
enum { CLASSES = 42 * 8, CHUNK_NODES = 512, NODE_BYTES = 64 };

static gpuarena *arena;                          /* of the test that runs */

static void open_arena(void)
{
    script("device 1T plain");
    device.table.per_thread = NULL;              /* else one of the streams' handles would stand for threads' own */
    script("arena growth=exact");
    arena = arena_now();
}

static uint64_t draw(void)
{
    static uint64_t state = 1;
    return splitmix64_next(&state);
}

/* ---- bits */

static void test_rounding(void)
{
    gpuarena__node node = GPUARENA_INIT;
    int wrong = 0;
    for (int power = 0; power < 64; power++) {
        uint64_t unit = (uint64_t)1 << power, last = UINT64_MAX - (unit - 1);        /* the largest multiple */
        wrong += gpuarena__whole(0, unit) != 0 || gpuarena__whole(1, unit) != unit;
        wrong += gpuarena__whole(unit, unit) != unit || gpuarena__whole(last, unit) != last;
        node.address = 1;
        wrong += gpuarena__lead(&node, unit) != unit - 1;
        node.address = last;
        wrong += gpuarena__lead(&node, unit) != 0;
        node.address = last + 1;                 /* the next multiple is 2^64, behind all blocks */
        node.size = UINT64_MAX - node.address;
        if (power) wrong += gpuarena__lead(&node, unit) != unit - 1 || gpuarena__node_serves(&node, 1, unit);
        wrong += gpuarena__round_down(unit + unit / 2, unit) != (power ? unit : 1);
        wrong += gpuarena__highest_bit(unit) != (uint32_t)power || gpuarena__lowest_bit(unit) != (uint32_t)power;
        wrong += gpuarena__highest_bit(unit | 1) != (uint32_t)power || gpuarena__lowest_bit(last) != (uint32_t)power;
        wrong += !gpuarena__is_power_of_two(unit) || (power > 1 && gpuarena__is_power_of_two(unit + 1));
    }
    CHECK_MSG(wrong == 0, "round up, round down, bits, for all 64 powers of two: %d wrong", wrong);
    CHECK(!gpuarena__is_power_of_two(0));
}

/* ---- bins */

/* The smallest size of a class, by the definition: a leading one, three bits, zeros. 0: below one unit of 256. */
static uint64_t class_bytes(uint32_t number)
{
    uint64_t units = 8 + number % 8;
    uint32_t octave = number / 8;
    units = octave >= 3 ? units << (octave - 3) : units % ((uint64_t)1 << (3 - octave)) ? 0 : units >> (3 - octave);
    return units * 256;
}

static void test_classes(void)
{
    int wrong = 0, used = 0;
    uint32_t before = 0;
    for (uint32_t number = 0; number < CLASSES; number++) {
        uint64_t bytes = class_bytes(number);
        if (!bytes) continue;                    /* sizes below 8 units leave classes unused */
        wrong += gpuarena__bin_of(bytes).number != number || gpuarena__bin_of(bytes).digest != 1;
        if (used++) wrong += gpuarena__bin_of(bytes - 256).number != before;
        before = number;
    }
    CHECK_MSG(wrong == 0, "%d classes, both edges: %d wrong", used, wrong);
    CHECK_INT(gpuarena__bin_of(((uint64_t)1 << 50) - 256).number, ==, CLASSES - 1);
}

/* The promise that the search relies on: in one class, a digest that is as large means a size that is as large. */
static void test_digests(void)
{
    int wrong = 0, lost = 0;
    for (int round = 0; round < 1000000; round++) {
        uint64_t bytes = (draw() >> (15 + draw() % 40)) / 256 * 256 + 256;
        gpuarena__bin class = gpuarena__bin_of(bytes);
        uint64_t low = class_bytes(class.number), block = low + draw() % (low / 8 + 256) / 256 * 256;
        if (gpuarena__bin_of(block).number != class.number) continue;
        gpuarena__bin request = gpuarena__bin_of_request(bytes), held = gpuarena__bin_of(block);
        wrong += request.number != class.number || request.digest < 1 || request.digest > 65 || held.digest > 64;
        wrong += held.digest >= request.digest && block < bytes;
        lost += held.digest < request.digest && block >= bytes + low / 256;  /* missed though clearly larger */
    }
    CHECK_MSG(wrong == 0, "digests never promise too much: %d wrong", wrong);
    CHECK_MSG(lost == 0, "and miss by at most 1/256 of a size: %d wrong", lost);
}

static uint32_t take_node(void)
{
    CHECK(gpuarena__nodes_reserve(arena, 1));
    uint32_t index = arena->nodes.unused.first;
    (void)gpuarena__node_take(arena, &arena->nodes.unused);
    return index;
}

static void drop_node(uint32_t index)
{
    gpuarena__node_drop(&arena->nodes.unused, index, gpuarena__node_at(arena, index));
}

static uint32_t insert(uint64_t bytes)
{
    uint32_t index = take_node();
    gpuarena__node_at(arena, index)->size = bytes;
    gpuarena__bins_insert(arena, &arena->bins, index);
    return index;
}

static void take_out(uint32_t index)
{
    gpuarena__bins_remove(arena, &arena->bins, index);
    drop_node(index);
}

static int bins_sound(uint64_t count)
{
    gpuarena__audit audit = GPUARENA_INIT;
    char message[100];
    gpuarena__text out = gpuarena__text_begin(message, sizeof message);
    audit.arena = arena;
    audit.out = &out;
    audit.node_count = (uint64_t)arena->nodes.chunk_count * CHUNK_NODES;
    audit.free_count = count;
    if (gpuarena__check_bins(&audit) && gpuarena__check_streams(&audit) && gpuarena__check_known(&audit)) return 1;
    printf("# %s\n", message);
    return 0;
}

/* The longest of these blocks is the longest that is free. */
static int is_longest(const uint32_t *nodes, uint32_t count)
{
    uint64_t longest = 0;
    for (uint32_t at = 0; at < count; at++)
        if (gpuarena__node_bytes(gpuarena__node_at(arena, nodes[at])) > longest)
            longest = gpuarena__node_bytes(gpuarena__node_at(arena, nodes[at]));
    return gpuarena__largest_free(arena) == longest;
}

/* 100 blocks of one class: 8 in slots, the others listed; removed in a drawn order, each found until it is gone. */
static void test_overflow(void)
{
    uint32_t nodes[100];
    int wrong = 0;
    open_arena();
    for (uint32_t made = 0; made < 100; made++) {
        nodes[made] = insert(65536 + 256 * (made % 12));
        wrong += !bins_sound(made + 1) || !is_longest(nodes, made + 1);
    }
    for (uint32_t left = 100; left > 0; left--) {
        uint32_t chosen = (uint32_t)(draw() % left);
        wrong += gpuarena__bin_search(&arena->bins, 65536) == 0;
        take_out(nodes[chosen]);
        nodes[chosen] = nodes[left - 1];
        wrong += !bins_sound(left - 1) || !is_longest(nodes, left - 1);
    }
    CHECK_MSG(wrong == 0, "100 blocks of one class in and out: %d wrong", wrong);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 256), ==, 0);
    script_end();
}

static void test_search(void)
{
    open_arena();
    uint32_t large = insert(1 << 20);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 69888), ==, large);
    uint32_t loose = insert(73216), tight = insert(70144);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 69888), ==, tight);         /* of its own class the tightest */
    CHECK_INT(gpuarena__bin_search(&arena->bins, 71168), ==, loose);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 1 << 20), ==, large);       /* an exact fit */
    CHECK_INT(gpuarena__bin_search(&arena->bins, (1 << 20) + 256), ==, 0);
    CHECK_INT(gpuarena__bin_search(&arena->bins, (uint64_t)1 << 49), ==, 0);
    take_out(large);
    take_out(loose);
    take_out(tight);
    script_end();
}

/* ---- nodes, and the tables of live blocks and of streams */

/* Chunks are never moved: a node keeps its place while thousands are added. */
static void test_nodes(void)
{
    open_arena();
    const gpuarena__node *first = gpuarena__node_at(arena, 1);
    CHECK(gpuarena__nodes_reserve(arena, 10000));
    CHECK(gpuarena__node_at(arena, 1) == first);
    CHECK_INT((uintptr_t)gpuarena__node_at(arena, 777) % NODE_BYTES, ==, 0);
    CHECK_INT(sizeof(gpuarena__node), ==, NODE_BYTES);
    CHECK(gpuarena__node_live(gpuarena__node_at(arena, 0)));
    CHECK_U64(arena->nodes.unused.count, ==, arena->nodes.chunk_count * CHUNK_NODES - 1);
    script_end();
}

/* Addresses whose homes are one slot: probing must find each, and removal must not hide those behind. */
static void test_collisions(void)
{
    uint32_t made = 0, nodes[40];
    uint64_t at_address[40];
    int wrong = 0;
    open_arena();
    for (uint64_t address = (uint64_t)1 << 30; made < 40; address += 256) {
        if (gpuarena__home(&arena->lookup, address) != arena->lookup.mask - 2) continue;     /* so that probes wrap */
        at_address[made] = address;
        nodes[made] = take_node();
        gpuarena__node_at(arena, nodes[made])->address = address;
        gpuarena__lookup_insert(&arena->lookup, nodes[made++], address);
    }
    CHECK_INT(arena->lookup.longest, ==, 39);
    for (uint32_t gone = 0; gone < 40; gone++) {
        for (uint32_t left = gone; left < 40; left++) {
            const uint32_t *slot = gpuarena__lookup_find(arena, at_address[left]);
            wrong += !slot || *slot != nodes[left];
        }
        *gpuarena__lookup_find(arena, at_address[gone]) = 0;
        wrong += gpuarena__lookup_find(arena, at_address[gone]) != NULL;
        drop_node(nodes[gone]);
    }
    CHECK_MSG(wrong == 0, "40 addresses with one home: %d wrong", wrong);
    script_end();
}

/* The number of entries that a look-up of a stream visits. */
static uint32_t probes(gpuarena_stream stream)
{
    const gpuarena__streams *all = &arena->streams;
    const gpuarena__known *found = gpuarena__known_of(arena, stream);
    uint64_t own = stream == GPUARENA_OWN_STREAM ? gpuarena__thread_number() : 0;
    uint64_t home = (own ? own : (uint64_t)(uintptr_t)stream) * 0x9E3779B97F4A7C15u >> all->known_shift;
    return 1 + (((uint32_t)(found - all->known) - (uint32_t)home) & (all->known_room - 1));
}

/* A stream is found, or found to be unknown, in a few steps, however many there are: such as are far apart, side by
   side, or alike in their low bits; and as well when half of them are forgotten. */
static void test_streams(unsigned shift)
{
    enum { STREAMS = 2000 };
    int wrong = 0;
    void *ptr;
    open_arena();
    for (uintptr_t at = 1; at <= STREAMS; at++)
        wrong += gpuarena_alloc(arena, &ptr, 256, (gpuarena_stream)(at << shift)) != GPUARENA_OK;
    for (uintptr_t half = 0; half < 2; half++) {
        uint64_t known = 0, unknown = 0;
        uint32_t longest = 0;
        for (uintptr_t at = 1; at <= STREAMS; at += 1 + half) {
            uint32_t count = probes((gpuarena_stream)(at << shift));
            longest = count > longest ? count : longest;
            known += count;
            unknown += probes((gpuarena_stream)((STREAMS + at) << shift));
        }
        CHECK_MSG(probes(GPUARENA_OWN_STREAM) <= 16, "a free on a block's own stream");
        CHECK_MSG(known <= 2 * STREAMS && unknown <= 4 * STREAMS && longest <= 32,
                  "streams << %u: %d known are found by %d looks, at most %d for one, others by %d", shift, STREAMS,
                  (int)known, (int)longest, (int)unknown);
        CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
        for (uintptr_t at = 2; at <= STREAMS; at += 2)
            wrong += gpuarena_forget(arena, (gpuarena_stream)(at << shift)) != GPUARENA_OK;
    }
    CHECK_INT(wrong, ==, 0);
    script("reset on any");
    script_end();
}

int main(void)
{
    test_rounding();
    test_classes();
    test_digests();
    test_overflow();
    test_search();
    test_nodes();
    test_collisions();
    test_streams(0);
    test_streams(4);
    test_streams(12);
    test_streams(40);
    return tap_done();
}
