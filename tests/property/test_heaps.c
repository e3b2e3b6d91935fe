/* Heaps: random programs of small blocks on several streams, whose hits and frees hold their heap's lock alone for
   long, against a shadow: peaks are exact to the byte though nobody asks meanwhile, serials are unique, rise on each
   stream and lie behind earlier marks, no hit passes a lowered limit, no free memory of another heap is missed, and
   blocks lie where they would lie if nobody looked at statistics.
   It must not know how heaps keep count. (GPUARENA_HEAP_OPS=N) */
#ifndef GPUARENA_STATIC
#define GPUARENA_STATIC
#endif
#include "sim_device.h"

enum { BLOCKS = 600, STREAMS = 20, SEQUENCES = 3, LOOK_EVERY = 1000 };

typedef struct block { void *ptr; uint64_t bytes, mark; gpuarena_stream stream; } block;
typedef struct shadow {
    sim_bench bench;
    gpuarena *arena;
    gpuarena_stream streams[STREAMS];
    uint64_t stream_count, requested, requested_peak, live, live_peak, random, mark, unit;
    block blocks[BLOCKS];
    int count, slack;                            /* slack 1: blocks are slack alone, 2: they have none */
    uint64_t places;                             /* a sum over all addresses so far */
    const char *trouble;
} shadow;
static shadow self;

#define WANT(condition) do { if (!(condition) && !self.trouble) self.trouble = #condition; } while (0)

static uint64_t draw(uint64_t below) { return splitmix64_next(&self.random) % below; }
static uint64_t larger(uint64_t left, uint64_t right) { return left > right ? left : right; }

/* A stream, each of which a thread of its own calls with. */
static gpuarena_stream stream_at(uint64_t number)
{
    gpuarena__thread_number_ = 1 + number;
    return self.streams[number];
}

static uint64_t whole(uint64_t bytes) { return (bytes + self.unit - 1) / self.unit * self.unit; }

static void do_alloc(void)
{
    block *made = &self.blocks[self.count];
    if (self.count == (self.slack == 2 ? BLOCKS / 2 : BLOCKS)) return;
    made->bytes = 1 + draw((uint64_t)256 << draw(draw(50) ? 12 : 15));
    if (self.slack) made->bytes = self.slack == 1 ? 1 : self.unit;
    made->stream = stream_at(draw(self.stream_count));
    made->mark = self.mark;
    WANT(gpuarena_alloc(self.arena, &made->ptr, made->bytes, made->stream) == GPUARENA_OK);
    self.places = self.places * 31 + bench_number(made->ptr);
    self.requested += made->bytes;
    self.live += whole(made->bytes);
    self.requested_peak = larger(self.requested_peak, self.requested);
    self.live_peak = larger(self.live_peak, self.live);
    self.count++;
}

static void do_free(void)
{
    block *gone = &self.blocks[draw((uint64_t)self.count + 1)];
    if (gone == &self.blocks[self.count]) return;
    gpuarena_stream stream = draw(20) ? gone->stream : stream_at(draw(self.stream_count));
    if (stream != gone->stream) (void)sim_device_wait(self.bench.machine, 0);
    WANT(gpuarena_free(self.arena, gone->ptr, stream) == GPUARENA_OK);
    self.requested -= gone->bytes;
    self.live -= whole(gone->bytes);
    *gone = self.blocks[--self.count];
}

/* A heap may have free memory, and must not serve it while more is reserved than the limit allows. */
static void do_limit(void)
{
    gpuarena_stats stats;
    void *refused;
    gpuarena_get_stats(self.arena, &stats);
    if (!stats.live_bytes) return;
    WANT(gpuarena_set_limit(self.arena, 0) == GPUARENA_OK);
    for (uint64_t at = 0; at < self.stream_count; at++)
        WANT(gpuarena_alloc(self.arena, &refused, 256, stream_at(at)) == GPUARENA_OUT_OF_MEMORY);
    WANT(gpuarena_set_limit(self.arena, GPUARENA_NO_LIMIT) == GPUARENA_OK);
}

