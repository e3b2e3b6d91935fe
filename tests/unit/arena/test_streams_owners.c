/* Whose memory it is: further streams named to gpuarena_use, streams that were destroyed, frees on the own stream or
   on none, memory for every stream. */
#include "stream_stage.h"

static uint64_t gpu_waits(const stage *self) { return stage_stats(self).gpu_wait_count; }

/* Allocated on stream 1, used on stream 2 for a second through an address inside it, freed on stream 1. */
static tenancy shared_block(stage *self, uint64_t bytes, uint64_t offset)
{
    tenancy block = stage_take(self, bytes, 1);
    CHECK_INT(gpuarena_use(self->arena, block.ptr + offset, self->streams[2]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_follow(self->machine, 0, self->streams[2], self->streams[1]), ==, 0);
    CHECK(stage_work(self, 2, &block, STAGE_SECOND));
    CHECK_INT(stage_free(self, &block, 1), ==, GPUARENA_OK);
    return block;
}

/* PyTorch's test_record_stream, and .._on_shifted_view: not reused while the other stream works, reused after. */
static void test_use_keeps_the_block(uint64_t offset)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    stage_arena(&self, &config);
    tenancy block = shared_block(&self, MIB(16), offset);
    tenancy other = stage_take(&self, MIB(16), 1);
    CHECK_MSG(other.ptr && other.ptr != block.ptr, "elsewhere while the other stream works");
    CHECK_MSG(!stage_is_busy(&self, 1) && gpu_waits(&self) == 0, "and not behind it");
    CHECK_INT(sim_stream_wait(self.machine, 0, self.streams[2]), ==, 0);
    tenancy again = stage_take(&self, MIB(16), 1);
    CHECK(again.ptr == block.ptr);
    CHECK_U64(gpu_waits(&self), ==, 0);
    stage_close(&self, "use");
}

static void test_use_on_the_own_stream_costs_nothing(void)
{
    stage self = stage_open(MIB(16));
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &block, 1), ==, GPUARENA_OK);
    tenancy again = stage_take(&self, MIB(16), 1);
    CHECK(again.ptr == block.ptr && stage_is_busy(&self, 1));
    CHECK_U64(gpu_waits(&self) + stage_calls(&self, SIM_CALL_EVENT_RECORD), ==, 0);
    stage_close(&self, "use on the own stream");
}

/* Allocated on 1, used on 1 and 2, freed on 3, which is not ordered behind either: both are named. */
static void test_use_of_two_streams(void)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + 3 * STAGE_SECOND;
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(sim_stream_follow(self.machine, 0, self.streams[2], self.streams[1]), ==, 0);
    CHECK(stage_work(&self, 2, &block, 3 * STAGE_SECOND));
    CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &block, 3), ==, GPUARENA_OK);
    tenancy next = stage_take(&self, MIB(16), 3);
    CHECK(next.ptr == block.ptr);
    CHECK_U64(stage_end_ns(&self, 3), >=, until);
    stage_close(&self, "use of two streams");
}

/* A stream is destroyed after its free, and another one comes by its handle. */
static void test_handle_of_a_destroyed_stream(void)
{
    stage self = stage_open(MIB(16));
    sim_reuse_handles(self.machine, 1);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    gpuarena_stream gone = self.streams[1];
    tenancy block = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(gpuarena_forget(self.arena, gone), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_destroy(self.machine, 0, gone), ==, 0);
    CHECK_INT(sim_stream_create(self.machine, 0, 0, &self.streams[1]), ==, 0);
    CHECK(self.streams[1] == gone);
    tenancy next = stage_take(&self, MIB(16), 1);
    CHECK(next.ptr == block.ptr);
    CHECK_U64(stage_end_ns(&self, 1), >=, until);
    stage_close(&self, "handle of a destroyed stream");
}

/* As above, and the memory is needed by a third stream: nobody may touch the old handle. */
static void test_memory_of_a_destroyed_stream(void)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy block = stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, 0);
    tenancy next = stage_take(&self, MIB(16), 2);
    CHECK(next.ptr == block.ptr);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "memory of a destroyed stream");
}

/* The stream goes while a block that it allocated and works on is live; freed on it by name, or on no stream's. */
static void test_forget_with_a_live_block(int is_used)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy block = stage_take(&self, MIB(16), is_used ? 3 : 1);
    if (is_used) {
        CHECK_INT(gpuarena_use(self.arena, block.ptr, self.streams[1]), ==, GPUARENA_OK);
        CHECK_INT(sim_stream_follow(self.machine, 0, self.streams[1], self.streams[3]), ==, 0);
    }
    CHECK(stage_work(&self, 1, &block, STAGE_SECOND));
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, block.ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    tenancy next = stage_take(&self, MIB(16), 2);
    CHECK(next.ptr == block.ptr);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, is_used ? "forget with a used block" : "forget with a live block");
}

