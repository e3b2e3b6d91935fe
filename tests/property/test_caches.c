/* Caches of streams: random programs against a shadow that knows sums and peaks to the byte, and all other calls
   between. It must not know how blocks are chosen. GPUARENA_CACHE_OPS=N. */
#include "caches.h"

enum { STREAMS = 4, BLOCKS = 600, ENDED = 64, PROGRAMS = 8 };

typedef struct block { char *ptr; uint64_t requested, bytes, serial; int stream; } block;
typedef struct shadow {
    caches_world world;
    gpuarena_stream streams[STREAMS];
    block blocks[BLOCKS];
    void *ended[ENDED];                          /* the latest that were freed */
    int count, has_observer, has_events;
    uint64_t random, requested, live, requested_peak, live_peak, allocs, frees, misuses, limit;
    uint64_t observed, hits, kept_frees;
    const char *trouble;
} shadow;
static shadow self;

#define WANT(condition) do { if (!(condition) && !self.trouble) self.trouble = #condition; } while (0)

static uint64_t draw(uint64_t below) { return splitmix64_next(&self.random) % below; }
static uint64_t larger(uint64_t left, uint64_t right) { return left > right ? left : right; }

static uint64_t reused_count(void)
{
    uint64_t count = 0;
    for (uint32_t at = 0; at < self.world.arena->caches.count; at++)
        count += self.world.arena->caches.list[at]->reused_count;
    return count;
}

static uint64_t kept_bytes(void)
{
    uint64_t bytes = caches_kept_bytes(&self.world);
    WANT(bytes != UINT64_MAX);
    return bytes;
}

/* The node of a live block, wherever it is listed; asking the arena would empty its caches. */
static const gpuarena__node *node_of(const void *ptr)
{
    const gpuarena__lookup *table = &self.world.arena->lookup;
    uint64_t address = gpuarena__address(ptr);
    for (uint32_t at = 0; at <= self.world.arena->caches.count; table = &self.world.arena->caches.list[at++]->table) {
        uint32_t slot = gpuarena__lookup_find(self.world.arena, table, address);
        if (slot <= table->mask) return gpuarena__node_at(self.world.arena, table->table[slot]);
        if (at == self.world.arena->caches.count) break;
    }
    return NULL;
}

/* ---- one operation each */

static void do_alloc(void)
{
    int stream = (int)draw(STREAMS);
    block made = { NULL, (uint64_t)1 << draw(17), 0, 0, stream };
    uint64_t before = reused_count();
    void *ptr = NULL;
    const gpuarena__node *node;
    if (self.count == BLOCKS) return;
    made.requested += draw(made.requested);
    if (!draw(40)) made.requested = MIB(1) + draw(MIB(1));
    gpuarena_result result = gpuarena_alloc(self.world.arena, &ptr, made.requested, self.streams[stream]);
    if (result == GPUARENA_OUT_OF_MEMORY && self.limit) return;
    WANT(result == GPUARENA_OK);
    if (result != GPUARENA_OK) return;
    node = node_of(ptr);
    WANT(node && node->as.live.requested == made.requested && !node->use_at);
    if (!node) return;
    self.hits += reused_count() > before;
    made.ptr = ptr;
    made.bytes = gpuarena__node_bytes(node);
    made.serial = node->as.live.serial;
    WANT(made.bytes >= made.requested && gpuarena__address(ptr) % 256 == 0);
    for (int at = 0; at < self.count; at++) {
        const block *other = &self.blocks[at];
        WANT(other->ptr + other->bytes <= made.ptr || made.ptr + made.bytes <= other->ptr);
        WANT(other->serial != made.serial);
    }
    self.blocks[self.count++] = made;
    self.allocs++;
    self.live_peak = larger(self.live_peak, self.live += made.bytes);
    self.requested_peak = larger(self.requested_peak, self.requested += made.requested);
}

static void forget_block(int at)
{
    self.requested -= self.blocks[at].requested;
    self.live -= self.blocks[at].bytes;
    self.ended[self.frees++ % ENDED] = self.blocks[at].ptr;
    self.blocks[at] = self.blocks[--self.count];
}