static int by_value(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

/* Blocks that were allocated since the latest mark lie behind it; no two have one serial. */
static void look_at_serials(void)
{
    static uint64_t serials[BLOCKS];
    gpuarena_block found = GPUARENA_INIT;
    uint64_t mark = gpuarena_mark(self.arena);
    for (int at = 0; at < self.count; at++) {
        WANT(gpuarena_lookup(self.arena, self.blocks[at].ptr, &found) == GPUARENA_OK);
        WANT(found.serial > self.blocks[at].mark && found.serial <= mark);
        WANT(found.requested_bytes == self.blocks[at].bytes && found.bytes == whole(self.blocks[at].bytes));
        serials[at] = found.serial;
    }
    qsort(serials, (size_t)self.count, sizeof *serials, by_value);
    for (int at = 1; at < self.count; at++) WANT(serials[at] != serials[at - 1]);
    self.mark = mark;
}

static void look(void)
{
    gpuarena_stats stats;
    gpuarena_get_stats(self.arena, &stats);
    WANT(stats.live_peak_bytes == self.live_peak && stats.requested_peak_bytes == self.requested_peak);
    WANT(stats.requested_bytes == self.requested && stats.live_bytes == self.live);
    WANT(stats.live_count == (uint64_t)self.count && stats.live_bytes + stats.pending_bytes <= stats.reserved_bytes);
    look_at_serials();
    WANT(gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK);
}

static void begin(const char *keys, uint64_t seed, uint64_t stream_count)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(&self, 0, sizeof self);
    self.random = seed;
    self.stream_count = stream_count;
    self.bench = bench_open_sized(GIB(4), NULL);
    for (uint64_t at = 0; at < stream_count; at++)
        WANT(sim_stream_create(self.bench.machine, 0, 0, &self.streams[at]) == 0);
    config.driver = &self.bench.driver;
    config.environment = "";
    WANT(gpuarena_config_parse(keys, &config, NULL, 0) == GPUARENA_OK);
    WANT(gpuarena_create(&config, &self.arena) == GPUARENA_OK);
    gpuarena_get_config(self.arena, &config);
    self.unit = config.alignment;
}

static const char *run(const char *keys, uint64_t seed, uint64_t streams, uint64_t ops)
{
    begin(keys, seed, streams);
    for (uint64_t op = 0; op < ops && !self.trouble; op++) {
        uint64_t phase = op / 3000 % 2, filling = phase == 0 ? 60 : 45;
        if (seed == SEQUENCES) self.slack = 2 - (int)phase;  /* live bytes rise while requested ones fall */
        if (self.slack == 1) filling = 60;
        if (self.slack == 2 && self.count > BLOCKS / 2) filling = 0;
        if (draw(100) < filling) do_alloc();
        else do_free();
        if (op % LOOK_EVERY != LOOK_EVERY - 1) continue;
        look();
        if (draw(4) == 0) do_limit();
        if (draw(2)) continue;
        gpuarena_reset_peaks(self.arena);
        self.live_peak = self.live;
        self.requested_peak = self.requested;
    }
    look();
    WANT(gpuarena_reset(self.arena, self.streams[0]) == GPUARENA_OK);
    WANT(gpuarena_destroy(self.arena) == GPUARENA_OK);
    bench_close(&self.bench);
    return self.trouble;
}

/* Allocates, or frees, so many blocks on a stream. */
static void fill(void **slots, int count, uint64_t bytes, uint64_t stream)
{
    for (int at = 0; at < count; at++)
        WANT(gpuarena_alloc(self.arena, &slots[at], bytes, self.streams[stream]) == GPUARENA_OK);
}

static void empty(void **slots, int count, uint64_t stream)
{
    for (int at = 0; at < count; at++)
        WANT(gpuarena_free(self.arena, slots[at], self.streams[stream]) == GPUARENA_OK);
}

static gpuarena_stats stats_now(void)
{
    gpuarena_stats stats;
    gpuarena_get_stats(self.arena, &stats);
    return stats;
}

static uint64_t live_peak_now(void) { return stats_now().live_peak_bytes; }

static void end(const char *keys, const char *what)
{
    WANT(gpuarena_reset(self.arena, self.streams[0]) == GPUARENA_OK);
    WANT(gpuarena_destroy(self.arena) == GPUARENA_OK);
    bench_close(&self.bench);
    CHECK_MSG(!self.trouble, "%s: %s%s%s", keys, what, self.trouble ? ": " : "", self.trouble ? self.trouble : "");
}

/* Two heaps rise by so many blocks, up to 40, together beyond the peak of live bytes, which neither would pass alone,
   while requested bytes stay below theirs; and again, for one heap, after peaks were reset. */
