/* The judge of order, against programs: planted violations are found and named, ordered programs have no finding, and
   random ones have those that reachability in the full graph of what comes before what says.
   It must not know how the judge keeps its records.
   GPUARENA_RACE_PROGRAMS: how many random ones. */
#include "sim_order.h"

/* A program is a text of steps, each a letter and digits:
     u S P O  owner O uses page P on stream S          r E S  record event E on stream S
     w S E    stream S waits for event E               h E    the host waits for event E
     q E      the host asks for event E                y S    the host waits for stream S
     d        the host waits for the device            f      the block is given back, and another one obtained
     x S      stream S is destroyed and made again     t S    the host asks for stream S
     n        50 vns pass                              l S    100 vns of work on stream S */
static int race_code(order_bench *self, const char *step)
{
    int a = step[1] ? step[1] - '0' : 0, b = step[1] && step[2] ? step[2] - '0' : 0;
    switch (step[0]) {
    case 'r': return order_record(self, a, b);
    case 'w': return order_follow(self, a, b);
    case 'h': return order_host_wait(self, a);
    case 'q': return order_query(self, a);
    case 'y': return sim_stream_wait(self->machine, 0, self->streams[a]);
    case 't': return sim_stream_query(self->machine, 0, self->streams[a]);
    case 'd': return self->bench.driver.events.device_wait(&self->bench.driver);
    case 'l': return order_work(self, a, 100000);
    case 'n': sim_advance(self->machine, 50000); return SIM_SUCCESS;
    case 'x':
        sim_stream_destroy(self->machine, 0, self->streams[a]);
        return sim_stream_create(self->machine, 0, 1, &self->streams[a]);
    default: return SIM_INVALID_VALUE;
    }
}

static int race_give_back(order_bench *self)
{
    void *block = NULL;
    int code = bench_give_back(&self->bench.driver, self->block, MIB(4));
    code = code != SIM_SUCCESS ? code : bench_obtain(&self->bench.driver, MIB(4), &block);
    self->block = block;
    return code;
}

/* Runs a program on streams of which 5 is non-blocking. The number of unordered uses; -1: a step failed. */
static int race_run(order_bench *self, const char *program)
{
    int unordered = 0, code;
    *self = order_open(1u << 5);
    for (const char *step = program; *step; step += strcspn(step, " ") + (step[strcspn(step, " ")] == ' ')) {
        if (step[0] == 'u') {
            unordered += !order_use(self, step[1] - '0', step[2] - '0', (uint64_t)step[3]);
            continue;
        }
        code = step[0] == 'f' ? race_give_back(self) : race_code(self, step);
        if (code != SIM_SUCCESS && code != SIM_NOT_READY) {
            printf("# step %s of \"%s\" answers %d\n", step, program, code);
            return -1;
        }
    }
    return unordered;
}

static const struct { const char *what, *program, *finding; } race_planted[] = {
    { "reuse on another stream", "u10a u20b",
      "op 1: device 0: op 1 on stream 2 uses 4096 bytes at +0x200000: not ordered after op 0 on stream 1" },
    { "reuse on another stream, part of the range", "u10a u11a u12a u21b",
      "op 3: device 0: op 3 on stream 2 uses 4096 bytes at +0x201000: not ordered after op 1 on stream 1" },
    { "event recorded before the last use", "r01 u10a w20 u20b",
      "op 1 on stream 2 uses 4096 bytes at +0x200000: not ordered after op 0 on stream 1" },
    { "event recorded, then used again before the free", "u10a r01 u10a w20 u20b",
      "not ordered after op 1 on stream 1" },
    { "event re-recorded elsewhere before the wait", "u10a r01 r03 w20 u20b", "op 1 on stream 2" },
    { "wait on the wrong event", "u10a r01 r13 w21 u20b", "op 1 on stream 2" },
    { "the wrong stream waits", "u10a r01 w30 u20b", "op 1 on stream 2" },
    { "wait issued after the use", "u10a r01 u20b w20", "op 1 on stream 2" },
    { "event never recorded", "u10a w20 u20b", "op 1 on stream 2" },
    { "stream destroyed, memory reused", "u10a x1 u20b", "not ordered after op 0 on stream 1" },
    { "stream destroyed and made again: not the same one", "u10a x1 u10b",
      "op 1: device 0: op 1 on stream 6 uses 4096 bytes at +0x200000: not ordered after op 0 on stream 1" },
    { "recorded on the new stream with the old one's name", "u10a x1 r01 w20 u20b",
      "not ordered after op 0 on stream 1" },
    { "legacy stream, then a non-blocking one", "u00a u50b",
      "op 1 on stream 5 uses 4096 bytes at +0x200000: not ordered after op 0 on the legacy stream" },
    { "non-blocking stream, then the legacy one", "u50a u00b",
      "op 1 on the legacy stream uses 4096 bytes at +0x200000: not ordered after op 0 on stream 5" },
    { "blocking to non-blocking through the legacy stream", "u10a l0 u50b", "op 1 on stream 5" },
    { "two streams' ranges merged, used on a third after one", "u10a u21b r01 w30 u30c u31c",
      "op 3 on stream 3 uses 4096 bytes at +0x201000: not ordered after op 1 on stream 2" },
    { "used on a second stream, of which the free knows nothing", "u10a r01 w20 u20a u10b",
      "op 2 on stream 1 uses 4096 bytes at +0x200000: not ordered after op 1 on stream 2" },
    { "time passes, nobody looks", "u10a l1 n n n n u20b", "op 1 on stream 2" },
    { "an event that is not ready orders nothing", "l1 u10a r01 q0 u20b", "op 1 on stream 2" },
    { "a stream that is not done orders nothing", "l1 u10a t1 u20b", "op 1 on stream 2" },
    { "another event was waited for", "u10a r01 r12 h1 u20b", "op 1 on stream 2" },
    { "another stream was waited for", "u10a y3 u20b", "op 1 on stream 2" },
    { "third owner after the second, not after the first", "u10a u20b r02 w30 u30c",
      "op 2 on stream 3 uses 4096 bytes at +0x200000: not ordered after op 0 on stream 1" },
    { "the first owner uses it again", "u10a r01 w20 u20b u10a",
      "op 2 on stream 1 uses 4096 bytes at +0x200000: not ordered after op 1 on stream 2" },
    { "chain with its middle missing", "u10a r01 w20 r13 w41 u40b", "op 1 on stream 4" },
};