/* The handle means a new stream by the time of the free: its own stream is still the old one. */
static void test_own_stream_is_the_old_one(void)
{
    stage self = stage_open(MIB(16));
    sim_reuse_handles(self.machine, 1);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_destroy(self.machine, 0, self.streams[1]), ==, 0);
    CHECK_INT(sim_stream_create(self.machine, 0, 0, &self.streams[1]), ==, 0);
    tenancy new_streams = stage_take(&self, 0, 1);
    CHECK(new_streams.ptr == NULL);
    CHECK_INT(gpuarena_free(self.arena, block.ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    tenancy next = stage_take(&self, MIB(16), 1);
    CHECK(next.ptr == block.ptr);
    CHECK_U64(stage_end_ns(&self, 1), >=, until);
    stage_close(&self, "own stream");
}

static void test_own_frees(void)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy block = stage_take_working(&self, MIB(16), 1, STAGE_SECOND);
    CHECK_INT(gpuarena_free(self.arena, block.ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    tenancy again = stage_take(&self, MIB(16), 1);
    CHECK_MSG(again.ptr == block.ptr && stage_is_busy(&self, 1), "its own stream has it at once");
    CHECK_INT(gpuarena_free(self.arena, again.ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    tenancy other = stage_take(&self, MIB(16), 2);
    CHECK(other.ptr == block.ptr);
    CHECK_U64(stage_end_ns(&self, 2), >=, until);
    stage_close(&self, "own frees");
}

/* Used on every stream at once: no finding. */
static void check_usable_everywhere(stage *self, void *ptr, uint64_t bytes)
{
    tenancy block = { ptr, bytes, ++self->owner };
    for (int stream = 1; stream < STAGE_STREAMS; stream++)
        CHECK_MSG(ptr && stage_work(self, stream, &block, 0), "usable on stream %d", stream);
}

static void test_memory_for_every_stream(void)
{
    stage self = stage_open(MIB(32));
    void *ptr = NULL;
    tenancy busy = stage_take(&self, MIB(16), 1), idle = stage_take(&self, MIB(16), 1);
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, idle.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).cached_bytes, ==, MIB(16));
    CHECK(stage_work(&self, 1, &busy, STAGE_SECOND));
    CHECK_INT(stage_free(&self, &busy, 1), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, MIB(16), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK(ptr == (void *)idle.ptr);
    CHECK_U64(gpu_waits(&self), ==, 0);
    check_usable_everywhere(&self, ptr, MIB(16));
    CHECK_INT(sim_device_wait(self.machine, 0), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    stage_close(&self, "memory for every stream");
}

/* There is none but what a stream may still use: the host must wait for it. */
static void test_memory_for_every_stream_under_pressure(int streams)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    void *ptr = NULL;
    for (int i = 1; i <= streams; i++) stage_pending(&self, MIB(16) / (uint64_t)streams, i, STAGE_SECOND);
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, MIB(16), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    check_usable_everywhere(&self, ptr, MIB(16));
    stage_close(&self, "memory for every stream under pressure");
}

/* A block for every stream has none of its own: freed there, it waits for the whole device. */
static void test_own_free_of_memory_for_every_stream(void)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy block = { NULL, MIB(16), ++self.owner };
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, MIB(16), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    block.ptr = ptr;
    CHECK(stage_work(&self, 1, &block, STAGE_SECOND) && stage_work(&self, 2, &block, STAGE_SECOND));
    CHECK_INT(gpuarena_free(self.arena, ptr, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).sync_wait_count, ==, 1);
    CHECK(stage_take(&self, MIB(16), 1).ptr == ptr);
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    CHECK_U64(stage_stats(&self).wait_count, ==, 1);
    stage_close(&self, "own free of memory for every stream");
}

/* GPUARENA_ANY_STREAM says that the GPU is done with the block, which it may never have used: what it was before may
   still be at work. */
static void test_free_of_an_unused_block(void)
{
    stage self = stage_open(MIB(16));
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    void *unused = NULL;
    CHECK_INT(gpuarena_alloc(self.arena, &unused, MIB(16), self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, unused, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK(stage_take(&self, MIB(16), 3).ptr == unused);
    CHECK_U64(stage_end_ns(&self, 3), >=, until);
    stage_close(&self, "free of an unused block");
}

static void test_streams_that_are_none(void)
{
    stage self = stage_open(MIB(16));
    const gpuarena_stream any = GPUARENA_ANY_STREAM, own = GPUARENA_OWN_STREAM;
    void *ptr = &self;
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, 1, own), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK(ptr == (void *)&self);
    CHECK_INT(gpuarena_use(self.arena, self.pin, any), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_use(self.arena, self.pin, own), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_forget(self.arena, any), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_forget(self.arena, own), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_forget(self.arena, self.streams[4]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_use(self.arena, (char *)self.pin + MIB(2), self.streams[1]), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_use(self.arena, &self, self.streams[1]), ==, GPUARENA_FOREIGN_POINTER);
    CHECK_U64(stage_stats(&self).misuse_count, ==, 7);
    stage_close(&self, "streams that are none");
}

static void test_free_of_what_the_gpu_is_done_with(void)
{
    stage self = stage_open(MIB(16));
    tenancy block = stage_take(&self, MIB(16), 1);
    CHECK_INT(sim_stream_wait(self.machine, 0, self.streams[1]), ==, 0);
    CHECK_INT(gpuarena_free(self.arena, block.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, 0);
    tenancy next = stage_take(&self, MIB(16), 2);
    CHECK(next.ptr == block.ptr);
    CHECK_U64(stage_calls(&self, SIM_CALL_EVENT_RECORD) + stage_calls(&self, SIM_CALL_EVENT_QUERY), ==, 0);
    stage_close(&self, "done with");
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_use_on_the_own_stream_costs_nothing();
        test_use_of_two_streams();
        test_handle_of_a_destroyed_stream();
        test_memory_of_a_destroyed_stream();
        test_forget_with_a_live_block(0);
        test_forget_with_a_live_block(1);
        test_own_stream_is_the_old_one();
        test_own_frees();
        test_memory_for_every_stream();
        test_memory_for_every_stream_under_pressure(1);
        test_memory_for_every_stream_under_pressure(3);
        test_free_of_what_the_gpu_is_done_with();
        test_own_free_of_memory_for_every_stream();
        test_free_of_an_unused_block();
        test_streams_that_are_none();
    }
    /* segments alone */
    test_use_keeps_the_block(0);
    test_use_keeps_the_block(MIB(16) - 1);
    return tap_done();
}
