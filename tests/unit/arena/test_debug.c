/* debug=passthrough: the judge of the simulated device names a use after free, an overrun and a use on a wrong stream
   at the operation that is wrong, where it sees nothing in a pool, or something later; and what a program can see of
   an arena holds as without it.
   It must not know how blocks become allocations of the driver. */
#include "sim_device.h"

typedef struct house {
    sim_bench bench;
    gpuarena *arena;
    gpuarena_stream streams[2];
    uint64_t op;                                 /* operations so far */
} house;
static house self;

static void begin(const char *keys)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(&self, 0, sizeof self);
    self.bench = bench_open_sized(GIB(1), NULL);
    for (int at = 0; at < 2; at++) CHECK_INT(sim_stream_create(self.bench.machine, 0, 1, &self.streams[at]), ==, 0);
    config.driver = &self.bench.driver;
    config.environment = "";
    CHECK_INT(gpuarena_config_parse(keys, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_create(&config, &self.arena), ==, GPUARENA_OK);
}

static void end(void)
{
    char message[200];
    CHECK_MSG(gpuarena_check(self.arena, message, sizeof message) == GPUARENA_OK, "%s", message);
    CHECK_INT(gpuarena_reset(self.arena, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self.arena), ==, GPUARENA_OK);
    CHECK_U64(bench_counters(&self.bench).held_bytes, ==, 0);
    bench_close(&self.bench);
}

static const char *first_finding(void)
{
    const char *text = sim_finding(self.bench.machine, 0);
    return text ? text : "(none)";
}

static void *taken(uint64_t bytes, int stream)
{
    void *ptr = NULL;
    sim_begin_op(self.bench.machine, self.op++);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, bytes, self.streams[stream]), ==, GPUARENA_OK);
    return ptr;
}

static void freed(void *ptr, int stream)
{
    sim_begin_op(self.bench.machine, self.op++);
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[stream]), ==, GPUARENA_OK);
}

static void use(void *ptr, uint64_t bytes, int stream, uint64_t owner)
{
    sim_begin_op(self.bench.machine, self.op);
    sim_access(self.bench.machine, 0, self.streams[stream], ptr, bytes, owner, self.op);
    self.op++;
}

/* Op 3 uses what op 2 has freed; op 5 is the next owner. */
static void use_after_free(void)
{
    void *block = taken(1000, 0);
    use(block, 1000, 0, 1);
    freed(block, 0);
    use(block, 1000, 0, 1);
    block = taken(1000, 0);
    use(block, 1000, 0, 2);
    freed(block, 0);
}

/* Op 2 uses a byte too many of a block with a neighbour. */
static void overrun(void)
{
    void *block = taken(1024, 0), *next = taken(1024, 0);
    use(block, 1025, 0, 1);
    use(next, 1024, 0, 2);
    freed(block, 0);
    freed(next, 0);
}

/* Op 2 uses on stream 1 what op 1 has freed on stream 0. */
static void wrong_stream_later(void)
{
    void *block = taken(1000, 0);
    freed(block, 0);
    use(block, 1000, 1, 1);
    block = taken(1000, 0);
    use(block, 1000, 0, 2);
    freed(block, 0);
}

/* Op 2 frees on stream 0 what stream 1 still uses; op 4 is the next owner. The use itself comes after the
   allocation. */
static void wrong_stream_before(void)
{
    void *block = taken(1000, 0);
    CHECK_INT(sim_stream_follow(self.bench.machine, 0, self.streams[1], self.streams[0]), ==, 0);
    use(block, 1000, 1, 1);
    freed(block, 0);
    block = taken(1000, 0);
    use(block, 1000, 0, 2);
    freed(block, 0);
}

