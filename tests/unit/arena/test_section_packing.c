/* The packing of plans, in section >>plan of the header, from inside: each block of a step lies where the slowest way
   would put it, and packing looks into so few lists that a step of many blocks is packed, or given up, soon. */
#define GPUARENA_STATIC
#include "scripted.h"

enum { MOST = 20000, UNIT_LOG2 = 8 };

static gpuarena__planned list[MOST];

static uint64_t draw(void)
{
    static uint64_t state = 1;
    return splitmix64_next(&state);
}

/* ---- the slowest way: a block is tried at each address that follows a block */

typedef struct placed { uint32_t from, to, wrap; uint64_t units, offset; } placed;

/* The allocation `at` as a block: from its allocation to its free, and how far it lives into the next step. */
static placed placed_of(uint32_t at, uint32_t count)
{
    uint32_t until = list[at].until;
    placed block = { at, until < count ? until : count, until > count + 1 ? until - count - 1 : 0,
                     list[at].units, 0 };
    return block;
}

static uint32_t life(const placed *block) { return block->to - block->from + block->wrap; }

static int is_beside(const placed *one, const placed *other)
{
    return (one->from < other->to && other->from < one->to) || one->from < other->wrap || other->from < one->wrap
        || (one->wrap && other->wrap);
}

static int is_free(const placed *blocks, uint32_t count, const placed *one, uint64_t offset)
{
    for (uint32_t at = 0; at < count; at++)
        if (is_beside(&blocks[at], one) && offset < blocks[at].offset + blocks[at].units
            && blocks[at].offset < offset + one->units) return 0;
    return 1;
}

static int early;                                /* of one size: the earliest first, not the longest-lived */
static int crossing;                             /* blocks that live into the next step come first */

static int by_size(const void *left, const void *right)
{
    const placed *one = left, *other = right;
    if (crossing && !one->wrap != !other->wrap) return one->wrap ? -1 : 1;
    if (one->units != other->units) return one->units < other->units ? 1 : -1;
    if (early) return one->from < other->from ? -1 : 1;
    return life(one) < life(other) ? 1 : -1;
}

/* Places all blocks; those below a 65536th of the peak above the others. Returns where they end. */
static uint64_t place_slowly(placed *blocks, uint32_t count, uint64_t peak, int in_order_of_time)
{
    uint64_t top = 0, bottom = 0;
    early = in_order_of_time;
    crossing = 0;
    qsort(blocks, count, sizeof *blocks, by_size);
    for (uint32_t at = 0; at < count; at++) {
        placed *one = &blocks[at];
        if (!bottom && one->units <= peak >> 16) bottom = top;
        one->offset = UINT64_MAX;
        if (is_free(blocks, at, one, bottom)) one->offset = bottom;
        for (uint32_t below = 0; below < at; below++) {
            uint64_t offset = blocks[below].offset + blocks[below].units;
            if (offset >= bottom && offset < one->offset && is_free(blocks, at, one, offset)) one->offset = offset;
        }
        if (one->offset + one->units > top) top = one->offset + one->units;
    }
    return top;
}

static uint64_t peak_of(const placed *blocks, uint32_t count, uint32_t times)
{
    uint64_t peak = 0;
    for (uint32_t time = 0; time < times; time++) {
        placed moment = { time, time + 1, 0, 0, 0 };
        uint64_t units = 0;
        for (uint32_t at = 0; at < count; at++) units += is_beside(&blocks[at], &moment) ? blocks[at].units : 0;
        if (units > peak) peak = units;
    }
    return peak;
}

/* ---- drawn steps */

static placed blocks[200];

/* No two blocks of a size live as long, so that their order is certain. */
static void draw_step(uint32_t count, uint32_t sizes)
{
    memset(list, 0, count * sizeof *list);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t longest = draw() % 2 ? count : 1 + count / 8, alike = 1;
        list[at].record = (uint32_t)(draw() % 8 != 0); /* else another stream's */
        list[at].until = at + 1 + (uint32_t)(draw() % longest);
        if (list[at].until > count) list[at].until++;      /* freed in the next step */
        list[at].units = 1 + (uint32_t)(draw() % sizes) * (draw() % 4 ? 1 : 100000);
        for (; alike; list[at].units += alike) {
            placed one = placed_of(at, count);
            alike = 0;
            for (uint32_t before = 0; before < at && !alike; before++) {
                placed other = placed_of(before, count);
                alike = list[before].units == list[at].units && life(&one) == life(&other);
            }
        }
    }
}