static void do_free(void)
{
    int at = self.count ? (int)draw((uint64_t)self.count) : 0;
    uint64_t how = draw(32), kept = self.count ? kept_bytes() : 0;
    gpuarena_stream stream = GPUARENA_OWN_STREAM;
    if (!self.count) return;
    if (how < 26) stream = self.streams[self.blocks[at].stream];
    else if (how < 28) stream = self.streams[draw(STREAMS)];
    else if (how == 28) stream = GPUARENA_ANY_STREAM;
    WANT(gpuarena_free(self.world.arena, self.blocks[at].ptr, stream) == GPUARENA_OK);
    self.kept_frees += kept_bytes() > kept;
    forget_block(at);
}

static int is_live(const void *ptr)
{
    for (int at = 0; at < self.count; at++)
        if (self.blocks[at].ptr <= (const char *)ptr
            && (const char *)ptr < self.blocks[at].ptr + self.blocks[at].bytes)
            return 1;
    return 0;
}

/* Freed twice, on the stream that keeps it; inside a block; nowhere. */
static void do_misuse(void)
{
    void *ended = self.ended[draw(ENDED)];
    const block *at = self.count ? &self.blocks[draw((uint64_t)self.count)] : NULL;
    gpuarena_failure failure;
    if (ended && !is_live(ended)) {
        gpuarena_result result = gpuarena_free(self.world.arena, ended, self.streams[draw(STREAMS)]);
        WANT(result == GPUARENA_DOUBLE_FREE || result == GPUARENA_FOREIGN_POINTER);  /* its segment may be gone */
        gpuarena_last_failure(self.world.arena, &failure);
        WANT(failure.result == result && failure.live_bytes == self.live);
        self.misuses++;
    }
    if (!at || at->bytes < 512) return;
    WANT(gpuarena_free(self.world.arena, at->ptr + 256, self.streams[at->stream]) == GPUARENA_INTERIOR_POINTER);
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.block.ptr == at->ptr && failure.block.requested_bytes == at->requested);
    self.misuses++;
}

static void audit(void)
{
    gpuarena_stats stats;
    char message[200];
    gpuarena_get_stats(self.world.arena, &stats);
    WANT(stats.requested_bytes == self.requested && stats.live_bytes == self.live);
    WANT(stats.requested_peak_bytes == self.requested_peak && stats.live_peak_bytes == self.live_peak);
    WANT(stats.live_count == (uint64_t)self.count && stats.alloc_count == self.allocs
         && stats.free_count == self.frees);
    WANT(stats.misuse_count == self.misuses);
    WANT(stats.live_bytes + stats.pending_bytes + stats.cached_bytes == stats.reserved_bytes);
    if (!draw(4)) WANT(gpuarena_check(self.world.arena, message, sizeof message) == GPUARENA_OK);
}

static void watch(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)arena;
    (void)user;
    self.observed += action->kind == GPUARENA_ACTION_ALLOC || action->kind == GPUARENA_ACTION_FREE;
}

/* From now on an observer sees every allocation and free, or did so until now. */
static void do_observe(void)
{
    static uint64_t since;
    if (self.has_observer) WANT(self.observed == self.allocs + self.frees - since);
    self.has_observer = !self.has_observer;
    since = self.allocs + self.frees;
    self.observed = 0;
    WANT(gpuarena_observe(self.world.arena, self.has_observer ? watch : NULL, NULL) == GPUARENA_OK);
}

/* A stream is no more; another may have its handle. */
static void do_forget(void)
{
    int stream = (int)draw(STREAMS);
    WANT(gpuarena_forget(self.world.arena, self.streams[stream]) == GPUARENA_OK);
    if (draw(2)) return;
    sim_stream_destroy(self.world.bench.machine, 0, self.streams[stream]);
    sim_stream_create(self.world.bench.machine, 0, 0, &self.streams[stream]);
    for (int at = self.count; at-- > 0;)
        if (self.blocks[at].stream == stream) {
            WANT(gpuarena_free(self.world.arena, self.blocks[at].ptr, GPUARENA_ANY_STREAM) == GPUARENA_OK);
            forget_block(at);
        }
}

static void do_capture(void)
{
    uint64_t set = 0;
    int stream = (int)draw(STREAMS), before = self.count;
    if (self.has_observer) return;
    WANT(gpuarena_capture_begin(self.world.arena, self.streams[stream], &set) == GPUARENA_OK);
    for (int op = 0; op < 12; op++) if (draw(2)) do_alloc();
    while (self.count > before) {
        WANT(gpuarena_free(self.world.arena, self.blocks[self.count - 1].ptr, GPUARENA_OWN_STREAM) == GPUARENA_OK);
        forget_block(self.count - 1);
    }
    WANT(gpuarena_capture_end(self.world.arena, self.streams[stream]) == GPUARENA_OK);
    WANT(gpuarena_capture_release(self.world.arena, set, GPUARENA_ANY_STREAM) == GPUARENA_OK);
}

