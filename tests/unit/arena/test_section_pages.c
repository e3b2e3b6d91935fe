/* Sections >>pages and >>tree of the header, from inside: every invariant of holes, rooms, pages and trees is
   violated in turn, named by the check, and mended again. It must not change what is checked: each row puts one
   field wrong and back. */
#define GPUARENA_STATIC
#include "paged.h"
#include "violate.h"

/* state bits of a node's size, which the header takes back at its end */
enum { PAGES_LIVE = 1, PAGES_OVERFLOW = 2, PAGES_HOLE = 4, PAGES_KEPT = 8, PAGES_OWN = 16 };

static paged_bench bench;
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

/* A block with room; addresses that are stuck, for the driver did not unmap what had moved; open holes; three free
   blocks in a tree, idle pages. */
static void set_up(void)
{
    gpuarena_request request = GPUARENA_INIT;
    paged_open(&bench, MIB(256), "limit=24M,idle=0,large=1M");
    for (int at = 0; at < 8; at++) paged_alloc(&bench, MIB(2));
    request.bytes = MIB(1);
    request.room_bytes = MIB(4);
    CHECK_INT(paged_ask(&bench, &request), ==, GPUARENA_OK);
    roomy = node_at(gpuarena__node_around(bench.arena, bench_number(bench.blocks[8].ptr)));
    room = node_at(roomy->next);
    for (int at = 0; at < 4; at++) paged_free(&bench, at);
    sim_fail_call(bench.machine, SIM_CALL_VM_UNMAP, 1, 0, SIM_UNKNOWN);
    CHECK_INT(paged_alloc(&bench, MIB(7)), ==, GPUARENA_OK);
    CHECK(sim_fail_fired(bench.machine));
    for (uint64_t at = 0; at < 6; at++)
        CHECK_INT(paged_alloc(&bench, at % 2 ? KIB(300) : KIB(1100 + 100 * at)), ==, GPUARENA_OK);
    for (int at = 0; at < 3; at++) paged_free(&bench, bench.block_count - 6 + at);
    paged_free(&bench, 0);
    stuck = find_hole(PAGES_HOLE | PAGES_KEPT, 0);
    open_hole = find_hole(PAGES_HOLE, 0);
    root = node_at(bench.arena->bins.root[0]);
    child = node_at(root->as.tree.low ? root->as.tree.low : root->as.tree.high);
    plain = node_at(gpuarena__node_around(bench.arena, bench_number(bench.blocks[0].ptr)));
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
    VIOLATE(bench.arena, bench.arena->paged.page_bytes, bench.arena->paged.page_bytes * 2,
            "a hole is not of whole pages");
    VIOLATE(bench.arena, roomy->next, 0, "a block has no room behind it");
}

static void test_pages(void)
{
    gpuarena__paged *paged = &bench.arena->paged;
    uint32_t *parts = bench.arena->ranges.first->parts, at = 0;
    while (parts[at] != 1) at++;
    VIOLATE(bench.arena, parts[at], 0, "a handle has no pages, or too many");
    VIOLATE(bench.arena, parts[at], 1 << 20, "a handle has no pages, or too many");
    VIOLATE(bench.arena, paged->large_count, paged->large_count + 1, "large handles are miscounted");
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
    static paged_bench other;
    gpuarena_block block;
    void *ptr = NULL;
    paged_open(&other, MIB(64), "");
    for (int round = 0; round < 3; round++) {
        CHECK_INT(gpuarena_alloc(other.arena, &ptr, MIB(4), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_free(other.arena, ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
        (void)gpuarena__resolve_events(other.arena, 0);              /* nothing but a wait tells */
        CHECK_INT(gpuarena_lookup(other.arena, ptr, &block), ==, GPUARENA_OK);
        CHECK_INT(block.state, ==, GPUARENA_STATE_PENDING);
        CHECK_INT(gpuarena_check(other.arena, NULL, 0), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_trim(other.arena, 0, NULL), ==, GPUARENA_OK);
        CHECK_U64(other.arena->stats.reserved_bytes, ==, 0);
    }
    CHECK_STR(paged_close(&other), "");
}

/* A handle of several pages, and one that reaches into the hole behind it. */
static void test_large(void)
{
    static paged_bench other;
    char message[200] = "";
    paged_open(&other, GIB(1), "large=1M");
    CHECK_INT(paged_alloc(&other, MIB(64)), ==, GPUARENA_OK);
    const gpuarena__range *range = other.arena->ranges.first;
    uint32_t first = 0, at;
    while (range->parts[first] == 1) first++;
    VIOLATE(other.arena, range->parts[first + 1], 0, "a large handle is in pieces");
    uint32_t hole = range->first;
    while (!(gpuarena__node_at(other.arena, hole)->size & PAGES_HOLE))
        hole = gpuarena__node_at(other.arena, hole)->next;
    at = (uint32_t)((gpuarena__node_at(other.arena, hole)->address - range->address) / other.page_bytes);
    first = at - 1;
    if (range->parts[first] >= GPUARENA__INSIDE) first -= range->parts[first] - GPUARENA__INSIDE;
    range->parts[first]++;
    range->parts[at] = GPUARENA__INSIDE + at - first;
    CHECK_INT(gpuarena_check(other.arena, message, sizeof message), ==, GPUARENA_CORRUPT);
    CHECK_MSG(strncmp(message, "a handle reaches into a hole", 28) == 0, "a handle reaches into a hole: %s", message);
    range->parts[first]--;
    CHECK_STR(paged_close(&other), "");
}

static gpuarena_result append(const char *text, size_t bytes, void *user)
{
    strncat(user, text, bytes);
    return GPUARENA_OK;
}

/* The text of a report says how much of a range has no memory. */
static void test_report(void)
{
    static char said[1 << 16];
    char line[100];
    uint64_t holes = 0;
    for (uint32_t at = bench.arena->ranges.first->first; at; at = node_at(at)->next)
        if (node_at(at)->size & PAGES_HOLE) holes += node_at(at)->size & ~(uint64_t)255;
    snprintf(line, sizeof line, ", holes %" PRIu64 "\n", holes);
    CHECK_INT(gpuarena_report(bench.arena, GPUARENA_FORMAT_TEXT, append, said), ==, GPUARENA_OK);
    CHECK_MSG(strstr(said, "  range 0x") && strstr(said, line), "%s: %s", line, said);
}

int main(void)
{
    set_up();
    test_holes();
    test_neighbours();
    test_rooms();
    test_pages();
    test_trees();
    test_waits();
    test_report();
    test_large();
    CHECK_INT(gpuarena_check(bench.arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_STR(paged_close(&bench), "");
    return tap_done();
}
