/* Sections >>pages and >>tree of the header, from inside: every invariant of holes, rooms, pages and trees is
   violated in turn, named by the check, and mended again. It must not change what is checked: each row puts one
   field wrong and back. */
#define GPUARENA_STATIC
#include "host_memory.h"
#include "sim_device.h"
#include "violate.h"

/* state bits of a node's size, which the header takes back at its end */
enum { PAGES_LIVE = 1, PAGES_OVERFLOW = 2, PAGES_HOLE = 4, PAGES_KEPT = 8, PAGES_OWN = 16 };

static struct {                                  /* an arena on a simulated device of its own */
    sim_bench device;
    host_memory host;
    gpuarena *arena;
    void *blocks[32];                            /* live, of one stream */
    int block_count;
} bench;
static gpuarena__node *roomy, *room, *stuck, *open_hole, *root, *child, *plain;

static gpuarena__node *node_at(uint32_t index)
{
    return gpuarena__node_at(bench.arena, index);
}

/* The first node that has just these of the bits HOLE and KEPT, and is behind a block with room or not. */
static gpuarena__node *find_hole(uint64_t bits, int behind_roomy)
{
    for (const gpuarena__range *range = bench.arena->ranges.first; range; range = range->after)
        for (uint32_t index = range->first; index; index = node_at(index)->next) {
            const gpuarena__node *before = node_at(node_at(index)->prev);
            if ((node_at(index)->size & (PAGES_HOLE | PAGES_KEPT)) == bits
                && behind_roomy == ((before->size & (PAGES_LIVE | PAGES_KEPT)) == (PAGES_LIVE | PAGES_KEPT)))
                return node_at(index);
        }
    printf("Bail out! there is no such hole\n");
    exit(1);
}

static void open_arena(uint64_t capacity_bytes, const char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(&bench, 0, sizeof bench);
    bench.device = bench_open_sized(capacity_bytes, NULL);
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    config.backing = GPUARENA_BACKING_PAGED;
    config.environment = "";
    config.driver = &bench.device.driver;
    host_serve(&bench.host, &config);
    CHECK_INT(gpuarena_create(&config, &bench.arena), ==, GPUARENA_OK);
}

static void take(uint64_t bytes, uint64_t room_bytes)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    request.room_bytes = room_bytes;
    CHECK_INT(gpuarena_alloc_ex(bench.arena, &bench.blocks[bench.block_count++], &request), ==, GPUARENA_OK);
}

