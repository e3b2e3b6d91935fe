/* Section >>check of the header, from inside: every invariant of segments, and of pages, holes, rooms and trees, is
   violated in turn, named, and mended again. It must not change what is checked: each row puts one field wrong and
   back. */
#include "section.h"
#include "arena_state.h"
#include "violate.h"

/* ---- segments */

static fake_device device;
static uint32_t live_node, free_node, listed_node;

/* Two segments; live blocks; free ones of one size, more than a bin has slots. */
static void open_segments(void)
{
    void *blocks[64], *ptr;
    fake_open(&device, (uint64_t)1 << 30);
    gpuarena_config config = fake_config(&device);
    config.growth = GPUARENA_GROWTH_STEP;
    config.step_bytes = (uint64_t)4 << 20;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    for (int block = 0; block < 64; block++)
        CHECK(gpuarena_alloc(arena, &blocks[block], 65536 - 10, NULL) == GPUARENA_OK);
    CHECK(gpuarena_alloc(arena, &ptr, (uint64_t)3 << 20, NULL) == GPUARENA_OK);
    for (int block = 0; block < 64; block += 2) CHECK(gpuarena_free(arena, blocks[block], NULL) == GPUARENA_OK);
    live_node = gpuarena__node_around(arena, gpuarena__address(blocks[1]));
    free_node = gpuarena__node_around(arena, gpuarena__address(blocks[2]));
    for (int block = 2; block < 64 && !listed_node; block += 2) {
        uint32_t index = gpuarena__node_around(arena, gpuarena__address(blocks[block]));
        if (gpuarena__node_at(arena, index)->size & SECTION_OVERFLOW) listed_node = index;
    }
    if (gpuarena__node_at(arena, free_node)->size & SECTION_OVERFLOW) free_node = arena->bins.nodes[
        gpuarena__bin_of(65536).number * 8];
    CHECK(listed_node != 0 && arena->ranges.count == 2);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
}

static void test_blocks(void)
{
    gpuarena__node *live = gpuarena__node_at(arena, live_node), *idle = gpuarena__node_at(arena, free_node);
    VIOLATE(live->address, live->address + 256, "blocks do not tile a segment");
    VIOLATE(live->prev, 0, "blocks do not tile a segment");
    VIOLATE(live->next, 0, "blocks end before their segment does");
    VIOLATE(live->next, 0x7fffffff, "a link leads to no block");
    VIOLATE(idle->as.slot, UINT32_MAX, "a free block is in the bin of another size");
    VIOLATE(arena->limit, arena->limit - 1, "the limit is not the configuration's");
    VIOLATE(arena->fast.plain_limit, 0, "frees take another way than their releases need");
    VIOLATE(arena->release_due, 1000, "the next release is due too late");
    VIOLATE(arena->host_bytes, arena->host_bytes + 1, "host memory does not add up");
    VIOLATE(live->size, SECTION_LIVE, "a block has a size that cannot be");
    VIOLATE(live->size, (uint64_t)8 << 20 | SECTION_LIVE, "a block has a size that cannot be");
    VIOLATE(live->size, live->size & ~SECTION_LIVE, "two free blocks are neighbours");
    VIOLATE(live->size, live->size | 4, "a block has a state that cannot be");
    VIOLATE(live->size, live->size | 8 | 16, "a block has a state that cannot be");
    VIOLATE(gpuarena__node_at(arena, 0)->size, 0, "the sentinel is free");
    VIOLATE(arena->unit, 512, "the unit is not the alignment");
    VIOLATE(live->as.live.requested, 0, "a live block is smaller than its request");
    VIOLATE(live->as.live.requested, 65537, "a live block is smaller than its request");
    VIOLATE(live->as.live.serial, 0, "a live block's serial was never given");
    VIOLATE(live->as.live.serial, arena->serial + 1, "a live block's serial was never given");
    uint32_t *place = gpuarena__lookup_find(arena, live->address);
    VIOLATE(*place, 0, "a live block is not found by its address");
    VIOLATE(idle->as.slot, idle->as.slot + 64, "a free block is in the bin of another size");
    VIOLATE(idle->as.slot, idle->as.slot ^ 56, "a free block is not in its slot");
    VIOLATE(idle->as.slot, idle->as.slot | 1, "a free block is not in its slot");
}

