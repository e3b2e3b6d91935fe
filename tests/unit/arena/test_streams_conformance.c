/* Order between streams, as tests of other GPU pools ask for it: at once on the same stream, behind the work on
   another, through merges, splits and trims. Judged on the virtual clock and by the device's judge. */
#include "stream_stage.h"

static uint64_t gpu_waits(const stage *self) { return stage_stats(self).gpu_wait_count; }

/* One segment with the pin, as stage_open's, and room to grow by 16 MiB more. */
static stage open_with_room(uint64_t bytes)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    config.growth = GPUARENA_GROWTH_EXACT;
    config.initial_bytes = bytes + MIB(2);
    config.limit_bytes = bytes + MIB(18);
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(2), self.streams[0]), ==, GPUARENA_OK);
    return self;
}

/* A miss that other streams' memory could serve were it done: their events are recorded and asked. What it is served
   with is grown, and stays live. */
static void poke(stage *self, int stream)
{
    uint64_t before = stage_calls(self, SIM_CALL_EVENT_QUERY), grown = stage_stats(self).grow_count;
    CHECK(stage_take(self, MIB(16), stream).ptr != NULL);
    CHECK(stage_calls(self, SIM_CALL_EVENT_QUERY) > before && stage_stats(self).grow_count == grown + 1);
}

static void test_same_stream_at_once(void)
{
    stage self = stage_open(MIB(16));
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, MIB(16));
    uint64_t before = sim_now_ns(self.machine);
    tenancy second = stage_take(&self, MIB(16), 1);
    CHECK(second.ptr == first.ptr);
    CHECK_MSG(stage_is_busy(&self, 1), "the first tenancy's work is still running");
    CHECK_U64(sim_now_ns(self.machine), ==, before);
    CHECK_U64(stage_calls(&self, SIM_CALL_EVENT_RECORD) + stage_calls(&self, SIM_CALL_EVENT_QUERY), ==, 0);
    CHECK_U64(gpu_waits(&self), ==, 0);
    stage_close(&self, "same stream");
}

static void test_other_stream_behind_the_work(void)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy second = stage_take(&self, MIB(16), 2);
    CHECK(second.ptr == first.ptr);
    CHECK_MSG(sim_now_ns(self.machine) < until, "the host did not wait");
    CHECK_U64(gpu_waits(&self), ==, 1);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "other stream");
}

static void test_other_stream_elsewhere_while_there_is_room(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    stage_arena(&self, &config);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy first = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy second = stage_take(&self, MIB(16), 2);
    CHECK(second.ptr && second.ptr != first.ptr);
    CHECK_U64(stage_end_ns(&self, 2), <, until);
    CHECK_U64(gpu_waits(&self), ==, 0);
    stage_close(&self, "elsewhere");
}

/* Memory of a side stream does not stay with it: no silo. */
static void test_other_stream_once_the_work_is_done(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    stage_arena(&self, &config);
    tenancy first = stage_pending(&self, MIB(64), 1, STAGE_SECOND);
    uint64_t reserved = stage_stats(&self).reserved_bytes;
    sim_advance(self.machine, 2 * STAGE_SECOND);
    tenancy second = stage_take(&self, MIB(64), 2);
    CHECK(second.ptr == first.ptr);
    CHECK_U64(stage_stats(&self).reserved_bytes, ==, reserved);
    CHECK_U64(gpu_waits(&self), ==, 0);
    stage_close(&self, "once done");
}

static void test_merge_of_two_streams(void)
{
    stage self = stage_open(MIB(32));
    uint64_t start = sim_now_ns(self.machine);
    tenancy left = stage_take_working(&self, MIB(16), 1, 3 * STAGE_SECOND);
    tenancy right = stage_take_working(&self, MIB(16), 2, STAGE_SECOND);
    CHECK_INT(stage_free(&self, &left, 1), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &right, 2), ==, GPUARENA_OK);
    tenancy whole = stage_take(&self, MIB(32), 3);
    CHECK(whole.ptr == left.ptr);
    CHECK_U64(stage_end_ns(&self, 3), >=, start + 3 * STAGE_SECOND);
    stage_close(&self, "merge of two streams");
}

/* An event covers the left half's free alone: the whole must wait for the right half's. */
static void test_merge_in_one_stream(void)
{
    stage self = open_with_room(MIB(32));
    tenancy left = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    tenancy right = stage_take(&self, MIB(16), 1);
    CHECK_INT(stage_free(&self, &left, 1), ==, GPUARENA_OK);
    poke(&self, 2);
    uint64_t until = sim_now_ns(self.machine) + 3 * STAGE_SECOND;
    CHECK(stage_work(&self, 1, &right, 3 * STAGE_SECOND));
    CHECK_INT(stage_free(&self, &right, 1), ==, GPUARENA_OK);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    tenancy whole = stage_take(&self, MIB(32), 2);
    CHECK(whole.ptr != NULL);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "merge in one stream");
}

