/* Sets of memory for graphs: shared by captures, apart from each other, refilled by frees outside of captures, given
   back behind the last launch; blocks that outlive them, trims, resets, and a graph run for long beside
   a busy arena. */
#include "stream_capture.h"

/* PyTorch's capture_reclaim_2_streams: once its captures have ended, all of a set is every one of its
   streams'. */
static void test_two_captures_share_a_set(void)
{
    stage self = stage_open(MIB(16));
    uint64_t set = 0, joined;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy first = stage_take(&self, MIB(16), 1);
    CHECK_INT(stage_free(&self, &first, 1), ==, GPUARENA_OK);
    void *one = capture_end(&self, 1);
    joined = set;
    capture_begin(&self, 2, GLOBAL, &joined);
    CHECK_U64(joined, ==, set);
    tenancy second = stage_take(&self, MIB(16), 2);
    CHECK_MSG(second.ptr == first.ptr, "the second capture has the first one's memory");
    CHECK_INT(stage_free(&self, &second, 2), ==, GPUARENA_OK);
    void *two = capture_end(&self, 2);
    for (int i = 0; i < 3; i++)
        CHECK_MSG(capture_launch(&self, one, 1) && capture_launch(&self, two, 1), "both launched, in turn");
    CHECK_INT(sim_graph_destroy(self.machine, one), ==, 0);
    CHECK_INT(sim_graph_destroy(self.machine, two), ==, 0);
    capture_release(&self, set, 1);
    CHECK(stage_take(&self, MIB(16), 3).ptr == first.ptr);
    stage_close(&self, "a shared set");
}

/* Sets are apart from each other. */
static void test_two_sets(void)
{
    stage self = stage_open(MIB(32));
    uint64_t sets[2] = { 0, 0 };
    void *graphs[2];
    tenancy blocks[2];
    for (int i = 0; i < 2; i++) {
        capture_begin(&self, 1, GLOBAL, &sets[i]);
        blocks[i] = stage_take(&self, MIB(16), 1);
        CHECK_INT(stage_free(&self, &blocks[i], 1), ==, GPUARENA_OK);
        graphs[i] = capture_end(&self, 1);
    }
    CHECK(sets[0] != sets[1] && blocks[0].ptr != blocks[1].ptr);
    CHECK(capture_launch(&self, graphs[0], 1) && capture_launch(&self, graphs[1], 2));
    CHECK(capture_launch(&self, graphs[0], 1));
    capture_release(&self, sets[1], 2);
    CHECK(stage_take(&self, MIB(16), 3).ptr == blocks[1].ptr);
    CHECK_MSG(stage_take(&self, MIB(16), 3).ptr == NULL, "the other set's is still its own");
    CHECK(capture_launch(&self, graphs[0], 1));
    capture_release(&self, sets[0], 1);
    CHECK(stage_take(&self, MIB(16), 3).ptr == blocks[0].ptr);
    stage_close(&self, "two sets");
}

/* A block that a graph writes, freed after a launch: a later capture of the set has it once that work is done. */
static void test_freed_output_goes_back_to_the_set(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0, reserved = stage_stats(&self).reserved_bytes;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy output = stage_take(&self, MIB(16), 1);
    void *one = capture_end(&self, 1);
    CHECK(capture_launch(&self, one, 1) && stage_work(&self, 1, &output, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &output, 1), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_wait(self.machine, 0, self.streams[1]), ==, 0);
    capture_begin(&self, 2, GLOBAL, &set);
    tenancy again = stage_take(&self, MIB(16), 2);
    CHECK(again.ptr != NULL);
    CHECK_INT(stage_free(&self, &again, 2), ==, GPUARENA_OK);
    void *two = capture_end(&self, 2);
    CHECK(capture_launch(&self, two, 2));
    CHECK_U64(stage_stats(&self).reserved_bytes, ==, reserved);
    capture_release(&self, set, 2);
    stage_close(&self, "freed output");
}

/* What is released is ordered behind the stream that is named: the graph's last run. */
static void test_release_is_ordered(void)
{
    stage self = stage_open(MIB(16));
    uint64_t set = 0;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(16), 1);
    CHECK(stage_work(&self, 1, &block, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    CHECK(capture_launch(&self, graph, 4));
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    capture_release(&self, set, 4);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, MIB(16));
    CHECK(stage_take(&self, MIB(16), 2).ptr == block.ptr);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "ordered release");
}

