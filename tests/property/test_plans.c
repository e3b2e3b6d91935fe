/* Property: steps that come again, more or less, on two streams, with the simulated device's judge on. Whatever a
   plan does, no two live blocks overlap, contents stay, no work uses memory before it may, all sums hold, and no
   request fails that fits. It must not know how plans are made. (GPUARENA_PLAN_PROGRAMS, GPUARENA_PLAN_SEED). */
#ifndef GPUARENA_STATIC
#define GPUARENA_STATIC
#endif
#include "sim_device.h"

enum { STREAMS = 2, KINDS = 2, MOST = 120, LIVE = 600, STEPS = 20 };

typedef struct request { uint64_t bytes; uint32_t stream, life, use; } request;      /* life: in allocations */
typedef struct block { char *ptr; uint64_t bytes, id, due; uint32_t stream; int is_shared; } block;

static sim_bench bench;
static gpuarena *arena;
static gpuarena_stream streams[STREAMS];
static void *bridge;
static request sequences[KINDS][MOST];
static uint32_t counts[KINDS];
static block live[LIVE];
static uint32_t live_count;
static uint64_t state, clock_now, id, planned, unplanned, plans, refused, requested;
static uint32_t disorder;                        /* of 1,000 requests so many are not as they were */
static char trouble[300];

static uint64_t draw(uint64_t bound) { return splitmix64_next(&state) % bound; }

static void blame(const char *property)
{
    if (!trouble[0]) snprintf(trouble, sizeof trouble, "property: %s", property);
}

/* Host memory with a guard behind it, which must be whole when it is freed. */
enum { GUARD_BYTES = 1024, GUARD = 0xa5 };

static void *guarded_alloc(size_t bytes, void *user)
{
    char *memory = malloc(bytes + GUARD_BYTES);
    (void)user;
    if (memory) memset(memory + bytes, GUARD, GUARD_BYTES);
    return memory;
}

static void guarded_free(void *memory, size_t bytes, void *user)
{
    const unsigned char *guard = (const unsigned char *)memory + bytes;
    (void)user;
    for (int at = 0; at < GUARD_BYTES; at++)
        if (guard[at] != GUARD) blame("no host memory is written behind its end");
    free(memory);
}

static int is_odd_one(void) { return draw(1000) < disorder; }

static uint64_t draw_bytes(void)
{
    switch (draw(4)) {
    case 0: return 1 + draw(KIB(4));
    case 1: return 1 + draw(KIB(300));
    case 2: return KIB(256) << draw(4);
    default: return 1 + draw(MIB(5));
    }
}

/* In one sequence of four most blocks are freed in the next step. */
static void draw_sequence(uint32_t kind)
{
    int lasts = draw(4) == 0;
    counts[kind] = 20 + (uint32_t)draw(MOST - 20);
    for (uint32_t at = 0; at < counts[kind]; at++) {
        request *made = &sequences[kind][at];
        made->bytes = draw(3) || !at ? draw_bytes() : sequences[kind][draw(at)].bytes;
        made->stream = draw(3) == 0;
        made->life = 1 + (uint32_t)(draw(8) ? draw(20) : draw(counts[kind] * 2u));
        if (lasts && draw(4)) made->life = counts[kind] - (uint32_t)draw(counts[kind] / 4);
        made->use = draw(12) == 0;
    }
}

/* Work on the second stream comes behind the first one's. */
static void follow(uint32_t stream, uint32_t other)
{
    int code = bench.driver.events.record(&bench.driver, bridge, streams[other]);
    code = code ? code : bench.driver.events.stream_wait(&bench.driver, streams[stream], bridge);
    if (code) blame("the program's own wait");
}

static void touch(const block *at, uint32_t stream)
{
    if (sim_access(bench.machine, 0, streams[stream], at->ptr, at->bytes, at->id, clock_now))
        blame("the program's use");
    if (draw(2) && sim_work(bench.machine, 0, streams[stream], draw(30000))) blame("the program's work");
}