/* Quiet memory beside pending memory: the piece that both make is the stream's. */
static void test_merge_with_quiet(void)
{
    stage self = stage_open(MIB(32));
    tenancy left = stage_take(&self, MIB(16), 1);
    tenancy right = stage_take(&self, MIB(16), 2);
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, left.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    CHECK(stage_work(&self, 2, &right, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &right, 2), ==, GPUARENA_OK);
    tenancy whole = stage_take(&self, MIB(32), 2);
    CHECK_MSG(whole.ptr == left.ptr && stage_is_busy(&self, 2), "its own stream has both at once");
    CHECK_U64(stage_stats(&self).look_count, ==, 1);
    CHECK_U64(gpu_waits(&self), ==, 0);
    CHECK_INT(stage_free(&self, &whole, 2), ==, GPUARENA_OK);
    tenancy half = stage_take(&self, MIB(16), 3);
    CHECK(half.ptr != NULL);
    CHECK_U64(stage_end_ns(&self, 3), >=, until);
    stage_close(&self, "merge with quiet");
}

static void test_split(void)
{
    stage self = stage_open(MIB(32));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    stage_pending(&self, MIB(32), 1, STAGE_SECOND);
    tenancy piece = stage_take(&self, MIB(8), 1);
    CHECK_MSG(piece.ptr && stage_is_busy(&self, 1), "its own stream has a piece at once");
    tenancy rest = stage_take(&self, MIB(24), 2);
    CHECK(rest.ptr != NULL);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "split");
}

/* What is left of a block that a stream was made to wait for. */
static void test_split_after_a_wait(void)
{
    stage self = stage_open(MIB(32));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    stage_pending(&self, MIB(32), 1, STAGE_SECOND);
    tenancy piece = stage_take(&self, MIB(8), 2);
    tenancy rest = stage_take(&self, MIB(24), 3);
    CHECK(piece.ptr && rest.ptr);
    CHECK_U64(stage_end_ns(&self, 3), >=, until);
    stage_close(&self, "split after a wait");
}

static void test_trim(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND, released = 0;
    config.growth = GPUARENA_GROWTH_EXACT;
    config.limit_bytes = MIB(40);
    stage_arena(&self, &config);
    tenancy kept = stage_take(&self, MIB(2), 1);
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    tenancy large = stage_take(&self, MIB(20), 1);
    CHECK_INT(stage_free(&self, &large, 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(self.arena, MIB(18), &released), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).reserved_bytes, ==, MIB(40) - MIB(2) - released);
    tenancy again = stage_take(&self, MIB(16), 2);
    CHECK(kept.ptr && again.ptr);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "trim");
}

/* A trim that cannot give anything back, since each segment has a live block, loses no order either. */
static void test_trim_of_nothing(void)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND, released = 1;
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(gpuarena_trim(self.arena, 0, &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, 0);
    tenancy after = stage_take(&self, MIB(16), 2);
    CHECK(after.ptr != NULL);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "trim of nothing");
}

/* RMM #2489: B is made to wait for A, and takes A's memory over; C asks B's event, recorded before that wait. */
static void test_third_stream(int blocks)
{
    enum { A = 1, B = 2, C = 3, OTHER = 4 };
    stage self = open_with_room(MIB(48));
    uint64_t until = sim_now_ns(self.machine) + 3 * STAGE_SECOND, part = MIB(32) / (uint64_t)blocks;
    tenancy donated[4];
    tenancy own = stage_pending(&self, MIB(16), B, STAGE_SECOND / 1000), rest = stage_take(&self, MIB(32), OTHER);
    poke(&self, OTHER);
    CHECK_INT(stage_free(&self, &rest, OTHER), ==, GPUARENA_OK);
    sim_stream_follow(self.machine, 0, self.streams[A], self.streams[OTHER]);
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    own = stage_take(&self, MIB(16), B);
    for (int i = 0; i < blocks; i++) donated[i] = stage_take_working(&self, part, A, 3 * STAGE_SECOND);
    for (int i = 0; i < blocks; i += 2) CHECK_INT(stage_free(&self, &donated[i], A), ==, GPUARENA_OK);
    for (int i = 1; i < blocks; i += 2) CHECK_INT(stage_free(&self, &donated[i], A), ==, GPUARENA_OK);
    tenancy taken = stage_take(&self, MIB(24), B);
    CHECK(taken.ptr != NULL);
    CHECK_INT(stage_free(&self, &taken, B), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &own, B), ==, GPUARENA_OK);
    rest = stage_take(&self, MIB(48), C);
    CHECK(rest.ptr != NULL);
    CHECK_U64(stage_end_ns(&self, C), >=, until);
    stage_close(&self, "third stream");
}

