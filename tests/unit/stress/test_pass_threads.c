/* Real threads on one policy: blocks that cross threads, refusals, failures; and the lock before a driver table.
   Counts of timed calls: tests/cli/cases/passes.case.
   It must not depend on how fast any thread is. */
#include <pthread.h>

#include "workload_text.h"
#include "pass_bench.h"
#include "stress/device/device.h"
#include "stress/run/pass.h"

static void mix_open(bench *bed, const char *text, uint64_t threads)
{
    const workload_options options = { .threads_given = 1, .threads = threads };
    bench_open(bed);
    bed->settings.device.sim.capacity_bytes = 8192 * MIB;
    if (mix_make(text, &options, &bed->stream, &why)) give_up(why.text);
}

static pass_result mix_run(const bench *bed, const char *text)
{
    policy chosen;
    pass_result result;
    if (policy_parse(text, 0, &chosen, &why)) give_up(why.text);
    pass_threads_run(&bed->settings, &bed->stream, &chosen, NULL, &result);
    return result;
}

static void test_refusal(void)
{
    bench bed;
    mix_open(&bed, "uniform:n=1000", 4);
    const pass_result stopped = mix_run(&bed, "paged:limit=64M");
    CHECK_MSG(stopped.status == PASS_OOM, "a limit is met: %s", stopped.message);
    CHECK(stopped.ops < bed.stream.alloc_count + bed.stream.free_count);
    bed.settings.skip_oom = 1;
    const pass_result skipped = mix_run(&bed, "paged:limit=64M");
    CHECK_MSG(skipped.status == PASS_OOM, "and again and again: %s", skipped.message);
    CHECK_MSG(skipped.ops > bed.stream.alloc_count, "all allocations are asked for, and what there is is freed");
    CHECK(skipped.ops < bed.stream.alloc_count + bed.stream.free_count);
    op_stream_free(&bed.stream);
}

static void test_failures(void)
{
    static const struct { const char *faults; uint32_t without_vm; const char *policy, *begins, *says; } rows[] = {
        { "give_back:50", 0, "raw", "thread ", ": free: driver_error" },
        { "obtain:1=700", 0, "segments", "thread ", ": alloc: device_lost" },
        { NULL, 1, "paged", "", "policy 'paged'" }
    };
    bench bed;
    mix_open(&bed, "larson:blocks=20", 4);
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        bed.settings.device.sim.faults = rows[at].faults;
        bed.settings.device.sim.without_vm = rows[at].without_vm;
        const pass_result result = mix_run(&bed, rows[at].policy);
        CHECK_MSG(result.status == PASS_ERROR && strstr(result.message, rows[at].begins) == result.message &&
                  strstr(result.message, rows[at].says), "%s: %s", rows[at].says, result.message);
    }
    op_stream_free(&bed.stream);
}

/* Ops made by hand: a thread frees a block that another one has yet to allocate. */
static void test_waiting(void)
{
    static op ops[] = { { MIB, 1, 0, 0, OP_ALLOC }, { 0, 1, 0, 0, OP_FREE }, { 3, 2, 1, 0, OP_ALLOC } };
    static uint8_t threads[] = { 0, 1, 1 };
    bench bed;
    pass_result result = { .ops = 3 };
    mix_open(&bed, "uniform:n=1", 1);
    op_stream_free(&bed.stream);
    bed.stream = (op_stream){ .ops = ops, .op_count = 3, .block_count = 2, .alloc_count = 2, .free_count = 1,
                              .threads = threads, .thread_count = 2 };
    for (int time = 0; time < 200 && result.status == PASS_OK && result.ops == 3; time++) {
        result = mix_run(&bed, "segments");
    }
    CHECK_MSG(result.status == PASS_OK && result.ops == 3, "the block of a thread that is behind is waited for: %s",
              result.message);
}

/* ---- a device that threads share */

enum { SHARED_THREADS = 4, SHARED_CALLS = 5000 };

/* A page and an event come and go, and the clock is asked. */
static void *shared_thread(void *argument)
{
    const gpuarena_driver *table = argument;
    uint64_t page, calls = sim_thread_called, failed = 0;
    void *event;
    for (int call = 0; call < SHARED_CALLS; call++) {
        failed += table->vm.create(table, &page, 2 * MIB, 0) || table->vm.destroy(table, page, 2 * MIB);
        failed += table->events.create(table, &event) || table->events.destroy(table, event);
        failed += table->now_ns(table) == 0;
    }
    return failed || sim_thread_called - calls != 2 * SHARED_CALLS ? argument : NULL;
}