static void test_ranges(void)
{
    gpuarena__range *range = arena->ranges.last;
    VIOLATE(range->bytes, range->bytes + 1, "a segment has a size or base that cannot be");
    VIOLATE(range->bytes, 0 - SECTION_GRANULE, "a segment has a size or base that cannot be");
    VIOLATE(range->address, range->address + 1, "a segment has a size or base that cannot be");
    VIOLATE(range->address, arena->ranges.first->address, "segments overlap or are out of order");
    VIOLATE(range->bytes, range->bytes - SECTION_GRANULE, "a block has a size that cannot be");
    VIOLATE(range->bytes, range->bytes + SECTION_GRANULE, "blocks end before their segment does");
    VIOLATE(arena->ranges.first->anchors[0], 0, "an anchor is wrong");
    VIOLATE(arena->ranges.first->anchors[1], live_node, "an anchor is wrong");
    VIOLATE(arena->ranges.first->anchors[3], live_node, "an anchor is left over");
    VIOLATE(arena->ranges.count, 1, "segments are miscounted");
    VIOLATE(range->height, arena->ranges.root == range ? 0 : UINT32_MAX, "a segment is not found by its address");
    VIOLATE(arena->ranges.root, 0, "a segment is not found by its address");
    VIOLATE(arena->ranges.last, gpuarena__address(arena->ranges.first), "a segment is not found by its address");
    uint32_t last = range->first;
    while (gpuarena__node_at(arena, last)->next) last = gpuarena__node_at(arena, last)->next;
    VIOLATE(gpuarena__node_at(arena, last)->next, live_node, "blocks go past the end of their segment");
}

static void test_bins(void)
{
    uint32_t number = gpuarena__bin_of(65536).number;
    uint64_t *digests = &arena->bins.digests[number];
    uint32_t *nodes = &arena->bins.nodes[number * 8], *overflow = &arena->bins.overflow[number];
    gpuarena__node *listed = gpuarena__node_at(arena, listed_node);
    VIOLATE(nodes[0], 0x7fffffff, "a free block is not in its slot");
    VIOLATE(*overflow, 0x7fffffff, "a link leads to no block");
    VIOLATE(listed->as.list.after, 0x7fffffff, "a link leads to no block");
    VIOLATE(arena->multi_stream, 0x7fffffff, "a link leads to no block");
    VIOLATE(arena->bins.taken[0], arena->bins.taken[0] ^ 1, "a class's bit is wrong");
    VIOLATE(arena->bins.taken[number / 64], arena->bins.taken[number / 64] & ~((uint64_t)1 << number % 64),
            "a class's bit is wrong");
    VIOLATE(*digests, *digests & ~(uint64_t)255, "a digest and its slot disagree");
    VIOLATE(*digests, *digests + 1, "a digest is wrong");
    VIOLATE(arena->bins.overflow[0], listed_node, "a bin has a list and no slot taken");
    VIOLATE(listed->as.list.before, live_node, "a bin's list is broken");
    VIOLATE(*overflow, listed->as.list.after, "a bin's list is ");
    VIOLATE(*overflow, live_node, "a bin's list is broken");
    VIOLATE(*overflow, free_node, "a bin's list is broken");
    VIOLATE(listed->as.list.number, number + 1, "a bin's list is broken");
    uint32_t other = 0;
    while (!arena->bins.digests[other] || other == number) other++;
    VIOLATE(arena->bins.overflow[other], listed_node, "a bin's list is broken");
    VIOLATE(arena->bins.root[0], free_node, "a tree holds what it should not");
}

static void test_sums(void)
{
    VIOLATE(arena->stats.live_bytes, 1, "live bytes do not add up");
    VIOLATE(arena->stats.requested_bytes, 1, "requested bytes do not add up");
    VIOLATE(arena->stats.reserved_bytes, arena->stats.reserved_bytes - 1, "reserved bytes do not add up");
    VIOLATE(arena->stats.live_count, 1, "live blocks are miscounted");
    VIOLATE(arena->stats.requested_peak_bytes, 0, "a peak is below its current value");
    VIOLATE(arena->stats.live_peak_bytes, 0, "a peak is below its current value");
    VIOLATE(arena->stats.reserved_peak_bytes, 0, "a peak is below its current value");
    VIOLATE(arena->growing, 2, "growth is claimed that is not under way");
    VIOLATE(arena->nodes.unused.count, 0, "unused nodes are miscounted");
    VIOLATE(arena->nodes.unused.first, UINT32_MAX, "a link leads to no block");
    VIOLATE(arena->nodes.unused.first, 0, "unused nodes are miscounted");
    VIOLATE(arena->lookup.shift, 60, "a live block is not found by its address");
}

