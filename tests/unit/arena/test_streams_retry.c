/* What happens before an allocation fails, and what never happens on the way of one that hits: frees that wait for
   other streams are waited for, no failure is spurious, each rung has its counter, hits cost no event. */
#include "stream_stage.h"

static const sim_call event_calls[] = {
    SIM_CALL_EVENT_WITH_FLAGS, SIM_CALL_EVENT_RECORD, SIM_CALL_EVENT_QUERY, SIM_CALL_EVENT_SYNCHRONIZE,
    SIM_CALL_STREAM_WAIT_EVENT, SIM_CALL_DEVICE_SYNCHRONIZE, SIM_CALL_STREAM_GET_ID, SIM_CALL_STREAM_IS_CAPTURING,
    SIM_CALL_EXCHANGE_CAPTURE_MODE, SIM_CALL_OBTAIN, SIM_CALL_GIVE_BACK, SIM_CALL_INFO
};

static uint64_t calls_of_any_kind(const stage *self)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT(event_calls); i++) sum += stage_calls(self, event_calls[i]);
    return sum;
}

/* torch#189504: a free that another stream still works behind would do; the first try must wait for it. */
static void test_pending_free_is_waited_for(int is_freed_there)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy block = stage_take(&self, MIB(16), 1);
    CHECK_INT(sim_stream_follow(self.machine, 0, self.streams[2], self.streams[1]), ==, 0);
    if (!is_freed_there) CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK(stage_work(&self, 2, &block, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &block, is_freed_there ? 2 : 1), ==, GPUARENA_OK);
    tenancy next = stage_take(&self, MIB(16), 1);
    CHECK_MSG(next.ptr == block.ptr, "at the first try");
    CHECK_U64(stage_stats(&self).fail_count, ==, 0);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    CHECK_U64(stage_end_ns(&self, 1), >=, until);
    stage_close(&self, "pending free");
}

/* PyTorch's test_caching_allocator_record_stream_oom: 100 blocks of 160 MiB, each still used by another stream. */
static void test_hundred_pending_blocks(void)
{
    stage self = stage_open(100 * MIB(160));
    tenancy blocks[100];
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND, refused = 0;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            blocks[i] = stage_take(&self, MIB(160), 1);
            refused += blocks[i].ptr == NULL;
        }
        for (int i = 0; i < 100 && !refused; i++) {
            refused += gpuarena_use(self.arena, blocks[i].ptr, self.streams[2]) != GPUARENA_OK;
            sim_stream_follow(self.machine, 0, self.streams[2], self.streams[1]);
            refused += !stage_work(&self, 2, &blocks[i], STAGE_SECOND / 100);
            refused += stage_free(&self, &blocks[i], 1) != GPUARENA_OK;
        }
        if (round == 0) CHECK_U64(stage_stats(&self).pending_bytes, ==, 100 * MIB(160));
    }
    CHECK_U64(refused, ==, 0);
    CHECK_U64(stage_end_ns(&self, 1), >=, until);
    CHECK_U64(stage_stats(&self).fail_count, ==, 0);
    stage_close(&self, "a hundred pending blocks");
}

/* Nothing fits by itself; what the streams freed makes a block together. */
static void test_many_small_pending_blocks_join(void)
{
    stage self = stage_open(MIB(16));
    tenancy blocks[64];
    for (int i = 0; i < 64; i++) blocks[i] = stage_take_working(&self, KIB(256), 1 + i % 4, STAGE_SECOND / 16);
    for (int i = 0; i < 64; i++) CHECK_INT(stage_free(&self, &blocks[i], 1 + i % 4), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(16), 5).ptr == blocks[0].ptr);
    CHECK_U64(stage_stats(&self).fail_count, ==, 0);
    CHECK_U64(stage_stats(&self).gpu_wait_count, <=, 5);
    stage_close(&self, "small blocks join");
}

/* A try climbs no rung: it neither waits nor asks, and says why. */
static void test_try_only(void)
{
    stage self = stage_open(MIB(16));
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_failure failure;
    void *ptr = &self;
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    uint64_t before = calls_of_any_kind(&self);
    request.bytes = MIB(16);
    request.flags = GPUARENA_ALLOC_TRY;
    request.stream = self.streams[2];
    CHECK_INT(gpuarena_alloc_ex(self.arena, &ptr, &request), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(ptr == (void *)&self);
    CHECK_U64(calls_of_any_kind(&self), ==, before);
    gpuarena_last_failure(self.arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "try_only");
    request.stream = self.streams[1];
    CHECK_INT(gpuarena_alloc_ex(self.arena, &ptr, &request), ==, GPUARENA_OK);
    stage_close(&self, "try only");
}

/* Allocations and frees of one round, each stream its own sizes: hits from the second round on. */
static uint64_t round_of_hits(stage *self, int streams, uint64_t pairs)
{
    uint64_t refused = 0;
    void *ptrs[4];
    for (uint64_t pair = 0; pair < pairs; pair += (uint64_t)streams) {
        for (int i = 0; i < streams; i++) {
            uint64_t bytes = UINT64_C(256) << pair % 8;
            refused += gpuarena_alloc(self->arena, &ptrs[i], bytes, self->streams[i + 1]) != GPUARENA_OK;
        }
        for (int i = 0; i < streams && !refused; i++)
            refused += gpuarena_free(self->arena, ptrs[i], self->streams[i + 1]) != GPUARENA_OK;
    }
    return refused;
}

static void test_million_hits(int streams)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    stage_arena(&self, &config);
    CHECK_U64(round_of_hits(&self, streams, 1000), ==, 0);
    uint64_t before = calls_of_any_kind(&self), now = sim_now_ns(self.machine);
    uint64_t looked = stage_stats(&self).look_count;
    CHECK_U64(round_of_hits(&self, streams, 1000000), ==, 0);
    CHECK_U64(calls_of_any_kind(&self), ==, before);
    CHECK_U64(sim_now_ns(self.machine), ==, now);
    CHECK_U64(stage_stats(&self).look_count, ==, looked);
    stage_close(&self, "a million hits");
}

