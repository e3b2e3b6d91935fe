/* Random calls by several threads on shared arenas: blocks handed from thread to thread, streams, threads' own
   default streams, tags, steps, trim, limits, resize, walks, observers, memory that is cleared; a shadow of who has
   which memory, the limit at each driver call, sums at the end. Also races for one pointer, and arenas that come and
   go. Under `make tsan`, data races too. GPUARENA_THREAD_OPS=N, GPUARENA_THREADS=N. */
#include "thread_workers.h"

enum { MOST_THREADS = 16, LIVES = 4, NAMES = 100, RACES = 2000, ROUNDS = 200 };

static int arena_count;
static uint32_t names[MOST_THREADS][NAMES], owns[MOST_THREADS];      /* tags: all have the same; or one each */
static uint64_t tagged[MOST_THREADS][3];         /* allocations: without a tag, with the thread's own, with one that
                                                    all have */

static uint64_t draw_bytes(worker *self)
{
    static const uint64_t most[8] = { KIB(1), KIB(4), KIB(4), KIB(16), KIB(16), KIB(64), KIB(128), KIB(1024) };
    uint64_t most_bytes = most[pick(self, 8)];
    return pick(self, 64) ? 1 + pick(self, most_bytes) : 1 + pick(self, MIB(5));
}

/* ---- one call each */

/* Every thread makes the same names, at the same time. */
static void make_names(const worker *self)
{
    char name[24];
    for (int at = 0; at < NAMES; at++) {
        snprintf(name, sizeof name, "common %d", at);
        names[self->index][at] = gpuarena_tag(name);
        WANT(!strcmp(gpuarena_tag_name(names[self->index][at]), name));
    }
    snprintf(name, sizeof name, "own %d", (int)self->index);
    owns[self->index] = gpuarena_tag(name);
}

/* A third has the thread's own tag by its scope, a third everybody's, a third none. */
static gpuarena_result alloc_tagged(worker *self, thread_arena *at, gpuarena_request *request, void **ptr)
{
    uint64_t kind = pick(self, 3);
    uint32_t own = owns[self->index];
    gpuarena_result result;
    if (kind == 1) WANT(gpuarena_tag_scope(own) == 0);
    if (kind == 2) request->tag = names[self->index][0];
    result = gpuarena_alloc_ex(at->arena, ptr, request);
    if (kind == 1) WANT(gpuarena_tag_scope(0) == own);
    tagged[self->index][kind] += result == GPUARENA_OK;
    return result;
}

static void do_alloc(worker *self, thread_arena *at)
{
    tenancy made = { NULL, 0, at, 0, worker_stream(self, at), -1 };
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena_result result;
    if (self->count == WORKER_LIVE) return;
    request.bytes = made.bytes = draw_bytes(self);
    request.stream = worker_handle(self, at, made.stream);
    if (!pick(self, 16)) request.flags = GPUARENA_ALLOC_TRY;
    else if (!pick(self, 256)) request.flags = GPUARENA_ALLOC_DEDICATED;
    result = alloc_tagged(self, at, &request, &made.ptr);
    if (result == GPUARENA_OK) {
        worker_keep(self, made);
        return;
    }
    gpuarena_last_failure(NULL, &failure);
    WANT(result == GPUARENA_OUT_OF_MEMORY && failure.result == result && failure.requested_bytes == made.bytes);
    self->fail_count++;
}

/* A block that shrinks is not the worker's during the call. */
static void do_resize(worker *self)
{
    tenancy *block = self->count ? &self->blocks[pick(self, (uint64_t)self->count)] : NULL, was;
    uint64_t bytes = block ? 1 + pick(self, block->bytes * 2) : 0;
    gpuarena_result result;
    if (!block || block->also >= 0 || (block->stream >= SLOT_STREAMS && block->stream != self->own)) return;
    was = *block;
    if (bytes < was.bytes) thread_disclaim(was.at, was.ptr, was.bytes, was.number, was.stream, -1);
    result = gpuarena_resize(was.at->arena, was.ptr, bytes, worker_handle(self, was.at, was.stream));
    WANT(result == GPUARENA_OK || result == GPUARENA_OUT_OF_MEMORY);
    self->fail_count += result != GPUARENA_OK;
    if (result == GPUARENA_OK) block->bytes = bytes;
    if (bytes >= was.bytes) {
        if (result != GPUARENA_OK) return;
        thread_disclaim(was.at, was.ptr, was.bytes, was.number, was.stream, -1);
        thread_soil(was.at, was.ptr, was.bytes, bytes);
    }
    thread_claim(was.at, was.ptr, block->bytes, was.number, was.stream);
}

