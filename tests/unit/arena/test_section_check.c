/* Section >>check of the header, from inside: every invariant of segments, pages, holes, rooms and trees, and of the
   records of streams, captures, tags, heaps, sub-arenas and plans, is violated in turn, named, and mended again. */
#define GPUARENA_STATIC
#include "scripted.h"

enum { CHUNK_NODES = 512, NOWHERE = 0x7fffffff, MOST_PUT = 4096 };

static gpuarena *arena;                          /* the arena under check: that of the script's latest command */

static gpuarena__node *node_at(uint32_t index) { return gpuarena__node_at(arena, index); }

/* The number of a block's node, by the block's name. */
static uint32_t index_of(const char *name)
{
    return gpuarena__node_around(arena, gpuarena__address(find_block(name)->ptr));
}

static gpuarena__node *node_of(const char *name) { return node_at(index_of(name)); }

/* The first node whose bits in `among` are just `bits`. */
static gpuarena__node *find_node(uint64_t bits, uint64_t among)
{
    for (const gpuarena__range *range = arena->ranges.first; range; range = range->after)
        for (uint32_t index = range->first; index; index = node_at(index)->next)
            if ((node_at(index)->size & among) == bits) return node_at(index);
    printf("Bail out! there is no such block\n");
    exit(1);
}

/* ---- fields of 4 or 8 bytes that are put wrong, and all of them right again */

static struct { void *field; size_t size; unsigned char old[8]; } puts_made[MOST_PUT];
static int put_count;

static void put(void *field, size_t size, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    memcpy(puts_made[put_count].old, field, size);
    puts_made[put_count].field = field;
    puts_made[put_count++].size = size;
    memcpy(field, size == sizeof narrow ? (const void *)&narrow : (const void *)&value, size);
}

/* The complaint of the check, which is the failure's detail. "": none. */
static const char *check_of(void)
{
    static char message[200];
    gpuarena_failure failure;
    uint64_t misuses = arena->stats.misuse_count;
    if (gpuarena_check(arena, message, sizeof message) == GPUARENA_OK) return message[0] ? "a message" : "";
    gpuarena_last_failure(arena, &failure);
    return failure.result == GPUARENA_CORRUPT && !strcmp(failure.detail, message) && !strcmp(failure.arena, "arena")
        && arena->stats.misuse_count == misuses ? message : "another failure";
}

/* The check names the violation, perhaps with figures behind it, and nothing when the fields are right again. */
static void complain(const char *complaint)
{
    const char *said = check_of();
    CHECK_MSG(!strncmp(said, complaint, strlen(complaint)), "%s: %s", complaint, said);
    while (put_count) {
        put_count--;
        memcpy(puts_made[put_count].field, puts_made[put_count].old, puts_made[put_count].size);
    }
    if (check_of()[0]) CHECK_MSG(0, "mended, but: %s", check_of());
}

#define PUT(field, value) put(&(field), sizeof(field), (uint64_t)(value))
#define VIOLATE(field, value, complaint) (PUT(field, value), complain(complaint))

/* ---- segments: two of them, live blocks, and free ones of one size, more than a bin has slots */

static uint32_t live_index, slotted_index, listed_index;

static void open_segments(void)
{
    char name[8];
    script("device 1G plain; arena growth=step,step=4M; a 1..64 65526; a 65 3M; f 1..63/2; expect grow_count = 2");
    arena = arena_now();
    live_index = index_of("2");
    for (int at = 63; at > 0; at -= 2) {
        snprintf(name, sizeof name, "%d", at);
        *(node_of(name)->size & GPUARENA__OVERFLOW ? &listed_index : &slotted_index) = index_of(name);
    }
    CHECK(listed_index && slotted_index);
}