#define UNHELD ", which are not held by one obtain"
static const struct { const char *what, *keys; void (*run)(void); const char *first; } misuses[] = {
    { "use after free", "backing=segments", use_after_free, "(none)" },
    { "use after free", "backing=paged", use_after_free, "(none)" },
    { "use after free", "backing=segments,debug=passthrough", use_after_free,
      "op 3: device 0: op 3 on stream 1 uses 1000 bytes at +0x200000" UNHELD },
    { "use after free", "backing=paged,debug=passthrough", use_after_free,
      "op 3: device 0: op 3 on stream 1 uses 1000 bytes at +0x200000" UNHELD },
    { "use after free", "backing=async,debug=passthrough", use_after_free,
      "op 3: device 0: op 3 on stream 1 uses 1000 bytes at +0x200000" UNHELD },
    { "use after free", "backing=managed,debug=passthrough", use_after_free,
      "op 3: device 0: op 3 on stream 1 uses 1000 bytes at managed +0x200000" UNHELD },
    { "overrun", "backing=segments", overrun, "(none)" },
    { "overrun", "backing=paged", overrun, "(none)" },
    { "overrun", "backing=segments,debug=passthrough", overrun,
      "op 2: device 0: op 2 on stream 1 uses 1025 bytes at +0x200000" UNHELD },
    { "overrun", "backing=paged,debug=passthrough", overrun,
      "op 2: device 0: op 2 on stream 1 uses 1025 bytes at +0x200000" UNHELD },
    { "overrun", "backing=async,debug=passthrough", overrun,
      "op 2: device 0: op 2 on stream 1 uses 1025 bytes at +0x200000" UNHELD },
    { "wrong stream after the free", "backing=segments", wrong_stream_later,      /* names the next owner */
      "op 4: device 0: op 4 on stream 1 uses 1000 bytes at +0x200000: not ordered after op 2 on stream 2" },
    { "wrong stream after the free", "backing=segments,debug=passthrough", wrong_stream_later,
      "op 2: device 0: op 2 on stream 2 uses 1000 bytes at +0x200000" UNHELD },
    { "wrong stream after the free", "backing=async,debug=passthrough", wrong_stream_later,
      "op 2: device 0: op 2 on stream 2 uses 1000 bytes at +0x200000" UNHELD },
    { "wrong stream before the free", "backing=async", wrong_stream_before,
      "op 4: device 0: op 4 on stream 1 uses 1000 bytes at +0x200000: not ordered after op 1 on stream 2" },
    { "wrong stream before the free", "backing=segments,debug=passthrough", wrong_stream_before, "(none)" },
    { "wrong stream before the free", "backing=async,debug=passthrough", wrong_stream_before,         /* the free */
      "op 2: device 0: op 2 on stream 1 uses 1024 bytes at +0x200000: not ordered after op 1 on stream 2" }
};

static void test_misuse_is_named(void)
{
    for (size_t row = 0; row < COUNT(misuses); row++) {
        begin(misuses[row].keys);
        misuses[row].run();
        CHECK_MSG(strcmp(first_finding(), misuses[row].first) == 0, "%s, %s: %s", misuses[row].what,
                  misuses[row].keys, first_finding());
        end();
    }
}

static gpuarena_stats stats(void)
{
    gpuarena_stats now;
    gpuarena_get_stats(self.arena, &now);
    return now;
}

/* A block costs an obtain and a give_back; its sums hold; what is requested first, or kept otherwise, serves it
   not. */
static void test_books(void)
{
    static const char *const keys[] = { "backing=segments", "backing=paged,initial=4M", "backing=pinned",
                                        "backing=async", "growth=fixed,limit=64M", "backing=managed,scrub=both" };
    for (size_t row = 0; row < COUNT(keys); row++) {
        char text[100];
        void *first, *second;
        gpuarena_stats before, now;
        snprintf(text, sizeof text, "%s,debug=passthrough", keys[row]);
        begin(text);
        before = stats();
        first = taken(1000, 0);
        second = taken(MIB(3) + 1, 1);
        now = stats();
        CHECK_U64(now.requested_bytes, ==, 1000 + MIB(3) + 1);
        CHECK_U64(now.slack_bytes, ==, 24 + 255);
        CHECK_U64(now.live_bytes + now.pending_bytes + now.cached_bytes, ==, now.reserved_bytes);
        CHECK_INT(gpuarena_check(self.arena, NULL, 0), ==, GPUARENA_OK);
        freed(first, 0);
        freed(second, 1);
        now = stats();
        CHECK_U64(now.live_bytes, ==, 0);
        CHECK_U64(now.reserved_bytes, <=, before.reserved_bytes);
        CHECK_U64(now.grow_count - before.grow_count, ==, 2);
        CHECK_MSG(strcmp(first_finding(), "(none)") == 0, "%s: %s", keys[row], first_finding());
        end();
    }
}