/* B merges what two streams freed; a third and a fourth share the whole: each behind both. */
static void test_third_stream_of_two_donors(void)
{
    stage self = stage_open(MIB(32));
    uint64_t until = sim_now_ns(self.machine) + 2 * STAGE_SECOND;
    tenancy left = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    tenancy right = stage_take_working(&self, MIB(16), 2, 2 * STAGE_SECOND);
    CHECK_INT(stage_free(&self, &left, 1), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &right, 2), ==, GPUARENA_OK);
    tenancy whole = stage_take(&self, MIB(32), 3);
    CHECK_INT(stage_free(&self, &whole, 3), ==, GPUARENA_OK);
    tenancy one = stage_take(&self, MIB(16), 4), two = stage_take(&self, MIB(16), 5);
    CHECK(one.ptr && two.ptr && one.ptr != two.ptr);
    stage_end_ns(&self, one.ptr > two.ptr ? 4 : 5);
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    stage_close(&self, "two donors");
}

/* ORT: neighbours that two streams freed are one block once both streams are gone and done. */
static void test_neighbours_of_two_streams_join(void)
{
    stage self = stage_open(MIB(2));
    tenancy filler = stage_take(&self, MIB(2) - KIB(8), 3);
    tenancy left = stage_take(&self, KIB(4), 1), right = stage_take(&self, KIB(4), 2);
    CHECK_INT(stage_free(&self, &left, 1), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &right, 2), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[2]), ==, GPUARENA_OK);
    sim_advance(self.machine, STAGE_SECOND);
    tenancy whole = stage_take(&self, KIB(8), 3);
    CHECK(filler.ptr && whole.ptr == left.ptr);
    CHECK_U64(gpu_waits(&self), ==, 0);
    stage_close(&self, "neighbours join");
}

/* torch#71616: one slow stream keeps nothing of the others from being found. */
static void test_head_of_line(int slow)
{
    stage self = stage_open(MIB(64));
    tenancy blocks[4];
    uint64_t until = sim_now_ns(self.machine) + 100 * STAGE_SECOND;
    for (int i = 0; i < 4; i++)
        blocks[i] = stage_take_working(&self, MIB(16), i + 1, i == slow ? 100 * STAGE_SECOND : STAGE_SECOND);
    for (int i = 0; i < 4; i++) CHECK_INT(stage_free(&self, &blocks[i], i + 1), ==, GPUARENA_OK);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    for (int i = 0; i < 3; i++) CHECK(stage_take(&self, MIB(16), 5).ptr != NULL);
    CHECK_U64(stage_end_ns(&self, 5), <, until);
    CHECK_U64(gpu_waits(&self), ==, 0);
    tenancy last = stage_take(&self, MIB(16), 5);
    CHECK(last.ptr == blocks[slow].ptr);
    CHECK_U64(stage_end_ns(&self, 5), >=, until);
    stage_close(&self, "head of line");
}

/* What no wait could serve makes nobody wait, and moves no memory to the stream that asked. */
static void test_hopeless_request_waits_for_nothing(void)
{
    stage self = stage_open(MIB(32));
    stage_pending(&self, MIB(32), 1, 100 * STAGE_SECOND);
    uint64_t before = sim_now_ns(self.machine);
    CHECK(stage_take(&self, GIB(1), 2).ptr == NULL);
    CHECK_U64(gpu_waits(&self), ==, 0);
    CHECK_U64(stage_end_ns(&self, 2), <, before + STAGE_SECOND);
    CHECK_MSG(stage_take(&self, MIB(32), 1).ptr && stage_is_busy(&self, 1), "its own stream has it at once, still");
    stage_close(&self, "hopeless request");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_same_stream_at_once();
        test_other_stream_behind_the_work();
        test_other_stream_once_the_work_is_done();
        test_merge_of_two_streams();
        test_merge_with_quiet();
        test_split();
        test_split_after_a_wait();
        test_third_stream(1);
        test_third_stream(4);
        test_third_stream_of_two_donors();
        test_neighbours_of_two_streams_join();
        for (int slow = 0; slow < 4; slow++) test_head_of_line(slow);
        test_hopeless_request_waits_for_nothing();
    }
    /* segments alone */
    test_other_stream_elsewhere_while_there_is_room();
    test_merge_in_one_stream();
    test_trim();
    test_trim_of_nothing();
    return tap_done();
}