static void test_blocks(void)
{
    gpuarena__node *live = node_at(live_index), *idle = node_at(slotted_index);
    VIOLATE(live->address, live->address + 256, "blocks do not tile a segment");
    VIOLATE(live->prev, 0, "blocks do not tile a segment");
    VIOLATE(live->next, 0, "blocks end before their segment does");
    VIOLATE(live->next, NOWHERE, "a link leads to no block");
    VIOLATE(arena->limit, arena->limit - 1, "the limit is not the configuration's");
    VIOLATE(arena->fast.slow_frees, 1, "the fast paths test values that are out of date");
    VIOLATE(arena->release_due, 1000, "the next release is due too late");
    VIOLATE(arena->host_bytes, arena->host_bytes + 1, "host memory does not add up");
    VIOLATE(live->size, GPUARENA__LIVE, "a block has a size that cannot be");
    VIOLATE(live->size, MIB(8) | GPUARENA__LIVE, "a block has a size that cannot be");
    VIOLATE(live->size, live->size & ~GPUARENA__LIVE, "two free blocks are neighbours");
    VIOLATE(live->size, live->size | GPUARENA__HOLE, "a block has a state that cannot be");
    VIOLATE(live->size, live->size | GPUARENA__KEPT | GPUARENA__DEDICATED, "a block has a state that cannot be");
    VIOLATE(node_at(0)->size, 0, "the sentinel is free");
    VIOLATE(arena->unit, 512, "the unit is not the alignment");
    VIOLATE(live->as.live.requested, 0, "a live block is smaller than its request");
    VIOLATE(live->as.live.requested, 65537, "a live block is smaller than its request");
    VIOLATE(live->as.live.serial, 0, "a live block's serial was never given");
    VIOLATE(live->as.live.serial, arena->serial + 1, "a live block's serial was never given");
    VIOLATE(*gpuarena__lookup_find(arena, live->address), 0, "a live block is not found by its address");
    VIOLATE(idle->as.slot, UINT32_MAX, "a free block is in the bin of another size");
    VIOLATE(idle->as.slot, idle->as.slot + 64, "a free block is in the bin of another size");
    VIOLATE(idle->as.slot, idle->as.slot ^ 56, "a free block is not in its slot");
    VIOLATE(idle->as.slot, idle->as.slot | 1, "a free block is not in its slot");
}

static void test_ranges(void)
{
    gpuarena__range *range = arena->ranges.last;
    VIOLATE(range->bytes, range->bytes + 1, "a segment has a size or base that cannot be");
    VIOLATE(range->bytes, 0 - MIB(2), "a segment has a size or base that cannot be");
    VIOLATE(range->address, range->address + 1, "a segment has a size or base that cannot be");
    VIOLATE(range->address, arena->ranges.first->address, "segments overlap or are out of order");
    VIOLATE(range->bytes, range->bytes - MIB(2), "a block has a size that cannot be");
    VIOLATE(range->bytes, range->bytes + MIB(2), "blocks end before their segment does");
    VIOLATE(arena->ranges.first->anchors[0], 0, "an anchor is wrong");
    VIOLATE(arena->ranges.first->anchors[1], live_index, "an anchor is wrong");
    VIOLATE(arena->ranges.first->anchors[3], live_index, "an anchor is left over");
    VIOLATE(range->height, arena->ranges.root == range ? 0 : UINT32_MAX, "a segment is not found by its address");
    VIOLATE(arena->ranges.root, 0, "a segment is not found by its address");
    VIOLATE(arena->ranges.last, gpuarena__address(arena->ranges.first), "a segment is not found by its address");
    uint32_t last = range->first;
    while (node_at(last)->next) last = node_at(last)->next;
    VIOLATE(node_at(last)->next, live_index, "blocks go past the end of their segment");
}

