/* What tests of order on the simulated device share: streams, events and memory by number, uses, and their findings.
   It must not know what is tested.
   Included by test_sim_order.c, test_sim_races.c and test_sim_capture.c. */
#ifndef TESTS_SIM_ORDER_H
#define TESTS_SIM_ORDER_H

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
static inline order_bench order_open(unsigned non_blocking)
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

static inline void order_close(order_bench *self)
{
    bench_close(&self->bench);
}

/* The next op: this owner uses 4096 bytes from a page of the block on, on the stream. 1: no finding. */
static inline int order_use(order_bench *self, int stream, int page, uint64_t owner)
{
    uint64_t before = sim_finding_count(self->machine);
    sim_begin_op(self->machine, self->op);
    int code = sim_access(self->machine, 0, self->streams[stream], self->block + (size_t)page * 4096, 4096, owner,
                          self->op++);
    return code == SIM_SUCCESS && sim_finding_count(self->machine) == before;
}

static inline int order_record(order_bench *self, int event, int stream)
{
    return self->bench.driver.events.record(&self->bench.driver, self->events[event], self->streams[stream]);
}

static inline int order_query(order_bench *self, int event)
{
    return self->bench.driver.events.query(&self->bench.driver, self->events[event]);
}

static inline int order_host_wait(order_bench *self, int event)
{
    return self->bench.driver.events.host_wait(&self->bench.driver, self->events[event]);
}

static inline int order_follow(order_bench *self, int stream, int event)
{
    return self->bench.driver.events.stream_wait(&self->bench.driver, self->streams[stream], self->events[event]);
}

static inline int order_work(order_bench *self, int stream, uint64_t work_ns)
{
    return sim_work(self->machine, 0, self->streams[stream], work_ns);
}

static inline const char *order_last_finding(const order_bench *self)
{
    uint64_t count = sim_finding_count(self->machine);
    const char *text = count > 0 ? sim_finding(self->machine, count - 1) : NULL;
    return text ? text : "(none)";
}

#endif
