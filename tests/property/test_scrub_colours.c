/* Scrub: tenants paint what they have; nobody may read another's paint. A million operations on several streams, with
   other uses, resizes and pages that move; without scrub the same programs see foreign paint. The judge sees order.
   It must not know when or how blocks are cleared.
   (GPUARENA_SCRUB_OPS=N). */
#include "sim_device.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_OPS 60000u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define DEFAULT_OPS 60000u
#endif
#endif
#ifndef DEFAULT_OPS
#define DEFAULT_OPS 1000000u
#endif

enum { TENANTS = 3, STREAMS = 3, BLOCKS = 96, UNIT = 256, JUDGED = 8000 };

typedef struct block { void *ptr; uint64_t bytes, owner; int tenant, stream; } block;
typedef struct house {
    sim_bench bench;
    gpuarena *arena;
    gpuarena_stream streams[STREAMS];
    uint32_t tags[TENANTS + 1];
    block blocks[BLOCKS];
    int count;
    uint64_t random, owner, ops, foreign, unclear;           /* unclear: reads of what scrub=alloc should
                                                                have cleared */
    int clears_allocs;
    const char *trouble;
} house;
static house self;

#define WANT(condition) do { if (!(condition) && !self.trouble) self.trouble = #condition; } while (0)

static uint64_t draw(uint64_t below) { return splitmix64_next(&self.random) % below; }

static void use(const block *one, int stream)
{
    if (self.ops >= JUDGED) return;
    WANT(sim_access(self.bench.machine, 0, self.streams[stream], one->ptr, one->bytes, one->owner, self.ops) == 0);
    if (draw(8) == 0) WANT(sim_work(self.bench.machine, 0, self.streams[stream], draw(20000)) == 0);
}

/* How many bytes from an address on have this colour. */
static uint64_t run_of(const void *ptr, uint64_t bytes, uint64_t colour)
{
    uint64_t bad_offset;
    return sim_verify(self.bench.machine, 0, ptr, bytes, colour, &bad_offset) ? bytes : bad_offset;
}

/* The tenant reads what it was given. Fresh memory of the driver's has no colour. */
static void look(const block *one, uint64_t from)
{
    uint64_t at = from, colour, run = 0;
    if (self.clears_allocs && !from) self.unclear += run_of(one->ptr, one->bytes, 0) != one->bytes;
    while (at < one->bytes) {
        for (colour = 0; colour <= TENANTS && !run; colour++)
            run = run_of(bench_at(one->ptr, at), one->bytes - at, colour);
        if (run && colour > 1 && (int)colour - 1 != one->tenant) self.foreign++;
        at += run ? run : UNIT;
        run = 0;
    }
}

static void paint(const block *one)
{
    sim_fill(self.bench.machine, 0, one->ptr, one->bytes, (uint64_t)one->tenant);
    use(one, one->stream);
}

static void do_alloc(void)
{
    block *made = &self.blocks[self.count];
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_result result;
    if (self.count == BLOCKS) return;
    made->tenant = 1 + (int)draw(TENANTS);
    made->stream = (int)draw(STREAMS);
    made->owner = ++self.owner;
    made->bytes = UNIT * (1 + draw((uint64_t)1 << draw(15)));
    request.bytes = made->bytes;
    request.tag = self.tags[made->tenant];
    request.stream = draw(50) ? self.streams[made->stream] : GPUARENA_ANY_STREAM;
    result = gpuarena_alloc_ex(self.arena, &made->ptr, &request);
    if (result == GPUARENA_OUT_OF_MEMORY) return;
    WANT(result == GPUARENA_OK);
    if (result != GPUARENA_OK) return;
    look(made, 0);
    if (draw(20) == 0) {                         /* never used: so nobody else's work is known to be done with it */
        WANT(gpuarena_free(self.arena, made->ptr, GPUARENA_ANY_STREAM) == GPUARENA_OK);
        return;
    }
    paint(made);
    self.count++;
}

static void do_free(void)
{
    if (!self.count) return;
    block *gone = &self.blocks[draw((uint64_t)self.count)];
    gpuarena_stream stream = self.streams[gone->stream];
    int other = (int)draw(STREAMS), choice = (int)draw(50);
    if (choice < 10 && other != gone->stream) {
        WANT(gpuarena_use(self.arena, gone->ptr, self.streams[other]) == GPUARENA_OK);
        WANT(sim_stream_follow(self.bench.machine, 0, self.streams[other], stream) == 0);
        use(gone, other);
    } else if (choice < 20) {                    /* another stream frees it, behind its own */
        WANT(sim_stream_follow(self.bench.machine, 0, self.streams[other], stream) == 0);
        stream = self.streams[other];
    } else if (choice == 20) {
        WANT(sim_device_wait(self.bench.machine, 0) == 0);
        stream = GPUARENA_ANY_STREAM;
    } else if (choice < 30) stream = self.streams[gone->stream];
    WANT(gpuarena_free(self.arena, gone->ptr, stream) == GPUARENA_OK);
    *gone = self.blocks[--self.count];
}