static void release(uint32_t at)
{
    block gone = live[at];
    uint64_t bad;
    live[at] = live[--live_count];
    requested -= gone.bytes;
    if (!sim_verify(bench.machine, 0, gone.ptr, gone.bytes, gone.id, &bad)) blame("a block's contents stay");
    gpuarena_stream on = streams[gone.stream];
    if (is_odd_one() && draw(2)) {               /* on the other stream, behind all work */
        uint32_t other = 1 - gone.stream;
        follow(other, gone.stream);
        touch(&gone, other);
        on = streams[other];
    } else if (is_odd_one()) on = GPUARENA_OWN_STREAM;
    if (gpuarena_free(arena, gone.ptr, on)) blame("a free succeeds");
}

static void ask(const request *from)
{
    gpuarena_request wanted = GPUARENA_INIT;
    void *ptr = NULL;
    wanted.bytes = is_odd_one() ? draw_bytes() : from->bytes;
    wanted.stream = streams[from->stream];
    if (draw(9) == 0) wanted.tag = gpuarena_tag("plan");
    gpuarena_result result = gpuarena_alloc_ex(arena, &ptr, &wanted);
    if (result) {
        refused++;
        if (result != GPUARENA_OUT_OF_MEMORY) blame("an allocation answers");
        return;
    }
    block made = { ptr, wanted.bytes, ++id, clock_now + from->life, from->stream, 0 };
    if (is_odd_one()) made.due = clock_now + 1 + draw(60);
    for (uint32_t at = 0; at < live_count; at++)
        if (live[at].ptr < made.ptr + made.bytes && made.ptr < live[at].ptr + live[at].bytes)
            blame("no two live blocks overlap");
    sim_fill(bench.machine, 0, ptr, made.bytes, made.id);
    touch(&made, made.stream);
    if (from->use) {                             /* used on the other stream, too, of which the arena is told */
        follow(1 - made.stream, made.stream);
        touch(&made, 1 - made.stream);
        if (gpuarena_use(arena, made.ptr, streams[1 - made.stream])) blame("a use is taken");
    }
    if (live_count == LIVE) blame("the test has room");
    else live[live_count++] = made;
    requested += made.bytes;
}

static void audit(void)
{
    gpuarena_stats stats;
    char message[200];
    if (gpuarena_check(arena, message, sizeof message)) {
        blame("every invariant holds");
        snprintf(trouble, sizeof trouble, "property: %.200s", message);
    }
    gpuarena_get_stats(arena, &stats);
    if (stats.live_count != live_count || stats.requested_bytes != requested) blame("what is live is the program's");
    if (stats.live_bytes + stats.pending_bytes + stats.cached_bytes != stats.reserved_bytes) blame("sums hold");
    if (stats.reserved_bytes > stats.limit_bytes && stats.limit_bytes >= stats.reserved_peak_bytes)
        blame("the limit holds");
    if (sim_finding_count(bench.machine) && !trouble[0])
        snprintf(trouble, sizeof trouble, "finding: %s", sim_finding(bench.machine, 0));
}

/* The second stream ends, and another takes its place, which waits for nobody. */
static void renew_stream(void)
{
    for (uint32_t at = 0; at < live_count; at++)
        if (live[at].stream == 1) release(at--);
    if (gpuarena_forget(arena, streams[1])) blame("a stream is forgotten");
    (void)sim_stream_destroy(bench.machine, 0, streams[1]);
    (void)sim_stream_create(bench.machine, 0, 0, &streams[1]);
}

/* Now and then a call that ends all plans. */
static void disturb(void)
{
    if (draw(3) == 0) renew_stream();
    else if (draw(2)) (void)gpuarena_trim(arena, draw(MIB(64)), NULL);
    else {
        follow(0, 1);
        while (live_count && draw(8)) release((uint32_t)draw(live_count));
    }
}

