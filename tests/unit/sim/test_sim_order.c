/* Streams and events of the simulated device: virtual time, what is ready when, whose streams are whose.
   Must not know how they are kept; what comes before what is tested by test_sim_races.c. */
#include "sim_order.h"
#include "stress/sim/work.h"

#define US(count) ((uint64_t)(count) * 1000)

static void test_work_takes_its_time(void)
{
    order_bench self = order_open(0);
    sim *machine = self.machine;
    uint64_t start = sim_now_ns(machine);
    CHECK_INT(order_work(&self, 1, US(100)), ==, 0);
    CHECK_INT(order_work(&self, 1, US(50)), ==, 0);
    CHECK_INT(order_work(&self, 2, US(20)), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == start, "issuing waits for nothing");
    CHECK_INT(sim_stream_query(machine, 0, self.streams[1]), ==, SIM_NOT_READY);
    CHECK_INT(sim_stream_wait(machine, 0, self.streams[2]), ==, 0);
    CHECK_U64(sim_now_ns(machine), ==, start + US(20));
    CHECK_INT(sim_stream_query(machine, 0, self.streams[2]), ==, 0);
    CHECK_INT(sim_device_wait(machine, 0), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == start + US(150), "one stream's work is done one after the other");
    CHECK_INT(sim_device_wait(machine, 0), ==, 0);
    CHECK_U64(sim_now_ns(machine), ==, start + US(150));
    sim_advance(machine, US(1000));
    CHECK_INT(order_work(&self, 1, US(5)), ==, 0);
    CHECK_INT(sim_stream_wait(machine, 0, self.streams[1]), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == start + US(1155), "work begins when it is issued at the earliest");
    order_close(&self);
}

static void test_events_are_ready_in_time(void)
{
    order_bench self = order_open(0);
    sim *machine = self.machine;
    CHECK_MSG(order_query(&self, 0) == 0 && order_host_wait(&self, 0) == 0, "never recorded: complete");
    order_work(&self, 1, US(100));
    uint64_t end = sim_now_ns(machine) + US(100);
    CHECK_INT(order_record(&self, 0, 1), ==, 0);
    order_work(&self, 1, US(1000));
    CHECK_INT(order_query(&self, 0), ==, SIM_NOT_READY);
    CHECK_INT(order_follow(&self, 2, 0), ==, 0);
    order_work(&self, 2, US(30));
    CHECK_INT(sim_stream_wait(machine, 0, self.streams[2]), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == end + US(30), "the waiting stream begins after the event");
    CHECK_INT(order_query(&self, 0), ==, 0);
    CHECK_INT(order_record(&self, 0, 1), ==, 0);
    CHECK_MSG(order_query(&self, 0) == SIM_NOT_READY, "recorded again: a later point");
    CHECK_INT(order_host_wait(&self, 0), ==, 0);
    CHECK_U64(sim_now_ns(machine), >=, end + US(1000));
    CHECK_INT(order_query(&self, 0), ==, 0);
    order_close(&self);
}

static void test_destroyed_while_pending(void)
{
    order_bench self = order_open(0);
    sim *machine = self.machine;
    const gpuarena_driver *driver = &self.bench.driver;
    order_work(&self, 1, US(100));
    uint64_t start = sim_now_ns(machine);
    CHECK_INT(sim_stream_destroy(machine, 0, self.streams[1]), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == start, "destroying a stream waits for nothing");
    CHECK_INT(order_record(&self, 0, 1), ==, SIM_INVALID_HANDLE);
    CHECK_INT(sim_stream_destroy(machine, 0, self.streams[1]), ==, SIM_INVALID_HANDLE);
    CHECK_INT(driver->events.device_wait(driver), ==, 0);
    CHECK_MSG(sim_now_ns(machine) >= start + US(100), "its work went on, and the device has it");
    start = sim_now_ns(machine);
    order_work(&self, 2, US(100));
    order_record(&self, 0, 2);
    order_follow(&self, 3, 0);
    CHECK_INT(driver->events.destroy(driver, self.events[0]), ==, 0);
    CHECK_INT(driver->events.destroy(driver, self.events[0]), ==, SIM_INVALID_HANDLE);
    CHECK_MSG(sim_now_ns(machine) < start + US(100), "destroying an event waits for nothing");
    CHECK_INT(sim_stream_query(machine, 0, self.streams[3]), ==, SIM_NOT_READY);
    CHECK_MSG(order_query(&self, 0) == SIM_INVALID_HANDLE && order_record(&self, 0, 2) == SIM_INVALID_HANDLE
              && order_follow(&self, 1, 0) == SIM_INVALID_HANDLE && order_host_wait(&self, 0) == SIM_INVALID_HANDLE,
              "a destroyed event is none");
    order_close(&self);
}