static int pack(gpuarena *arena, gpuarena__pack *pack, uint32_t count, int keeps)
{
    gpuarena__plan plan;
    memset(&plan, 0, sizeof plan);
    memset(pack, 0, sizeof *pack);
    plan.seen.list = list;
    plan.seen.count = count;
    plan.seen.serial = UINT64_MAX / 2;          /* no live block of the arena is of the step */
    return gpuarena__pack_make(arena, pack, &plan, 1, keeps);
}

static void test_each_lies_as_low_as_it_can(gpuarena *arena)
{
    int wrong = 0, wraps = 0, tiny = 0, again = 0;
    for (uint32_t step = 0; step < 600; step++) {
        uint32_t count = step % 8 ? 1 + (uint32_t)(draw() % 100) : 1U << draw() % 7, blocks_count = 0;
        gpuarena__pack packed;
        draw_step(count, step % 2 ? 4 : 1000);
        for (uint32_t at = 0; at < count; at++)
            if (list[at].record == 1) {
                placed *one = &blocks[blocks_count++];
                *one = placed_of(at, count);
                wraps += one->wrap != 0;
            }
        uint64_t peak = peak_of(blocks, blocks_count, count), top = place_slowly(blocks, blocks_count, peak, 0);
        if (top > peak + peak / 256) {
            uint64_t first = top;
            top = place_slowly(blocks, blocks_count, peak, 1);
            again += top < first;
            if (top >= first) top = place_slowly(blocks, blocks_count, peak, 0);
        }
        wrong += !pack(arena, &packed, count, 0) || packed.top != top || packed.peak != peak;
        for (uint32_t at = 0; at < blocks_count; at++) {
            wrong += list[blocks[at].from].address != 1 + (blocks[at].offset << UNIT_LOG2);
            tiny += blocks[at].units <= peak >> 16;
        }
    }
    CHECK_MSG(wrong == 0, "%d blocks of 600 steps lie elsewhere", wrong);
    CHECK_MSG(wraps > 1000 && tiny > 100 && again > 10,
              "%d from step to step, %d tiny, %d steps packed in the other order", wraps, tiny, again);
}

/* ---- places of the step before, between memory of others: for the slowest way, blocks that are there at all
        times */

static uint32_t gap_count;
static uint64_t memory_end;

static gpuarena_result note_gap(const gpuarena_block *block, void *user)
{
    uint64_t offset = (uint64_t)(uintptr_t)block->ptr >> UNIT_LOG2, units = block->bytes >> UNIT_LOG2;
    uint64_t begin = gap_count ? offset : 0;     /* the first gap begins at 0 */
    (void)user;
    if (block->state == GPUARENA_STATE_FREE || block->state == GPUARENA_STATE_PENDING) memory_end = offset + units;
    else blocks[gap_count++] = (placed){ 0, UINT32_MAX, 0, offset + units - begin, begin };
    return GPUARENA_OK;
}

/* Blocks of a step that lie in the arena's free memory, or beside it. Some are there throughout the step. */
static void draw_places(uint32_t count)
{
    draw_step(count, 8000);
    for (uint32_t at = 0; at < count; at++) {
        const placed *gap = &blocks[draw() % gap_count];
        list[at].units = (uint32_t)(draw() % 60) * 128 + at + 1;             /* no two are of one size */
        list[at].address = (gap->offset + gap->units + draw() % 4 * 1000) << UNIT_LOG2;
        if (!at && draw() % 2) list[at].until = count + (uint32_t)(draw() % 2);
    }
}

/* Tells whether a block may lie at the offset: memory is free there, and its end is not inside of the block. */
static int is_place(uint32_t count, const placed *one, uint64_t offset)
{
    return (offset >= memory_end || offset + one->units <= memory_end) && is_free(blocks, count, one, offset);
}

static void keep_slowly(uint32_t count)
{
    uint32_t placed_count = gap_count, left_count = 0;
    placed *left = blocks + gap_count + count;
    early = 0;
    crossing = 1;
    qsort(blocks + gap_count, count, sizeof *blocks, by_size);
    for (uint32_t at = gap_count; at < gap_count + count; at++) {
        placed one = blocks[at];
        if (is_place(placed_count, &one, one.offset)) blocks[placed_count++] = one;
        else left[left_count++] = one;
    }
    for (uint32_t at = 0; at < left_count; at++) {
        uint64_t lowest = UINT64_MAX;
        for (uint32_t below = 0; below <= placed_count; below++) {
            uint64_t offset = below < placed_count ? blocks[below].offset + blocks[below].units : memory_end;
            if (offset < lowest && is_place(placed_count, &left[at], offset)) lowest = offset;
        }
        left[at].offset = lowest;
        blocks[placed_count++] = left[at];
    }
}

