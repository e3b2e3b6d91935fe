/* Captures on the simulated device: who is prohibited from what, forks and joins, what ends up in a graph, launches.
   Must not know how captures are kept. */
#include "sim_order.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED };

static int active(const order_bench *self, int stream)
{
    int found = -1, code = self->bench.driver.capture.active(&self->bench.driver, self->streams[stream], &found);
    return code == SIM_SUCCESS ? found : code;
}

static int begin(const order_bench *self, int stream, int mode)
{
    return sim_capture_begin(self->machine, 0, self->streams[stream], mode);
}

static int end(const order_bench *self, int stream, void **graph)
{
    return sim_capture_end(self->machine, 0, self->streams[stream], graph);
}

static int end_and_drop(const order_bench *self, int stream)
{
    void *graph;
    int code = end(self, stream, &graph);
    if (graph) CHECK_INT(sim_graph_destroy(self->machine, graph), ==, 0);
    return code;
}

static void test_begin_and_end(void)
{
    order_bench self = order_open(0);
    void *graph = &self;
    CHECK_INT(active(&self, 1), ==, 0);
    CHECK_INT(begin(&self, 0, GLOBAL), ==, SIM_CAPTURE_UNSUPPORTED);
    CHECK_INT(begin(&self, 1, 3), ==, SIM_INVALID_VALUE);
    CHECK_INT(begin(&self, 1, -1), ==, SIM_INVALID_VALUE);
    CHECK_INT(begin(&self, 1, GLOBAL), ==, 0);
    CHECK_INT(begin(&self, 1, GLOBAL), ==, SIM_ILLEGAL_STATE);
    CHECK(active(&self, 1) == 1 && active(&self, 2) == 0);
    CHECK_INT(end(&self, 2, &graph), ==, SIM_ILLEGAL_STATE);
    CHECK(graph == NULL);
    CHECK_INT(end(&self, 1, &graph), ==, 0);
    CHECK(graph != NULL && active(&self, 1) == 0);
    CHECK_INT(sim_graph_launch(self.machine, 0, graph, self.streams[1], 0), ==, 0);
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, SIM_INVALID_VALUE);
    CHECK_INT(sim_graph_launch(self.machine, 0, graph, self.streams[1], 0), ==, SIM_INVALID_VALUE);
    CHECK_U64(sim_finding_count(self.machine), ==, 0);
    order_close(&self);
}

/* What is prohibited, made by a thread while a stream captures. */
static int unsafe_call(order_bench *self, int which)
{
    const gpuarena_driver *driver = &self->bench.driver;
    void *ptr;
    switch (which) {
    case 0: return bench_obtain(driver, MIB(2), &ptr);
    case 1: return bench_give_back(driver, self->block, MIB(4));
    case 2: return order_query(self, 0);
    case 3: return order_host_wait(self, 0);
    case 4: return sim_stream_query(self->machine, 0, self->streams[3]);
    case 5: return sim_stream_wait(self->machine, 0, self->streams[3]);
    default: return driver->events.device_wait(driver);
    }
}

static const char *const unsafe_names[] = { "obtain", "give_back", "cudaEventQuery", "cudaEventSynchronize",
                                            "query of a stream", "wait for a stream", "cudaDeviceSynchronize" };

/* The capture begun by thread 1 in this mode, thread `caller` in that one: 1: the call fails, and the capture. */
static int is_prohibited(int which, int mode, uint64_t caller, int caller_mode)
{
    order_bench self = order_open(0);
    sim_thread(self.machine, 1);
    begin(&self, 1, mode);
    sim_thread(self.machine, caller);
    self.bench.driver.capture.exchange_mode(&self.bench.driver, &caller_mode);
    int code = unsafe_call(&self, which), status = active(&self, 1);
    uint64_t findings = sim_finding_count(self.machine);
    int named = strstr(order_last_finding(&self), unsafe_names[which]) != NULL
        && strstr(order_last_finding(&self), "while stream 1 captures: answered 900, and the capture is invalid");
    sim_thread(self.machine, 1);
    int ended = end_and_drop(&self, 1);
    order_close(&self);
    if (code == SIM_CAPTURE_UNSUPPORTED && status == 1 && ended == SIM_CAPTURE_INVALIDATED && findings == 1 && named)
        return 1;
    return code == SIM_SUCCESS && status == 1 && ended == SIM_SUCCESS && findings == 0 ? 0 : -1;
}

