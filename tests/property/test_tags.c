/* Tags: random programs on arenas of every kind against a shadow that knows each tag's figures and peaks to the byte.
   It must not know how tags are counted: only what gpuarena_get_tag, lookup and the statistics say.
   (GPUARENA_TAG_OPS=N). */
#include "sim_device.h"

enum { BLOCKS = 400, NAMED = 5, TAGS = NAMED + 1, STREAMS = 3, SEQUENCES = 4, LOOK_EVERY = 16 };

typedef struct block { void *ptr; uint64_t bytes; uint32_t tag; int counted; } block;
typedef struct shadow {
    sim_bench bench;
    gpuarena *arena;
    gpuarena_stream streams[STREAMS];
    uint32_t tags[TAGS];                         /* [0]: none */
    gpuarena_tag_stats sums[TAGS];
    uint64_t live_bytes, live_peak_bytes, random;
    block blocks[BLOCKS];
    int count;
    const char *trouble;
} shadow;
static shadow self;

#define WANT(condition) do { if (!(condition) && !self.trouble) self.trouble = #condition; } while (0)

static uint64_t draw(uint64_t below) { return splitmix64_next(&self.random) % below; }
static uint64_t larger(uint64_t left, uint64_t right) { return left > right ? left : right; }

static void count_bytes(int place, uint64_t bytes)
{
    gpuarena_tag_stats *sum = &self.sums[place];
    sum->live_bytes += bytes;
    self.live_bytes += bytes;
    sum->live_peak_bytes = larger(sum->live_peak_bytes, sum->live_bytes);
    self.live_peak_bytes = larger(self.live_peak_bytes, self.live_bytes);
}

/* What the arena says of the block: how large it is, and whose. */
static uint64_t looked_up(const block *one)
{
    gpuarena_block found = GPUARENA_INIT;
    WANT(gpuarena_lookup(self.arena, one->ptr, &found) == GPUARENA_OK);
    WANT(found.ptr == one->ptr && found.tag == one->tag && found.state == GPUARENA_STATE_LIVE);
    return found.bytes;
}

/* By the request, by the thread's scope, or with a number of the caller's own. */
static void do_alloc(void)
{
    gpuarena_request request = GPUARENA_INIT;
    block *made = &self.blocks[self.count];
    int place = (int)draw(TAGS), scoped = draw(4) == 0, own = draw(20) == 0;
    uint32_t tag = own ? 77 : self.tags[place];
    if (self.count == BLOCKS) return;
    request.bytes = 1 + draw((uint64_t)256 << draw(15));
    request.stream = self.streams[draw(STREAMS)];
    if (draw(20) == 0) request.alignment_bytes = KIB(64);
    if (draw(40) == 0) request.flags = GPUARENA_ALLOC_DEDICATED;
    if (scoped) WANT(gpuarena_tag_scope(tag) == 0);
    else request.tag = tag;
    gpuarena_result result = draw(2) && scoped && !request.alignment_bytes && !request.flags
        ? gpuarena_alloc(self.arena, &made->ptr, request.bytes, request.stream)
        : gpuarena_alloc_ex(self.arena, &made->ptr, &request);
    if (scoped) WANT(gpuarena_tag_scope(0) == tag);
    if (result == GPUARENA_OUT_OF_MEMORY) return;
    WANT(result == GPUARENA_OK);
    if (result != GPUARENA_OK) return;
    made->tag = tag;
    made->counted = own ? 0 : place;
    made->bytes = looked_up(made);
    self.sums[made->counted].live_count++;
    self.sums[made->counted].alloc_count++;
    count_bytes(made->counted, made->bytes);
    self.count++;
}

static void do_free(void)
{
    if (!self.count) return;
    block *gone = &self.blocks[draw((uint64_t)self.count)];
    int scoped = draw(4) == 0;
    if (scoped) gpuarena_tag_scope(self.tags[1]);
    WANT(gpuarena_free(self.arena, gone->ptr, draw(2) ? GPUARENA_OWN_STREAM : self.streams[draw(STREAMS)])
         == GPUARENA_OK);
    if (scoped) gpuarena_tag_scope(0);
    self.sums[gone->counted].live_count--;
    self.sums[gone->counted].live_bytes -= gone->bytes;
    self.live_bytes -= gone->bytes;
    *gone = self.blocks[--self.count];
}

/* A block keeps its tag, larger or smaller. */
static void do_resize(void)
{
    if (!self.count) return;
    block *one = &self.blocks[draw((uint64_t)self.count)];
    uint64_t bytes = 1 + draw(2 * one->bytes);
    if (gpuarena_resize(self.arena, one->ptr, bytes, self.streams[0]) != GPUARENA_OK) return;
    bytes = looked_up(one);
    if (bytes > one->bytes) count_bytes(one->counted, bytes - one->bytes);
    self.sums[one->counted].live_bytes -= one->bytes - (bytes < one->bytes ? bytes : one->bytes);
    self.live_bytes -= one->bytes - (bytes < one->bytes ? bytes : one->bytes);
    one->bytes = bytes;
}

static void do_reset_peaks(void)
{
    gpuarena_reset_peaks(self.arena);
    self.live_peak_bytes = self.live_bytes;
    for (int place = 0; place < TAGS; place++) self.sums[place].live_peak_bytes = self.sums[place].live_bytes;
}

static void do_reset(void)
{
    WANT(gpuarena_reset(self.arena, self.streams[0]) == GPUARENA_OK);
    for (int place = 0; place < TAGS; place++) self.sums[place].live_count = self.sums[place].live_bytes = 0;
    self.live_bytes = 0;
    self.count = 0;
}