static void test_bins(void)
{
    uint32_t number = gpuarena__bin_of(65536).number, other = 0;
    gpuarena__bins *bins = &arena->bins;
    uint64_t *digests = &bins->digests[number], *taken = &bins->taken[number / 64];
    uint32_t *nodes = &bins->nodes[number * 8], *overflow = &bins->overflow[number];
    gpuarena__node *listed = node_at(listed_index);
    while (!bins->digests[other] || other == number) other++;
    VIOLATE(nodes[0], NOWHERE, "a free block is not in its slot");
    VIOLATE(*overflow, NOWHERE, "a link leads to no block");
    VIOLATE(listed->as.list.after, NOWHERE, "a link leads to no block");
    VIOLATE(arena->multi_stream, NOWHERE, "a link leads to no block");
    VIOLATE(bins->taken[0], bins->taken[0] ^ 1, "a class's bit is wrong");
    VIOLATE(*taken, *taken & ~((uint64_t)1 << number % 64), "a class's bit is wrong");
    VIOLATE(*digests, *digests & ~(uint64_t)255, "a digest and its slot disagree");
    VIOLATE(*digests, *digests + 1, "a digest is wrong");
    VIOLATE(bins->overflow[0], listed_index, "a bin has a list and no slot taken");
    VIOLATE(listed->as.list.before, live_index, "a bin's list is broken");
    VIOLATE(*overflow, listed->as.list.after, "a bin's list is ");
    VIOLATE(*overflow, live_index, "a bin's list is broken");
    VIOLATE(*overflow, slotted_index, "a bin's list is broken");
    VIOLATE(listed->as.list.number, number + 1, "a bin's list is broken");
    VIOLATE(bins->overflow[other], listed_index, "a bin's list is broken");
    VIOLATE(bins->root[0], slotted_index, "a tree holds a wrong block");
    PUT(bins->digests[0], 1);
    PUT(bins->taken[0], bins->taken[0] | 1);
    VIOLATE(bins->nodes[0], NOWHERE, "a link leads to no block");
    PUT(bins->digests[0], 1);
    PUT(bins->taken[0], bins->taken[0] | 1);
    VIOLATE(bins->nodes[0], live_index, "a slot holds a wrong block");
}

static void test_sums(void)
{
    gpuarena_stats *stats = &arena->stats;
    VIOLATE(stats->live_bytes, 1, "live bytes do not add up");
    VIOLATE(stats->requested_bytes, 1, "requested bytes do not add up");
    VIOLATE(stats->reserved_bytes, stats->reserved_bytes - 1, "reserved bytes do not add up");
    VIOLATE(stats->live_count, 1, "live blocks are miscounted");
    VIOLATE(stats->requested_peak_bytes, 0, "a peak is below its current value");
    VIOLATE(stats->live_peak_bytes, 0, "a peak is below its current value");
    VIOLATE(arena->family.peak, 0, "a peak is below its current value");
    VIOLATE(arena->growing, 2, "growth is claimed that is not under way");
    VIOLATE(arena->nodes.unused.count, 0, "unused nodes are miscounted");
    VIOLATE(arena->nodes.unused.first, UINT32_MAX, "a link leads to no block");
    VIOLATE(arena->nodes.unused.first, 0, "unused nodes are miscounted");
    PUT(arena->nodes.unused.count, arena->nodes.unused.count - 1);
    VIOLATE(arena->nodes.unused.first, node_at(arena->nodes.unused.first)->next, "nodes are lost");
}

/* A slot of the table that holds a node which is not live, or another's; and a full table. */
static void test_lookup(void)
{
    gpuarena__lookup *lookup = &arena->lookup;
    gpuarena__node *live = node_at(live_index), *other = node_of("4");
    uint32_t slot = 0, *found = gpuarena__lookup_find(arena, live->address);
    while (lookup->table[slot]) slot++;
    VIOLATE(lookup->shift, 60, "a live block is not found by its address");
    VIOLATE(lookup->table[slot], slotted_index, "the table of live blocks is incomplete");
    VIOLATE(lookup->table[slot], UINT32_MAX, "a link leads to no block");
    VIOLATE(lookup->table[slot], live_index, "the table of live blocks is incomplete");
    VIOLATE(*found, NOWHERE, "a link leads to no block");
    VIOLATE(*found, arena->nodes.chunk_count * CHUNK_NODES, "a link leads to no block");
    PUT(other->address, live->address);
    VIOLATE(*found, index_of("4"), "a live block is not found by its address");
    for (slot = 0; slot <= lookup->mask; slot++) if (!lookup->table[slot]) PUT(lookup->table[slot], live_index);
    complain("the table of live blocks is too full");
}

