/* The judge of order, against random programs: its findings are those that reachability in the full graph
   of what comes before what says.
   It must not know how the judge keeps its records.
   GPUARENA_RACE_PROGRAMS: how many random ones. */
#include "sim_device.h"

enum { ORDER_STREAMS = 6, ORDER_EVENTS = 6 };

typedef struct order_bench {                     /* stream 0 is the legacy one, the others blocking unless said */
    sim_bench       bench;
    sim            *machine;
    gpuarena_stream streams[ORDER_STREAMS];
    void           *events[ORDER_EVENTS];
    char           *block;                       /* 4 MiB */
    uint64_t        op;
} order_bench;

/* non_blocking: a bit a stream. */
static order_bench order_open(unsigned non_blocking)
{
    sim_config config = { 2, MIB(256), 0, NULL, NULL, 0, 0 };
    order_bench made = { bench_open(&config), NULL, { NULL }, { NULL }, NULL, 0 };
    void *block = NULL;
    made.machine = made.bench.machine;
    int failed = bench_obtain(&made.bench.driver, MIB(4), &block);
    made.block = block;
    for (int i = 1; i < ORDER_STREAMS; i++)
        failed |= sim_stream_create(made.machine, 0, !(non_blocking >> i & 1), &made.streams[i]);
    for (int i = 0; i < ORDER_EVENTS; i++)
        failed |= made.bench.driver.events.create(&made.bench.driver, &made.events[i]);
    if (failed) {
        printf("Bail out! no streams and events to test with\n");
        exit(1);
    }
    return made;
}

static void order_close(order_bench *self)
{
    bench_close(&self->bench);
}

/* The next op: this owner uses 4096 bytes from a page of the block on, on the stream. 1: no finding. */
static int order_use(order_bench *self, int stream, int page, uint64_t owner)
{
    uint64_t before = sim_finding_count(self->machine);
    sim_begin_op(self->machine, self->op);
    int code = sim_access(self->machine, 0, self->streams[stream], self->block + (size_t)page * 4096, 4096, owner,
                          self->op++);
    return code == SIM_SUCCESS && sim_finding_count(self->machine) == before;
}

static int order_record(order_bench *self, int event, int stream)
{
    return self->bench.driver.events.record(&self->bench.driver, self->events[event], self->streams[stream]);
}

static int order_query(order_bench *self, int event)
{
    return self->bench.driver.events.query(&self->bench.driver, self->events[event]);
}

static int order_host_wait(order_bench *self, int event)
{
    return self->bench.driver.events.host_wait(&self->bench.driver, self->events[event]);
}

static int order_follow(order_bench *self, int stream, int event)
{
    return self->bench.driver.events.stream_wait(&self->bench.driver, self->streams[stream], self->events[event]);
}

static int order_work(order_bench *self, int stream, uint64_t work_ns)
{
    return sim_work(self->machine, 0, self->streams[stream], work_ns);
}

static int race_give_back(order_bench *self)
{
    void *block = NULL;
    int code = bench_give_back(&self->bench.driver, self->block, MIB(4));
    code = code != SIM_SUCCESS ? code : bench_obtain(&self->bench.driver, MIB(4), &block);
    self->block = block;
    return code;
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
            return sim_stream_destroy(self->machine, 0, self->streams[stream]) == SIM_SUCCESS
                && sim_stream_create(self->machine, 0, 1, &self->streams[stream]) == SIM_SUCCESS;
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
    uint64_t count = tap_number("GPUARENA_RACE_PROGRAMS", 20000), unordered = 0, state = 5;
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
    test_random_programs();
    return tap_done();
}