static void test_planted_violations(void)
{
    for (size_t i = 0; i < COUNT(race_planted); i++) {
        order_bench self;
        int unordered = race_run(&self, race_planted[i].program);
        if (!CHECK_MSG(unordered > 0 && strstr(order_last_finding(&self), race_planted[i].finding), "found: %s",
                       race_planted[i].what))
            printf("#   %d unordered; last: %s\n", unordered, order_last_finding(&self));
        order_close(&self);
    }
}

static const struct { const char *what, *program; } race_ordered[] = {
    { "one stream", "u10a u10b u10c" },
    { "what an owner does itself", "u10a u20a u30a" },
    { "record and wait", "u10a r01 w20 u20b" },
    { "record, wait, record, wait", "u10a r01 w20 r02 w30 u30b" },
    { "re-recorded after the wait", "u10a r01 w20 r03 u20b" },
    { "event destroyed early: the wait stays", "u10a r01 w20 u20b r03 w20 u20c" },
    { "the host waits for the event", "u10a r01 h0 u20b" },
    { "the host waits for the stream", "u10a y1 u20b" },
    { "the host waits for the device", "u10a u21b d u30c u31c" },
    { "the host finds the event complete", "l1 u10a r01 n n q0 u20b" },
    { "the host finds the stream done", "l1 u10a n n t1 u20b" },
    { "legacy stream, then a blocking one", "u00a u10b" },
    { "blocking stream, then the legacy one", "u10a u00b" },
    { "blocking to blocking through the legacy stream", "u10a l0 u20b" },
    { "an event on the legacy stream covers blocking streams", "u10a u21b r00 w50 u50c u51c" },
    { "given back, which waits, and obtained again", "u10a u51b f u20c u31d" },
    { "stream destroyed after the host waited", "u10a y1 x1 u20b" },
    { "two streams' ranges, both waited for", "u10a u21b r01 r12 w30 w31 u30c u31c" },
    { "other pages", "u10a u21b u32c u43d" },
    { "a second wait of the host covers what was enqueued before", "u10a r01 w20 u20b y2 u30c" },
};

static void test_ordered_programs(void)
{
    for (size_t i = 0; i < COUNT(race_ordered); i++) {
        order_bench self;
        int unordered = race_run(&self, race_ordered[i].program);
        if (!CHECK_MSG(unordered == 0, "in order: %s", race_ordered[i].what))
            printf("#   %d unordered; last: %s\n", unordered, order_last_finding(&self));
        order_close(&self);
    }
}

/* ---- reachability: commands are numbered, before[i] is the set of those that come before command i */
enum { RACE_STEPS = 24, RACE_PAGES = 4, RACE_LINES = ORDER_STREAMS };

typedef struct race_model {
    uint64_t before[RACE_STEPS * 2];             /* bit j: command j comes before; itself, too */
    int      count;
    uint64_t host, streams[RACE_LINES], events[ORDER_EVENTS];        /* what comes before the next */
    uint64_t all_streams;                        /* all that was ever issued */
    struct { int command, page; uint64_t owner; } uses[RACE_STEPS];
    int      use_count;
} race_model;

