/* Eight tenants under one parent, eight threads each, while all limits fall and rise: at no driver call does a tenant
   or the parent hold more than its limit, and nobody is refused what the limits have room for, be it others' idle.
   GPUARENA_TORTURE_OPS=N a thread. */
#include <pthread.h>
#include "tenant_device.h"

enum { TENANTS = 8, THREADS_EACH = 8, LIVE_EACH = 3, BLOCK_MIB = 8 };
enum { NEED_MIB = THREADS_EACH * LIVE_EACH * BLOCK_MIB, ALL_MIB = NEED_MIB * TENANTS, LIVE_MIB = ALL_MIB / 3 };
typedef struct holding { void *ptr; uint64_t bytes; } holding;

/* How a run is made: what limits may be, and whether everything asked for fits into each of them. */
typedef struct run {
    const char *name, *text;
    int fits, one_size, tower;                   /* tower: half of the tenants under one of their own */
    uint64_t device_mib;
} run;

static const run *now;
static uint64_t ops, refused_count, alloc_count, reclaim_count;
static uint64_t live_bytes;                      /* of all, or about to be: what fits is kept to LIVE_MIB */

typedef struct worker { pthread_t thread; uint64_t random; int tenant, number; } worker;

static uint64_t pick(worker *self, uint64_t below) { return splitmix64_next(&self->random) % below; }

static int is_memory_reason(gpuarena_reason reason)
{
    return reason == GPUARENA_REASON_OVER_LIMIT || reason == GPUARENA_REASON_OVER_PARENT
        || reason == GPUARENA_REASON_FRAGMENTED || reason == GPUARENA_REASON_DRIVER_REFUSED;
}

/* Where all is to fit, what is live is kept to what always does. 0: this would be too much. */
static int may_have(uint64_t bytes)
{
    if (__atomic_add_fetch(&live_bytes, bytes, __ATOMIC_SEQ_CST) <= MIB(LIVE_MIB) || !now->fits) return 1;
    __atomic_fetch_sub(&live_bytes, bytes, __ATOMIC_SEQ_CST);
    return 0;
}

static void allocate(worker *self, holding *slot)
{
    gpuarena_failure failure;
    gpuarena_stream stream = (gpuarena_stream)(intptr_t)(16 * (1 + self->number % 2));
    uint64_t bytes = now->one_size ? MIB(BLOCK_MIB) : MIB(2) * (1 + pick(self, BLOCK_MIB / 2));
    gpuarena_result result;
    if (!may_have(bytes)) return;
    slot->bytes = bytes;
    result = gpuarena_alloc(tenants[self->tenant].arena, &slot->ptr, bytes, stream);
    __atomic_fetch_add(result == GPUARENA_OK ? &alloc_count : &refused_count, 1, __ATOMIC_RELAXED);
    if (result == GPUARENA_OK) return;
    __atomic_fetch_sub(&live_bytes, bytes, __ATOMIC_SEQ_CST);
    gpuarena_last_failure(NULL, &failure);
    if (result != GPUARENA_OUT_OF_MEMORY || !is_memory_reason(failure.reason))
        tenant_blame(gpuarena_reason_name(failure.reason));
    if (now->fits) tenant_blame("refused, though there is room");
}