static void do_look(worker *self, thread_arena *at)
{
    gpuarena_stats stats;
    gpuarena_tag_stats mine_alone;
    gpuarena_block block;
    const tenancy *mine = self->count ? &self->blocks[pick(self, (uint64_t)self->count)] : NULL;
    gpuarena_get_stats(at->arena, &stats);
    WANT(gpuarena_get_tag(at->arena, owns[self->index], &mine_alone) == GPUARENA_OK
         && (arena_count > 1 || mine_alone.alloc_count == tagged[self->index][1]));
    WANT(!wrong_sums(&stats));
    if (!mine) return;
    WANT(gpuarena_owner(mine->ptr) == mine->at->arena);
    WANT(gpuarena_lookup(mine->at->arena, mine->ptr, &block) == GPUARENA_OK && block.ptr == mine->ptr);
    WANT(block.state == GPUARENA_STATE_LIVE && block.requested_bytes == mine->bytes);
}

/* A second stream uses a block. */
static void do_use(worker *self)
{
    tenancy *block = self->count ? &self->blocks[pick(self, (uint64_t)self->count)] : NULL;
    int stream = block ? worker_stream(self, block->at) : 0;
    if (!block || block->also >= 0) return;
    WANT(!gpuarena_use(block->at->arena, block->ptr, worker_handle(self, block->at, stream)));
    slot_work(block->at->device, stream, pick(self, 100000));
    block->also = stream;
}

/* A call that fails, and is this thread's latest failure. */
static void do_misuse(worker *self, thread_arena *at)
{
    gpuarena_failure failure;
    WANT(gpuarena_free(at->arena, bench_at(NULL, MIB(1)), NULL) == GPUARENA_FOREIGN_POINTER);
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.result == GPUARENA_FOREIGN_POINTER);
    self->fail_count++;
}

static gpuarena_result count_live(const gpuarena_block *block, void *user)
{
    *(uint64_t *)user += block->state == GPUARENA_STATE_LIVE ? block->bytes : 0;
    return GPUARENA_OK;
}

static gpuarena_result count_text(const char *text, size_t bytes, void *user)
{
    (void)text;
    *(uint64_t *)user += bytes;
    return GPUARENA_OK;
}

static void see(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)arena;
    WANT(action->kind <= GPUARENA_ACTION_MISUSE);
    __atomic_fetch_add((uint64_t *)user, 1, __ATOMIC_RELAXED);
}

/* Calls that go over all blocks, or change the records, while other threads allocate and free. */
static void do_observe(worker *self, thread_arena *at)
{
    static uint64_t seen;
    uint64_t bytes = 0, mark;
    gpuarena_stats stats;
    switch (pick(self, 5)) {
    case 0: WANT(gpuarena_walk(at->arena, count_live, &bytes) == GPUARENA_OK); break;
    case 1:
        WANT(gpuarena_report(at->arena, GPUARENA_FORMAT_JSON, count_text, &bytes) == GPUARENA_OK && bytes);
        break;
    case 2:
        gpuarena_walk_stats(at->arena, &stats);
        WANT(stats.largest_free_bytes <= stats.cached_bytes + stats.pending_bytes);
        break;
    case 3:
        mark = gpuarena_mark(at->arena);         /* no block has this tag */
        WANT(gpuarena_free_since(at->arena, mark, 1, GPUARENA_OWN_STREAM) == GPUARENA_OK);
        break;
    default: WANT(gpuarena_observe(at->arena, pick(self, 2) ? see : NULL, &seen) == GPUARENA_OK);
    }
}

static void do_rarely(worker *self, thread_arena *at)
{
    gpuarena_result result;
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_device figures;
    switch (pick(self, 16)) {
    case 0: WANT(gpuarena_trim(at->arena, MIB(pick(self, 32)), NULL) == GPUARENA_OK); break;
    case 1: thread_set_limit(at, MIB(pick(self, 8) ? 24 : 2 * pick(self, 17))); break;
    case 2: thread_set_limit(at, MIB(32)); break;
    case 3:
        result = gpuarena_reserve(at->arena, MIB(pick(self, 24)));
        WANT(result == GPUARENA_OK || result == GPUARENA_OUT_OF_MEMORY);
        self->fail_count += result != GPUARENA_OK;
        break;
    case 4: if (!pick(self, 16)) WANT(gpuarena_check(at->arena, NULL, 0) == GPUARENA_OK); break;
    case 5:
        request.bytes = draw_bytes(self);
        (void)gpuarena_can_alloc(at->arena, &request);
        break;
    case 6: WANT(gpuarena_get_device(at->arena, &figures) == GPUARENA_OK); break;
    case 7: gpuarena_reset_peaks(at->arena); break;
    case 8: do_resize(self); break;
    case 9: do_misuse(self, at); break;
    case 10: do_observe(self, at); break;
    case 11: do_use(self); break;
    case 12: WANT(gpuarena_step(at->arena, (uint32_t)pick(self, 3)) == GPUARENA_OK); break;
    default: do_look(self, at);
    }
}