static void test_between_others(void)
{
    int wrong = 0, moved = 0;
    for (uint32_t step = 0; step < 120; step++) {
        uint32_t count = step % 3 ? 1 + (uint32_t)(draw() % 40) : 1U << draw() % 6;
        gpuarena__pack packed;
        script("device 1G; arena; a 1..24 i*7%5*512K + 512K");
        script(step % 2 ? "f 2..23/2" : "f 2..23/3; f 3..23/3");
        arena_now()->plans.unit_log2 = UNIT_LOG2;
        gap_count = 0;
        wrong += gpuarena_walk(arena_now(), note_gap, NULL) != GPUARENA_OK;
        while (gap_count && blocks[gap_count - 1].offset >= memory_end) gap_count--;     /* nobody's */
        draw_places(count);
        for (uint32_t at = 0; at < count; at++) {
            list[at].record = 1;
            blocks[gap_count + at] = placed_of(at, count);
            blocks[gap_count + at].offset = list[at].address >> UNIT_LOG2;
        }
        keep_slowly(count);
        wrong += !pack(arena_now(), &packed, count, 1);
        for (uint32_t at = gap_count; at < gap_count + count; at++) {
            wrong += list[blocks[at].from].address != blocks[at].offset << UNIT_LOG2;
            moved += blocks[at].offset >= memory_end;
        }
        script_end();
    }
    CHECK_MSG(wrong == 0, "%d blocks of 120 steps lie elsewhere", wrong);
    CHECK_MSG(moved > 50, "%d find no place in memory that there is", moved);
}

/* ---- how long it takes */

/* Activations of a forward pass, freed in reverse by the backward pass, and short-lived blocks between them. */
static void draw_training(uint32_t count)
{
    memset(list, 0, count * sizeof *list);
    for (uint32_t at = 0; at < count; at++) {
        int is_activation = at < count / 2 && draw() % 3;
        list[at].record = 1;
        list[at].units = ((uint32_t)1 << draw() % 17) + (uint32_t)(draw() % 8);
        list[at].until = is_activation ? count - at : at + 1 + (uint32_t)(draw() % 4);
    }
}

/* Lives at random. Of blocks that are kept where they lay, half are in nobody's way, and the others lay at 0. */
static void draw_lives(int keeps)
{
    memset(list, 0, sizeof list);
    for (uint32_t at = 0; at < MOST; at++) {
        list[at].record = 1;
        list[at].units = 1 + (uint32_t)(draw() % 400000);
        list[at].until = at + 1 + (uint32_t)(draw() % (MOST - at));
        if (keeps && at % 2) list[at].address = (uint64_t)at << 40;
    }
}

static void test_looks(gpuarena *arena)
{
    uint64_t looks[2];
    gpuarena__pack packed;
    for (int large = 0; large < 2; large++) {
        draw_training(large ? MOST : MOST / 10);
        CHECK(pack(arena, &packed, large ? MOST : MOST / 10, 0));
        looks[large] = packed.looks;
    }
    CHECK_MSG(looks[1] < 400 * (uint64_t)MOST && looks[1] < 30 * looks[0],
              "training: %" PRIu64 " looks for %d allocations, %" PRIu64 " for a tenth", looks[1], MOST, looks[0]);
    for (int keeps = 0; keeps < 2; keeps++) {
        draw_lives(keeps);
        CHECK(!pack(arena, &packed, MOST, keeps));
        CHECK_MSG(packed.looks > 500 * (uint64_t)MOST && packed.looks < 600 * (uint64_t)MOST,
                  "lives at random: packing is given up, after %" PRIu64 " looks", packed.looks);
    }
}

int main(void)
{
    script("device 1T; arena growth=exact");
    arena_now()->plans.unit_log2 = UNIT_LOG2;
    test_each_lies_as_low_as_it_can(arena_now());
    test_looks(arena_now());
    script_end();
    test_between_others();
    return tap_done();
}