/* The limit holds to the byte, and a block may take what is left of it though that is no whole granule. */
static void test_limit(void)
{
    gpuarena_failure failure;
    void *ptr;
    begin("backing=segments,limit=3M,debug=passthrough");
    taken(MIB(2) - 1024, 0);
    taken(1024, 0);
    taken(MIB(1) - 256, 0);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, 257, self.streams[0]), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(self.arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_LIMIT);
    CHECK_U64(failure.missing_bytes, ==, 256);
    taken(256, 0);
    CHECK_U64(stats().reserved_bytes, ==, MIB(3));
    end();
}

static gpuarena_result requested(uint64_t bytes, uint64_t alignment, uint64_t room, uint32_t flags, void **ptr)
{
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_result can, result;
    request.bytes = bytes;
    request.alignment_bytes = alignment;
    request.room_bytes = room;
    request.flags = flags;
    request.stream = self.streams[0];
    request.tag = gpuarena_tag("debugged");
    can = gpuarena_can_alloc(self.arena, &request);
    result = gpuarena_alloc_ex(self.arena, ptr, &request);
    CHECK_INT(can, ==, result);
    return result;
}

/* Alignment, GPUARENA_ALLOC_TRY, GPUARENA_ALLOC_DEDICATED, tags, resizes; and rooms, which pages alone have. */
static void test_requests(void)
{
    gpuarena_tag_stats tagged;
    void *aligned, *tried, *dedicated, *roomy, *ptr;
    begin("backing=paged,debug=passthrough");
    CHECK_INT(requested(1000, 4096, 0, 0, &aligned), ==, GPUARENA_OK);
    CHECK_U64(bench_number(aligned) % 4096, ==, 0);
    CHECK_INT(requested(1000, 0, 0, GPUARENA_ALLOC_TRY, &tried), ==, GPUARENA_OK);
    CHECK_INT(requested(1000, 0, 0, GPUARENA_ALLOC_DEDICATED, &dedicated), ==, GPUARENA_OK);
    CHECK_U64(stats().reserved_bytes, ==, 1024 + 4096 - 256 + 1024 + MIB(2));
    CHECK_INT(requested(1000, 0, MIB(4), 0, &roomy), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(self.arena, roomy, MIB(4), self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(requested(1000, MIB(8), 0, 0, &ptr), ==, GPUARENA_OK);
    CHECK_U64(bench_number(ptr) % MIB(8), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(self.arena, tried, 1024, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(self.arena, tried, 1025, self.streams[0]), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_resize(self.arena, tried, 1, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_get_tag(self.arena, gpuarena_tag("debugged"), &tagged), ==, GPUARENA_OK);
    CHECK_U64(tagged.live_count, ==, 4);
    CHECK_U64(tagged.live_bytes, ==, stats().live_bytes);
    end();
    begin("backing=segments,debug=passthrough");
    CHECK_INT(requested(1000, 0, MIB(4), 0, &roomy), ==, GPUARENA_NOT_SUPPORTED);
    end();
}

/* What is freed while a stream is captured stays until a later release, and serves nobody. */
static void test_capture(void)
{
    void *block, *next, *graph = NULL;
    uint64_t set = 0;
    begin("backing=segments,debug=passthrough");
    CHECK_INT(gpuarena_capture_begin(self.arena, self.streams[0], &set), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_begin(self.bench.machine, 0, self.streams[0], 0), ==, 0);
    block = taken(1000, 0);
    freed(block, 0);
    next = taken(1000, 0);
    CHECK(next != block);
    CHECK_INT(sim_capture_end(self.bench.machine, 0, self.streams[0], &graph), ==, 0);
    CHECK_INT(gpuarena_capture_end(self.arena, self.streams[0]), ==, GPUARENA_OK);
    freed(next, 0);
    CHECK_U64(stats().reserved_bytes, ==, 2048);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(self.arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(stats().reserved_bytes, ==, 0);
    CHECK_INT(sim_graph_destroy(self.bench.machine, graph), ==, 0);
    end();
}

int main(void)
{
    test_misuse_is_named();
    test_books();
    test_limit();
    test_requests();
    test_capture();
    return tap_done();
}
