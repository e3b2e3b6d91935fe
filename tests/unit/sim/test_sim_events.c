/* The events and capture groups of the simulated device's table: each entry counted, charged, made to fail, lost.
   Must not know what events do: test_sim_order.c, test_sim_races.c and test_sim_capture.c do. */
#include "sim_order.h"

typedef struct entry_row {
    const char   *name;
    sim_call      kind;
    sim_cost_kind cost;
    int         (*call)(order_bench *self);
} entry_row;

static int call_create(order_bench *self)
{
    return self->bench.driver.events.create(&self->bench.driver, &self->events[5]);
}

static int call_destroy(order_bench *self)
{
    return self->bench.driver.events.destroy(&self->bench.driver, self->events[4]);
}

static int call_record(order_bench *self)
{
    return order_record(self, 0, 1);
}

static int call_query(order_bench *self)
{
    return order_query(self, 0);
}

static int call_host_wait(order_bench *self)
{
    return order_host_wait(self, 0);
}

static int call_stream_wait(order_bench *self)
{
    return order_follow(self, 2, 0);
}

static int call_device_wait(order_bench *self)
{
    return self->bench.driver.events.device_wait(&self->bench.driver);
}

static int call_active(order_bench *self)
{
    int active;
    return self->bench.driver.capture.active(&self->bench.driver, self->streams[1], &active);
}

static int call_exchange(order_bench *self)
{
    int mode = 2;
    return self->bench.driver.capture.exchange_mode(&self->bench.driver, &mode);
}

static const entry_row rows[] = {
    { "cudaEventCreateWithFlags", SIM_CALL_EVENT_WITH_FLAGS, SIM_COST_EVENT_CREATE, call_create },
    { "cudaEventDestroy", SIM_CALL_EVENT_DESTROY, SIM_COST_EVENT_DESTROY, call_destroy },
    { "cudaEventRecord", SIM_CALL_EVENT_RECORD, SIM_COST_EVENT_RECORD, call_record },
    { "cudaEventQuery", SIM_CALL_EVENT_QUERY, SIM_COST_EVENT_QUERY, call_query },
    { "cudaEventSynchronize", SIM_CALL_EVENT_SYNCHRONIZE, SIM_COST_SYNC, call_host_wait },
    { "cudaStreamWaitEvent", SIM_CALL_STREAM_WAIT_EVENT, SIM_COST_STREAM_WAIT, call_stream_wait },
    { "cudaDeviceSynchronize", SIM_CALL_DEVICE_SYNCHRONIZE, SIM_COST_SYNC, call_device_wait },
    { "cudaStreamIsCapturing", SIM_CALL_STREAM_IS_CAPTURING, SIM_COST_CAPTURE_QUERY, call_active },
    { "cudaThreadExchangeStreamCaptureMode", SIM_CALL_EXCHANGE_CAPTURE_MODE, SIM_COST_NONE, call_exchange },
};

static void test_counted_and_charged(const entry_row *row)
{
    order_bench self = order_open(0);
    sim_counters before = bench_counters(&self.bench);
    uint64_t start = sim_now_ns(self.machine), cost = sim_costs_ns(sim_costs_default(), row->cost, 0);
    int code = row->call(&self);
    sim_counters after = bench_counters(&self.bench);
    CHECK_MSG(code == SIM_SUCCESS && after.calls[row->kind] == before.calls[row->kind] + 1
              && after.vns[row->kind] == before.vns[row->kind] + cost && sim_now_ns(self.machine) == start + cost,
              "%s is counted, and costs %d vns", row->name, (int)cost);
    order_close(&self);
}

/* A call that is made to fail changes nothing but clock and counters; the next one succeeds. */
static void test_made_to_fail(const entry_row *row)
{
    order_bench self = order_open(0);
    sim_fail_call(self.machine, row->kind, 1, 0, SIM_UNKNOWN);
    int failed = row->call(&self), done = row->call(&self);
    CHECK_MSG(failed == SIM_UNKNOWN && done == SIM_SUCCESS && sim_fail_fired(self.machine), "%s can fail", row->name);
    order_close(&self);
}

static void test_lost(const entry_row *row)
{
    order_bench self = order_open(0);
    gpuarena_stream made;
    void *ptr;
    sim_fail_call(self.machine, SIM_CALL_OBTAIN, 1, 0, 719);
    bench_obtain(&self.bench.driver, MIB(2), &ptr);
    int code = row->call(&self), expected = row->kind == SIM_CALL_EXCHANGE_CAPTURE_MODE ? SIM_SUCCESS : 719;
    CHECK_MSG(code == expected, "%s of a lost device answers %d", row->name, expected);
    CHECK_INT(sim_stream_wait(self.machine, 0, NULL), ==, 719);
    CHECK_INT(sim_stream_create(self.machine, 0, 1, &made), ==, 719);
    CHECK_INT(sim_stream_follow(self.machine, 0, NULL, NULL), ==, 719);
    order_close(&self);
}

static void test_waits_are_charged(void)
{
    order_bench self = order_open(0);
    order_work(&self, 1, 1000000);
    uint64_t start = sim_now_ns(self.machine);
    order_record(&self, 0, 1);
    order_host_wait(&self, 0);
    CHECK_U64(sim_now_ns(self.machine), ==, start + 1000000 + 5000);
    CHECK_U64(bench_counters(&self.bench).vns[SIM_CALL_EVENT_SYNCHRONIZE], ==, 1000000 - 1500 + 5000);
    order_close(&self);
}

static void test_a_failed_record_records_nothing(void)
{
    order_bench self = order_open(0);
    order_record(&self, 0, 1);
    order_use(&self, 1, 0, 1);
    sim_fail_call(self.machine, SIM_CALL_EVENT_RECORD, 1, 0, SIM_UNKNOWN);
    CHECK_INT(order_record(&self, 0, 1), ==, SIM_UNKNOWN);
    order_follow(&self, 2, 0);
    CHECK_MSG(!order_use(&self, 2, 0, 2), "the event is where it was before");
    order_close(&self);
}

static void test_a_failed_wait_waits_for_nothing(void)
{
    order_bench self = order_open(0);
    order_use(&self, 1, 0, 1);
    order_record(&self, 0, 1);
    sim_fail_call(self.machine, SIM_CALL_STREAM_WAIT_EVENT, 1, 0, SIM_UNKNOWN);
    CHECK_INT(order_follow(&self, 2, 0), ==, SIM_UNKNOWN);
    CHECK(!order_use(&self, 2, 0, 2));
    order_close(&self);
}

int main(void)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        test_counted_and_charged(&rows[i]);
        test_made_to_fail(&rows[i]);
        test_lost(&rows[i]);
    }
    test_waits_are_charged();
    test_a_failed_record_records_nothing();
    test_a_failed_wait_waits_for_nothing();
    return tap_done();
}