/* More fields than one are wrong. */
static void expect_complaint(const char *complaint)
{
    char message[200];
    gpuarena_failure failure;
    CHECK_INT(gpuarena_check(arena, message, sizeof message), ==, GPUARENA_CORRUPT);
    CHECK_MSG(strncmp(message, complaint, strlen(complaint)) == 0, "%s: %s", complaint, message);
    gpuarena_last_failure(arena, &failure);
    CHECK_STR(failure.detail, message);
    CHECK_STR(failure.arena, "arena");
}

/* A digest without a block behind it, or with one that is live. */
static void test_wild_slot(void)
{
    uint64_t digests = arena->bins.digests[0];
    uint32_t node = arena->bins.nodes[0];
    arena->bins.digests[0] = 1;
    arena->bins.nodes[0] = 0x7fffffff;
    arena->bins.taken[0] |= 1;
    expect_complaint("a link leads to no block");
    arena->bins.nodes[0] = live_node;
    expect_complaint("a bin holds a live block");
    arena->bins.digests[0] = digests;
    arena->bins.nodes[0] = node;
    arena->bins.taken[0] &= ~(uint64_t)1;
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
}

/* A slot of the table that holds a node which is not live, and nodes that belong nowhere. */
static void test_tables(void)
{
    uint32_t slot = 0;
    while (arena->lookup.table[slot]) slot++;
    VIOLATE(arena->lookup.table[slot], free_node, "the table of live blocks is incomplete");
    VIOLATE(arena->lookup.table[slot], UINT32_MAX, "a link leads to no block");
    VIOLATE(arena->lookup.table[slot], live_node, "the table of live blocks is incomplete");
    uint32_t *place = gpuarena__lookup_find(arena, gpuarena__node_at(arena, live_node)->address);
                                                 /* the walk looks there */
    VIOLATE(*place, 0x7fffffff, "a link leads to no block");
    VIOLATE(*place, arena->nodes.chunk_count * SECTION_CHUNK, "a link leads to no block");
    uint32_t taken = arena->nodes.unused.first;
    (void)gpuarena__node_take(arena, &arena->nodes.unused);
    expect_complaint("nodes are lost");
    gpuarena__node_drop(&arena->nodes.unused, taken, gpuarena__node_at(arena, taken));
    gpuarena__node *live = gpuarena__node_at(arena, live_node);
    uint32_t after = gpuarena__node_around(arena, live->address + MIB(1) / 8), was = *place;
    uint64_t address = gpuarena__node_at(arena, after)->address;
    CHECK(gpuarena__node_live(gpuarena__node_at(arena, after)) && after != live_node);
    gpuarena__node_at(arena, after)->address = live->address;
    *place = after;
    expect_complaint("a live block is not found by its address");
    gpuarena__node_at(arena, after)->address = address;
    *place = was;
    size_t bytes = (arena->lookup.mask + 1) * sizeof *arena->lookup.table;
    uint32_t *table = malloc(bytes);
    memcpy(table, arena->lookup.table, bytes);
    for (slot = 0; slot <= arena->lookup.mask; slot++)
        if (!table[slot]) arena->lookup.table[slot] = live_node;
    expect_complaint("the table of live blocks is too full");
    memcpy(arena->lookup.table, table, bytes);
    free(table);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
}

/* A class with more free blocks than its slots and its list take. */
static void test_surplus(void)
{
    void *blocks[400];
    fake_open(&device, GIB(1));
    gpuarena_config config = fake_config(&device);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    for (int at = 0; at < 400; at++) CHECK(gpuarena_alloc(arena, &blocks[at], 65536, NULL) == GPUARENA_OK);
    for (int at = 0; at < 400; at += 2) CHECK(gpuarena_free(arena, blocks[at], NULL) == GPUARENA_OK);
    gpuarena__bins *bins = &arena->bins;
    gpuarena__node *root = gpuarena__node_at(arena, bins->root[1]);
    VIOLATE(bins->root[1], gpuarena__node_around(arena, gpuarena__address(blocks[1])),
            "a tree holds what it should not");
    VIOLATE(bins->overflow[gpuarena__bin_of(65536).number], 0, "a tree holds what it should not");
    CHECK(root->as.tree.low && root->as.tree.high);
    uint32_t low = root->as.tree.low, high = root->as.tree.high;
    int is_higher = gpuarena__tree_height(low) > gpuarena__tree_height(high);
    gpuarena__node *lower = gpuarena__node_at(arena, is_higher ? high : low);
    if (is_higher) VIOLATE(lower->as.tree.low, low, "a tree is out of order");
    else VIOLATE(lower->as.tree.high, high, "a tree is out of order");
    state_end(arena, &device, "surplus");
}