static void do_one(worker *self)
{
    thread_arena *at = &thread_arenas[pick(self, (uint64_t)arena_count)];
    uint64_t what = pick(self, 64);
    tenancy block;
    if (!owns[self->index]) make_names(self);
    if (what < 30) do_alloc(self, at);
    else if (what < 62) {
        if (what < 56 ? worker_take(self, &block) : worker_swap(self, WORKER_EXCHANGE, &block))
            worker_free(self, &block);
    } else do_rarely(self, at);
}

/* ---- all of it */

/* Adds the allocations of a tag; none of its blocks is live. */
static void add_tag(const gpuarena *arena, uint32_t tag, uint64_t *count)
{
    gpuarena_tag_stats stats;
    WANT(gpuarena_get_tag(arena, tag, &stats) == GPUARENA_OK && !stats.live_count && !stats.live_bytes);
    *count += stats.alloc_count;
}

static void judge_end(const char *name, const worker *sum)
{
    gpuarena_stats stats, all = GPUARENA_INIT;
    uint64_t by_arenas[3] = { 0, 0, 0 }, by_workers[3] = { 0, 0, 0 };
    char message[200];
    for (int by = 0; by < worker_count; by++) {
        WANT(!memcmp(names[by], names[0], sizeof names[0]));
        for (int kind = 0; kind < 3; kind++) by_workers[kind] += tagged[by][kind];
    }
    for (int at = 0; at < arena_count; at++) {
        thread_arena *self = &thread_arenas[at];
        gpuarena_get_stats(self->arena, &stats);
        all.alloc_count += stats.alloc_count;
        all.free_count += stats.free_count;
        all.fail_count += stats.fail_count + stats.misuse_count;
        add_tag(self->arena, 0, &by_arenas[0]);
        for (int by = 0; by < worker_count; by++) add_tag(self->arena, owns[by], &by_arenas[1]);
        add_tag(self->arena, names[0][0], &by_arenas[2]);
        CHECK_MSG(gpuarena_check(self->arena, message, sizeof message) == GPUARENA_OK, "%s: check %s", name, message);
        CHECK_MSG(!stats.live_count && !stats.live_bytes && !stats.requested_bytes, "%s: all freed", name);
        CHECK_U64(stats.reserved_bytes, ==, self->held_bytes);
        CHECK_U64(stats.reserved_bytes, ==, stats.cached_bytes + stats.pending_bytes);
        CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
        thread_judge_left(self);
        thread_judge_clear(self);
    }
    CHECK_U64(all.alloc_count, ==, sum->alloc_count);
    CHECK_U64(all.free_count, ==, sum->free_count);
    CHECK_U64(all.fail_count, ==, sum->fail_count);
    CHECK_MSG(!memcmp(by_arenas, by_workers, sizeof by_arenas), "%s: what each tag has adds up", name);
    CHECK_MSG(!thread_trouble, "%s: %" PRIu64 " allocations, %" PRIu64 " refusals: %s", name, sum->alloc_count,
              sum->fail_count, thread_trouble ? thread_trouble : "all judged well");
}

typedef struct run {
    const char *name;
    gpuarena_backing backing;
    int arena_count, has_own;                    /* has_own: one of the streams is each thread's own */
    uint32_t wait_ms;
    gpuarena_scrub scrub;
} run;

static void test_random(const run *self)
{
    worker sum;
    int threads = (int)tap_number("GPUARENA_THREADS", 4);
    if (threads < 1 || threads > MOST_THREADS) threads = 4;
    arena_count = self->arena_count;
    memset(tagged, 0, sizeof tagged);
    workers_open(threads);
    for (int at = 0; at < arena_count; at++) {
        gpuarena_config config = thread_open(&thread_arenas[at], self->backing, MIB(32));
        if (self->has_own) thread_arenas[at].device->table.per_thread = slot_stream(SLOT_STREAMS - 1);
        thread_scrub(&thread_arenas[at], self->scrub);
        config.wait_ms = self->wait_ms;
        config.scrub = self->scrub;
        CHECK_INT(gpuarena_create(&config, &thread_arenas[at].arena), ==, GPUARENA_OK);
    }
    for (uint64_t life = 0; life < LIVES; life++)
        workers_live(life, tap_number("GPUARENA_THREAD_OPS", 300000) / 6 / LIVES / (uint64_t)threads, do_one);
    sum = workers_close();
    judge_end(self->name, &sum);
}

/* ---- two threads: races for one pointer, and arenas that come and go while each thread asks for owners of
        addresses */

