/* Scopes: random programs of allocations, frees, nested marks and frees since one, against a shadow; and each
   contract. It must not know how blocks are found: only who is live, and pending for which stream. */
#include "sim_device.h"

enum { BLOCKS = 600, MARKS = 8, STREAMS = 3, OPS = 6000 };

typedef struct block { void *ptr; uint64_t born; uint32_t tag; } block;
typedef struct shadow {
    sim_bench bench;
    gpuarena *arena;
    gpuarena_stream streams[STREAMS];
    uint32_t tags[3];
    uint64_t random, born, marks[MARKS], marked[MARKS];      /* what mark said, and the shadow's own */
    block blocks[BLOCKS];
    int count;
    const char *trouble;
} shadow;
static shadow self;

#define WANT(condition) do { if (!(condition) && !self.trouble) self.trouble = #condition; } while (0)

static uint64_t draw(uint64_t below) { return splitmix64_next(&self.random) % below; }

static void open_arena(const char *keys)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(&self, 0, sizeof self);
    self.bench = bench_open_sized(GIB(4), NULL);
    for (int at = 0; at < STREAMS; at++) WANT(sim_stream_create(self.bench.machine, 0, 0, &self.streams[at]) == 0);
    self.tags[1] = gpuarena_tag("step");
    self.tags[2] = 9;
    config.driver = &self.bench.driver;
    config.environment = "";
    WANT(gpuarena_config_parse(keys, &config, NULL, 0) == GPUARENA_OK);
    WANT(gpuarena_create(&config, &self.arena) == GPUARENA_OK);
}

static void close_arena(const char *name)
{
    WANT(gpuarena_destroy(self.arena) == GPUARENA_OK);
    bench_close(&self.bench);
    CHECK_MSG(!self.trouble, "%s%s%s", name, self.trouble ? ": " : "", self.trouble ? self.trouble : "");
}

static void *alloc_tagged(uint64_t bytes, uint32_t tag, gpuarena_stream stream)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    request.bytes = bytes;
    request.tag = tag;
    request.stream = stream;
    WANT(gpuarena_alloc_ex(self.arena, &ptr, &request) == GPUARENA_OK);
    return ptr;
}

static void do_alloc(void)
{
    block *made = &self.blocks[self.count];
    if (self.count == BLOCKS) return;
    made->tag = self.tags[draw(3)];
    made->ptr = alloc_tagged(1 + draw((uint64_t)256 << draw(12)), made->tag, self.streams[draw(STREAMS)]);
    made->born = ++self.born;
    self.count++;
}

