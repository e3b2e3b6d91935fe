/* The largest free block, which is found by a few looks, against the walk over all blocks: with several streams, of
   many blocks of few sizes, so that bins overflow and streams' blocks lie side by side; and
   with one stream. The implementation is private here: the walk is its own. */
#define GPUARENA_STATIC
#include "sim_device.h"

enum { STREAMS = 5, BLOCKS = 600, OPS = 6000 };

typedef struct block { void *ptr; int stream; } block;

static uint64_t random_state;
static sim_bench bench;
static gpuarena *arena;
static gpuarena_stream streams[STREAMS];
static uint64_t stream_count;                    /* of them, used */
static block blocks[BLOCKS];
static uint64_t looks;                           /* figures that took no walk */
static uint64_t spans;                           /* counts of idle pages outside a span */

static uint64_t draw(uint64_t bound) { return splitmix64_next(&random_state) % bound; }

static uint64_t walked(void)
{
    uint64_t longest, count = gpuarena__free_runs(arena, 0, 0, &longest);
    if (arena->config.idle_fraction >= 1) count = 0;
    count = (count + arena->paged.spare_pages) * arena->paged.page_bytes;
    return longest > count ? longest : count;
}

/* The idle pages outside a drawn span, which begins in a paged range, against the walk. */
static int idle_agrees(void)
{
    uint64_t page = arena->paged.page_bytes, longest, begin, end, low, high;
    const block *at = &blocks[draw(BLOCKS)];
    const gpuarena__range *range = gpuarena__range_of(arena, gpuarena__address(at->ptr));
    if (!page || !at->ptr || !range->pages) return 1;
    begin = gpuarena__address(at->ptr) - draw(gpuarena__address(at->ptr) - range->address + 1);
    end = begin + 1 + draw(range->address + range->bytes - begin < MIB(64) ? range->address + range->bytes - begin
                                                                           : MIB(64));
    low = gpuarena__round_down(begin, page);
    high = gpuarena__whole(end, page);
    spans++;
    if (gpuarena__idle_pages(arena, begin, end) == gpuarena__free_runs(arena, low, high, &longest)) return 1;
    printf("# idle pages outside %" PRIx64 " .. %" PRIx64 ": %" PRIu64 ", walked %" PRIu64 "\n", begin, end,
           gpuarena__idle_pages(arena, begin, end), gpuarena__free_runs(arena, low, high, &longest));
    return 0;
}

static int agrees(void)
{
    gpuarena__seen seen = { 0, 0 };
    gpuarena_stats stats;
    gpuarena_walk_stats(arena, &stats);
    looks += (arena->streams.many || stream_count == 1) && gpuarena__seams_show(arena, &seen);
    if (stats.largest_free_bytes == walked()) return 1;
    printf("# largest_free_bytes %" PRIu64 ", walked %" PRIu64 "\n", stats.largest_free_bytes, walked());
    return 0;
}

static void open_arena(const char *text)
{
    char message[200];
    gpuarena_config config = GPUARENA_INIT;
    bench = bench_open_sized(GIB(4), NULL);
    for (int at = 0; at < STREAMS; at++) (void)sim_stream_create(bench.machine, 0, 0, &streams[at]);
    (void)gpuarena_config_parse(text, &config, message, sizeof message);
    config.driver = &bench.driver;
    config.environment = "";
    if (message[0] || gpuarena_create(&config, &arena)) {
        printf("Bail out! no arena: %s %s\n", text, message);
        exit(1);
    }
    memset(blocks, 0, sizeof blocks);
}

static void do_free(block *at)
{
    int other = (int)draw(stream_count);
    gpuarena_stream on = streams[draw(4) ? at->stream : other];
    if (draw(6) == 0) (void)gpuarena_use(arena, at->ptr, streams[other]);
    if (draw(8) == 0) on = draw(3) ? GPUARENA_OWN_STREAM : GPUARENA_ANY_STREAM;
    if (on == GPUARENA_ANY_STREAM) (void)sim_device_wait(bench.machine, 0);
    (void)gpuarena_free(arena, at->ptr, on);
    at->ptr = NULL;
}