/* Frees wait for nobody, on no stream: the host's clock stands still. */
static void test_free_never_waits(void)
{
    stage self = stage_open(MIB(16));
    tenancy blocks[4];
    for (int i = 0; i < 4; i++) blocks[i] = stage_take_working(&self, MIB(4), i + 1, STAGE_SECOND);
    CHECK_INT(gpuarena_use(self.arena, blocks[0].ptr, self.streams[5]), ==, GPUARENA_OK);
    uint64_t now = sim_now_ns(self.machine), before = calls_of_any_kind(&self);
    for (int i = 0; i < 4; i++) CHECK_INT(stage_free(&self, &blocks[i], i + 1), ==, GPUARENA_OK);
    CHECK_U64(sim_now_ns(self.machine), ==, now);
    CHECK_U64(calls_of_any_kind(&self), ==, before);
    stage_close(&self, "free never waits");
}

/* One event covers all frees before it: their number does not follow the number of frees. */
static void test_events_are_few(int is_per_thread)
{
    stage self = stage_open(MIB(64));
    tenancy block;
    if (is_per_thread) self.streams[1] = STAGE_PER_THREAD;
    for (int i = 0; i < 2000; i++) {
        block = stage_take(&self, KIB(64), 1 + i % 2);
        if (!stage_work(&self, 1 + i % 2, &block, STAGE_SECOND / 1000)) CHECK_MSG(0, "pair %d", i);
        stage_free(&self, &block, 1 + i % 2);
        if (i % 100 == 0) stage_take(&self, GIB(1), 3);
    }
    CHECK_U64(stage_calls(&self, SIM_CALL_EVENT_WITH_FLAGS), <=, is_per_thread ? 64 : 48);
    stage_close(&self, is_per_thread ? "events of a per-thread stream" : "events are few");
}

/* Random life at a tight limit: what is refused once is refused again at once, and is longer than any free run. */
static void test_no_spurious_failure(uint64_t seed)
{
    stage self = stage_open(MIB(24));
    tenancy live[64];
    int streams[64], live_count = 0;
    uint64_t state = seed, refused = 0, spurious = 0;
    for (int op = 0; op < 4000 && !spurious; op++) {
        int stream = 1 + (int)(splitmix64_next(&state) % 4);
        if (live_count < 64 && splitmix64_next(&state) % 5 < 3) {
            uint64_t bytes = (1 + splitmix64_next(&state) % 16) * KIB(128);
            tenancy made = stage_take(&self, bytes, stream);
            if (made.ptr) {
                streams[live_count] = stream;
                live[live_count++] = made;
                spurious += !stage_work(&self, stream, &made, splitmix64_next(&state) % 100000);
                continue;
            }
            refused++;
            spurious += stage_stats(&self).largest_free_bytes >= bytes;
            spurious += stage_take(&self, bytes, stream).ptr != NULL;
        } else if (live_count) {
            int at = (int)(splitmix64_next(&state) % (uint64_t)live_count);
            spurious += stage_free(&self, &live[at], streams[at]) != GPUARENA_OK;
            live[at] = live[--live_count];
            streams[at] = streams[live_count];
        }
    }
    CHECK_U64(spurious, ==, 0);
    CHECK_MSG(refused > 10, "the limit was tight");
    CHECK_U64(stage_stats(&self).fail_count, ==, 2 * refused);
    stage_close(&self, "no spurious failure");
}

/* Each rung, made to serve one allocation: its counter alone tells. */
static void test_rungs_are_counted(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    config.growth = GPUARENA_GROWTH_EXACT;
    config.limit_bytes = MIB(16);
    stage_arena(&self, &config);
    tenancy first = stage_take_working(&self, MIB(8), 1, STAGE_SECOND);
    CHECK_U64(stage_stats(&self).grow_count, ==, 1);
    CHECK_INT(stage_free(&self, &first, 1), ==, GPUARENA_OK);
    tenancy second = stage_take(&self, MIB(8), 2);
    CHECK_U64(stage_stats(&self).grow_count, ==, 2);
    CHECK_U64(stage_stats(&self).gpu_wait_count + stage_stats(&self).release_count, ==, 0);
    tenancy keep = stage_take(&self, MIB(4), 1);
    CHECK(keep.ptr == first.ptr);
    tenancy third = stage_take(&self, MIB(4), 2);
    CHECK_MSG(third.ptr && stage_stats(&self).gpu_wait_count == 1, "made to wait");
    CHECK_U64(stage_stats(&self).grow_count + stage_stats(&self).release_count, ==, 2);
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, second.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, keep.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, third.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(16), 3).ptr != NULL);
    CHECK_U64(stage_stats(&self).release_count, ==, 2);
    CHECK_U64(stage_stats(&self).grow_count, ==, 3);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    stage_close(&self, "rungs");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_pending_free_is_waited_for(0);
        test_pending_free_is_waited_for(1);
        test_hundred_pending_blocks();
        test_many_small_pending_blocks_join();
        test_try_only();
        test_million_hits(1);
        test_million_hits(4);
        test_free_never_waits();
        test_events_are_few(0);
        test_events_are_few(1);
        for (uint64_t seed = 1; seed <= 4; seed++) test_no_spurious_failure(seed);
    }
    test_rungs_are_counted();                    /* segments alone */
    return tap_done();
}