static void do_free(void)
{
    if (!self.count) return;
    block *gone = &self.blocks[draw((uint64_t)self.count)];
    WANT(gpuarena_free(self.arena, gone->ptr, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    *gone = self.blocks[--self.count];
}

static void do_mark(void)
{
    uint64_t at = draw(MARKS);
    self.marks[at] = gpuarena_mark(self.arena);
    self.marked[at] = self.born;
}

static void do_free_since(void)
{
    uint64_t at = draw(MARKS);
    uint32_t tag = self.tags[draw(3)];
    gpuarena_stream stream = draw(2) ? GPUARENA_OWN_STREAM : self.streams[draw(STREAMS)];
    int kept = 0;
    WANT(gpuarena_free_since(self.arena, self.marks[at], tag, stream) == GPUARENA_OK);
    for (int index = 0; index < self.count; index++)
        if (self.blocks[index].born <= self.marked[at] || (tag && self.blocks[index].tag != tag))
            self.blocks[kept++] = self.blocks[index];
    self.count = kept;
}

static void look(void)
{
    gpuarena_stats stats;
    gpuarena_block found;
    gpuarena_get_stats(self.arena, &stats);
    WANT(stats.live_count == (uint64_t)self.count);
    for (int at = 0; at < self.count; at++)
        WANT(gpuarena_lookup(self.arena, self.blocks[at].ptr, &found) == GPUARENA_OK
             && found.state == GPUARENA_STATE_LIVE && found.tag == self.blocks[at].tag);
    WANT(gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK);
}

static void test_random(const char *keys)
{
    open_arena(keys);
    self.random = 5;
    for (int op = 0; op < OPS && !self.trouble; op++) {
        uint64_t choice = draw(100);
        if (choice < 70) do_alloc();
        else if (choice < 92) do_free();
        else if (choice < 97) do_mark();
        else {
            do_free_since();
            look();
        }
    }
    WANT(gpuarena_free_since(self.arena, 0, 0, self.streams[0]) == GPUARENA_OK);
    self.count = 0;
    look();
    close_arena(keys);
}

/* On the stream that is named, as a free would: pending there, and its own again at once. */
static void test_order(void)
{
    gpuarena_block found;
    gpuarena_failure failure;
    open_arena("backing=segments,initial=2M");
    void *before = alloc_tagged(KIB(1), 0, self.streams[0]);
    uint64_t mark = gpuarena_mark(self.arena);
    void *after = alloc_tagged(KIB(1), 0, self.streams[1]);
    WANT(sim_work(self.bench.machine, 0, self.streams[1], 1000000) == 0);
    WANT(gpuarena_free_since(self.arena, mark, 0, self.streams[1]) == GPUARENA_OK);
    WANT(gpuarena_lookup(self.arena, after, &found) == GPUARENA_OK && found.state == GPUARENA_STATE_PENDING);
    WANT(gpuarena_lookup(self.arena, before, &found) == GPUARENA_OK && found.state == GPUARENA_STATE_LIVE);
    WANT(alloc_tagged(KIB(1), 0, self.streams[1]) == after);
    WANT(gpuarena_free_since(self.arena, gpuarena_mark(self.arena) + 1, 0, self.streams[1])
         == GPUARENA_INVALID_ARGUMENT);
    gpuarena_last_failure(self.arena, &failure);
    WANT(!strcmp(failure.detail, "mark: not one of this arena's"));
    WANT(gpuarena_free_since(NULL, 0, 0, NULL) == GPUARENA_INVALID_ARGUMENT && gpuarena_mark(NULL) == 0);
    WANT(gpuarena_lookup(self.arena, after, &found) == GPUARENA_OK && found.state == GPUARENA_STATE_LIVE);
    WANT(gpuarena_free_since(self.arena, mark, 0, GPUARENA_ANY_STREAM) == GPUARENA_OK);
    WANT(gpuarena_reset(self.arena, GPUARENA_ANY_STREAM) == GPUARENA_OK);
    close_arena("frees are of the stream that is named, and a mark of another arena is refused");
}

/* Blocks with room, and with segments of their own, go as a free would have them go. */
static void test_special(void)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_stats stats;
    void *ptr;
    open_arena("backing=paged");
    uint64_t mark = gpuarena_mark(self.arena);
    request.bytes = MIB(3);
    request.stream = self.streams[0];
    request.flags = GPUARENA_ALLOC_DEDICATED;
    WANT(gpuarena_alloc_ex(self.arena, &ptr, &request) == GPUARENA_OK);
    request.flags = 0;
    request.room_bytes = MIB(64);
    request.tag = self.tags[1];
    WANT(gpuarena_alloc_ex(self.arena, &ptr, &request) == GPUARENA_OK);
    gpuarena_get_stats(self.arena, &stats);
    WANT(stats.reserved_bytes == MIB(8));
    WANT(gpuarena_free_since(self.arena, mark, 0, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    gpuarena_get_stats(self.arena, &stats);
    WANT(stats.reserved_bytes == MIB(4) && stats.live_count == 0);
    WANT(gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK);
    close_arena("blocks with room, and with segments of their own");
}

/* Into a capture's set: its blocks are its next ones, and nobody else's. */
static void test_capture(void)
{
    uint64_t set = 0;
    gpuarena_block found;
    open_arena("backing=segments");
    WANT(gpuarena_capture_begin(self.arena, self.streams[0], &set) == GPUARENA_OK);
    uint64_t mark = gpuarena_mark(self.arena);
    void *first = alloc_tagged(KIB(64), 0, self.streams[0]);
    WANT(gpuarena_free_since(self.arena, mark, 0, self.streams[0]) == GPUARENA_OK);
    WANT(alloc_tagged(KIB(64), 0, self.streams[0]) == first);
    WANT(gpuarena_free_since(self.arena, mark, 0, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    WANT(alloc_tagged(KIB(64), 0, self.streams[1]) != first);
    WANT(gpuarena_lookup(self.arena, first, &found) == GPUARENA_OK && found.state == GPUARENA_STATE_PENDING);
    WANT(gpuarena_capture_end(self.arena, self.streams[0]) == GPUARENA_OK);
    WANT(gpuarena_capture_release(self.arena, set, self.streams[0]) == GPUARENA_OK);
    WANT(gpuarena_reset(self.arena, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    close_arena("during a capture");
}

static gpuarena_result mark_there(const gpuarena_block *seen, void *user)
{
    (void)seen;
    *(uint64_t *)user = gpuarena_mark(self.arena);
    WANT(gpuarena_free_since(self.arena, 0, 0, NULL) == GPUARENA_REENTRANT);
    return GPUARENA_OK;
}

static void test_callback(void)
{
    uint64_t mark = 0;
    open_arena("backing=segments");
    alloc_tagged(KIB(64), 0, self.streams[0]);
    WANT(gpuarena_walk(self.arena, mark_there, &mark) == GPUARENA_OK);
    WANT(mark == gpuarena_mark(self.arena) && mark > 0);
    WANT(gpuarena_free_since(self.arena, mark - 1, 0, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    close_arena("a mark from a callback; no frees there");
}

int main(void)
{
    test_random("backing=segments");
    test_random("backing=paged");
    test_random("backing=segments,release=idle,release_at=1");
    test_order();
    test_special();
    test_capture();
    test_callback();
    return tap_done();
}
