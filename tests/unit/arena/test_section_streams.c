/* The check of what an arena keeps of streams, captures, tags, heaps, sub-arenas and plans, from inside: every
   invariant is violated in turn, named, and mended again.
   It must not change what is checked: each row puts one field wrong and back. */
#define GPUARENA_STATIC
#include <pthread.h>

#include "violate.h"

enum { STREAMS = 5, PLACE = 1 };

static gpuarena *family;
static gpuarena_stream streams[STREAMS];
static uint64_t set;
static gpuarena__node *used, *tagged, *pending, *multi, *quiet;

static void *take(uint64_t bytes, int stream, const char *tag)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    request.bytes = bytes;
    request.stream = streams[stream];
    request.tag = tag ? gpuarena_tag(tag) : 0;
    CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    return ptr;
}

static void *take_elsewhere(void *user)
{
    return (void)user, take(KIB(64), 4, NULL);
}

static void work(int stream)
{
    CHECK_INT(sim_work(bench.machine, 0, streams[stream], 1000000000), ==, 0);
}

/* Blocks of two threads' streams: one that is used on others, one with a tag, one of a capture; freed ones that wait
   for one stream, for several, and for none; and a sub-arena. */
static void set_up(void)
{
    gpuarena_config config = GPUARENA_INIT;
    pthread_t thread;
    void *ptr;
    open_paged(GIB(1), "backing=paged,limit=512M,alignment=512");
    for (int at = 0; at < STREAMS; at++) CHECK_INT(sim_stream_create(bench.machine, 0, 0, &streams[at]), ==, 0);
    used = node_of(ptr = take(MIB(1), 0, NULL));
    CHECK_INT(gpuarena_use(arena, ptr, streams[1]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_use(arena, ptr, streams[2]), ==, GPUARENA_OK);
    tagged = node_of(take(KIB(64), 0, "violated"));
    ptr = take(KIB(64), 0, NULL);
    take(KIB(64), 0, NULL);
    CHECK_INT(gpuarena_free(arena, ptr, streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, take(MIB(5), 0, NULL), streams[0]), ==, GPUARENA_OK);
    CHECK(!pthread_create(&thread, NULL, take_elsewhere, NULL) && !pthread_join(thread, NULL));
    take(KIB(64), 0, NULL);
    ptr = take(MIB(4), 0, NULL);
    take(KIB(64), 0, NULL);
    CHECK_INT(gpuarena_use(arena, ptr, streams[2]), ==, GPUARENA_OK);
    work(0);
    work(2);
    CHECK_INT(gpuarena_free(arena, ptr, streams[0]), ==, GPUARENA_OK);
    multi = node_of(ptr);
    CHECK_INT(gpuarena_capture_begin(arena, streams[3], &set), ==, GPUARENA_OK);
    take(KIB(64), 3, NULL);
    config.parent = arena;
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &family), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reserve(family, MIB(2)), ==, GPUARENA_OK);
    ptr = take(MIB(3), 1, NULL);
    take(KIB(64), 1, NULL);
    work(1);
    CHECK_INT(gpuarena_free(arena, ptr, streams[1]), ==, GPUARENA_OK);
    pending = node_of(ptr);
    for (uint32_t at = arena->ranges.first->first; at && !quiet; at = gpuarena__node_at(arena, at)->next)
        if (gpuarena__is_free(gpuarena__node_at(arena, at)) && !gpuarena__node_at(arena, at)->record)
            quiet = gpuarena__node_at(arena, at);
    CHECK_INT(pending->record, !=, 0);
    CHECK_INT(multi->record, ==, GPUARENA__MULTI_STREAM);
    CHECK(quiet != NULL);
    CHECK(arena->heaps.count && arena->streams.captured && arena->tags.room > PLACE);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
}

static void test_uses(void)
{
    gpuarena__node *use = gpuarena__node_at(arena, used->use_at);
    VIOLATE(used->record, arena->streams.count, "a block is of no stream that there is");
    VIOLATE(used->ticket, UINT64_MAX, "a block is of no stream that there is");
    VIOLATE(used->use_at, 0x7fffffff, "a block's uses lead nowhere");
    VIOLATE(use->next, used->use_at, "a block's uses lead nowhere");
    VIOLATE(use->record, arena->streams.count, "a use is of no stream");
    VIOLATE(use->ticket, 1, "a use is of no stream");
    VIOLATE(used->use_at, 0, "uses of streams' records do not add up");
    VIOLATE(multi->as.list.after, gpuarena__node_around(arena, multi->address),
            "free blocks and bins differ in number");
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
    VIOLATE(one->use_count, one->use_count + 1, "what waits for streams does not add up");
    VIOLATE(one->state, GPUARENA__CLOSED, "a known stream has another's record");
    VIOLATE(one->handle, NULL, "a known stream has another's record");
    VIOLATE(one->key, 1, "a known stream has another's record");
    VIOLATE(known->record, all->count, "a known stream has another's record");
    VIOLATE(known->record, 0, "a stream with an open record is not known");
    VIOLATE(known->handle, NULL, "a known stream is not found");
    VIOLATE(all->known_count, all->known_count + 1, "known streams are miscounted");
    VIOLATE(all->captured, all->captured + 1, "captured streams are miscounted");
    VIOLATE(arena->nodes.kept_count, 0, "uses are not reserved for what captures may free");
    VIOLATE(arena->nodes.kept_count, UINT32_MAX, "uses are not reserved for what captures may free");
}