static void do_alloc(block *at)
{
    static const uint64_t sizes[] = { KIB(1), KIB(64), KIB(64), KIB(64) + 256, KIB(700), MIB(2), MIB(3), MIB(9) };
    gpuarena_request request = GPUARENA_INIT;
    at->stream = (int)draw(stream_count);
    request.bytes = sizes[draw(draw(8) ? 5 : COUNT(sizes))];
    request.stream = streams[at->stream];
    if (draw(40) == 0) request.flags = GPUARENA_ALLOC_DEDICATED;
    if (gpuarena_alloc_ex(arena, &at->ptr, &request)) at->ptr = NULL;
    else (void)sim_work(bench.machine, 0, streams[at->stream], draw(400000));
}

/* A tree has some, or a class more than it has slots for. */
static int is_full(const gpuarena__bins *bins)
{
    int full = bins->root[0] || bins->root[1];
    for (uint32_t number = 0; number < GPUARENA__CLASSES; number++) full |= bins->overflow[number] != 0;
    return full && bins != &arena->bins;
}

/* With so many streams. */
static void test_under(const char *text, uint64_t count)
{
    int op = 0, right = 1, full = 0;
    stream_count = count;
    open_arena(text);
    looks = spans = 0;
    for (; op < OPS && right; op++) {
        block *at = &blocks[draw(BLOCKS)];
        if (draw(300) == 0) (void)gpuarena_trim(arena, draw(MIB(64)), NULL);
        if (draw(2000) == 0) {
            (void)gpuarena_reset(arena, streams[draw(stream_count)]);
            memset(blocks, 0, sizeof blocks);
        }
        if (at->ptr) do_free(at);
        else do_alloc(at);
        for (uint32_t set = 1; set < arena->streams.count && !full; set++)
            full = is_full(arena->streams.list[set].bins);
        right = agrees() && idle_agrees();
    }
    CHECK_MSG(right, "%s: %d figures, %d streams", text[0] ? text : "paged", op, (int)count);
    CHECK_MSG(looks > OPS / 2, "%s: %d of them by a few looks", text, (int)looks);
    if (arena->paged.page_bytes) CHECK_MSG(spans > OPS / 8, "%s: idle pages outside %d spans", text, (int)spans);
    if (count > 1) CHECK_MSG(full, "%s: a stream had more than fits in slots", text);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
}

/* While a capture set has memory, which nobody else may have: that is not counted. */
static void test_sets(void)
{
    uint64_t set = 0;
    void *ptr = NULL;
    stream_count = STREAMS;
    open_arena("");
    for (int at = 0; at < 40; at++) do_alloc(&blocks[at]);
    for (int at = 0; at < 40; at += 2) do_free(&blocks[at]);
    CHECK_INT(gpuarena_capture_begin(arena, streams[0], &set), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(20), streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, streams[0]), ==, GPUARENA_OK);
    CHECK_INT(agrees(), ==, 1);
    CHECK_INT(gpuarena_capture_end(arena, streams[0]), ==, GPUARENA_OK);
    CHECK_INT(agrees(), ==, 1);
    CHECK_INT(gpuarena_capture_release(arena, set, streams[0]), ==, GPUARENA_OK);
    CHECK_INT(agrees(), ==, 1);
    CHECK_INT(gpuarena_reset(arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
}

int main(void)
{
    test_under("", STREAMS);
    test_under("streams=same", STREAMS);
    test_under("streams=same,limit=100M", STREAMS);
    test_under("page=8M,large=1M,limit=200M", STREAMS);
    test_under("idle=100%", STREAMS);
    test_under("large=1", STREAMS);
    test_under("backing=segments", STREAMS);
    test_under("backing=segments,streams=events", STREAMS);
    test_under("backing=segments,streams=same,alignment=4096", STREAMS);
    test_under("backing=async,streams=same", STREAMS);
    test_under("streams=events", STREAMS);
    test_under("", 1);
    test_under("backing=segments", 1);
    test_sets();
    return tap_done();
}