static void test_who_is_prohibited(void)
{
    static const struct { int mode; uint64_t caller; int caller_mode, prohibited; } rows[] = {
        { GLOBAL, 1, GLOBAL, 1 }, { GLOBAL, 1, THREAD_LOCAL, 1 }, { GLOBAL, 1, RELAXED, 0 },
        { THREAD_LOCAL, 1, GLOBAL, 1 }, { THREAD_LOCAL, 1, THREAD_LOCAL, 1 }, { THREAD_LOCAL, 1, RELAXED, 0 },
        { RELAXED, 1, GLOBAL, 0 }, { RELAXED, 1, THREAD_LOCAL, 0 }, { RELAXED, 1, RELAXED, 0 },
        { GLOBAL, 2, GLOBAL, 1 }, { GLOBAL, 2, THREAD_LOCAL, 0 }, { GLOBAL, 2, RELAXED, 0 },
        { THREAD_LOCAL, 2, GLOBAL, 0 }, { THREAD_LOCAL, 2, THREAD_LOCAL, 0 }, { RELAXED, 2, GLOBAL, 0 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int wrong = 0;
        for (int which = 0; which < 6; which++) {
            wrong += is_prohibited(which, rows[i].mode, rows[i].caller, rows[i].caller_mode) != rows[i].prohibited;
        }
        wrong += is_prohibited(6, rows[i].mode, rows[i].caller, rows[i].caller_mode) != 1;
        CHECK_MSG(wrong == 0, "captured in mode %d by 1: thread %d in mode %d is %s", rows[i].mode,
                  (int)rows[i].caller, rows[i].caller_mode,
                  rows[i].prohibited ? "prohibited" : "free, but for waiting for the device");
    }
}

static void test_the_capturing_stream_itself(void)
{
    order_bench self = order_open(0);
    begin(&self, 1, RELAXED);
    CHECK_INT(sim_stream_query(self.machine, 0, self.streams[1]), ==, SIM_CAPTURE_UNSUPPORTED);
    CHECK_INT(active(&self, 1), ==, 1);
    CHECK_MSG(order_work(&self, 1, 5) == SIM_CAPTURE_INVALIDATED, "an invalid capture takes nothing more");
    CHECK_INT(order_record(&self, 1, 1), ==, SIM_CAPTURE_INVALIDATED);
    CHECK_INT(end_and_drop(&self, 1), ==, SIM_CAPTURE_INVALIDATED);
    CHECK_MSG(order_work(&self, 1, 5) == 0 && active(&self, 1) == 0, "after its end the stream works again");
    begin(&self, 1, RELAXED);
    CHECK_INT(sim_stream_wait(self.machine, 0, self.streams[1]), ==, SIM_CAPTURE_UNSUPPORTED);
    end_and_drop(&self, 1);
    begin(&self, 1, RELAXED);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, SIM_CAPTURE_UNSUPPORTED);
    CHECK_INT(end_and_drop(&self, 1), ==, SIM_CAPTURE_INVALIDATED);
    begin(&self, 1, RELAXED);
    order_record(&self, 0, 1);
    CHECK_INT(order_query(&self, 0), ==, SIM_CAPTURED_EVENT);
    CHECK_INT(end_and_drop(&self, 1), ==, SIM_CAPTURE_INVALIDATED);
    CHECK_MSG(order_query(&self, 0) == SIM_CAPTURED_EVENT && order_host_wait(&self, 0) == SIM_CAPTURED_EVENT,
              "a captured event is none, even after the capture,");
    CHECK_INT(order_follow(&self, 2, 0), ==, SIM_CAPTURED_EVENT);
    CHECK_MSG(order_record(&self, 0, 1) == 0 && order_query(&self, 0) == 0, "until it is recorded elsewhere");
    order_close(&self);
}

static void test_legacy_stream(void)
{
    order_bench self = order_open(1u << 5);
    begin(&self, 5, GLOBAL);
    CHECK_MSG(order_work(&self, 0, 5) == 0 && active(&self, 0) == 0, "a non-blocking capture leaves it alone");
    end_and_drop(&self, 5);
    begin(&self, 1, GLOBAL);
    CHECK_INT(active(&self, 0), ==, SIM_CAPTURE_IMPLICIT);
    CHECK_INT(order_work(&self, 0, 5), ==, SIM_CAPTURE_IMPLICIT);
    CHECK_INT(order_record(&self, 0, 0), ==, SIM_CAPTURE_IMPLICIT);
    CHECK_INT(order_follow(&self, 0, 0), ==, SIM_CAPTURE_IMPLICIT);
    CHECK_INT(sim_stream_query(self.machine, 0, NULL), ==, SIM_CAPTURE_IMPLICIT);
    CHECK_INT(sim_stream_wait(self.machine, 0, NULL), ==, SIM_CAPTURE_IMPLICIT);
    CHECK_MSG(active(&self, 1) == 1 && end_and_drop(&self, 1) == 0, "and it is not invalidated by that");
    CHECK_U64(sim_finding_count(self.machine), ==, 0);
    order_close(&self);
}