/* A class with more free blocks than its slots and its list take. */
static void test_surplus(void)
{
    script("device 1G plain; arena; a 1..400 64K; f 1..399/2");
    arena = arena_now();
    gpuarena__bins *bins = &arena->bins;
    gpuarena__node *root = node_at(bins->root[1]);
    uint32_t low = root->as.tree.low, high = root->as.tree.high;
    CHECK(low && high);
    VIOLATE(bins->root[1], index_of("2"), "a tree holds a wrong block");
    VIOLATE(arena->small_bytes, KIB(64), "a slot holds a wrong block");
    VIOLATE(bins->overflow[gpuarena__bin_of(65536).number], 0, "a tree holds a wrong block");
    if (gpuarena__tree_height(low) > gpuarena__tree_height(high))
        VIOLATE(node_at(high)->as.tree.low, low, "a tree is out of order");
    else VIOLATE(node_at(low)->as.tree.high, high, "a tree is out of order");
}

/* Blocks of a page and more, which are in the tree by size even if they are few. */
static void test_by_size(void)
{
    script("device 1G; arena backing=paged; a 1..4 2M; f 1..3/2 on any");
    arena = arena_now();
    VIOLATE(arena->small_bytes, MIB(8), "a tree holds a wrong block");
    VIOLATE(arena->ordered_bytes, MIB(1), "a tree holds a wrong block");
}

/* A message ends within its bounds. */
static void test_message(void)
{
    char message[2] = "x";
    CHECK(!gpuarena_check(arena, NULL, 0) && !gpuarena_check(arena, message, 0) && message[0] == 'x');
    CHECK(!gpuarena_check(arena, message, 1) && message[0] == '\0');
}

/* ---- pages: a block with room; addresses that the driver did not unmap; holes; three free blocks in a tree */

static gpuarena__node *roomy, *room, *stuck, *open_hole, *root, *child, *plain;

static void open_pages(void)
{
    const uint64_t kinds = GPUARENA__LIVE | GPUARENA__HOLE | GPUARENA__KEPT;
    script("device 256M; arena backing=paged,limit=24M,idle=0,large=1M; a 1..8 2M unused; a roomy 1M room 4M unused;"
           "f 1..7/2 on any; fail next unmap; a 9 7M unused; expect struck.unmap = 1; heal; a 10 1100K unused;"
           "a 11 300K unused; a 12 1300K unused; a 13 300K unused; a 14 1500K unused; a 15 300K unused;"
           "f 10..14/2 on any; f 2 on any");
    arena = arena_now();
    roomy = node_of("roomy");
    room = node_at(roomy->next);
    plain = node_of("4");
    open_hole = find_node(GPUARENA__HOLE, kinds);
    stuck = find_node(GPUARENA__HOLE | GPUARENA__KEPT, kinds);
    if (stuck == room) stuck = NULL;
    root = node_at(arena->bins.root[0]);
    child = node_at(root->as.tree.low ? root->as.tree.low : root->as.tree.high);
    CHECK(room->size & GPUARENA__KEPT && stuck && child != node_at(0) && arena->paged.idle_count);
}

static void test_holes(void)
{
    uint32_t self = arena->paged.holes, *unmap_failed = &arena->paged.unmap_failed_count;
    const uint64_t hole = GPUARENA__HOLE, kept = GPUARENA__KEPT;
    VIOLATE(open_hole->record, 1, "a hole waits for something");
    VIOLATE(open_hole->use_at, 1, "a free block in a bin waits for several streams");
    VIOLATE(open_hole->size, open_hole->size | kept, "the holes' list holds another");
    VIOLATE(open_hole->size, open_hole->size & ~hole, "two free blocks are neighbours");
    VIOLATE(open_hole->size, open_hole->size | GPUARENA__LIVE, "a block has a state that cannot be");
    VIOLATE(open_hole->size, open_hole->size | GPUARENA__OVERFLOW, "a block has a state that cannot be");
    VIOLATE(stuck->size, stuck->size & ~kept, "holes are missing in their list");
    VIOLATE(stuck->size, stuck->size | GPUARENA__DEDICATED, "a block has a state that cannot be");
    VIOLATE(plain->size, plain->size | hole, "a block has a state that cannot be");
    VIOLATE(plain->size, (plain->size | hole | kept) & ~GPUARENA__LIVE, "a hole waits for something");
    VIOLATE(arena->paged.holes, 0, "holes are missing in their list");
    VIOLATE(arena->paged.holes, NOWHERE, "a link leads to no block");
    VIOLATE(arena->paged.holes, index_of("4"), "the holes' list holds another");
    VIOLATE(node_at(self)->as.list.after, self, "holes are missing in their list");
    VIOLATE(*unmap_failed, *unmap_failed + 1, "holes that failed to unmap are miscounted");
    VIOLATE(*unmap_failed, 0, "holes that failed to unmap are miscounted");
    VIOLATE(roomy->size, roomy->size & ~kept, "holes that failed to unmap are miscounted");
    VIOLATE(room->size, room->size & ~kept, "a block's room is open to all");
    VIOLATE(plain->size, plain->size | kept, "a block has no room behind it");
    VIOLATE(plain->size, plain->size | kept | GPUARENA__DEDICATED, "a block has a state that cannot be");
    VIOLATE(roomy->next, 0, "a block has no room behind it");
}

