/* Trees of arenas: at no driver call does an arena hold more than its limit, nor any arena above it.
   Random trees by one thread, against a model of the bytes that each holds: sums hold after every call, and no
   request is refused that fits with idle memory of other arenas. Eight tenants under one parent, eight threads each,
   while all limits fall and rise: no request is refused for which the limits have room. GPUARENA_TORTURE_OPS=N a
   thread, GPUARENA_TREE_OPS=N a tree. */
#include "thread_workers.h"

enum { TREES = 60, TREE_LIVE = 24, PAGE_MIB = 2 };
enum { TENANTS = 8, THREADS_EACH = 8, LIVE_EACH = 3, BLOCK_MIB = 4 };
enum { NEED_MIB = THREADS_EACH * LIVE_EACH * BLOCK_MIB, ALL_MIB = NEED_MIB * TENANTS, LIVE_MIB = ALL_MIB / 3 };

/* The making of tenants: their configuration, and whether all that is requested fits into each of them. */
typedef struct run {
    const char *name, *text;
    int fits, one_size, tower;                   /* tower: half of the tenants under one of their own */
    uint64_t device_mib;
} run;

static const run *now;                           /* NULL: a random tree */
static int all_paged;                            /* of the random tree: all of whole pages, and pages move */
static uint64_t live_bytes;                      /* of all, or about to be; where all is to fit, at most LIVE_MIB */
static uint64_t over_parent_count;

static gpuarena_stats judge_sums(const thread_arena *at)
{
    gpuarena_stats stats;
    gpuarena_get_stats(at->arena, &stats);
    WANT(!wrong_sums(&stats));
    return stats;
}

/* Judges all arenas, with all threads ended, or one alone. Returns how often an arena was served by idle memory of
   others. */
static uint64_t judge_tree(void)
{
    uint64_t reclaim_count = 0;
    for (int which = 0; which < thread_tree_count; which++) {
        const thread_arena *at = &thread_arenas[which];
        gpuarena_stats stats = judge_sums(at);
        uint64_t children = 0;
        for (int child = 0; child < thread_tree_count; child++)
            if (thread_arenas[child].parent == at) children += thread_arenas[child].held_bytes;
        WANT(stats.reserved_bytes == at->held_bytes && stats.children_bytes == children);
        WANT(gpuarena_check(at->arena, NULL, 0) == GPUARENA_OK);
        reclaim_count += stats.reclaim_count;
    }
    return reclaim_count;
}

static uint64_t live_under(const thread_arena *top)
{
    uint64_t bytes = 0;
    for (int at = 0; at < workers[0].count; at++) {
        const thread_arena *under = workers[0].blocks[at].at;
        while (under && under != top) under = under->parent;
        bytes += under ? workers[0].blocks[at].bytes : 0;
    }
    return bytes;
}

/* Tells whether a random tree must serve the request: live memory and the request fit into each limit above,
   and no arena above holds more than its limit. */
static int must_fit(const thread_arena *at, uint64_t bytes)
{
    if (live_under(&thread_arenas[0]) + bytes > at->device->total_bytes) return 0;
    for (; at; at = at->parent)
        if (live_under(at) + bytes > at->limit_bytes / MIB(PAGE_MIB) * MIB(PAGE_MIB)
            || at->held_bytes > at->limit_bytes) return 0;
    return 1;
}

/* Where all requests are to fit, live bytes are kept to a sum that always fits. 0: this would be too much. */
static int may_have(uint64_t bytes)
{
    if (__atomic_add_fetch(&live_bytes, bytes, __ATOMIC_RELAXED) <= MIB(LIVE_MIB) || !now || !now->fits) return 1;
    __atomic_fetch_sub(&live_bytes, bytes, __ATOMIC_RELAXED);
    return 0;
}