/* The message ends within its bounds, and a check changes nothing. */
static void test_arguments(void)
{
    arena = state_open(&device);
    arena_state before, after;
    char message[2] = "x";
    state_alloc(arena, 1000);
    state_take(arena, &before);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_check(arena, message, 0), ==, GPUARENA_OK);
    CHECK_MSG(message[0] == 'x', "size 0: nothing written");
    CHECK_INT(gpuarena_check(arena, message, 1), ==, GPUARENA_OK);
    CHECK_MSG(message[0] == '\0', "size 1: the NUL");
    state_take(arena, &after);
    CHECK_MSG(state_same(&before, &after) && before.stats.misuse_count == after.stats.misuse_count,
              "check changes nothing");
    state_end(arena, &device, "arguments");
}

/* ---- pages */

enum { PAGES_HOLE = 4, PAGES_KEPT = 8, PAGES_OWN = 16 };         /* state bits of a node's size */

static void *blocks[16];
static gpuarena__node *roomy, *room, *stuck, *open_hole, *root, *child, *plain;

static gpuarena__node *node_at(uint32_t index)
{
    return gpuarena__node_at(arena, index);
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
                && behind_roomy == ((before->size & (SECTION_LIVE | PAGES_KEPT)) == (SECTION_LIVE | PAGES_KEPT)))
                return node_at(index);
        }
    printf("Bail out! there is no such hole\n");
    exit(1);
}

/* A block with room; addresses that are stuck, for the driver did not unmap what had moved; open holes; three free
   blocks in a tree, idle pages. */
static void open_pages(void)
{
    open_paged(MIB(256), "backing=paged,limit=24M,idle=0,large=1M");
    for (int at = 0; at < 8; at++) blocks[at] = take(MIB(2), 0);
    roomy = node_of(take(MIB(1), MIB(4)));
    room = node_at(roomy->next);
    for (int at = 0; at < 8; at += 2) drop(blocks[at]);
    sim_fail_call(bench.machine, SIM_CALL_VM_UNMAP, 1, 0, SIM_UNKNOWN);
    (void)take(MIB(7), 0);
    CHECK(sim_fail_fired(bench.machine));
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
    VIOLATE(open_hole->record, 1, "a hole waits for something");
    VIOLATE(open_hole->use_at, 1, "a free block in a bin waits for several streams");
    VIOLATE(open_hole->size, open_hole->size | PAGES_KEPT, "the holes' list holds another");
    VIOLATE(open_hole->size, open_hole->size & ~(uint64_t)PAGES_HOLE, "two free blocks are neighbours");
    VIOLATE(open_hole->size, open_hole->size | SECTION_LIVE, "a block has a state that cannot be");
    VIOLATE(open_hole->size, open_hole->size | SECTION_OVERFLOW, "a block has a state that cannot be");
    VIOLATE(stuck->size, stuck->size & ~(uint64_t)PAGES_KEPT, "holes are missing in their list");
    VIOLATE(stuck->size, stuck->size | PAGES_OWN, "a block has a state that cannot be");
    VIOLATE(plain->size, plain->size | PAGES_HOLE, "a block has a state that cannot be");
    VIOLATE(plain->size, (plain->size | PAGES_HOLE | PAGES_KEPT) & ~(uint64_t)SECTION_LIVE,
            "a hole waits for something");
    VIOLATE(arena->paged.holes, 0, "holes are missing in their list");
    VIOLATE(arena->paged.holes, 0x7fffffff, "a link leads to no block");
    VIOLATE(arena->paged.holes, gpuarena__node_around(arena, plain->address), "the holes' list holds another");
    VIOLATE(node_at(self)->as.list.after, self, "holes are missing in their list");
    VIOLATE(arena->paged.unmap_failed_count, arena->paged.unmap_failed_count + 1,
            "holes that failed to unmap are miscounted");
    VIOLATE(arena->paged.unmap_failed_count, 0, "holes that failed to unmap are miscounted");
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
    VIOLATE(roomy->size, roomy->size & ~(uint64_t)PAGES_KEPT, "holes that failed to unmap are miscounted");
    VIOLATE(room->size, room->size & ~(uint64_t)PAGES_KEPT, "a block's room is open to all");
    VIOLATE(plain->size, plain->size | PAGES_KEPT, "a block has no room behind it");
    VIOLATE(plain->size, plain->size | PAGES_OWN | PAGES_KEPT, "a block has a state that cannot be");
    VIOLATE(arena->ranges.first->pages, 0, "a hole is not of whole pages");
    VIOLATE(arena->ranges.first->bytes, arena->ranges.first->bytes + 1, "a segment has a size");
    VIOLATE(arena->paged.page_bytes, arena->paged.page_bytes * 64, "a segment has a size or base that cannot be");
    VIOLATE(arena->paged.page_bytes, arena->paged.page_bytes * 2, "a hole is not of whole pages");
    VIOLATE(roomy->next, 0, "a block has no room behind it");
}

