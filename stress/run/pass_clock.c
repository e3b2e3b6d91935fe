/* Clocks around calls; the driver's count before and after says which allocation was a miss.
   It must not know op streams or results.
   Tested by tests/test_pass_clock.c. */
#include "pass_clock.h"

#include "../base/progress.h"

static uint64_t clock_virtual_ns(const pass_clock *clock)
{
    return sim_now_ns(device_simulated(clock->pool->device));
}

static int clock_is_rated(const pass_clock *clock)
{
    return clock->rate && device_simulated(clock->pool->device);
}

pass_clock pass_clock_of(pool *of, pass_timing *timing, arrivals *heard, uint64_t rate)
{
    const pass_clock made = { of, timing, timing ? NULL : heard, rate, 0, 0, 0, 0, 0, 0 };
    return made;
}

void pass_clock_rest(pass_clock *clock)
{
    clock->is_due = 0;
    clock->arrived = 0;
}

/* Of so many operations a second, number `count`: exact to the nanosecond, without drift. */
static uint64_t clock_due(const pass_clock *clock, uint64_t count)
{
    const uint64_t second_ns = 1000000000;
    return count / clock->rate * second_ns + count % clock->rate * second_ns / clock->rate;
}

void pass_clock_arrive(pass_clock *clock)
{
    if (!clock_is_rated(clock)) return;
    sim *machine = device_simulated(clock->pool->device);
    uint64_t now_ns = sim_now_ns(machine);
    if (!clock->arrived) clock->start_ns = now_ns;
    clock->due_ns = clock->start_ns + clock_due(clock, clock->arrived++);
    if (now_ns < clock->due_ns) sim_advance(machine, clock->due_ns - now_ns);
    clock->begun_ns = sim_now_ns(machine);
    clock->is_due = 1;
}

static void clock_served(pass_clock *clock)
{
    if (!clock->arrivals || !clock->is_due) return;
    clock->is_due = 0;
    uint64_t now_ns = clock_virtual_ns(clock);
    histogram_add(&clock->arrivals->waited, now_ns - clock->due_ns);
    histogram_add(&clock->arrivals->served, now_ns - clock->begun_ns);
}

static uint64_t clock_driver_calls(const pass_clock *clock)
{
    device_counters counted;
    device_count(clock->pool->device, &counted);
    return counted.calls;
}

gpuarena_result pass_clock_alloc(pass_clock *clock, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    const pass_timing *timing = clock->timing;
    uint64_t calls = clock_driver_calls(clock), start_ns = timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_alloc(clock->pool, ptr, bytes, stream);
    uint64_t spent_ns = timing ? progress_clock_ns() - start_ns : 0;
    int is_miss = clock_driver_calls(clock) != calls;
    clock->misses += (uint64_t)is_miss;
    clock_served(clock);
    if (!timing) return result;
    histogram *apart = is_miss ? timing->misses : timing->hits;
    histogram_add(timing->allocs, spent_ns);
    if (apart) histogram_add(apart, spent_ns);
    return result;
}

gpuarena_result pass_clock_free(pass_clock *clock, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    uint64_t start_ns = clock->timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_free(clock->pool, ptr, bytes, stream);
    if (clock->timing) histogram_add(clock->timing->frees, progress_clock_ns() - start_ns);
    clock_served(clock);
    return result;
}