/* By its number; later ones move up. The GPU is done with it. */
static void drop(int number)
{
    CHECK_INT(gpuarena_free(bench.arena, bench.blocks[number], GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    bench.block_count--;
    for (int at = number; at < bench.block_count; at++) bench.blocks[at] = bench.blocks[at + 1];
}

/* Nothing is left, on the device or the host. */
static void close_arena(void)
{
    sim_counters counters;
    CHECK_INT(gpuarena_check(bench.arena, NULL, 0), ==, GPUARENA_OK);
    while (bench.block_count) drop(0);
    CHECK_INT(gpuarena_destroy(bench.arena), ==, GPUARENA_OK);
    counters = bench_counters(&bench.device);
    CHECK_U64(counters.handle_count + counters.mapping_count + counters.reserved_address_bytes, ==, 0);
    CHECK_U64(counters.held_bytes + counters.findings, ==, 0);
    CHECK(!host_close(&bench.host));
    bench_close(&bench.device);
}

/* A block with room; addresses that are stuck, for the driver did not unmap what had moved; open holes; three free
   blocks in a tree, idle pages. */
static void set_up(void)
{
    open_arena(MIB(256), "limit=24M,idle=0,large=1M");
    for (int at = 0; at < 8; at++) take(MIB(2), 0);
    take(MIB(1), MIB(4));
    roomy = node_at(gpuarena__node_around(bench.arena, bench_number(bench.blocks[8])));
    room = node_at(roomy->next);
    for (int at = 0; at < 4; at++) drop(at);
    sim_fail_call(bench.device.machine, SIM_CALL_VM_UNMAP, 1, 0, SIM_UNKNOWN);
    take(MIB(7), 0);
    CHECK(sim_fail_fired(bench.device.machine));
    for (uint64_t at = 0; at < 6; at++) take(at % 2 ? KIB(300) : KIB(1100 + 100 * at), 0);
    for (int at = 0; at < 3; at++) drop(bench.block_count - 6 + at);
    drop(0);
    stuck = find_hole(PAGES_HOLE | PAGES_KEPT, 0);
    open_hole = find_hole(PAGES_HOLE, 0);
    root = node_at(bench.arena->bins.root[0]);
    child = node_at(root->as.tree.low ? root->as.tree.low : root->as.tree.high);
    plain = node_at(gpuarena__node_around(bench.arena, bench_number(bench.blocks[0])));
    CHECK_INT(gpuarena_check(bench.arena, NULL, 0), ==, GPUARENA_OK);
    CHECK(room->size & PAGES_KEPT && child != node_at(0) && bench.arena->paged.idle_count);
}

static void test_holes(void)
{
    uint32_t self = bench.arena->paged.holes;
    VIOLATE(bench.arena, open_hole->record, 1, "a hole waits for something");
    VIOLATE(bench.arena, open_hole->use_at, 1, "a free block in a bin waits for several streams");
    VIOLATE(bench.arena, open_hole->size, open_hole->size | PAGES_KEPT, "the holes' list holds another");
    VIOLATE(bench.arena, open_hole->size, open_hole->size & ~(uint64_t)PAGES_HOLE, "two free blocks are neighbours");
    VIOLATE(bench.arena, open_hole->size, open_hole->size | PAGES_LIVE, "a block has a state that cannot be");
    VIOLATE(bench.arena, open_hole->size, open_hole->size | PAGES_OVERFLOW, "a block has a state that cannot be");
    VIOLATE(bench.arena, stuck->size, stuck->size & ~(uint64_t)PAGES_KEPT, "holes are missing in their list");
    VIOLATE(bench.arena, stuck->size, stuck->size | PAGES_OWN, "a block has a state that cannot be");
    VIOLATE(bench.arena, plain->size, plain->size | PAGES_HOLE, "a block has a state that cannot be");
    VIOLATE(bench.arena, plain->size, (plain->size | PAGES_HOLE | PAGES_KEPT) & ~(uint64_t)PAGES_LIVE,
            "a hole waits for something");
    VIOLATE(bench.arena, bench.arena->paged.holes, 0, "holes are missing in their list");
    VIOLATE(bench.arena, bench.arena->paged.holes, 0x7fffffff, "a link leads to no block");
    VIOLATE(bench.arena, bench.arena->paged.holes, gpuarena__node_around(bench.arena, plain->address),
            "the holes' list holds another");
    VIOLATE(bench.arena, node_at(self)->as.list.after, self, "holes are missing in their list");
    VIOLATE(bench.arena, bench.arena->paged.unmap_failed_count, bench.arena->paged.unmap_failed_count + 1,
            "holes that failed to unmap are miscounted");
    VIOLATE(bench.arena, bench.arena->paged.unmap_failed_count, 0, "holes that failed to unmap are miscounted");
}

/* A hole in two halves. */
static void test_neighbours(void)
{
    char message[200] = "";
    uint32_t index = bench.arena->paged.holes, rest;
    while (index && node_at(index)->size < MIB(4)) index = node_at(index)->as.list.after;
    CHECK(index && gpuarena__nodes_reserve(bench.arena, 1));
    gpuarena__hole_unlist(bench.arena, index);
    rest = gpuarena__block_split(bench.arena, index, MIB(2));
    gpuarena__hole_list(bench.arena, index);
    gpuarena__hole_list(bench.arena, rest);
    CHECK_INT(gpuarena_check(bench.arena, message, sizeof message), ==, GPUARENA_CORRUPT);
    CHECK_MSG(strncmp(message, "two holes are neighbours", 24) == 0, "two holes are neighbours");
    gpuarena__hole_unlist(bench.arena, rest);
    gpuarena__hole_unlist(bench.arena, index);
    gpuarena__block_absorb_next(bench.arena, index);
    gpuarena__hole_list(bench.arena, index);
    CHECK_INT(gpuarena_check(bench.arena, NULL, 0), ==, GPUARENA_OK);
}

static void test_rooms(void)
{
    VIOLATE(bench.arena, roomy->size, roomy->size & ~(uint64_t)PAGES_KEPT,
            "holes that failed to unmap are miscounted");
    VIOLATE(bench.arena, room->size, room->size & ~(uint64_t)PAGES_KEPT, "a block's room is open to all");
    VIOLATE(bench.arena, plain->size, plain->size | PAGES_KEPT, "a block has no room behind it");
    VIOLATE(bench.arena, plain->size, plain->size | PAGES_OWN | PAGES_KEPT, "a block has a state that cannot be");
    VIOLATE(bench.arena, bench.arena->ranges.first->pages, 0, "a hole is not of whole pages");
    VIOLATE(bench.arena, bench.arena->ranges.first->bytes, bench.arena->ranges.first->bytes + 1,
            "a segment has a size");
    VIOLATE(bench.arena, bench.arena->paged.page_bytes, bench.arena->paged.page_bytes * 64,
            "a segment has a size or base that cannot be");
}

static void test_pages(void)
{
    gpuarena__paged *paged = &bench.arena->paged;
    VIOLATE(bench.arena, paged->idle_count, paged->idle_count + 1, "idle pages are miscounted");
    VIOLATE(bench.arena, paged->idle_count, paged->idle_count - 1, "idle pages are miscounted");
    VIOLATE(bench.arena, paged->spare_pages, paged->spare_pages + 1, "reserved bytes do not add up");
    VIOLATE(bench.arena, paged->spare_room, paged->spare_room * 2, "host memory does not add up");
    VIOLATE(bench.arena, paged->run_room, paged->run_room + 1, "host memory does not add up");
    VIOLATE(bench.arena, bench.arena->stats.reserved_bytes, bench.arena->stats.reserved_bytes - MIB(2),
            "reserved bytes do not add up");
    VIOLATE(bench.arena, bench.arena->growing, MIB(2), "growth is claimed that is not under way");
}

static void test_trees(void)
{
    gpuarena__bins *bins = &bench.arena->bins;
    VIOLATE(bench.arena, bins->root[0], 0, "free blocks and bins differ in number");
    VIOLATE(bench.arena, bins->root[0], 0x7fffffff, "a link leads to no block");
    VIOLATE(bench.arena, root->as.tree.longest, root->as.tree.longest + 256, "a tree's longest block is another");
    VIOLATE(bench.arena, child->as.tree.longest, 0, "a tree's longest block is another");
    VIOLATE(bench.arena, root->as.tree.low, root->as.tree.high, "a tree is out of order");
    VIOLATE(bench.arena, root->as.tree.high, bins->root[0], "a tree has no end");
    VIOLATE(bench.arena, bins->root[0], gpuarena__node_around(bench.arena, plain->address),
            "a tree holds what it should not");
    VIOLATE(bench.arena, bench.arena->ordered_bytes, MIB(64), "a free block is in the bin of another size");
}

/* What is freed on every stream waits for a wait for the device, and for nothing else. */
static void test_waits(void)
{
    gpuarena_block block;
    void *ptr = NULL;
    open_arena(MIB(64), "");
    for (int round = 0; round < 3; round++) {
        CHECK_INT(gpuarena_alloc(bench.arena, &ptr, MIB(4), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_free(bench.arena, ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
        (void)gpuarena__resolve_events(bench.arena, 0);              /* nothing but a wait tells */
        CHECK_INT(gpuarena_lookup(bench.arena, ptr, &block), ==, GPUARENA_OK);
        CHECK_INT(block.state, ==, GPUARENA_STATE_PENDING);
        CHECK_INT(gpuarena_check(bench.arena, NULL, 0), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_trim(bench.arena, 0, NULL), ==, GPUARENA_OK);
        CHECK_U64(bench.arena->stats.reserved_bytes, ==, 0);
    }
    close_arena();
}

int main(void)
{
    set_up();
    test_holes();
    test_neighbours();
    test_rooms();
    test_pages();
    test_trees();
    close_arena();
    test_waits();
    return tap_done();
}