static void *raced[RACES];
static gpuarena_result raced_results[2][RACES];

static void race(worker *self)
{
    uint32_t round = self->numbers++;
    if (round % 50 == 0) pthread_barrier_wait(&worker_barrier);
    raced_results[self->index][round] = gpuarena_free(thread_arenas[0].arena, raced[round], NULL);
}

/* Both threads free the same blocks: one of each pair of frees is OK, the other is told of the double free. */
static void test_same_pointer(void)
{
    gpuarena_config config = thread_open(&thread_arenas[0], GPUARENA_BACKING_SEGMENTS, MIB(32));
    int exact = gpuarena_create(&config, &thread_arenas[0].arena) == GPUARENA_OK;
    for (int round = 0; round < RACES; round++)
        exact &= gpuarena_alloc(thread_arenas[0].arena, &raced[round], 1000, NULL) == GPUARENA_OK;
    workers_open(2);
    workers_live(0, RACES, race);
    for (int round = 0; round < RACES; round++) {
        gpuarena_result left = raced_results[0][round], right = raced_results[1][round];
        exact &= left == GPUARENA_OK ? right == GPUARENA_DOUBLE_FREE
                                     : left == GPUARENA_DOUBLE_FREE && right == GPUARENA_OK;
    }
    CHECK_MSG(exact, "%d pointers freed by two threads: each time one OK, one DOUBLE_FREE", (int)RACES);
    CHECK_INT(gpuarena_destroy(thread_arenas[0].arena), ==, GPUARENA_OK);
    thread_judge_left(&thread_arenas[0]);
}

static gpuarena_config lives[2];

static void live_and_die(worker *self)
{
    gpuarena *arena = NULL;
    gpuarena_failure failure;
    void *block = NULL;
    WANT(gpuarena_create(&lives[self->index], &arena) == GPUARENA_OK);
    WANT(gpuarena_alloc(arena, &block, 1000, NULL) == GPUARENA_OK && gpuarena_owner(block) == arena);
    WANT(gpuarena_free(arena, self, NULL) == GPUARENA_FOREIGN_POINTER);
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.result == GPUARENA_FOREIGN_POINTER && failure.serial == 1);
    WANT(gpuarena_free(arena, block, NULL) == GPUARENA_OK && gpuarena_destroy(arena) == GPUARENA_OK);
}

static void test_lives(void)
{
    for (int at = 0; at < 2; at++) lives[at] = thread_open(&thread_arenas[at], GPUARENA_BACKING_SEGMENTS, MIB(32));
    workers_open(2);
    workers_live(0, ROUNDS, live_and_die);
    for (int at = 0; at < 2; at++) thread_judge_left(&thread_arenas[at]);
    CHECK_MSG(!thread_trouble, "arenas come and go in two threads: %s", thread_trouble ? thread_trouble : "in order");
}

int main(void)
{
    static const run runs[] = {
        { "segments", GPUARENA_BACKING_SEGMENTS, 1, 0, 0, GPUARENA_SCRUB_OFF },
        { "paged", GPUARENA_BACKING_PAGED, 1, 0, 0, GPUARENA_SCRUB_OFF },
        { "two arenas of segments", GPUARENA_BACKING_SEGMENTS, 2, 0, 1, GPUARENA_SCRUB_OFF },
        { "two paged arenas", GPUARENA_BACKING_PAGED, 2, 0, 1, GPUARENA_SCRUB_OFF },
        { "segments and own streams", GPUARENA_BACKING_SEGMENTS, 1, 1, 0, GPUARENA_SCRUB_OFF },
        { "paged and own streams", GPUARENA_BACKING_PAGED, 1, 1, 1, GPUARENA_SCRUB_OFF },
        { "pinned memory", GPUARENA_BACKING_PINNED, 1, 0, 0, GPUARENA_SCRUB_OFF },
        { "asynchronous memory", GPUARENA_BACKING_ASYNC, 2, 0, 1, GPUARENA_SCRUB_OFF },
        { "segments, cleared when freed", GPUARENA_BACKING_SEGMENTS, 1, 1, 0, GPUARENA_SCRUB_FREE },
        { "paged, cleared when freed", GPUARENA_BACKING_PAGED, 1, 1, 0, GPUARENA_SCRUB_FREE },
        { "segments, cleared when had", GPUARENA_BACKING_SEGMENTS, 1, 1, 0, GPUARENA_SCRUB_ALLOC },
        { "paged, cleared twice", GPUARENA_BACKING_PAGED, 1, 1, 0, GPUARENA_SCRUB_BOTH },
    };
    for (size_t at = 0; at < sizeof runs / sizeof *runs; at++) test_random(&runs[at]);
    test_same_pointer();
    test_lives();
    return tap_done();
}