/* Blocks that are live when their set is released stay whole, and go to the arena when they are freed. */
static void test_live_block_at_release(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy result = stage_take(&self, MIB(16), 1), scratch = stage_take(&self, MIB(16), 1);
    CHECK_INT(stage_free(&self, &scratch, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    CHECK(capture_launch(&self, graph, 1));
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    CHECK(stage_work(&self, 1, &result, 0));
    CHECK(stage_take(&self, MIB(16), 2).ptr == scratch.ptr);
    CHECK_MSG(stage_take(&self, MIB(16), 2).ptr == NULL, "the live block is still its owner's");
    CHECK_INT(stage_free(&self, &result, 1), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(16), 3).ptr == result.ptr);
    stage_close(&self, "live block at release");
}

/* PyTorch's use_result_after_destroy_graph: released and trimmed, only the live block's segment stays. */
static void test_release_and_trim(void)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    uint64_t set = 0, released = 0;
    config.growth = GPUARENA_GROWTH_EXACT;
    stage_arena(&self, &config);
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy result = stage_take(&self, MIB(4), 1), scratch = stage_take(&self, MIB(32), 1);
    CHECK_INT(stage_free(&self, &scratch, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    CHECK(capture_launch(&self, graph, 1));
    CHECK_INT(gpuarena_trim(self.arena, 0, &released), ==, GPUARENA_OK);
    CHECK_MSG(released == 0 && capture_launch(&self, graph, 1), "a set's memory is not trimmed");
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(self.arena, 0, &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, MIB(32));
    CHECK(result.ptr && stage_work(&self, 1, &result, 0));
    stage_close(&self, "release and trim");
}

/* A second capture of the set begins while the first goes on: what that one frees is nobody else's before
   both end. */
static void test_captures_that_overlap(void)
{
    stage self = stage_open(MIB(32));
    uint64_t set = 0;
    capture_begin(&self, 1, RELAXED, &set);
    tenancy first = stage_take(&self, MIB(8), 1);
    CHECK_INT(stage_free(&self, &first, 1), ==, GPUARENA_OK);
    capture_begin(&self, 2, RELAXED, &set);
    tenancy second = stage_take(&self, MIB(8), 2);
    CHECK(second.ptr && second.ptr != first.ptr);
    void *one = capture_end(&self, 1);
    tenancy third = stage_take(&self, MIB(8), 2), outside = stage_take(&self, MIB(8), 1);
    CHECK(third.ptr && outside.ptr && third.ptr != first.ptr && outside.ptr != first.ptr);
    CHECK_INT(stage_free(&self, &second, 2), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &third, 2), ==, GPUARENA_OK);
    void *two = capture_end(&self, 2);
    for (int i = 0; i < 3; i++) CHECK(capture_launch(&self, one, 1) && capture_launch(&self, two, 1));
    capture_release(&self, set, 1);
    stage_close(&self, "captures that overlap");
}

/* The stream goes, its set stays: graphs run on any stream. An arena does not end before its sets. */
static void test_stream_gone_set_kept(void)
{
    stage self = stage_open(MIB(32));
    gpuarena_failure failure;
    char text[256];
    uint64_t set = 0;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(16), 1);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_CAPTURE);
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    void *graph = capture_end(&self, 1);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, 0);
    CHECK(capture_launch(&self, graph, 2));
    CHECK_INT(gpuarena_reset(self.arena, self.streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self.arena), ==, GPUARENA_STILL_IN_USE);
    gpuarena_last_failure(self.arena, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    CHECK_MSG(strstr(text, "gpuarena_capture_release") != NULL, "%s", text);
    CHECK(capture_launch(&self, graph, 3) && sim_device_wait(self.machine, 0) == 0);
    CHECK_INT(gpuarena_capture_release(self.arena, set, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(16), 4).ptr != NULL);
    stage_close(&self, "stream gone, set kept");
}

/* A reset frees a capture's blocks as any: they stay the set's. */
static void test_reset(void)
{
    stage self = stage_open(MIB(16));
    uint64_t set = 0;
    capture_begin(&self, 1, GLOBAL, &set);
    tenancy block = stage_take(&self, MIB(16), 1);
    CHECK_INT(gpuarena_reset(self.arena, self.streams[1]), ==, GPUARENA_OK);      /* the pin, too */
    tenancy again = stage_take(&self, MIB(16), 1);
    CHECK(again.ptr == block.ptr);
    void *graph = capture_end(&self, 1);
    CHECK(capture_launch(&self, graph, 1));
    CHECK_INT(gpuarena_reset(self.arena, self.streams[1]), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(16), 2).ptr == NULL);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(18), 2).ptr != NULL);
    stage_close(&self, "reset");
}

/* A graph of three blocks runs two hundred times; between the runs, streams beside it take, use and free memory. */
static void test_graph_beside_a_busy_arena(uint64_t seed)
{
    stage self = stage_open(MIB(48));
    tenancy live[32];
    int streams[32], live_count = 0;
    uint64_t set = 0, state = seed, wrong = 0;
    capture_begin(&self, 1, GLOBAL, &set);
    for (int i = 0; i < 3; i++) {
        tenancy block = stage_take_working(&self, MIB(4), 1, 20000);
        if (i) stage_free(&self, &block, 1);
    }
    void *graph = capture_end(&self, 1);
    for (int op = 0; op < 4000 && !wrong; op++) {
        int stream = 1 + (int)(splitmix64_next(&state) % 4);
        if (op % 20 == 0) wrong += !capture_launch(&self, graph, 1);
        if (live_count < 32 && splitmix64_next(&state) % 2) {
            tenancy made = stage_take(&self, (1 + splitmix64_next(&state) % 32) * KIB(128), stream);
            streams[live_count] = stream;
            if (made.ptr) live[live_count++] = made;
            if (made.ptr) wrong += !stage_work(&self, stream, &made, splitmix64_next(&state) % 50000);
        } else if (live_count) {
            int at = (int)(splitmix64_next(&state) % (uint64_t)live_count);
            wrong += stage_free(&self, &live[at], streams[at]) != GPUARENA_OK;
            live[at] = live[--live_count];
            streams[at] = streams[live_count];
        }
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[1]), ==, GPUARENA_OK);
    stage_close(&self, "graph beside a busy arena");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_two_captures_share_a_set();
        test_two_sets();
        test_freed_output_goes_back_to_the_set();
        test_release_is_ordered();
        test_live_block_at_release();
        test_release_and_trim();
        test_reset();
        test_captures_that_overlap();
        test_stream_gone_set_kept();
        for (uint64_t seed = 1; seed <= 3; seed++) test_graph_beside_a_busy_arena(seed);
    }
    return tap_done();
}