static int race_is_blocking(int stream)
{
    return stream != 5;
}

static int race_issue(race_model *model, int stream)
{
    uint64_t before = model->host | model->streams[stream];
    for (int i = 0; race_is_blocking(stream) && i < RACE_LINES; i++)
        if (race_is_blocking(i) && (stream == 0 || i == 0)) before |= model->streams[i];
    int command = model->count++;
    model->before[command] = before | (uint64_t)1 << command;
    model->streams[stream] = model->before[command];
    model->all_streams |= model->before[command];
    return command;
}

/* By the rule itself: after every use of the page in an earlier run of uses by one owner. */
static int race_expect_use(race_model *model, int stream, int page, uint64_t owner)
{
    int command = race_issue(model, stream), ordered = 1, earlier = 0;
    for (int i = model->use_count - 1; i >= 0; i--) {
        if (model->uses[i].page != page) continue;
        earlier |= model->uses[i].owner != owner;
        if (earlier && !(model->before[command] >> model->uses[i].command & 1)) ordered = 0;
    }
    model->uses[model->use_count].command = command;
    model->uses[model->use_count].page = page;
    model->uses[model->use_count++].owner = owner;
    return ordered;
}

/* One random step on both. 1: they agree. */
static int race_step(order_bench *self, race_model *model, uint64_t random)
{
    int kind = (int)(random % 16), a = (int)(random >> 8 & 0xFF), b = (int)(random >> 16 & 0xFF);
    int stream = a % RACE_LINES, event = b % 3, command, code;
    if (kind < 7) {
        uint64_t owner = 1 + (random >> 24) % 4;
        int expected = race_expect_use(model, stream, b % RACE_PAGES, owner);
        return order_use(self, stream, b % RACE_PAGES, owner) == expected;
    }
    switch (kind) {
    case 7: case 8:
        command = race_issue(model, stream);
        model->events[event] = model->before[command];
        return order_record(self, event, stream) == SIM_SUCCESS;
    case 9: case 10:
        if (model->events[event]) race_issue(model, stream);         /* else there is nothing to wait for */
        model->streams[stream] |= model->events[event];
        return order_follow(self, stream, event) == SIM_SUCCESS;
    case 11: case 12:
        code = kind == 11 ? order_query(self, event) : order_host_wait(self, event);
        if (code == SIM_SUCCESS) model->host |= model->events[event];
        return code == SIM_SUCCESS || (kind == 11 && code == SIM_NOT_READY);
    case 13:
        if (stream == 0) race_issue(model, 0);
        code = b % 2 ? sim_stream_query(self->machine, 0, self->streams[stream])
                     : sim_stream_wait(self->machine, 0, self->streams[stream]);
        if (code == SIM_SUCCESS) model->host |= model->streams[stream];
        return code == SIM_SUCCESS || (b % 2 && code == SIM_NOT_READY);
    case 14:
        if (stream == 0) return order_work(self, 0, 0) == SIM_SUCCESS && race_issue(model, 0) >= 0;
        if (a % 4 && race_is_blocking(stream)) {
            model->streams[stream] = 0;
            return race_code(self, (const char[]){ 'x', (char)('0' + stream), 0 }) == SIM_SUCCESS;
        }
        if (b % 4 == 0) {
            model->host |= model->all_streams;
            return race_give_back(self) == SIM_SUCCESS;
        }
        break;
    default:
        break;
    }
    race_issue(model, stream);
    return order_work(self, stream, 1000 * (random >> 40 & 0xF)) == SIM_SUCCESS;
}

/* What a destroyed stream was given is no stream's any more: the legacy stream does not wait for it. */
static int race_program(uint64_t seed, uint64_t *unordered)
{
    order_bench self = order_open(1u << 5);
    race_model model;
    int agree = 1;
    memset(&model, 0, sizeof model);
    for (int i = 0; i < RACE_STEPS && agree; i++) agree = race_step(&self, &model, splitmix64_next(&seed));
    *unordered += sim_finding_count(self.machine) > 0;
    order_close(&self);
    return agree;
}

static void test_random_programs(void)
{
    const char *text = getenv("GPUARENA_RACE_PROGRAMS");
    uint64_t count = text ? strtoull(text, NULL, 10) : 100000, unordered = 0, state = 5;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t seed = splitmix64_next(&state);
        if (!race_program(seed, &unordered)) {
            CHECK_MSG(0, "random program %" PRIu64 " of seed %" PRIu64 " is judged as by reachability", i, seed);
            return;
        }
    }
    CHECK_MSG(1, "%" PRIu64 " random programs are judged as by reachability", count);
    CHECK_MSG(unordered > count / 4 && unordered < count, "%" PRIu64 " of them had some violation", unordered);
}

int main(void)
{
    test_planted_violations();
    test_ordered_programs();
    test_random_programs();
    return tap_done();
}