static void step(uint32_t kind)
{
    arena->plans.moved_count++;                  /* as if pages had moved, without which no plan is needed */
    if (gpuarena_step(arena, 1 + kind)) blame("a step begins");
    arena->plans.moved_count = 0;
    for (uint32_t at = 0; at < counts[kind] && !trouble[0]; at++) {
        clock_now++;
        for (uint32_t other = 0; other < live_count; other++)
            if (live[other].due <= clock_now) release(other--);
        if (is_odd_one()) continue;              /* this one does not come */
        ask(&sequences[kind][at]);
        if (is_odd_one()) ask(&sequences[kind][draw(counts[kind])]);         /* one more comes */
        if (draw(disorder ? 150 : 500) == 0) disturb();
        if (draw(16) == 0) audit();
    }
    audit();
}

static void run(const char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    char message[200];
    gpuarena_stats stats;
    bench = bench_open_sized(GIB(2), NULL);
    if (gpuarena_config_parse(text, &config, message, sizeof message)) blame(message);
    config.environment = "";
    config.driver = &bench.driver;
    config.host_alloc = guarded_alloc;
    config.host_free = guarded_free;
    if (gpuarena_create(&config, &arena)) blame("an arena is made");
    arena->heaps.wanted = (uint32_t)draw(2);     /* as if another thread had named a stream */
    for (uint32_t at = 0; at < STREAMS; at++) (void)sim_stream_create(bench.machine, 0, 0, &streams[at]);
    if (bench.driver.events.create(&bench.driver, &bridge)) blame("an event is made");
    live_count = 0;
    requested = clock_now = 0;
    for (uint32_t kind = 0; kind < KINDS; kind++) draw_sequence(kind);
    uint32_t later = disorder;
    for (uint32_t at = 0; at < STEPS && !trouble[0]; at++) { /* a plan is made of steps that are the same */
        disorder = at % 8 < 4 ? 0 : later;
        step(draw(2) && at % 8 == 0 ? 1 : at % 8 < 4 ? at / 8 % KINDS : draw(4) == 0);
    }
    while (live_count && !trouble[0]) release(live_count - 1);
    (void)gpuarena_step(arena, 0);
    gpuarena_get_stats(arena, &stats);
    planned += stats.planned_count;
    unplanned += stats.unplanned_count;
    plans += stats.plan_count;
    if (!trouble[0]) audit();
    for (uint32_t at = 0; at < STREAMS; at++) (void)gpuarena_forget(arena, streams[at]);
    if (gpuarena_destroy(arena) && !trouble[0]) blame("all goes back");
    (void)bench.driver.events.destroy(&bench.driver, bridge);
    bench_close(&bench);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

int main(void)
{
    static const char *const texts[] = { "backing=paged", "backing=paged,limit=24M", "backing=segments",
                                         "backing=paged,idle=0",
                                         "backing=paged,streams=events" };
    static const uint32_t disorders[] = { 0, 0, 3, 20, 100 };
    uint64_t programs = setting("GPUARENA_PLAN_PROGRAMS", 250), seed = setting("GPUARENA_PLAN_SEED", 1), at;
    for (at = 0; at < programs && !trouble[0]; at++) {
        state = (seed << 32) + at;
        disorder = disorders[at / COUNT(texts) % COUNT(disorders)];
        run(texts[at % COUNT(texts)]);
    }
    CHECK_MSG(!trouble[0], "program %" PRIu64 ": %s", trouble[0] ? at - 1 : at,
              trouble[0] ? trouble : "all properties hold");
    CHECK_MSG(programs < 50 || plans > programs / 8, "%" PRIu64 " plans in %" PRIu64 " programs", plans, programs);
    CHECK_MSG(programs < 50 || planned > unplanned, "%" PRIu64 " allocations were served by a plan, %" PRIu64
              " were not",
              planned, unplanned);
    printf("# %" PRIu64 " refused\n", refused);
    return tap_done();
}