/* A hole in two halves. */
static void test_neighbours(void)
{
    uint32_t index = arena->paged.holes, rest;
    while (index && node_at(index)->size < MIB(4)) index = node_at(index)->as.list.after;
    CHECK(index && gpuarena__nodes_reserve(arena, 1));
    gpuarena__hole_unlist(arena, index);
    rest = gpuarena__block_split(arena, index, MIB(2));
    gpuarena__hole_list(arena, index);
    gpuarena__hole_list(arena, rest);
    CHECK(!strncmp(check_of(), "two holes are neighbours", 24));
    gpuarena__hole_unlist(arena, rest);
    gpuarena__hole_unlist(arena, index);
    gpuarena__block_absorb_next(arena, index);
    gpuarena__hole_list(arena, index);
    CHECK_STR(check_of(), "");
}

static void test_pages(void)
{
    gpuarena__paged *paged = &arena->paged;
    gpuarena__range *range = arena->ranges.first;
    uint32_t *parts = range->parts, at = 0;
    while (parts[at] != 1) at++;
    VIOLATE(range->pages, 0, "a hole is not of whole pages");
    VIOLATE(range->bytes, range->bytes + 1, "a segment has a size");
    VIOLATE(paged->page_bytes, paged->page_bytes * 64, "a segment has a size or base that cannot be");
    VIOLATE(paged->page_bytes, paged->page_bytes * 2, "a hole is not of whole pages");
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
    VIOLATE(bins->root[0], NOWHERE, "a link leads to no block");
    VIOLATE(root->as.tree.longest, root->as.tree.longest + 256, "a tree's longest block is another");
    VIOLATE(child->as.tree.longest, 0, "a tree's longest block is another");
    VIOLATE(root->as.tree.low, root->as.tree.high, "a tree is out of order");
    VIOLATE(root->as.tree.high, bins->root[0], "a tree has no end");
    VIOLATE(bins->root[0], index_of("4"), "a tree holds a wrong block");
    VIOLATE(arena->ordered_bytes, MIB(64), "a free block is in the bin of another size");
}

/* A handle of several pages, and one that reaches into the hole behind it. */
static void test_large(void)
{
    script("device 1G; arena backing=paged,large=1M; a 1 64M");
    arena = arena_now();
    const gpuarena__range *range = arena->ranges.first;
    const gpuarena__node *hole = find_node(GPUARENA__HOLE, GPUARENA__HOLE);
    uint32_t first = 0, at = (uint32_t)((hole->address - range->address) / arena->paged.page_bytes);
    while (range->parts[first] == 1) first++;
    VIOLATE(range->parts[first + 1], 0, "a large handle is in pieces");
    first = at - 1;
    if (range->parts[first] >= GPUARENA__INSIDE) first -= range->parts[first] - GPUARENA__INSIDE;
    PUT(range->parts[first], range->parts[first] + 1);
    VIOLATE(range->parts[at], GPUARENA__INSIDE + at - first, "a handle reaches into a hole");
}

/* ---- streams: blocks of two threads' streams, one used on others, one with a tag, one of a capture; freed ones that
        wait for one stream, for several, and for none; and a sub-arena */

static gpuarena__node *used, *tagged, *pending, *multi, *quiet;