static void test_legacy_stream_waits_both_ways(void)
{
    order_bench self = order_open(1u << 5);
    sim *machine = self.machine;
    uint64_t start = sim_now_ns(machine);
    order_work(&self, 1, US(100));
    order_work(&self, 0, US(10));
    order_work(&self, 2, US(1));
    order_work(&self, 5, US(1));
    CHECK_INT(sim_stream_wait(machine, 0, self.streams[5]), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == start + US(1), "a non-blocking stream does not wait");
    CHECK_INT(sim_stream_wait(machine, 0, self.streams[2]), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == start + US(111), "a blocking one waits for the legacy one, that one for all");
    order_work(&self, 3, US(7));
    CHECK_INT(sim_stream_query(machine, 0, NULL), ==, SIM_NOT_READY);
    CHECK_INT(sim_stream_wait(machine, 0, (gpuarena_stream)(uintptr_t)1), ==, 0);
    CHECK_MSG(sim_now_ns(machine) == start + US(118), "waiting for the legacy stream waits for blocking ones");
    order_close(&self);
}

static uint64_t stream_id(const order_bench *self, gpuarena_stream stream)
{
    uint64_t id = UINT64_MAX;
    CHECK_INT(work_stream_id(self->bench.driver.user, stream, &id), ==, 0);
    return id;
}

static void test_identities(void)
{
    order_bench self = order_open(0);
    sim *machine = self.machine;
    const gpuarena_stream own = (gpuarena_stream)(uintptr_t)2;
    uint64_t first = stream_id(&self, self.streams[1]), second = stream_id(&self, self.streams[2]);
    CHECK(first == 1 && second == 2);
    CHECK(stream_id(&self, NULL) == stream_id(&self, (gpuarena_stream)(uintptr_t)1));
    CHECK(stream_id(&self, NULL) != first && stream_id(&self, NULL) != stream_id(&self, own));
    uint64_t mine = stream_id(&self, own);
    sim_thread(machine, 7);
    uint64_t seventh = stream_id(&self, own);
    CHECK(seventh != mine && stream_id(&self, own) == seventh);
    sim_thread(machine, 0);
    CHECK(stream_id(&self, own) == mine);
    gpuarena_stream before = self.streams[1];
    sim_stream_destroy(machine, 0, before);
    sim_stream_create(machine, 0, 1, &self.streams[1]);
    CHECK_MSG(self.streams[1] != before, "handles are not used again,");
    CHECK_INT(work_stream_id(self.bench.driver.user, before, &first), ==, SIM_INVALID_HANDLE);
    sim_reuse_handles(machine, 1);
    before = self.streams[1];
    first = stream_id(&self, before);
    sim_stream_destroy(machine, 0, before);
    sim_stream_create(machine, 0, 1, &self.streams[1]);
    CHECK_MSG(self.streams[1] == before, "unless that is asked for,");
    CHECK_MSG(stream_id(&self, before) > first, "and ids never");
    order_close(&self);
}

static void test_devices(void)
{
    order_bench self = order_open(0);
    gpuarena_driver second;
    gpuarena_stream there;
    void *event;
    sim_driver(self.machine, 1, &second);
    CHECK_INT(sim_stream_create(self.machine, 1, 1, &there), ==, 0);
    CHECK_INT(sim_stream_create(self.machine, 2, 1, &there), ==, SIM_INVALID_VALUE);
    CHECK_INT(second.events.create(&second, &event), ==, 0);
    CHECK_MSG(second.events.record(&second, event, self.streams[1]) == SIM_INVALID_HANDLE,
              "an event is recorded in streams of its own device");
    order_work(&self, 1, US(100));
    order_record(&self, 0, 1);
    uint64_t end = sim_now_ns(self.machine) + US(90);
    CHECK_INT(second.events.stream_wait(&second, there, self.events[0]), ==, 0);
    CHECK_INT(second.events.record(&second, event, there), ==, 0);
    CHECK_INT(second.events.device_wait(&second), ==, 0);
    CHECK_MSG(sim_now_ns(self.machine) >= end, "another device's stream may wait for it");
    order_work(&self, 1, US(100));
    uint64_t start = sim_now_ns(self.machine);
    CHECK_INT(sim_work(self.machine, 1, NULL, US(1)), ==, 0);
    CHECK_INT(sim_stream_wait(self.machine, 1, NULL), ==, 0);
    CHECK_MSG(sim_now_ns(self.machine) == start + US(1), "a legacy stream waits for its own device's streams");
    uint64_t id, other;
    CHECK_INT(work_stream_id(self.bench.driver.user, NULL, &id), ==, 0);
    CHECK_INT(work_stream_id(second.user, NULL, &other), ==, 0);
    CHECK(id != other);
    order_close(&self);
}

