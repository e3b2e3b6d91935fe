/* Streams without host memory: each of the arena's requests for it is refused in turn, once and from then on, through
   first allocations on streams, uses, frees, forgets and captures. What could not be noted is refused or waits for
   the device. */
#include "stream_stage.h"

typedef struct host { uint64_t asked, fail_at, fail_length, fired; int64_t held_bytes; } host;

static void *host_alloc(size_t bytes, void *user)
{
    host *self = user;
    self->asked++;
    if (self->fail_at && self->asked >= self->fail_at && self->asked - self->fail_at < self->fail_length) {
        self->fired++;
        return NULL;
    }
    void *memory = malloc(bytes);
    if (memory) self->held_bytes += (int64_t)bytes;
    return memory;
}

static void host_free(void *memory, size_t bytes, void *user)
{
    host *self = user;
    self->held_bytes -= (int64_t)bytes;
    free(memory);
}

static stage open_counted(host *memory)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    memset(memory, 0, sizeof *memory);
    config.growth = GPUARENA_GROWTH_FIXED;
    config.limit_bytes = MIB(64);
    config.host_alloc = host_alloc;
    config.host_free = host_free;
    config.host_user = memory;
    stage_arena(&self, &config);
    memory->asked = 0;
    return self;
}

static uint64_t refused_count, wrong_count;
static host *host_in_use;

/* 1: done; 0: refused for want of host memory, which alone may be. */
static int done(gpuarena_result result)
{
    refused_count += result == GPUARENA_HOST_MEMORY;
    wrong_count += result != GPUARENA_OK && result != GPUARENA_HOST_MEMORY;
    return result == GPUARENA_OK;
}

static tenancy take(stage *self, uint64_t bytes, int stream)
{
    tenancy made = { NULL, bytes, ++self->owner };
    void *ptr = NULL;
    if (!done(gpuarena_alloc(self->arena, &ptr, bytes, self->streams[stream]))) return made;
    made.ptr = ptr;
    wrong_count += !stage_work(self, stream, &made, 50000);
    return made;
}

/* Three streams beside the block's own work on it; where that cannot be noted, the program orders them itself. */
static void use_and_free(stage *self, const tenancy *block, int own)
{
    for (int stream = 1; stream < STAGE_STREAMS && block->ptr; stream++) {
        if (stream == own) continue;
        sim_stream_follow(self->machine, 0, self->streams[stream], self->streams[own]);
        wrong_count += !stage_work(self, stream, block, 50000);
        if (!done(gpuarena_use(self->arena, block->ptr, self->streams[stream])))
            sim_stream_follow(self->machine, 0, self->streams[own], self->streams[stream]);
    }
    if (block->ptr) wrong_count += stage_free(self, block, own) != GPUARENA_OK;
}

/* A short life that needs all tables: blocks on five streams, some used on all, streams that come and go. */
static void live(stage *self)
{
    tenancy blocks[16];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 16; i++) blocks[i] = take(self, MIB(2) + KIB(64) * (uint64_t)i, 1 + i % 5);
        for (int i = 0; i < 16; i += 3) use_and_free(self, &blocks[i], 1 + i % 5);
        for (int i = 0; i < 16; i++) {
            int own = 1 + i % 5, on = 1 + (i + round) % 5;
            if (i % 3 == 0 || !blocks[i].ptr) continue;
            if (on != own) sim_stream_follow(self->machine, 0, self->streams[on], self->streams[own]);
            wrong_count += stage_free(self, &blocks[i], on) != GPUARENA_OK;
        }
        done(gpuarena_forget(self->arena, self->streams[1 + round]));        /* refused or not, it is forgotten */
        sim_stream_destroy(self->machine, 0, self->streams[1 + round]);
        wrong_count += sim_stream_create(self->machine, 0, 0, &self->streams[1 + round]) != 0;
    }
}