static void allocate(worker *self, thread_arena *at, uint64_t bytes)
{
    tenancy made = { NULL, bytes, at, 0, 1 + (int)pick(self, 2), -1 };
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena_result could;
    if (!may_have(bytes)) return;
    request.bytes = bytes;
    request.stream = slot_stream(made.stream);
    could = gpuarena_can_alloc(at->arena, &request);
    (void)gpuarena_alloc_ex(at->arena, &made.ptr, &request);
    if (made.ptr) {
        worker_keep(self, made);
        WANT(now || !all_paged || could == GPUARENA_OK);
        return;
    }
    __atomic_fetch_sub(&live_bytes, bytes, __ATOMIC_RELAXED);
    gpuarena_last_failure(NULL, &failure);
    self->fail_count++;
    WANT(failure.result == GPUARENA_OUT_OF_MEMORY);
    if (failure.reason != GPUARENA_REASON_OVER_LIMIT && failure.reason != GPUARENA_REASON_OVER_PARENT
        && failure.reason != GPUARENA_REASON_FRAGMENTED && failure.reason != GPUARENA_REASON_DRIVER_REFUSED)
        thread_blame(gpuarena_reason_name(failure.reason));
    if (now && now->fits) thread_blame("refused, though there is room");
    if (now) return;
    over_parent_count += failure.reason == GPUARENA_REASON_OVER_PARENT;
    if (all_paged && must_fit(at, bytes)) thread_blame("refused, though it fits");
    WANT(!all_paged || could == GPUARENA_OUT_OF_MEMORY);
}

static void free_one(worker *self, int may_be_anothers)
{
    tenancy block;
    if (!(may_be_anothers ? worker_swap(self, WORKER_EXCHANGE, &block) : worker_take(self, &block))) return;
    worker_free(self, &block);
    __atomic_fetch_sub(&live_bytes, block.bytes, __ATOMIC_RELAXED);
}

/* ---- random trees */

static void grow_tree(worker *self)
{
    thread_arena *at = &thread_arenas[pick(self, (uint64_t)thread_tree_count)];
    switch (pick(self, 16)) {
    case 0: thread_set_limit(at, MIB(pick(self, 120)) + pick(self, MIB(PAGE_MIB))); break;
    case 1: WANT(gpuarena_trim(at->arena, MIB(pick(self, 60)), NULL) == GPUARENA_OK); break;
    case 2: (void)gpuarena_reserve(at->arena, MIB(pick(self, 80))); break;
    case 3: if (!at->parent) WANT(gpuarena_destroy(at->arena) == GPUARENA_STILL_IN_USE); break;
    default:
        if ((uint64_t)self->count > pick(self, TREE_LIVE)) free_one(self, 0);
        else allocate(self, at, MIB(PAGE_MIB) * (1 + pick(self, 6)));
    }
    (void)judge_tree();
}

static void test_random_trees(void)
{
    static const char *const texts[] = { "backing=paged", "backing=paged,idle=0", "backing=segments,growth=exact",
                                         "backing=segments", "backing=segments,growth=step,step=6M" };
    uint64_t ops = tap_number("GPUARENA_TREE_OPS", 150), alloc_count = 0, refused_count = 0, reclaim_count = 0, tree;
    for (tree = 1; tree <= TREES && !thread_trouble; tree++) {
        worker sum, *only = &workers[0];
        workers_open(1);
        only->random = tree;
        all_paged = pick(only, 2) != 0;
        thread_tree_open(MIB(64 + pick(only, 100)));
        for (int at = 0, count = 2 + (int)pick(only, 7); at < count; at++)
            WANT(thread_tree_make(at ? (int)pick(only, (uint64_t)at) : -1, MIB(20 + pick(only, 100)),
                                  texts[pick(only, all_paged ? 2 : 5)]));
        for (uint64_t op = 0; op < ops && !thread_trouble; op++) grow_tree(only);
        sum = workers_close();
        reclaim_count += judge_tree();
        alloc_count += sum.alloc_count;
        refused_count += sum.fail_count;
        thread_tree_close();
    }
    CHECK_MSG(!thread_trouble, "tree of seed %" PRIu64 ": %s", tree - 1,
              thread_trouble ? thread_trouble : "and all before are in order");
    CHECK_U64(alloc_count, >, TREES);
    CHECK_U64(refused_count, >, TREES);
    CHECK_U64(over_parent_count, >, TREES);
    CHECK_U64(reclaim_count, >, TREES);
}

/* ---- tenants */

/* Changes limits: one thread of each tenant changes the tenant's, one of the last tenant the parent's. */
static void change_limits(worker *self, thread_arena *at)
{
    uint64_t least = now->fits ? NEED_MIB : 0;
    if (self->index < TENANTS) thread_set_limit(at, MIB(least + pick(self, 2 * NEED_MIB - least)));
    if (self->index == 2 * TENANTS - 1)
        thread_set_limit(&thread_arenas[0], MIB((now->fits ? LIVE_MIB : 0)
                                                + pick(self, now->fits ? LIVE_MIB / 8 : ALL_MIB / 2)));
}

