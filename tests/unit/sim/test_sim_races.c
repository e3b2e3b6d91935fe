/* The judge of order, against random programs: its findings are those by reachability in the full graph of order. It
   must not know how the judge keeps its records. GPUARENA_RACE_PROGRAMS: how many random ones. */
#include "sim_device.h"

enum { STREAMS = 6, EVENTS = 3, STEPS = 24, PAGES = 4 };     /* stream 0: the legacy one; the last does not block */

typedef struct program {                         /* the objects of a random program */
    sim_bench       bench;
    gpuarena_stream streams[STREAMS];
    void           *events[EVENTS];
    void           *block;                       /* 4 MiB */
    uint64_t        op;
} program;

static int is_blocking(int stream)
{
    return stream < STREAMS - 1;
}

static program program_open(void)
{
    program made = { bench_open_sized(MIB(256), NULL), { NULL }, { NULL }, NULL, 0 };
    int failed = bench_obtain(&made.bench.driver, MIB(4), &made.block);
    for (int i = 1; i < STREAMS; i++)
        failed |= sim_stream_create(made.bench.machine, 0, is_blocking(i), &made.streams[i]);
    for (int i = 0; i < EVENTS; i++) failed |= made.bench.driver.events.create(&made.bench.driver, &made.events[i]);
    if (failed) {
        printf("Bail out! no streams and events to test with\n");
        exit(1);
    }
    return made;
}

/* The next op: this owner uses 4096 bytes from a page of the block on, on the stream. 1: no finding. */
static int program_use(program *self, int stream, int page, uint64_t owner)
{
    sim *machine = self->bench.machine;
    uint64_t before = sim_finding_count(machine);
    void *at = bench_at(self->block, (uint64_t)page * 4096);
    sim_begin_op(machine, self->op);
    return sim_access(machine, 0, self->streams[stream], at, 4096, owner, self->op++) == SIM_SUCCESS
        && sim_finding_count(machine) == before;
}

/* ---- reachability: commands are numbered, before[i] is the set of those that come before command i */

typedef struct race_model {
    uint64_t before[STEPS * 2];                  /* bit j: command j comes before, or is this one */
    int      count;
    uint64_t host, streams[STREAMS], events[EVENTS];         /* commands before the next one */
    uint64_t all_streams;                        /* all that were ever issued */
    struct { int command, page; uint64_t owner; } uses[STEPS];
    int      use_count;
} race_model;

static int race_issue(race_model *model, int stream)
{
    uint64_t before = model->host | model->streams[stream];
    for (int i = 0; is_blocking(stream) && i < STREAMS; i++)
        if (is_blocking(i) && (stream == 0 || i == 0)) before |= model->streams[i];
    int command = model->count++;
    model->before[command] = before | (uint64_t)1 << command;
    model->streams[stream] = model->before[command];
    model->all_streams |= model->before[command];
    return command;
}

/* The rule itself: a use comes after every use of the page in an earlier run of uses by one owner. */
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

/* A stream is destroyed, and made anew: its earlier work is no stream's any more, so the legacy stream does not wait
   for it. Stream 0: the block is given back, which waits for all work, and obtained again. */
static int race_renew(program *self, race_model *model, int stream)
{
    const gpuarena_driver *driver = &self->bench.driver;
    if (stream) {
        model->streams[stream] = 0;
        return sim_stream_destroy(self->bench.machine, 0, self->streams[stream]) == SIM_SUCCESS
            && sim_stream_create(self->bench.machine, 0, 1, &self->streams[stream]) == SIM_SUCCESS;
    }
    model->host |= model->all_streams;
    return bench_give_back(driver, self->block, MIB(4)) == SIM_SUCCESS
        && bench_obtain(driver, MIB(4), &self->block) == SIM_SUCCESS;
}

/* Makes one random step on both. 1: they agree. */
static int race_step(program *self, race_model *model, uint64_t random)
{
    const gpuarena_driver *driver = &self->bench.driver;
    sim *machine = self->bench.machine;
    int kind = (int)(random % 16), a = (int)(random >> 8 & 0xFF), b = (int)(random >> 16 & 0xFF), code;
    int stream = a % STREAMS, event = b % EVENTS, page = b % PAGES;
    uint64_t owner = 1 + (random >> 24) % 4;
    gpuarena_stream on = self->streams[stream];
    switch (kind) {
    default:
        return race_expect_use(model, stream, page, owner) == program_use(self, stream, page, owner);
    case 7: case 8:
        model->events[event] = model->before[race_issue(model, stream)];
        return driver->events.record(driver, self->events[event], on) == SIM_SUCCESS;
    case 9: case 10:
        if (model->events[event]) race_issue(model, stream);         /* else there is nothing to wait for */
        model->streams[stream] |= model->events[event];
        return driver->events.stream_wait(driver, on, self->events[event]) == SIM_SUCCESS;
    case 11: case 12:
        code = (kind == 11 ? driver->events.query : driver->events.host_wait)(driver, self->events[event]);
        if (code == SIM_SUCCESS) model->host |= model->events[event];
        return code == SIM_SUCCESS || (kind == 11 && code == SIM_NOT_READY);
    case 13:
        if (stream == 0) race_issue(model, 0);
        code = (b % 2 ? sim_stream_query : sim_stream_wait)(machine, 0, on);
        if (code == SIM_SUCCESS) model->host |= model->streams[stream];
        return code == SIM_SUCCESS || (b % 2 && code == SIM_NOT_READY);
    case 14:
        if (stream && a % 4 && is_blocking(stream)) return race_renew(self, model, stream);
        if (stream && b % 4 == 0) return race_renew(self, model, 0);
        break;
    case 15:
        break;
    }
    race_issue(model, stream);
    return sim_work(machine, 0, on, 1000 * (random >> 40 & 0xF)) == SIM_SUCCESS;
}

static int race_program(uint64_t seed, uint64_t *unordered)
{
    program self = program_open();
    race_model model;
    int agree = 1;
    memset(&model, 0, sizeof model);
    for (int i = 0; i < STEPS && agree; i++) agree = race_step(&self, &model, splitmix64_next(&seed));
    *unordered += sim_finding_count(self.bench.machine) > 0;
    bench_close(&self.bench);
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