static void do_resize(void)
{
    block *at = self.count ? &self.blocks[draw((uint64_t)self.count)] : NULL;
    uint64_t bytes = at ? 1 + draw(at->requested) : 0;
    gpuarena_block now;
    if (!at) return;
    WANT(gpuarena_resize(self.world.arena, at->ptr, bytes, self.streams[at->stream]) == GPUARENA_OK);
    WANT(gpuarena_lookup(self.world.arena, at->ptr, &now) == GPUARENA_OK && now.requested_bytes == bytes);
    self.requested -= at->requested - bytes;
    self.live -= at->bytes - now.bytes;
    at->requested = bytes;
    at->bytes = now.bytes;
}

static void do_rarely(void)
{
    gpuarena_block found;
    const block *at = self.count ? &self.blocks[draw((uint64_t)self.count)] : NULL;
    switch (draw(12)) {
    case 0: WANT(gpuarena_trim(self.world.arena, draw(self.live + 1), NULL) == GPUARENA_OK); break;
    case 1: self.limit = draw(2) ? self.live + draw(MIB(16)) : 0;
            WANT(gpuarena_set_limit(self.world.arena, self.limit ? self.limit : GPUARENA_NO_LIMIT) == GPUARENA_OK);
            break;
    case 2: do_forget(); break;
    case 3: do_capture(); break;
    case 4: do_observe(); break;
    case 5: do_resize(); break;
    case 6: if (at) WANT(gpuarena_use(self.world.arena, at->ptr, self.streams[draw(STREAMS)]) == GPUARENA_OK); break;
    case 7: if (at) WANT(!gpuarena_lookup(self.world.arena, at->ptr, &found) && found.state == GPUARENA_STATE_LIVE
                         && found.serial == at->serial && found.bytes == at->bytes); break;
    case 8:
        gpuarena_reset_peaks(self.world.arena);
        self.requested_peak = self.requested;
        self.live_peak = self.live;
        break;
    case 9:
        if (draw(8)) break;
        WANT(gpuarena_reset(self.world.arena, self.streams[draw(STREAMS)]) == GPUARENA_OK);
        while (self.count) forget_block(0);
        break;
    default: audit();
    }
}

/* ---- programs */

static void run_program(const char *name, uint64_t seed, const char *keys, uint64_t ops)
{
    memset(&self, 0, sizeof self);
    self.random = seed;
    caches_open(&self.world, keys);
    for (int at = 0; at < STREAMS; at++) sim_stream_create(self.world.bench.machine, 0, 0, &self.streams[at]);
    for (uint64_t op = 0; op < ops && !self.trouble; op++) {
        uint64_t what = draw(400), most = 1 + seed * 97 % (BLOCKS - 50);
        if (what == 0) do_rarely();
        else if (what == 1) do_misuse();
        else if (draw(2 * most) >= (uint64_t)self.count) do_alloc();
        else do_free();
    }
    audit();
    CHECK_MSG(!self.trouble, "%s, seed %" PRIu64 ": %s", name, seed,
              self.trouble ? self.trouble : "all as the shadow");
    CHECK_MSG(self.hits > ops / 50 && self.kept_frees > ops / 50,
              "%s: caches served %" PRIu64 " allocations, kept %" PRIu64 " frees", name, self.hits, self.kept_frees);
    while (self.count) {
        WANT(gpuarena_free(self.world.arena, self.blocks[0].ptr, self.streams[self.blocks[0].stream]) == GPUARENA_OK);
        forget_block(0);
    }
    CHECK_STR(self.trouble ? self.trouble : "", "");
    caches_close(&self.world);
}

int main(void)
{
    const char *text = getenv("GPUARENA_CACHE_OPS");
    uint64_t ops = (text && *text ? strtoull(text, NULL, 10) : 400000) / PROGRAMS;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        run_program(seed % 2 ? "segments" : "paged", seed,
                    seed % 2 ? (seed % 4 == 1 ? "backing=segments,cache=4M" : "backing=segments,cache=500K")
                             : (seed % 4 == 2 ? "backing=paged,cache=1M" : "backing=paged,cache=64M"), ops);
    return tap_done();
}