static void look(worker *self, thread_arena *own)
{
    thread_arena *at = &thread_arenas[pick(self, (uint64_t)thread_tree_count)];
    switch (now->one_size ? 1 + pick(self, 3) : pick(self, 4)) {
    case 0: (void)gpuarena_reserve(own->arena, MIB(pick(self, 2 * NEED_MIB))); break;
    case 1: WANT(gpuarena_check(at->arena, NULL, 0) == GPUARENA_OK); break;
    case 2: WANT(gpuarena_trim(at->arena, MIB(pick(self, ALL_MIB)), NULL) == GPUARENA_OK); break;
    default: (void)judge_sums(at);
    }
}

static void do_one(worker *self)
{
    thread_arena *at = &thread_arenas[1 + self->index % TENANTS];
    uint64_t what = pick(self, 32);
    if (what == 0) change_limits(self, at);
    else if (what == 1) look(self, at);
    else if (what == 2) while (self->count) free_one(self, 0);
    else if (what < 20 && self->count < LIVE_EACH)
        allocate(self, at, now->one_size ? MIB(BLOCK_MIB) : MIB(2) * (1 + pick(self, BLOCK_MIB / 2)));
    else free_one(self, what == 20 && !now->fits);          /* else a tenant could have more than it needs */
}

/* Leaves all memory of the parent idle with the last tenants: the first block of another needs some of it. */
static void fill_with_idle(void)
{
    enum { BLOCKS = LIVE_MIB / BLOCK_MIB, EACH = NEED_MIB / BLOCK_MIB };
    void *blocks[BLOCKS];
    thread_set_limit(&thread_arenas[0], MIB(LIVE_MIB));
    for (int at = 0; at < BLOCKS; at++)
        WANT(!gpuarena_alloc(thread_arenas[TENANTS - at / EACH].arena, &blocks[at], MIB(BLOCK_MIB), NULL));
    for (int at = 0; at < BLOCKS; at++)
        WANT(!gpuarena_free(thread_arenas[TENANTS - at / EACH].arena, blocks[at], GPUARENA_OWN_STREAM));
    WANT(judge_sums(&thread_arenas[0]).children_bytes == MIB(LIVE_MIB));
    WANT(!gpuarena_alloc(thread_arenas[1].arena, &blocks[0], MIB(BLOCK_MIB), NULL));
    WANT(!gpuarena_free(thread_arenas[1].arena, blocks[0], GPUARENA_OWN_STREAM));
    WANT(judge_sums(&thread_arenas[1]).reclaim_count == 1);
}

static void test_tenants(const run *self)
{
    uint64_t ops = tap_number("GPUARENA_TORTURE_OPS", TAP_SANITIZED ? 60 : 400), reclaim_count;
    worker sum;
    now = self;
    live_bytes = 0;
    thread_tree_open(MIB(self->device_mib));
    WANT(thread_tree_make(-1, MIB(ALL_MIB), self->text));
    for (int at = 1; at <= TENANTS; at++)
        WANT(thread_tree_make(self->tower && at > TENANTS / 2 ? TENANTS / 2 : 0,
                              MIB(self->tower && at == TENANTS / 2 ? ALL_MIB : NEED_MIB), self->text));
    if (self->fits) fill_with_idle();
    workers_open(TENANTS * THREADS_EACH);
    workers_live(1, ops, do_one);
    sum = workers_close();
    reclaim_count = judge_tree();
    thread_tree_close();
    CHECK_MSG(!thread_trouble, "%s: %s", self->name, thread_trouble ? thread_trouble : "no limit is passed, no "
              "refusal without need");
    CHECK_MSG(sum.alloc_count && (reclaim_count || !self->fits), "%s: %" PRIu64 " allocations, %" PRIu64
              " refused, %" PRIu64 " by what others had idle", self->name, sum.alloc_count, sum.fail_count,
              reclaim_count);
}

int main(void)
{
    static const run runs[] = {
        { "pages, all fits", "backing=paged", 1, 0, 0, 2 * LIVE_MIB },
        { "segments, all fits", "backing=segments,growth=exact", 1, 1, 0, 2 * LIVE_MIB },
        { "pages, what fits the device", "backing=paged", 1, 0, 0, LIVE_MIB },
        { "pages, limits below need", "backing=paged", 0, 0, 0, ALL_MIB },
        { "segments, limits below need", "backing=segments", 0, 0, 0, ALL_MIB },
        { "a tower, limits below need", "backing=paged,idle=0", 0, 0, 1, ALL_MIB } };
    test_random_trees();
    thread_yields = 1;
    for (size_t at = 0; at < sizeof runs / sizeof *runs; at++) test_tenants(&runs[at]);
    return tap_done();
}