static void test_pages(void)
{
    gpuarena__paged *paged = &arena->paged;
    uint32_t *parts = arena->ranges.first->parts, at = 0;
    while (parts[at] != 1) at++;
    VIOLATE(parts[at], 0, "a handle has no pages, or too many");
    VIOLATE(parts[at], 1 << 20, "a handle has no pages, or too many");
    VIOLATE(paged->large_count, paged->large_count + 1, "large handles are miscounted");
    VIOLATE(paged->idle_count, paged->idle_count + 1, "idle pages are miscounted");
    VIOLATE(paged->idle_count, paged->idle_count - 1, "idle pages are miscounted");
    VIOLATE(paged->spare_pages, paged->spare_pages + 1, "reserved bytes do not add up");
    VIOLATE(paged->spare_room, paged->spare_room * 2, "host memory does not add up");
    VIOLATE(arena->stats.reserved_bytes, arena->stats.reserved_bytes - MIB(2), "reserved bytes do not add up");
    VIOLATE(arena->growing, MIB(2), "growth is claimed that is not under way");
}

static void test_trees(void)
{
    gpuarena__bins *bins = &arena->bins;
    VIOLATE(bins->root[0], 0, "free blocks and bins differ in number");
    VIOLATE(bins->root[0], 0x7fffffff, "a link leads to no block");
    VIOLATE(root->as.tree.longest, root->as.tree.longest + 256, "a tree's longest block is another");
    VIOLATE(child->as.tree.longest, 0, "a tree's longest block is another");
    VIOLATE(root->as.tree.low, root->as.tree.high, "a tree is out of order");
    VIOLATE(root->as.tree.high, bins->root[0], "a tree has no end");
    VIOLATE(bins->root[0], gpuarena__node_around(arena, plain->address), "a tree holds what it should not");
    VIOLATE(arena->ordered_bytes, MIB(64), "a free block is in the bin of another size");
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
    for (uint32_t at = arena->ranges.first->first; at; at = node_at(at)->next)
        if (node_at(at)->size & PAGES_HOLE) holes += node_at(at)->size & ~(uint64_t)255;
    snprintf(line, sizeof line, ", holes %" PRIu64 "\n", holes);
    CHECK_INT(gpuarena_report(arena, GPUARENA_FORMAT_TEXT, append, said), ==, GPUARENA_OK);
    line[strlen(line) - 1] = 0;
    CHECK_MSG(strstr(said, "  range 0x") && strstr(said, line), "the report has%s", line);
}

/* A handle of several pages, and one that reaches into the hole behind it. */
static void test_large(void)
{
    char message[200] = "";
    open_paged(GIB(1), "backing=paged,large=1M");
    (void)take(MIB(64), 0);
    const gpuarena__range *range = arena->ranges.first;
    uint32_t first = 0, at;
    while (range->parts[first] == 1) first++;
    VIOLATE(range->parts[first + 1], 0, "a large handle is in pieces");
    uint32_t hole = range->first;
    while (!(node_at(hole)->size & PAGES_HOLE)) hole = node_at(hole)->next;
    at = (uint32_t)((node_at(hole)->address - range->address) / arena->paged.page_bytes);
    first = at - 1;
    if (range->parts[first] >= GPUARENA__INSIDE) first -= range->parts[first] - GPUARENA__INSIDE;
    range->parts[first]++;
    range->parts[at] = GPUARENA__INSIDE + at - first;
    CHECK_INT(gpuarena_check(arena, message, sizeof message), ==, GPUARENA_CORRUPT);
    CHECK_MSG(strncmp(message, "a handle reaches into a hole", 28) == 0, "a handle reaches into a hole: %s", message);
    range->parts[first]--;
    close_paged();
}

int main(void)
{
    open_segments();
    test_blocks();
    test_ranges();
    test_bins();
    test_sums();
    test_wild_slot();
    test_tables();
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK(fake_close(&device));
    test_surplus();
    test_arguments();
    open_pages();
    test_holes();
    test_neighbours();
    test_rooms();
    test_pages();
    test_trees();
    test_report();
    close_paged();
    test_large();
    return tap_done();
}