static void test_shared_device(void)
{
    device_config config = { 0 };
    device_counters counted;
    pthread_t handles[SHARED_THREADS];
    void *failed;
    device *shared = device_open(&config, &why);
    if (!shared) give_up(why.text);
    gpuarena_driver table = *device_driver(shared);
    for (int at = 0; at < SHARED_THREADS; at++) pthread_create(&handles[at], NULL, shared_thread, &table);
    for (int at = 0; at < SHARED_THREADS; at++) {
        pthread_join(handles[at], &failed);
        CHECK_MSG(!failed, "each call is served, and counted for its thread");
    }
    device_count(shared, &counted);
    CHECK_U64(counted.calls, ==, 2 * SHARED_THREADS * SHARED_CALLS);
    CHECK_U64(counted.held_bytes, ==, 0);
    CHECK_U64(sim_finding_count(device_simulated(shared)), ==, 0);
    device_close(shared, NULL);
}

/* Every entry of a shared table lets the next call in. */
static void test_shared_entries(void)
{
    device_config config = { 0 };
    uint64_t free_bytes = 0, total_bytes = 0, page = 0;
    void *memory = NULL, *event = NULL, *address = NULL;
    int active = 1, mode = 2;
    device *shared = device_open(&config, &why);
    if (!shared) give_up(why.text);
    const gpuarena_driver *table = device_driver(shared);
    uint64_t calls = sim_thread_called;
    CHECK(!table->memory.info(table, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes) && total_bytes);
    CHECK(!table->memory.obtain(table, GPUARENA_MEMORY_DEVICE, &memory, 4 * MIB, NULL) && memory);
    CHECK(!table->clear(table, memory, 4 * MIB, NULL));
    CHECK(!table->memory.give_back(table, GPUARENA_MEMORY_DEVICE, memory, 4 * MIB, NULL));
    CHECK(!table->vm.reserve(table, &address, 4 * MIB, 0) && address);
    CHECK(!table->vm.create(table, &page, 2 * MIB, 0));
    CHECK(!table->vm.map(table, address, 2 * MIB, page));
    CHECK(!table->vm.access(table, address, 2 * MIB, 1));
    CHECK(!table->vm.unmap(table, address, 2 * MIB));
    CHECK(!table->vm.destroy(table, page, 2 * MIB));
    CHECK(!table->vm.release(table, address, 4 * MIB));
    CHECK(!table->events.create(table, &event) && !table->events.record(table, event, NULL));
    CHECK(!table->events.stream_wait(table, NULL, event) && !table->events.host_wait(table, event));
    CHECK(!table->events.query(table, event) && !table->events.device_wait(table));
    CHECK(!table->events.destroy(table, event));
    CHECK(!table->capture.active(table, NULL, &active) && !active);
    CHECK(!table->capture.exchange_mode(table, &mode) && mode == 0);
    CHECK(table->now_ns(table) > 0);
    CHECK_MSG(sim_thread_called - calls == 9, "calls on memory alone are counted, each once");
    CHECK_STR(table->code_name(table, 2), "cudaErrorMemoryAllocation");
    CHECK_INT(table->classify(table, 2), ==, GPUARENA_STATUS_NO_MEMORY);
    device_close(shared, NULL);
}

/* Each thread has a default stream of its own, and nothing orders two of these. */
static void test_thread(void)
{
    device_config config = { 0 };
    void *memory = NULL;
    gpuarena_stream own = (gpuarena_stream)(intptr_t)2;
    device *on = device_open(&config, &why);
    if (!on) give_up(why.text);
    const gpuarena_driver *table = device_driver(on);
    if (table->memory.obtain(table, GPUARENA_MEMORY_DEVICE, &memory, 4 * MIB, NULL)) give_up("no memory");
    device_thread(on, 1);
    CHECK(!device_access(on, own, memory, 4 * MIB, 1, &why));
    CHECK(!device_access(on, own, memory, 4 * MIB, 2, &why));
    CHECK_MSG(!sim_finding(device_simulated(on), 0), "one thread's stream orders two owners");
    device_thread(on, 2);
    CHECK(!device_access(on, own, memory, 4 * MIB, 3, &why));
    CHECK_MSG(sim_finding(device_simulated(on), 0), "another thread's does not");
    device_close(on, NULL);
}

int main(void)
{
    test_refusal();
    test_failures();
    test_waiting();
    test_shared_device();
    test_shared_entries();
    test_thread();
    return tap_done();
}