static void test_leases(const char *keys, int rise)
{
    enum { FIRST = 200, FREED = 20, MORE = 40, FEW = 30 };
    static void *slots[2][FIRST + MORE];
    void *large;
    begin(keys, 1, 2);
    uint64_t unit = self.unit;
    WANT(gpuarena_alloc(self.arena, &large, 16 * unit, self.streams[0]) == GPUARENA_OK);
    for (uint64_t at = 0; at < 2; at++) fill(slots[at], FIRST + MORE, unit, at);
    for (uint64_t at = 0; at < 2; at++) empty(slots[at] + FIRST, MORE, at);      /* heaps have block records now */
    gpuarena_reset_peaks(self.arena);
    for (uint64_t at = 0; at < 2; at++) empty(slots[at] + FIRST - FREED, FREED, at);
    WANT(live_peak_now() == (2 * FIRST + 16) * unit);
    for (uint64_t at = 0; at < 2; at++) fill(slots[at] + FIRST, rise, 1, at);
    for (uint64_t at = 0; at < 2; at++) empty(slots[at] + FIRST, rise, at);
    WANT(live_peak_now() == (2 * (FIRST - FREED + (uint64_t)rise) + 16) * unit);
    gpuarena_reset_peaks(self.arena);
    WANT(gpuarena_free(self.arena, large, self.streams[0]) == GPUARENA_OK);
    fill(slots[0] + FIRST, FEW, 1, 0);
    empty(slots[0] + FIRST, FEW, 0);
    WANT(live_peak_now() == (2 * (FIRST - FREED) + FEW) * unit);
    end(keys, "peaks of live bytes that two heaps pass together");
}

/* As above, beyond the peak of requested bytes, while live bytes stay below theirs. */
static void test_requested_leases(const char *keys)
{
    enum { FIRST = 200, FREED = 20, SLACK = 40, RISE = 30 };
    static void *slots[2][FIRST + SLACK];
    begin(keys, 1, 2);
    for (uint64_t at = 0; at < 2; at++) fill(slots[at], FIRST, self.unit, at);
    for (uint64_t at = 0; at < 2; at++) fill(slots[at] + FIRST, SLACK, 1, at);
    for (uint64_t at = 0; at < 2; at++) empty(slots[at] + FIRST - FREED, FREED + SLACK, at);
    WANT(stats_now().requested_peak_bytes == 2 * (FIRST * self.unit + SLACK));
    for (uint64_t at = 0; at < 2; at++) fill(slots[at] + FIRST, RISE, self.unit, at);
    for (uint64_t at = 0; at < 2; at++) empty(slots[at] + FIRST, RISE, at);
    WANT(stats_now().requested_peak_bytes == 2 * (FIRST - FREED + RISE) * self.unit);
    WANT(stats_now().live_peak_bytes == 2 * (FIRST + SLACK) * self.unit);
    end(keys, "peaks of requested bytes that two heaps pass together");
}

/* Where blocks lie. looks 1: statistics are read after each operation, which gives heaps new leases. */
static uint64_t places(const char *keys, uint64_t streams, int looks)
{
    gpuarena_stats stats;
    begin(keys, 1, streams);
    for (int op = 0; op < 20000; op++) {
        if (draw(100) < 52) do_alloc();
        else do_free();
        if (looks) gpuarena_get_stats(self.arena, &stats);
    }
    WANT(gpuarena_reset(self.arena, self.streams[0]) == GPUARENA_OK);
    WANT(gpuarena_destroy(self.arena) == GPUARENA_OK);
    bench_close(&self.bench);
    return self.places;
}

int main(void)
{
    static const char *const kinds[] = { "backing=segments", "backing=paged" };
    static const uint64_t streams[] = { 2, 3, 20 };
    uint64_t ops = tap_number("GPUARENA_HEAP_OPS", 180000);
    for (size_t at = 0; at < COUNT(kinds) * COUNT(streams); at++) {
        const char *trouble = NULL, *kind = kinds[at / COUNT(streams)];
        uint64_t count = streams[at % COUNT(streams)];
        for (uint64_t seed = 1; seed <= SEQUENCES && !trouble; seed++)
            trouble = run(kind, seed, count, ops / SEQUENCES / 6);
        CHECK_MSG(!trouble, "%s, %d streams: peaks, serials and limits as a shadow has them%s%s", kind, (int)count,
                  trouble ? ": " : "", trouble ? trouble : "");
    }
    for (size_t at = 0; at < COUNT(kinds) * COUNT(streams); at++) {
        const char *kind = kinds[at / COUNT(streams)];
        uint64_t count = streams[at % COUNT(streams)], unseen = places(kind, count, 0);
        CHECK_MSG(places(kind, count, 1) == unseen && !self.trouble,
                  "%s, %d streams: blocks lie where they would lie if nobody looked", kind, (int)count);
    }
    for (size_t at = 0; at < COUNT(kinds); at++) test_leases(kinds[at], 40);     /* one page for two heaps */
    static const char *const large[] = { "backing=segments,initial=64M", "backing=paged,initial=64M" };
    for (size_t at = 0; at < COUNT(large); at++) {           /* pages enough for both heaps */
        test_leases(large[at], 30);
        test_requested_leases(large[at]);
    }
    return tap_done();
}
