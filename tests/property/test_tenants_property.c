/* Random trees of arenas, both backings, two streams, against a model of what each holds: sums and limits hold at
   each driver call and after every call, and nothing is refused that fits with what others have idle.
   GPUARENA_TENANT_OPS=N a tree. */
#include "tenant_device.h"

enum { TREES = 60, MOST_LIVE = 24, PAGE_MIB = 2 };

typedef struct block { void *ptr; uint64_t bytes; int which; } block;
static block    blocks[MOST_LIVE];
static uint64_t random_state, refused_count, over_parent_count, reclaim_count, alloc_count;
static int      all_paged;

static uint64_t draw(uint64_t below) { return splitmix64_next(&random_state) % below; }

static int is_under(int which, int top)
{
    while (which >= 0 && which != top) which = tenants[which].parent;
    return which >= 0;
}

static uint64_t live_under(int top)
{
    uint64_t bytes = 0;
    for (int at = 0; at < MOST_LIVE; at++)
        if (blocks[at].ptr && is_under(blocks[at].which, top)) bytes += blocks[at].bytes;
    return bytes;
}

/* All of whole pages, and pages move: there is a way if what is live fits into each limit above. */
static int must_fit(int which, uint64_t bytes)
{
    if (!all_paged) return 0;
    for (int top = which; top >= 0; top = tenants[top].parent)
        if (live_under(top) + bytes > tenants[top].ceiling_bytes / MIB(PAGE_MIB) * MIB(PAGE_MIB)
            || tenants[top].held_bytes > tenants[top].ceiling_bytes) return 0;
    return live_under(0) + bytes <= tenant_device_bytes;
}

static void judge_sums(void)
{
    for (int at = 0; at < tenant_count; at++) {
        gpuarena_stats stats;
        uint64_t children = 0;
        gpuarena_get_stats(tenants[at].arena, &stats);
        for (int child = 0; child < tenant_count; child++)
            if (tenants[child].parent == at) children += tenants[child].held_bytes;
        WANT(stats.reserved_bytes == tenants[at].held_bytes);
        WANT(stats.children_bytes == children);
        WANT(stats.live_bytes + stats.pending_bytes + stats.cached_bytes + children == stats.reserved_bytes);
        WANT(stats.reserved_peak_bytes >= stats.reserved_bytes);
        WANT(gpuarena_check(tenants[at].arena, NULL, 0) == GPUARENA_OK);
    }
}

static void do_alloc(int which, block *slot)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena_result could;
    request.bytes = MIB(PAGE_MIB) * (1 + draw(6));
    request.stream = (gpuarena_stream)(intptr_t)(16 * (1 + draw(2)));
    could = gpuarena_can_alloc(tenants[which].arena, &request);
    if (gpuarena_alloc_ex(tenants[which].arena, &slot->ptr, &request) == GPUARENA_OK) {
        slot->bytes = request.bytes;
        slot->which = which;
        alloc_count++;
        WANT(!all_paged || could == GPUARENA_OK);
        return;
    }
    gpuarena_last_failure(tenants[which].arena, &failure);
    refused_count++;
    over_parent_count += failure.reason == GPUARENA_REASON_OVER_PARENT;
    WANT(failure.result == GPUARENA_OUT_OF_MEMORY);
    if (must_fit(which, request.bytes)) tenant_blame("refused, though it fits");
    WANT(!all_paged || could == GPUARENA_OUT_OF_MEMORY);
}

static void do_free(block *slot)
{
    WANT(gpuarena_free(tenants[slot->which].arena, slot->ptr, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    slot->ptr = NULL;
}

static void do_one(void)
{
    int which = (int)draw((uint64_t)tenant_count);
    block *slot = &blocks[draw(MOST_LIVE)];
    switch (draw(16)) {
    case 0: tenant_limit(which, MIB(draw(120)) + draw(MIB(PAGE_MIB))); break;
    case 1: WANT(gpuarena_trim(tenants[which].arena, MIB(draw(60)), NULL) == GPUARENA_OK); break;
    case 2: (void)gpuarena_reserve(tenants[which].arena, MIB(draw(80))); break;
    case 3: WANT(which || tenant_count == 1 || gpuarena_destroy(tenants[0].arena) == GPUARENA_STILL_IN_USE); break;
    default: if (slot->ptr) do_free(slot); else do_alloc(which, slot);
    }
    judge_sums();
}

static const char *run_tree(uint64_t seed, uint64_t ops)
{
    static const char *const texts[] = { "backing=paged", "backing=paged,idle=0", "backing=segments,growth=exact",
                                         "backing=segments", "backing=segments,growth=step,step=6M" };
    int count;
    random_state = seed;
    all_paged = draw(2) != 0;
    tenant_open(MIB(64 + draw(100)));
    tenant_yields = 0;
    count = 2 + (int)draw(7);
    for (int at = 0; at < count; at++)
        if (!tenant_make(at ? (int)draw((uint64_t)at) : -1, MIB(20 + draw(100)), texts[draw(all_paged ? 2 : 5)]))
            return "an arena is not made";
    for (uint64_t op = 0; op < ops && !tenant_trouble; op++) do_one();
    for (int at = 0; at < MOST_LIVE; at++) if (blocks[at].ptr) do_free(&blocks[at]);
    for (int at = tenant_count; at-- > 0;) {
        gpuarena_stats stats;
        gpuarena_get_stats(tenants[at].arena, &stats);
        reclaim_count += stats.reclaim_count;
        WANT(gpuarena_destroy(tenants[at].arena) == GPUARENA_OK);
    }
    WANT(tenant_free_bytes == tenant_device_bytes);
    return tenant_trouble;
}

int main(void)
{
    const char *trouble = NULL;
    uint64_t ops = tap_number("GPUARENA_TENANT_OPS", 150), seed;
    for (seed = 1; seed <= TREES && !trouble; seed++) trouble = run_tree(seed, ops);
    CHECK_MSG(!trouble, "tree of seed %" PRIu64 ": %s", seed - 1, trouble ? trouble : "and all before are in order");
    CHECK_U64(alloc_count, >, TREES);
    CHECK_U64(refused_count, >, TREES);
    CHECK_U64(over_parent_count, >, TREES);
    CHECK_U64(reclaim_count, >, TREES);
    return tap_done();
}