static void open_streams(void)
{
    script("device 1G; arena backing=paged,limit=512M,alignment=512; a used 1M on s1; use used on s2;"
           "use used on s3; a tagged 64K on s1 tag violated; a 1..2 64K on s1; f 1; a 3 5M on s1; f 3;"
           "elsewhere a 4 64K on s5; a 5 64K on s1; a multi 4M on s1 for 1s; a 6 64K on s1;"
           "order s3 after s1; use multi on s3; work multi 1s on s3; f multi; begin set on s4 arena; a 7 64K on s4;"
           "arena child under arena; reserve 2M; in arena; a pending 3M on s2; a 8 64K on s2;"
           "work pending 1s on s2; f pending");
    arena = arena_now();
    used = node_of("used");
    tagged = node_of("tagged");
    multi = node_of("multi");
    pending = node_of("pending");
    for (uint32_t at = arena->ranges.first->first; at && !quiet; at = node_at(at)->next)
        if (gpuarena__is_free(node_at(at)) && !node_at(at)->record) quiet = node_at(at);
    CHECK(pending->record && multi->record == GPUARENA__MULTI_STREAM && quiet);
    CHECK(arena->heaps.count && arena->streams.captured && arena->tags.room > 1);
}

static void test_uses(void)
{
    gpuarena__node *use = node_at(used->use_at);
    VIOLATE(used->record, arena->streams.count, "a block is of no stream that there is");
    VIOLATE(used->ticket, UINT64_MAX, "a block is of no stream that there is");
    VIOLATE(used->use_at, NOWHERE, "a block's uses lead nowhere");
    VIOLATE(use->next, used->use_at, "a block's uses lead nowhere");
    VIOLATE(use->record, arena->streams.count, "a use is of no stream");
    VIOLATE(use->ticket, 1, "a use is of no stream");
    VIOLATE(used->use_at, 0, "uses of streams' records do not add up");
    VIOLATE(multi->as.list.after, index_of("multi"), "free blocks and bins differ in number");
    VIOLATE(arena->multi_stream, 0, "free blocks and bins differ in number");
    VIOLATE(quiet->record, GPUARENA__MULTI_STREAM, "blocks that wait for several streams are miscounted");
    VIOLATE(used->size, used->size + 256, "a block has a size that cannot be");
    VIOLATE(arena->stats.pending_bytes, 1, "pending bytes do not add up");
}

static void test_records(void)
{
    gpuarena__streams *all = &arena->streams;
    gpuarena__stream *one = &all->list[pending->record];
    gpuarena__known *known = all->known;
    while (!known->used || known->record != pending->record) known++;
    VIOLATE(one->quiet, one->recorded + 1, "a stream's tickets are out of order");
    VIOLATE(one->recorded, one->ticket + 1, "a stream's tickets are out of order");
    VIOLATE(one->home, all->count, "a capture's record leads nowhere");
    VIOLATE(one->under, all->count, "a capture's record leads nowhere");
    VIOLATE(all->list[all->count - 1].heap, GPUARENA__HEAPS, "a stream has a heap that there is not");
    VIOLATE(one->ref_count, one->ref_count + 1, "uses of streams' records do not add up");
    VIOLATE(one->use_count, one->use_count + 1, "uses that wait for streams do not add up");
    VIOLATE(one->state, GPUARENA__CLOSED, "a known stream has another's record");
    VIOLATE(one->handle, NULL, "a known stream has another's record");
    VIOLATE(one->key, 1, "a known stream has another's record");
    VIOLATE(known->record, all->count, "a known stream has another's record");
    VIOLATE(known->record, 0, "a stream with an open record is not known");
    VIOLATE(known->handle, NULL, "a known stream is not found");
    VIOLATE(all->known_count, all->known_count + 1, "known streams are miscounted");
    VIOLATE(all->captured, all->captured + 1, "captured streams are miscounted");
    one = &all->list[node_of("7")->record];
    VIOLATE(one->reserved_uses, 0, "live blocks of capture sets are miscounted");
    VIOLATE(one->reserved_uses, 2, "live blocks of capture sets are miscounted");
    VIOLATE(arena->nodes.kept_count, 0, "uses are not reserved for frees of captures");
    VIOLATE(arena->nodes.kept_count, UINT32_MAX, "uses are not reserved for frees of captures");
}