/* Sets begun, joined by a second stream, filled, and released; each call that is refused changes nothing. */
static void live_captured(stage *self)
{
    for (int round = 0; round < 3; round++) {
        uint64_t set = 0;
        tenancy blocks[8], outside = take(self, MIB(1), 3);
        int begun = done(gpuarena_capture_begin(self->arena, self->streams[1], &set));
        int joined = begun && done(gpuarena_capture_begin(self->arena, self->streams[2], &set));
        wrong_count += begun != (set != 0);
        for (int i = 0; i < 8; i++) blocks[i] = take(self, KIB(512), joined ? 1 + i % 2 : 1);
        for (int i = 0; i < 8; i += 2)
            if (blocks[i].ptr) wrong_count += stage_free(self, &blocks[i], 1) != GPUARENA_OK;
        if (joined) wrong_count += gpuarena_capture_end(self->arena, self->streams[2]) != GPUARENA_OK;
        if (begun) wrong_count += gpuarena_capture_end(self->arena, self->streams[1]) != GPUARENA_OK;
        for (int i = 1; i < 8; i += 2) use_and_free(self, &blocks[i], joined ? 2 : 1);
        sim_stream_follow(self->machine, 0, self->streams[4], self->streams[1]);
        sim_stream_follow(self->machine, 0, self->streams[4], self->streams[2]);
        if (outside.ptr) wrong_count += stage_free(self, &outside, 3) != GPUARENA_OK;
        if (!begun || done(gpuarena_capture_release(self->arena, set, self->streams[4]))) continue;
        host_in_use->fail_at = 0;                /* it must be released in the end */
        wrong_count += gpuarena_capture_release(self->arena, set, self->streams[4]) != GPUARENA_OK;
    }
}

static void test_each_request_refused(void (*life)(stage *self), int lasting)
{
    uint64_t fired = 0, broken = 0;
    for (uint64_t nth = 1; nth < 400; nth++) {
        host memory;
        stage self = open_counted(&memory);
        refused_count = wrong_count = 0;
        memory.fail_at = nth;
        memory.fail_length = lasting ? UINT64_MAX : 1;
        host_in_use = &memory;
        life(&self);
        uint64_t was = memory.fired;
        memory.fail_at = 0;
        const char *wrong = stage_wrong(&self);
        tenancy all = take(&self, MIB(64), 4);
        int bad = wrong_count || wrong[0] || !all.ptr || sim_finding_count(self.machine)
            || (was == 0 && refused_count) || gpuarena_reset(self.arena, NULL) || gpuarena_destroy(self.arena)
            || memory.held_bytes || stage_events;
        if (bad && !broken++)
            CHECK_MSG(0, "request %" PRIu64 " refused: wrong %" PRIu64 ", %s, %s", nth, wrong_count, wrong,
                      sim_finding_count(self.machine) ? sim_finding(self.machine, 0) : "no finding");
        sim_destroy(self.machine);
        if (!was) break;
        fired++;
    }
    CHECK_MSG(fired > 5, "%" PRIu64 " requests for host memory", fired);
    CHECK_U64(broken, ==, 0);
}

/* The first free on a stream that the arena does not know, with no memory to note it: parked, not lost. */
static void test_free_on_an_unknown_stream(void)
{
    host memory;
    stage self = open_counted(&memory);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND;
    tenancy kept = stage_take(&self, MIB(2), 1), block = stage_take(&self, MIB(62), 1);
    CHECK(kept.ptr != NULL);
    sim_stream_follow(self.machine, 0, self.streams[2], self.streams[1]);
    CHECK(stage_work(&self, 2, &block, STAGE_SECOND));
    memory.fail_at = memory.asked + 1;
    memory.fail_length = UINT64_MAX;
    CHECK_INT(stage_free(&self, &block, 2), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).pending_bytes, ==, MIB(62));
    CHECK_U64(stage_stats(&self).sync_wait_count, ==, 1);
    CHECK_STR(stage_wrong(&self), "");
    memory.fail_at = 0;
    CHECK(stage_take(&self, MIB(62), 1).ptr == block.ptr);
    CHECK_U64(sim_now_ns(self.machine), >=, until);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 1);
    stage_close(&self, "free on an unknown stream");
    CHECK_INT(memory.held_bytes, ==, 0);
}

int main(void)
{
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        for (int lasting = 0; lasting < 2; lasting++) {
            test_each_request_refused(live, lasting);
            test_each_request_refused(live_captured, lasting);
        }
        test_free_on_an_unknown_stream();
    }
    return tap_done();
}