static void release(worker *self, holding *slot)
{
    if (!slot->ptr) return;
    WANT(gpuarena_free(tenants[self->tenant].arena, slot->ptr, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    __atomic_fetch_sub(&live_bytes, slot->bytes, __ATOMIC_SEQ_CST);
    slot->ptr = NULL;
}

/* Limits: one thread of each tenant changes its, one of the first tenant the parent's. */
static void change_limits(worker *self)
{
    uint64_t most = NEED_MIB, all = ALL_MIB, least = now->fits ? NEED_MIB : 0;
    if (self->number == 0) tenant_limit(self->tenant, MIB(least + pick(self, 2 * most - least)));
    if (self->number == 1 && self->tenant == TENANTS)
        tenant_limit(0, MIB((now->fits ? LIVE_MIB : 0) + pick(self, now->fits ? LIVE_MIB / 2 : all / 2)));
}

static void look(worker *self)
{
    gpuarena *arena = tenants[pick(self, (uint64_t)tenant_count)].arena;
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_stats stats;
    char message[96];
    request.bytes = MIB(BLOCK_MIB);
    switch (now->one_size ? 2 + pick(self, 4) : pick(self, 6)) {
    case 0: case 1: (void)gpuarena_reserve(tenants[self->tenant].arena, MIB(pick(self, 2 * NEED_MIB))); break;
    case 2: WANT(gpuarena_check(arena, message, sizeof message) == GPUARENA_OK); break;
    case 3: WANT(gpuarena_trim(arena, MIB(pick(self, ALL_MIB)), NULL) == GPUARENA_OK); break;
    case 4: (void)gpuarena_can_alloc(arena, &request); break;
    default:
        gpuarena_get_stats(arena, &stats);
        WANT(stats.live_bytes + stats.pending_bytes + stats.cached_bytes + stats.children_bytes
             == stats.reserved_bytes);
    }
}

static void *work(void *argument)
{
    worker *self = argument;
    holding live[LIVE_EACH] = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    for (uint64_t op = 0; op < ops; op++) {
        holding *slot = &live[pick(self, LIVE_EACH)];
        uint64_t what = pick(self, 32);
        if (what == 0) change_limits(self);
        else if (what == 1) look(self);
        else if (what == 2) for (int at = 0; at < LIVE_EACH; at++) release(self, &live[at]);
        else if (!slot->ptr) allocate(self, slot);
        else if (!pick(self, 3)) release(self, slot);
    }
    for (int at = 0; at < LIVE_EACH; at++) release(self, &live[at]);
    return NULL;
}

static void run_workers(uint64_t seed)
{
    static worker workers[TENANTS * THREADS_EACH];
    int count = 0;
    for (int at = 0; at < TENANTS * THREADS_EACH; at++) {
        worker *self = &workers[at];
        self->tenant = 1 + at / THREADS_EACH;
        self->number = at % THREADS_EACH;
        self->random = seed * 1000 + (uint64_t)at;
        count += pthread_create(&self->thread, NULL, work, self) == 0;
    }
    for (int at = 0; at < count; at++) pthread_join(workers[at].thread, NULL);
    CHECK_INT(count, ==, TENANTS * THREADS_EACH);
}

/* All that the parent may hold lies idle with the last tenants: the first allocation of each other one needs some of
   it, even where the threads run one after another. */
static void fill_with_idle(void)
{
    enum { BLOCKS = LIVE_MIB / BLOCK_MIB, EACH = NEED_MIB / BLOCK_MIB };
    static void *blocks[BLOCKS];
    gpuarena_stats stats;
    int bad = 0;
    tenant_limit(0, MIB(LIVE_MIB));
    for (int at = 0; at < BLOCKS; at++)
        bad += gpuarena_alloc(tenants[TENANTS - at / EACH].arena, &blocks[at], MIB(BLOCK_MIB), NULL) != GPUARENA_OK;
    for (int at = 0; at < BLOCKS; at++)
        bad += gpuarena_free(tenants[TENANTS - at / EACH].arena, blocks[at], GPUARENA_OWN_STREAM) != GPUARENA_OK;
    CHECK_INT(bad, ==, 0);
    gpuarena_get_stats(tenants[0].arena, &stats);
    CHECK_U64(stats.children_bytes, ==, MIB(LIVE_MIB));
}

static void test_run(const run *self)
{
    char message[128];
    int bad = 0;
    now = self;
    alloc_count = refused_count = reclaim_count = live_bytes = 0;
    tenant_open(MIB(self->device_mib));
    tenant_yields = 1;
    bad += !tenant_make(-1, MIB(ALL_MIB), self->text);
    for (int at = 1; at <= TENANTS; at++)
        bad += !tenant_make(self->tower && at > TENANTS / 2 ? TENANTS / 2 : 0,
                            MIB(self->tower && at == TENANTS / 2 ? ALL_MIB : NEED_MIB), self->text);
    CHECK_INT(bad, ==, 0);
    if (bad) return;
    if (self->fits) fill_with_idle();
    run_workers(1);
    for (int at = tenant_count; at-- > 0;) {
        gpuarena_stats stats;
        gpuarena_get_stats(tenants[at].arena, &stats);
        reclaim_count += stats.reclaim_count;
        CHECK_MSG(gpuarena_check(tenants[at].arena, message, sizeof message) == GPUARENA_OK, "in order: %s", message);
        CHECK_U64(stats.reserved_bytes, ==, tenants[at].held_bytes);
        CHECK_U64(stats.live_bytes, ==, 0);
        CHECK_INT(gpuarena_destroy(tenants[at].arena), ==, GPUARENA_OK);
    }
    CHECK_U64(tenant_free_bytes, ==, tenant_device_bytes);
    CHECK_MSG(!tenant_trouble, "%s: %s", self->name, tenant_trouble ? tenant_trouble : "no limit is passed, no "
              "refusal without need");
    CHECK_MSG(alloc_count && (reclaim_count || !self->fits), "%s: %" PRIu64 " allocations, %" PRIu64
              " refused, %" PRIu64 " by what others had idle", self->name, alloc_count, refused_count, reclaim_count);
}

int main(void)
{
    static const run runs[] = {
        { "pages, all fits", "backing=paged", 1, 0, 0, 8 * ALL_MIB },
        { "segments, all fits", "backing=segments,growth=exact", 1, 1, 0, 8 * ALL_MIB },
        { "pages, what fits the device", "backing=paged", 1, 0, 0, LIVE_MIB },
        { "pages, limits below need", "backing=paged", 0, 0, 0, 8 * ALL_MIB },
        { "segments, limits below need", "backing=segments", 0, 0, 0, 8 * ALL_MIB },
        { "a tower, limits below need", "backing=paged,idle=0", 0, 0, 1, 8 * ALL_MIB } };
    ops = tap_number("GPUARENA_TORTURE_OPS", TAP_SANITIZED ? 60 : 400);
    for (size_t at = 0; at < COUNT(runs); at++) test_run(&runs[at]);
    return tap_done();
}