static void test_tags(void)
{
    gpuarena__tags *tags = &arena->tags;
    uint32_t place_of_tag = gpuarena__place_of(tagged);
    VIOLATE(tagged->as.live.tag, 0, "a live block has a tag that there is not");
    VIOLATE(tags->room, place_of_tag, "a live block has a tag that there is not");
    VIOLATE(tags->list[place_of_tag].live_peak_bytes, 0, "a tag's peak or count is too small");
    VIOLATE(tags->list[place_of_tag].alloc_count, 0, "a tag's peak or count is too small");
    VIOLATE(tags->list[place_of_tag].live_bytes, 512, "tags do not add up");
    VIOLATE(tags->live_bytes, 512, "tags do not add up");
    VIOLATE(tags->peak_bytes, 1, "untagged blocks' peak is not watched");
}

static void test_heaps(void)
{
    gpuarena__heap *heap = arena->heaps.list[1];
    uint32_t slot = 0, unused = arena->nodes.unused.first;
    while (heap->lookup.table[slot]) slot++;
    VIOLATE(heap->lookup.table[slot], index_of("used"), "a heap's live blocks are miscounted");
    VIOLATE(arena->ranges.first->owners[0], GPUARENA__HEAPS, "a page belongs to no heap that there is");
    VIOLATE(node_at(unused)->next, unused, "unused nodes are miscounted");
    CHECK(heap->unused.first != 0);
    VIOLATE(node_at(heap->unused.first)->record, 1, "an unused node of a heap has a stream");
    VIOLATE(arena->family.reserved, 0, "bytes reserved by sub-arenas do not add up");
    VIOLATE(arena->family.growing, 1, "bytes charged by sub-arenas do not add up");
    VIOLATE(node_at(0)->as.tree.longest, 1, "the sentinel is free");
    VIOLATE(arena->fast.max_bytes, 1, "the fast paths test values that are out of date");
    VIOLATE(arena->fast.hit_max_bytes, 1, "the fast paths test values that are out of date");
    VIOLATE(arena->fast.slow_free_flags, 0, "the fast paths test values that are out of date");
}

/* Segments, in a tree. */
static void test_range_tree(void)
{
    gpuarena__range *low = NULL, *high = NULL;
    script("a 11..18 2M dedicated");
    for (gpuarena__range *range = arena->ranges.first; range; range = range->after) {
        if (range->low) low = range->low;
        if (range->high) high = range->high;
    }
    VIOLATE(low->height, UINT32_MAX, "a segment is not found by its address");
    VIOLATE(high->height, UINT32_MAX, "a segment is not found by its address");
}

/* A plan serves the steps, and memory is earmarked. */
static void test_plans(void)
{
    script("device 1G; arena backing=paged");
    script("repeat 8: step 1; a 1 8M; a 2 4M; f 1; a 3 18M; f 2; f 3");
    script("step 1");
    arena = arena_now();
    gpuarena__plans *plans = &arena->plans;
    CHECK(plans->now->state == GPUARENA__PLAN_SERVES && plans->region_count == 1);
    VIOLATE(plans->region_count, 0, "a block is earmarked for no stream");
    VIOLATE(plans->now->state, GPUARENA__PLAN_ENDS, "memory is earmarked for no plan");
    VIOLATE(plans->list[GPUARENA__PLANS - 1].packed, 1, "a plan that does not serve has a region");
    VIOLATE(arena->streams.list[plans->regions[0].record].home, 1, "memory is earmarked for no ordinary stream");
    PUT(plans->regions[1].record, UINT32_MAX / 2);
    VIOLATE(plans->region_count, 2, "memory is earmarked for no ordinary stream");
}

int main(void)
{
    open_segments();
    test_blocks();
    test_ranges();
    test_bins();
    test_sums();
    test_lookup();
    test_message();
    script_end();
    test_surplus();
    script_end();
    test_by_size();
    script_end();
    open_pages();
    test_holes();
    test_neighbours();
    test_pages();
    test_trees();
    script_end();
    test_large();
    script_end();
    open_streams();
    test_uses();
    test_records();
    test_tags();
    test_heaps();
    test_range_tree();
    script("end set on s4 arena; release set on s1");
    script_end();
    test_plans();
    script_end();
    return tap_done();
}
