/* Sections >>pages and >>tree of the header, from inside: every invariant of holes, rooms, pages and trees is
   violated in turn, named by the check, and mended again. It must not change what is checked: each row puts one
   field wrong and back. */
#define GPUARENA_STATIC
#include "sim_device.h"
#include "violate.h"

/* state bits of a node's size, which the header takes back at its end */
enum { PAGES_LIVE = 1, PAGES_OVERFLOW = 2, PAGES_HOLE = 4, PAGES_KEPT = 8, PAGES_OWN = 16 };

static sim_bench device;
static gpuarena *arena;
static void *blocks[16];
static gpuarena__node *roomy, *room, *stuck, *open_hole, *root, *child, *plain;

static gpuarena__node *node_at(uint32_t index)
{
    return gpuarena__node_at(arena, index);
}

static gpuarena__node *node_of(void *block)
{
    return node_at(gpuarena__node_around(arena, bench_number(block)));
}

static void *take(uint64_t bytes, uint64_t room_bytes)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    request.bytes = bytes;
    request.room_bytes = room_bytes;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    return ptr;
}

/* The GPU is done with it. */
static void drop(void *block)
{
    CHECK_INT(gpuarena_free(arena, block, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
}

/* The first node that has just these of the bits HOLE and KEPT, and is behind a block with room or not. */
static gpuarena__node *find_hole(uint64_t bits, int behind_roomy)
{
    for (const gpuarena__range *range = arena->ranges.first; range; range = range->after)
        for (uint32_t index = range->first; index; index = node_at(index)->next) {
            const gpuarena__node *before = node_at(node_at(index)->prev);
            if ((node_at(index)->size & (PAGES_HOLE | PAGES_KEPT)) == bits
                && behind_roomy == ((before->size & (PAGES_LIVE | PAGES_KEPT)) == (PAGES_LIVE | PAGES_KEPT)))
                return node_at(index);
        }
    printf("Bail out! there is no such hole\n");
    exit(1);
}

/* A block with room; addresses that are stuck, for the driver did not unmap what had moved; open holes; three free
   blocks in a tree, idle pages. */
static void set_up(void)
{
    gpuarena_config config = GPUARENA_INIT;
    device = bench_open_sized(MIB(256), NULL);
    CHECK_INT(gpuarena_config_parse("backing=paged,limit=24M,idle=0,large=1M", &config, NULL, 0), ==, GPUARENA_OK);
    config.environment = "";
    config.driver = &device.driver;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    for (int at = 0; at < 8; at++) blocks[at] = take(MIB(2), 0);
    roomy = node_of(take(MIB(1), MIB(4)));
    room = node_at(roomy->next);
    for (int at = 0; at < 8; at += 2) drop(blocks[at]);
    sim_fail_call(device.machine, SIM_CALL_VM_UNMAP, 1, 0, SIM_UNKNOWN);
    (void)take(MIB(7), 0);
    CHECK(sim_fail_fired(device.machine));
    for (int at = 0; at < 6; at++) blocks[8 + at] = take(at % 2 ? KIB(300) : KIB(1100 + 100 * at), 0);
    for (int at = 8; at < 14; at += 2) drop(blocks[at]);
    drop(blocks[1]);
    stuck = find_hole(PAGES_HOLE | PAGES_KEPT, 0);
    open_hole = find_hole(PAGES_HOLE, 0);
    root = node_at(arena->bins.root[0]);
    child = node_at(root->as.tree.low ? root->as.tree.low : root->as.tree.high);
    plain = node_of(blocks[3]);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK(room->size & PAGES_KEPT && child != node_at(0) && arena->paged.idle_count);
}

static void test_holes(void)
{
    uint32_t self = arena->paged.holes;
    VIOLATE(arena, open_hole->record, 1, "a hole waits for something");
    VIOLATE(arena, open_hole->use_at, 1, "a free block in a bin waits for several streams");
    VIOLATE(arena, open_hole->size, open_hole->size | PAGES_KEPT, "the holes' list holds another");
    VIOLATE(arena, open_hole->size, open_hole->size & ~(uint64_t)PAGES_HOLE, "two free blocks are neighbours");
    VIOLATE(arena, open_hole->size, open_hole->size | PAGES_LIVE, "a block has a state that cannot be");
    VIOLATE(arena, open_hole->size, open_hole->size | PAGES_OVERFLOW, "a block has a state that cannot be");
    VIOLATE(arena, stuck->size, stuck->size & ~(uint64_t)PAGES_KEPT, "holes are missing in their list");
    VIOLATE(arena, stuck->size, stuck->size | PAGES_OWN, "a block has a state that cannot be");
    VIOLATE(arena, plain->size, plain->size | PAGES_HOLE, "a block has a state that cannot be");
    VIOLATE(arena, plain->size, (plain->size | PAGES_HOLE | PAGES_KEPT) & ~(uint64_t)PAGES_LIVE,
            "a hole waits for something");
    VIOLATE(arena, arena->paged.holes, 0, "holes are missing in their list");
    VIOLATE(arena, arena->paged.holes, 0x7fffffff, "a link leads to no block");
    VIOLATE(arena, arena->paged.holes, gpuarena__node_around(arena, plain->address),
            "the holes' list holds another");
    VIOLATE(arena, node_at(self)->as.list.after, self, "holes are missing in their list");
    VIOLATE(arena, arena->paged.unmap_failed_count, arena->paged.unmap_failed_count + 1,
            "holes that failed to unmap are miscounted");
    VIOLATE(arena, arena->paged.unmap_failed_count, 0, "holes that failed to unmap are miscounted");
}

/* A hole in two halves. */
static void test_neighbours(void)
{
    char message[200] = "";
    uint32_t index = arena->paged.holes, rest;
    while (index && node_at(index)->size < MIB(4)) index = node_at(index)->as.list.after;
    CHECK(index && gpuarena__nodes_reserve(arena, 1));
    gpuarena__hole_unlist(arena, index);
    rest = gpuarena__block_split(arena, index, MIB(2));
    gpuarena__hole_list(arena, index);
    gpuarena__hole_list(arena, rest);
    CHECK_INT(gpuarena_check(arena, message, sizeof message), ==, GPUARENA_CORRUPT);
    CHECK_MSG(strncmp(message, "two holes are neighbours", 24) == 0, "two holes are neighbours");
    gpuarena__hole_unlist(arena, rest);
    gpuarena__hole_unlist(arena, index);
    gpuarena__block_absorb_next(arena, index);
    gpuarena__hole_list(arena, index);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
}

static void test_rooms(void)
{
    VIOLATE(arena, roomy->size, roomy->size & ~(uint64_t)PAGES_KEPT,
            "holes that failed to unmap are miscounted");
    VIOLATE(arena, room->size, room->size & ~(uint64_t)PAGES_KEPT, "a block's room is open to all");
    VIOLATE(arena, plain->size, plain->size | PAGES_KEPT, "a block has no room behind it");
    VIOLATE(arena, plain->size, plain->size | PAGES_OWN | PAGES_KEPT, "a block has a state that cannot be");
    VIOLATE(arena, arena->ranges.first->pages, 0, "a hole is not of whole pages");
    VIOLATE(arena, arena->ranges.first->bytes, arena->ranges.first->bytes + 1,
            "a segment has a size");
    VIOLATE(arena, arena->paged.page_bytes, arena->paged.page_bytes * 64,
            "a segment has a size or base that cannot be");
}

static void test_pages(void)
{
    gpuarena__paged *paged = &arena->paged;
    VIOLATE(arena, paged->idle_count, paged->idle_count + 1, "idle pages are miscounted");
    VIOLATE(arena, paged->idle_count, paged->idle_count - 1, "idle pages are miscounted");
    VIOLATE(arena, paged->spare_pages, paged->spare_pages + 1, "reserved bytes do not add up");
    VIOLATE(arena, paged->spare_room, paged->spare_room * 2, "host memory does not add up");
    VIOLATE(arena, paged->run_room, paged->run_room + 1, "host memory does not add up");
    VIOLATE(arena, arena->stats.reserved_bytes, arena->stats.reserved_bytes - MIB(2),
            "reserved bytes do not add up");
    VIOLATE(arena, arena->growing, MIB(2), "growth is claimed that is not under way");
}

static void test_trees(void)
{
    gpuarena__bins *bins = &arena->bins;
    VIOLATE(arena, bins->root[0], 0, "free blocks and bins differ in number");
    VIOLATE(arena, bins->root[0], 0x7fffffff, "a link leads to no block");
    VIOLATE(arena, root->as.tree.longest, root->as.tree.longest + 256, "a tree's longest block is another");
    VIOLATE(arena, child->as.tree.longest, 0, "a tree's longest block is another");
    VIOLATE(arena, root->as.tree.low, root->as.tree.high, "a tree is out of order");
    VIOLATE(arena, root->as.tree.high, bins->root[0], "a tree has no end");
    VIOLATE(arena, bins->root[0], gpuarena__node_around(arena, plain->address),
            "a tree holds what it should not");
    VIOLATE(arena, arena->ordered_bytes, MIB(64), "a free block is in the bin of another size");
}

int main(void)
{
    set_up();
    test_holes();
    test_neighbours();
    test_rooms();
    test_pages();
    test_trees();
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(bench_counters(&device).held_bytes + sim_finding_count(device.machine), ==, 0);
    bench_close(&device);
    return tap_done();
}