static void test_give_back_waits(void)
{
    order_bench self = order_open(1u << 5);
    uint64_t start = sim_now_ns(self.machine), before = bench_counters(&self.bench).vns[SIM_CALL_GIVE_BACK];
    order_work(&self, 5, US(500));
    CHECK_INT(bench_give_back(&self.bench.driver, self.block, MIB(2)), ==, SIM_INVALID_VALUE);
    CHECK_MSG(sim_now_ns(self.machine) < start + US(500), "a refused one does not wait");
    CHECK_INT(bench_give_back(&self.bench.driver, NULL, 0), ==, 0);
    CHECK(sim_now_ns(self.machine) < start + US(500));
    CHECK_INT(bench_give_back(&self.bench.driver, self.block, MIB(4)), ==, 0);
    CHECK_U64(sim_now_ns(self.machine), ==, start + US(500) + 75000 + 2 * 2 * 370);
    CHECK_U64(bench_counters(&self.bench).vns[SIM_CALL_GIVE_BACK] - before, >=, US(500));
    order_close(&self);
}

/* Another device's stream used it, for which cudaFree does not wait. */
static void test_give_back_before_the_end_of_a_use(void)
{
    order_bench self = order_open(0);
    gpuarena_stream there;
    sim_stream_create(self.machine, 1, 0, &there);
    sim_begin_op(self.machine, 4);
    CHECK_INT(sim_access(self.machine, 1, there, self.block, 100, 1, 4), ==, 0);
    CHECK_U64(sim_finding_count(self.machine), ==, 0);
    sim_begin_op(self.machine, 5);
    CHECK_INT(bench_give_back(&self.bench.driver, self.block, MIB(4)), ==, 0);
    CHECK_STR(order_last_finding(&self), "op 5: device 0: give_back of 4194304 bytes at +0x200000: not known to be "
              "after op 4 on stream 6");
    order_close(&self);
}

static void test_the_first_in_memory_is_named(void)
{
    order_bench self = order_open(0);
    sim_access(self.machine, 0, self.streams[1], self.block + MIB(3), 64, 1, 0);
    sim_access(self.machine, 0, self.streams[3], self.block + MIB(1), 64, 1, 1);
    sim_begin_op(self.machine, 2);
    sim_access(self.machine, 0, self.streams[2], self.block, MIB(4), 2, 2);
    CHECK_U64(sim_finding_count(self.machine), ==, 1);
    CHECK_STR(order_last_finding(&self), "op 2: device 0: op 2 on stream 2 uses 4194304 bytes at +0x200000: not "
              "ordered after op 1 on stream 3");
    order_close(&self);
}

static void test_uses_of_what_is_not_held(void)
{
    order_bench self = order_open(0);
    sim_begin_op(self.machine, 3);
    sim_access(self.machine, 0, self.streams[1], self.block + MIB(4), 16, 1, 3);
    CHECK_STR(order_last_finding(&self), "op 3: device 0: op 3 on stream 1 uses 16 bytes at +0x600000, which are not "
              "held by one obtain");
    sim_access(self.machine, 0, self.streams[1], &self, 16, 1, 3);
    CHECK_STR(order_last_finding(&self), "op 3: device 0: op 3 on stream 1 uses 16 bytes at an address of no device, "
              "which are not held by one obtain");
    CHECK_INT(sim_access(self.machine, 0, self.streams[1], NULL, 0, 1, 3), ==, 0);
    const gpuarena_stream none = (gpuarena_stream)(uintptr_t)99;
    CHECK_INT(sim_access(self.machine, 0, none, self.block, 1, 1, 3), ==, SIM_INVALID_HANDLE);
    CHECK_INT(sim_access(self.machine, 5, self.streams[1], self.block, 1, 1, 3), ==, SIM_INVALID_VALUE);
    CHECK_U64(sim_finding_count(self.machine), ==, 2);
    order_close(&self);
}

int main(void)
{
    test_work_takes_its_time();
    test_events_are_ready_in_time();
    test_destroyed_while_pending();
    test_legacy_stream_waits_both_ways();
    test_identities();
    test_devices();
    test_give_back_waits();
    test_give_back_before_the_end_of_a_use();
    test_the_first_in_memory_is_named();
    test_uses_of_what_is_not_held();
    return tap_done();
}