static void test_forks(void)
{
    order_bench self = order_open(0);
    void *graph;
    begin(&self, 1, GLOBAL);
    order_work(&self, 1, 100000);
    CHECK(order_record(&self, 0, 1) == 0 && order_follow(&self, 2, 0) == 0 && active(&self, 2) == 1);
    order_work(&self, 1, 10000);
    order_work(&self, 2, 50000);
    CHECK(order_record(&self, 1, 2) == 0 && order_follow(&self, 1, 1) == 0);
    order_work(&self, 1, 1000);
    CHECK_INT(end(&self, 2, &graph), ==, SIM_CAPTURE_UNMATCHED);
    CHECK_INT(end_and_drop(&self, 1), ==, SIM_CAPTURE_INVALIDATED);
    begin(&self, 1, GLOBAL);
    order_work(&self, 1, 100000);
    order_record(&self, 0, 1);
    order_follow(&self, 2, 0);
    order_work(&self, 1, 10000);
    order_work(&self, 2, 50000);
    order_record(&self, 1, 2);
    order_follow(&self, 1, 1);
    order_work(&self, 1, 1000);
    CHECK_INT(end(&self, 1, &graph), ==, 0);
    CHECK(active(&self, 1) == 0 && active(&self, 2) == 0);
    uint64_t start = sim_now_ns(self.machine);
    CHECK_MSG(sim_stream_wait(self.machine, 0, self.streams[1]) == 0 && sim_now_ns(self.machine) == start,
              "nothing of it was done");
    CHECK_INT(sim_graph_launch(self.machine, 0, graph, self.streams[3], 0), ==, 0);
    CHECK_INT(sim_stream_wait(self.machine, 0, self.streams[3]), ==, 0);
    CHECK_MSG(sim_now_ns(self.machine) == start + 151000, "a launch takes the longest chain of work");
    begin(&self, 1, GLOBAL);
    order_record(&self, 0, 1);
    order_follow(&self, 2, 0);
    order_work(&self, 2, 50000);
    order_work(&self, 1, 1000);
    order_record(&self, 1, 2);
    order_follow(&self, 1, 1);
    CHECK_INT(end(&self, 1, &graph), ==, 0);
    start = sim_now_ns(self.machine);
    sim_graph_launch(self.machine, 0, graph, self.streams[3], 0);
    sim_stream_wait(self.machine, 0, self.streams[3]);
    CHECK_MSG(sim_now_ns(self.machine) == start + 50000, "be it another stream's");
    begin(&self, 1, GLOBAL);
    order_record(&self, 0, 1);
    order_follow(&self, 2, 0);
    CHECK_MSG(end_and_drop(&self, 1) == 0, "a fork without work need not be joined,");
    begin(&self, 1, GLOBAL);
    order_record(&self, 0, 1);
    order_follow(&self, 2, 0);
    order_work(&self, 2, 1);
    CHECK_MSG(end_and_drop(&self, 1) == SIM_CAPTURE_UNJOINED && active(&self, 2) == 0, "one with work must");
    order_close(&self);
}

static void test_merges_and_isolation(void)
{
    order_bench self = order_open(0);
    begin(&self, 1, GLOBAL);
    begin(&self, 2, GLOBAL);
    order_record(&self, 0, 1);
    CHECK_INT(order_follow(&self, 2, 0), ==, SIM_CAPTURE_MERGE);
    CHECK(end_and_drop(&self, 1) == SIM_CAPTURE_INVALIDATED && end_and_drop(&self, 2) == SIM_CAPTURE_INVALIDATED);
    order_record(&self, 0, 3);
    begin(&self, 1, GLOBAL);
    CHECK_INT(order_follow(&self, 1, 0), ==, SIM_CAPTURE_ISOLATION);
    CHECK_INT(end_and_drop(&self, 1), ==, SIM_CAPTURE_INVALIDATED);
    begin(&self, 1, THREAD_LOCAL);
    sim_thread(self.machine, 9);
    CHECK_INT(end_and_drop(&self, 1), ==, SIM_CAPTURE_WRONG_THREAD);
    sim_thread(self.machine, 0);
    CHECK_INT(end_and_drop(&self, 1), ==, 0);
    begin(&self, 1, RELAXED);
    sim_thread(self.machine, 9);
    CHECK_MSG(end_and_drop(&self, 1) == 0, "a relaxed one may end in any thread");
    order_close(&self);
}