static void look(void)
{
    gpuarena_stats stats;
    gpuarena_tag_stats sum = GPUARENA_INIT, one;
    for (int place = 0; place < TAGS; place++) {
        WANT(gpuarena_get_tag(self.arena, self.tags[place], &one) == GPUARENA_OK);
        WANT(memcmp(&one, &self.sums[place], sizeof one) == 0);
        sum.live_bytes += one.live_bytes;
        sum.live_count += one.live_count;
        sum.alloc_count += one.alloc_count;
    }
    gpuarena_get_stats(self.arena, &stats);
    WANT(stats.live_bytes == sum.live_bytes && stats.live_count == sum.live_count);
    WANT(stats.alloc_count == sum.alloc_count && stats.live_bytes == self.live_bytes);
    WANT(stats.live_peak_bytes == self.live_peak_bytes);
    WANT(gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK);
}

static void begin(const char *keys, uint64_t seed)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(&self, 0, sizeof self);
    self.random = seed;
    self.bench = bench_open_sized(GIB(4), NULL);
    for (int at = 0; at < STREAMS; at++) WANT(sim_stream_create(self.bench.machine, 0, 0, &self.streams[at]) == 0);
    for (uint32_t at = 1; at < TAGS; at++) {
        char name[8] = "kind 0";
        name[5] = (char)('0' + at);
        self.tags[at] = gpuarena_tag(name);
    }
    config.driver = &self.bench.driver;
    config.environment = "";
    WANT(gpuarena_config_parse(keys, &config, NULL, 0) == GPUARENA_OK);
    WANT(gpuarena_create(&config, &self.arena) == GPUARENA_OK);
}

static const char *run(const char *keys, uint64_t seed, uint64_t ops)
{
    begin(keys, seed);
    for (uint64_t op = 0; op < ops && !self.trouble; op++) {
        uint64_t choice = draw(100);
        int filling = op / 64 % 2 == 0;
        if (choice < (filling ? 60u : 30u)) do_alloc();
        else if (choice < 88) do_free();
        else if (choice < 98) do_resize();
        else if (choice == 98) do_reset_peaks();
        else if (draw(20) == 0) do_reset();
        if (op % LOOK_EVERY == 0) look();
    }
    look();
    do_reset();
    look();
    WANT(gpuarena_destroy(self.arena) == GPUARENA_OK);
    bench_close(&self.bench);
    return self.trouble;
}

/* Peaks are exact though nobody asks meanwhile. */
static void test_peaks(void)
{
    gpuarena_tag_stats tagged, untagged;
    gpuarena_stats stats;
    uint64_t held = 0, peak = 0, live = 0, tag_peak = 0;
    gpuarena_request request = GPUARENA_INIT;
    void *plain[64] = { NULL }, *named[64] = { NULL };
    begin("backing=segments", 9);
    request.bytes = KIB(1);
    request.stream = self.streams[0];
    request.tag = self.tags[1];
    for (int op = 0; op < 20000; op++) {
        uint64_t at = draw(op / 1000 % 2 ? 64 : 32);
        void **slot = draw(2) ? &plain[at] : &named[at];
        int is_plain = slot == &plain[at], was = *slot != NULL;
        if (was) WANT(gpuarena_free(self.arena, *slot, self.streams[0]) == GPUARENA_OK);
        else if (is_plain) WANT(gpuarena_alloc(self.arena, slot, KIB(1), self.streams[0]) == GPUARENA_OK);
        else WANT(gpuarena_alloc_ex(self.arena, slot, &request) == GPUARENA_OK);
        if (was) *slot = NULL;
        if (is_plain) held += was ? (uint64_t)-1 : 1;
        else live += was ? (uint64_t)-1 : 1;
        peak = larger(peak, held);
        tag_peak = larger(tag_peak, live);
        self.live_peak_bytes = larger(self.live_peak_bytes, KIB(held + live));
        if (op % 2500 != 2499) continue;
        gpuarena_get_stats(self.arena, &stats);
        WANT(gpuarena_get_tag(self.arena, self.tags[1], &tagged) == GPUARENA_OK);
        WANT(gpuarena_get_tag(self.arena, 0, &untagged) == GPUARENA_OK);
        WANT(tagged.live_peak_bytes == KIB(tag_peak) && untagged.live_peak_bytes == KIB(peak));
        WANT(stats.live_peak_bytes == self.live_peak_bytes && untagged.live_bytes == KIB(held));
        WANT(tagged.live_bytes == KIB(live) && gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK);
        gpuarena_reset_peaks(self.arena);
        peak = held;
        tag_peak = live;
        self.live_peak_bytes = KIB(held + live);
    }
    do_reset();
    WANT(gpuarena_destroy(self.arena) == GPUARENA_OK);
    bench_close(&self.bench);
    CHECK_MSG(!self.trouble, "peaks that nobody asks for%s%s", self.trouble ? ": " : "",
              self.trouble ? self.trouble : "");
}

int main(void)
{
    static const char *const kinds[] = { "backing=segments", "backing=paged",
        "backing=segments,release=idle,release_at=1", "backing=paged,limit=48M" };
    const char *asked = getenv("GPUARENA_TAG_OPS");
    uint64_t ops = asked ? strtoull(asked, NULL, 10) : 12000;
    for (size_t at = 0; at < COUNT(kinds); at++) {
        const char *trouble = NULL;
        for (uint64_t seed = 1; seed <= SEQUENCES && !trouble; seed++)
            trouble = run(kinds[at], seed, ops / SEQUENCES);
        CHECK_MSG(!trouble, "%s: figures and peaks of each tag, to the byte%s%s", kinds[at], trouble ? ": " : "",
                  trouble ? trouble : "");
    }
    test_peaks();
    return tap_done();
}