static void test_tags(void)
{
    gpuarena__tags *tags = &arena->tags;
    uint32_t place = gpuarena__place_of(tagged);
    VIOLATE(tagged->as.live.tag, 0, "a live block has a tag that there is not");
    VIOLATE(tags->room, place, "a live block has a tag that there is not");
    VIOLATE(tags->list[place].live_peak_bytes, 0, "a tag's peak or count is too small");
    VIOLATE(tags->list[place].alloc_count, 0, "a tag's peak or count is too small");
    VIOLATE(tags->list[place].live_bytes, 512, "tags do not add up");
    VIOLATE(tags->live_bytes, 512, "tags do not add up");
    VIOLATE(tags->peak_bytes, 1, "untagged blocks' peak is not watched");
}

static void test_heaps(void)
{
    gpuarena__heap *heap = arena->heaps.list[1];
    gpuarena__range *range = arena->ranges.first;
    uint32_t slot = 0;
    while (heap->lookup.table[slot]) slot++;
    VIOLATE(heap->lookup.table[slot], gpuarena__node_around(arena, used->address),
            "a heap's live blocks are miscounted");
    VIOLATE(range->owners[0], GPUARENA__HEAPS, "a page belongs to no heap that there is");
    VIOLATE(gpuarena__node_at(arena, arena->nodes.unused.first)->next,
            arena->nodes.unused.first, "unused nodes are miscounted");
    VIOLATE(arena->family.reserved, 0, "what sub-arenas reserve does not add up");
    VIOLATE(arena->family.growing, 1, "what sub-arenas claim does not add up");
    VIOLATE(gpuarena__node_at(arena, 0)->as.tree.longest, 1, "the sentinel is free");
    VIOLATE(arena->fast.max_bytes, 1, "a short way is open that should be closed, or closed");
    VIOLATE(arena->fast.hit_max_bytes, 1, "a short way is open that should be closed, or closed");
    VIOLATE(arena->fast.slow_free_flags, 0, "a short way is open that should be closed, or closed");
}

/* Segments, in a tree. */
static void test_ranges(void)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena__range *low = NULL, *high = NULL;
    void *ptr;
    request.bytes = MIB(2);
    request.flags = GPUARENA_ALLOC_DEDICATED;
    for (int at = 0; at < 8; at++) CHECK_INT(gpuarena_alloc_ex(arena, &ptr, &request), ==, GPUARENA_OK);
    for (gpuarena__range *range = arena->ranges.first; range; range = range->after) {
        if (range->low) low = range->low;
        if (range->high) high = range->high;
    }
    VIOLATE(low->height, UINT32_MAX, "a segment is not found by its address");
    VIOLATE(high->height, UINT32_MAX, "a segment is not found by its address");
}

static void step(uint32_t kind)
{
    CHECK_INT(gpuarena_step(arena, kind), ==, GPUARENA_OK);
}

/* A plan serves the steps, and memory is earmarked. */
static void test_plans(void)
{
    void *first, *second, *third;
    open_paged(GIB(1), "backing=paged");
    streams[0] = NULL;
    for (int round = 0; round < 8; round++) {
        step(1);
        first = take(MIB(8), 0, NULL);
        second = take(MIB(4), 0, NULL);
        CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
        third = take(MIB(18), 0, NULL);
        CHECK_INT(gpuarena_free(arena, second, NULL), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_free(arena, third, NULL), ==, GPUARENA_OK);
    }
    step(1);
    CHECK(arena->plans.now->state == GPUARENA__PLAN_SERVES && arena->plans.region_count == 1);
    gpuarena__plans *plans = &arena->plans;
    VIOLATE(plans->region_count, 0, "a block is earmarked for no stream");
    VIOLATE(plans->now->state, GPUARENA__PLAN_ENDS, "memory is earmarked for no plan");
    VIOLATE(plans->list[GPUARENA__PLANS - 1].packed, 1, "a plan that does not serve has a region");
    VIOLATE(arena->streams.list[plans->regions[0].record].home, 1, "memory is earmarked for no ordinary stream");
    plans->regions[1].record = UINT32_MAX / 2;
    VIOLATE(plans->region_count, 2, "memory is earmarked for no ordinary stream");
    close_paged();
}

int main(void)
{
    set_up();
    test_uses();
    test_records();
    test_tags();
    test_heaps();
    test_ranges();
    CHECK_INT(gpuarena_destroy(family), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_end(arena, streams[3]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_release(arena, set, streams[0]), ==, GPUARENA_OK);
    close_paged();
    test_plans();
    return tap_done();
}