static void test_captured_uses_are_judged_at_launch(void)
{
    order_bench self = order_open(0);
    void *graph;
    sim_access(self.machine, 0, self.streams[2], self.block, 4096, 1, 0);
    begin(&self, 1, GLOBAL);
    CHECK_MSG(order_use(&self, 1, 0, 2), "captured, not judged");
    CHECK_INT(end(&self, 1, &graph), ==, 0);
    CHECK_INT(sim_graph_launch(self.machine, 0, graph, self.streams[1], 7), ==, 0);
    CHECK_MSG(strstr(order_last_finding(&self), "op 7 on stream 1 uses 4096 bytes at +0x200000: not ordered after "
              "op 0 on stream 2") != NULL, "%s", order_last_finding(&self));
    uint64_t before = sim_finding_count(self.machine);
    order_record(&self, 0, 1);
    order_record(&self, 1, 2);
    order_follow(&self, 3, 0);
    order_follow(&self, 3, 1);
    CHECK_INT(sim_graph_launch(self.machine, 0, graph, self.streams[3], 8), ==, 0);
    CHECK_U64(sim_finding_count(self.machine), ==, before);
    CHECK_MSG(!order_use(&self, 4, 0, 3), "and reuse must come after the latest launch");
    begin(&self, 1, GLOBAL);
    CHECK_MSG(sim_graph_launch(self.machine, 0, graph, self.streams[1], 9) == 0, "a graph within a capture");
    void *outer;
    CHECK_INT(end(&self, 1, &outer), ==, 0);
    before = sim_finding_count(self.machine);
    CHECK_INT(sim_graph_launch(self.machine, 0, outer, self.streams[5], 10), ==, 0);
    CHECK_MSG(sim_finding_count(self.machine) == before + 1, "%s", order_last_finding(&self));
    order_close(&self);
}

/* Op 0 and 1 are captured, by two owners of the same bytes one after the other, as under one capture memory is. */
static void test_what_graphs_use_stays_theirs(void)
{
    order_bench self = order_open(0);
    void *graph;
    begin(&self, 1, GLOBAL);
    order_use(&self, 1, 0, 1);
    order_use(&self, 1, 0, 2);
    CHECK_INT(end(&self, 1, &graph), ==, 0);
    for (uint64_t op = 2; op < 5; op++) sim_graph_launch(self.machine, 0, graph, self.streams[1], op);
    CHECK_MSG(sim_finding_count(self.machine) == 0, "graphs' owners may take turns: %s", order_last_finding(&self));
    self.op = 5;
    CHECK_MSG(order_use(&self, 1, 0, 3), "in order, so that nobody knows yet");
    sim_begin_op(self.machine, 6);
    CHECK_INT(sim_graph_launch(self.machine, 0, graph, self.streams[1], 6), ==, 0);
    CHECK_STR(sim_finding(self.machine, 0), "op 6: device 0: op 6 on stream 1 launches a graph, captured at op 0, "
              "that uses 4096 bytes at +0x200000: handed to another since, who used them at op 5 on stream 1");
    CHECK_U64(sim_finding_count(self.machine), ==, 1);
    order_close(&self);
}

static void test_modes(void)
{
    order_bench self = order_open(0);
    const gpuarena_driver *driver = &self.bench.driver;
    int mode = RELAXED, bad = 3;
    CHECK(driver->capture.exchange_mode(driver, &mode) == 0 && mode == GLOBAL);
    CHECK_INT(driver->capture.exchange_mode(driver, &bad), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->capture.exchange_mode(driver, NULL), ==, SIM_INVALID_VALUE);
    sim_thread(self.machine, 3);
    mode = THREAD_LOCAL;
    CHECK_MSG(driver->capture.exchange_mode(driver, &mode) == 0 && mode == GLOBAL, "each thread has its own");
    sim_thread(self.machine, 0);
    CHECK(driver->capture.exchange_mode(driver, &mode) == 0 && mode == RELAXED);
    CHECK_INT(driver->capture.active(driver, NULL, NULL), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->capture.active(driver, (gpuarena_stream)(uintptr_t)77, &mode), ==, SIM_INVALID_HANDLE);
    order_close(&self);
}

static void test_ends_with_the_machine(void)
{
    order_bench self = order_open(0);
    void *graph;
    begin(&self, 2, GLOBAL);
    order_use(&self, 2, 0, 1);
    end(&self, 2, &graph);
    begin(&self, 1, GLOBAL);
    order_use(&self, 1, 0, 1);
    order_close(&self);
    CHECK_MSG(1, "a capture under way and a graph go with the machine");
}

int main(void)
{
    test_begin_and_end();
    test_who_is_prohibited();
    test_the_capturing_stream_itself();
    test_legacy_stream();
    test_forks();
    test_merges_and_isolation();
    test_captured_uses_are_judged_at_launch();
    test_what_graphs_use_stays_theirs();
    test_modes();
    test_ends_with_the_machine();
    return tap_done();
}