static void do_resize(void)
{
    if (!self.count) return;
    block *one = &self.blocks[draw((uint64_t)self.count)];
    uint64_t bytes = UNIT * (1 + draw(2 * one->bytes / UNIT)), had = one->bytes;
    if (gpuarena_resize(self.arena, one->ptr, bytes, self.streams[one->stream]) != GPUARENA_OK) return;
    one->bytes = bytes;
    if (bytes > had) look(one, had);
    paint(one);
}

static void begin(const char *keys, uint64_t seed)
{
    gpuarena_config config = GPUARENA_INIT;
    char name[] = "tenant 0";
    memset(&self, 0, sizeof self);
    self.random = seed;
    self.bench = bench_open_sized(MIB(256), NULL);
    for (int at = 0; at < STREAMS; at++) WANT(sim_stream_create(self.bench.machine, 0, 0, &self.streams[at]) == 0);
    for (int at = 1; at <= TENANTS; at++) {
        name[7] = (char)('0' + at);
        self.tags[at] = gpuarena_tag(name);
    }
    config.driver = &self.bench.driver;
    config.environment = "";
    WANT(gpuarena_config_parse(keys, &config, NULL, 0) == GPUARENA_OK);
    WANT(gpuarena_create(&config, &self.arena) == GPUARENA_OK);
    void *all = NULL;                            /* what fits is given no colour first: it is quicker to read */
    for (uint64_t bytes = MIB(32); bytes >= MIB(2); bytes /= 2) {
        if (gpuarena_alloc(self.arena, &all, bytes, self.streams[0])) continue;
        sim_fill(self.bench.machine, 0, all, bytes, 0);
    }
    WANT(gpuarena_reset(self.arena, self.streams[0]) == GPUARENA_OK);
    self.clears_allocs = config.scrub == GPUARENA_SCRUB_ALLOC || config.scrub == GPUARENA_SCRUB_BOTH;
}

/* How many reads of a foreign colour there were; UINT64_MAX: something else is wrong. */
static uint64_t run(const char *keys, uint64_t ops)
{
    begin(keys, 3);
    for (; self.ops < ops && !self.trouble; self.ops++) {
        uint64_t choice = draw(100), filling = self.ops / 256 % 2;
        if (choice < (filling ? 60u : 40u)) do_alloc();
        else if (choice < 96) do_free();
        else do_resize();
        sim_advance(self.bench.machine, 2000);
    }
    WANT(gpuarena_check(self.arena, NULL, 0) == GPUARENA_OK && self.unclear == 0);
    WANT(gpuarena_reset(self.arena, GPUARENA_OWN_STREAM) == GPUARENA_OK);
    WANT(gpuarena_destroy(self.arena) == GPUARENA_OK);
    if (sim_finding_count(self.bench.machine)) printf("# %s\n", sim_finding(self.bench.machine, 0));
    WANT(sim_finding_count(self.bench.machine) == 0);
    bench_close(&self.bench);
    if (self.trouble) printf("# %s: op %" PRIu64 ": %s\n", keys, self.ops, self.trouble);
    return self.trouble ? UINT64_MAX : self.foreign;
}

int main(void)
{
    static const struct { const char *keys; uint64_t part; } kinds[] = {
        { "backing=paged,limit=48M,scrub=%s", 2 }, { "backing=segments,limit=48M,scrub=%s", 5 },
        { "backing=paged,limit=48M,idle=0,scrub=%s", 5 } };
    static const char *const scrubs[] = { "free", "alloc", "both" };
    const char *asked = getenv("GPUARENA_SCRUB_OPS");
    uint64_t ops = asked ? strtoull(asked, NULL, 10) : DEFAULT_OPS;
    char keys[100];
    for (size_t at = 0; at < COUNT(kinds); at++) {
        snprintf(keys, sizeof keys, kinds[at].keys, "off");
        uint64_t foreign = run(keys, 2000);
        CHECK_MSG(foreign > 0 && foreign < UINT64_MAX, "%s: %" PRIu64 " reads of a foreign colour", keys, foreign);
        for (size_t scrub = 0; scrub < COUNT(scrubs); scrub++) {
            snprintf(keys, sizeof keys, kinds[at].keys, scrubs[scrub]);
            uint64_t share = scrub ? ops / 40 : ops / kinds[at].part;
            CHECK_MSG(run(keys, share) == 0, "%s: none in %" PRIu64 " operations", keys, share);
        }
    }
    return tap_done();
}
