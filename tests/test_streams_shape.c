/* Shapes across streams: halves, bins and kinds of segments that several streams have freed: what one waits for is
   what it may have, no more; what may not become one is not waited for.
   It must not know the implementation. Run: make test TESTS=build/tests/test_streams_shape */
#include "stream_stage.h"

/* An arena of one fixed amount of memory, shaped by a text. */
static stage open_shape(const char *text, uint64_t limit)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    char message[160] = "";
    if (gpuarena_config_parse(text, &config, message, sizeof message)) CHECK_MSG(0, "%s", message);
    config.limit_bytes = limit;
    stage_arena(&self, &config);
    return self;
}

static gpuarena_reason last_reason(const stage *self)
{
    gpuarena_failure failure;
    gpuarena_last_failure(self->arena, &failure);
    return failure.reason;
}

/* Four quarters, worked on and freed by two streams, two each: all of it for a third, behind both. */
static void test_halves(const char *streams, uint64_t steals, uint64_t waits)
{
    char text[96];
    tenancy quarters[4];
    snprintf(text, sizeof text, "placement=buddy,growth=fixed,streams=%s", streams);
    stage self = open_shape(text, MIB(8));
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(4), self.streams[0]), ==, GPUARENA_OK);
    for (int at = 0; at < 4; at++) quarters[at] = stage_take_working(&self, MIB(1), 1 + at / 2, STAGE_SECOND);
    uint64_t until = sim_now_ns(self.machine) + STAGE_SECOND / 2;
    for (int at = 0; at < 4; at++) CHECK_INT(stage_free(&self, &quarters[at], 1 + at / 2), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).largest_free_bytes, ==, MIB(4));
    tenancy half = stage_take(&self, MIB(1) + 1, 2);
    CHECK_MSG(half.ptr == quarters[2].ptr, "%s: its own half at once", streams);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    CHECK_INT(stage_free(&self, &half, 2), ==, GPUARENA_OK);
    tenancy whole = stage_take(&self, MIB(3), 3);
    CHECK_MSG(whole.ptr == quarters[0].ptr, "%s: the whole", streams);
    CHECK_U64(stage_stats(&self).live_bytes, ==, MIB(8));
    CHECK_U64(stage_stats(&self).steal_count, ==, steals);
    CHECK_U64(stage_stats(&self).wait_count, ==, waits);
    CHECK_U64(stage_end_ns(&self, 3), >=, until);
    stage_close(&self, streams);
}

/* Two free quarters side by side that are no halves of one: nothing is waited for, and it says why. */
static void test_no_halves(void)
{
    stage self = open_shape("placement=buddy,growth=fixed", MIB(4));
    tenancy quarters[4];
    for (int at = 0; at < 4; at++) quarters[at] = stage_take_working(&self, MIB(1), 1 + at % 2, STAGE_SECOND);
    CHECK_INT(stage_free(&self, &quarters[1], 2), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &quarters[2], 1), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).largest_free_bytes, ==, MIB(1));
    tenancy none = stage_take(&self, MIB(2), 3);
    CHECK_MSG(none.ptr == NULL && last_reason(&self) == GPUARENA_REASON_FRAGMENTED, "no halves of one");
    CHECK_U64(stage_stats(&self).gpu_wait_count + stage_stats(&self).steal_count, ==, 0);
    tenancy one = stage_take(&self, MIB(1), 3);
    CHECK_MSG(one.ptr == quarters[1].ptr || one.ptr == quarters[2].ptr, "one of them is had");
    CHECK_U64(stage_stats(&self).steal_count, ==, 1);
    stage_close(&self, "no halves");
}

/* A part of a larger block that another stream freed: all of it is waited for, and the rest is halved. */
static void test_part(void)
{
    stage self = open_shape("placement=buddy,growth=fixed", MIB(8));
    tenancy whole = stage_pending(&self, MIB(8), 1, STAGE_SECOND), part = stage_take(&self, MIB(1), 2);
    CHECK_MSG(part.ptr == whole.ptr, "at its front");
    CHECK_U64(stage_stats(&self).steal_count, ==, 1);
    CHECK_U64(stage_stats(&self).largest_free_bytes, ==, MIB(4));
    tenancy more = stage_take(&self, MIB(4), 2);
    CHECK_MSG(more.ptr == whole.ptr + MIB(4), "the upper half");
    stage_close(&self, "a part");
}

/* Blocks of a bin are had one by one, from whichever stream; two are never one. */
static void test_bins(void)
{
    stage self = open_shape("placement=bins,growth=exact,bin_growth=2,bin_max=4M", MIB(4));
    tenancy first = stage_take_working(&self, MIB(2), 1, STAGE_SECOND),
            second = stage_take_working(&self, MIB(1), 2, STAGE_SECOND),
            third = stage_take_working(&self, MIB(1), 0, STAGE_SECOND);
    CHECK_INT(stage_free(&self, &second, 2), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &third, 0), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).largest_free_bytes, ==, MIB(1));
    tenancy one = stage_take(&self, MIB(1), 3);
    CHECK_MSG(one.ptr == second.ptr || one.ptr == third.ptr, "one of the bin");
    CHECK_U64(stage_stats(&self).steal_count, ==, 1);
    tenancy none = stage_take(&self, MIB(2), 3);
    CHECK_MSG(none.ptr == NULL, "not two for one");
    CHECK_INT(stage_free(&self, &first, 1), ==, GPUARENA_OK);
    tenancy again = stage_take(&self, MIB(2), 3);
    CHECK_MSG(again.ptr == first.ptr, "one of its own");
    stage_close(&self, "bins");
}

/* What another stream freed of the other kind is no reason to wait. */
static void test_kinds(void)
{
    stage self = open_shape("placement=best,small=1M,growth=exact", MIB(6));
    tenancy large = stage_take_working(&self, MIB(4), 1, STAGE_SECOND),
            small = stage_take_working(&self, KIB(900), 2, STAGE_SECOND),
            other = stage_take_working(&self, KIB(900), 1, STAGE_SECOND),
            last = stage_take_working(&self, KIB(4), 1, STAGE_SECOND);
    CHECK_INT(stage_free(&self, &small, 2), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &other, 1), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&self).largest_free_bytes, ==, MIB(1));
    tenancy none = stage_take(&self, MIB(1) + 256, 3);
    CHECK_MSG(none.ptr == NULL && stage_stats(&self).gpu_wait_count == 0, "small blocks serve no large request");
    tenancy one = stage_take(&self, MIB(1), 3);
    CHECK_MSG(one.ptr == small.ptr && stage_stats(&self).gpu_wait_count == 2, "but a small one");
    CHECK_INT(stage_free(&self, &large, 1), ==, GPUARENA_OK);
    tenancy more = stage_take(&self, MIB(3), 3);
    CHECK_MSG(more.ptr == large.ptr && stage_stats(&self).steal_count == 2, "a large one's");
    CHECK_MSG(last.ptr != NULL, "and it is in use");
    stage_close(&self, "kinds");
}

/* A capture has of halves, bins and kinds what is its own, and what is quiet. */
static void test_capture(const char *text)
{
    stage self = open_shape(text, MIB(16));
    uint64_t set = 0;
    tenancy before = stage_pending(&self, KIB(700), 1, 0), during;
    CHECK_INT(gpuarena_capture_begin(self.arena, self.streams[2], &set), ==, GPUARENA_OK);
    void *ptr = NULL, *again = NULL;
    CHECK_INT(gpuarena_alloc(self.arena, &ptr, KIB(600), self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self.arena, ptr, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self.arena, &again, KIB(600), self.streams[2]), ==, GPUARENA_OK);
    CHECK_MSG(again == ptr, "%s: the set's own", text);
    CHECK_INT(gpuarena_free(self.arena, again, self.streams[2]), ==, GPUARENA_OK);
    during = stage_take(&self, KIB(700), 3);
    CHECK_MSG(during.ptr && (void *)during.ptr != ptr, "%s: nobody else's", text);
    CHECK_INT(gpuarena_capture_end(self.arena, self.streams[2]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_release(self.arena, set, self.streams[2]), ==, GPUARENA_OK);
    CHECK_MSG(before.ptr != NULL && stage_wrong(&self)[0] == '\0', "%s: %s", text, stage_wrong(&self));
    stage_close(&self, text);
}

/* What its stream has, and quiet memory behind it, by the split rule: what remains is not as large as the request. */
static void test_ratio(void)
{
    stage self = open_shape("placement=best,split=ratio,growth=fixed", MIB(4));
    tenancy own = stage_take_working(&self, MIB(1), 1, STAGE_SECOND), quiet = stage_take(&self, MIB(1), 2),
            last = stage_take(&self, MIB(2), 1);
    (void)stage_end_ns(&self, 2);
    CHECK_INT(gpuarena_free(self.arena, quiet.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&self, &own, 1), ==, GPUARENA_OK);
    tenancy run = stage_take(&self, MIB(1) + KIB(512), 1);
    CHECK_MSG(run.ptr == own.ptr && last.ptr != NULL, "both as one");
    CHECK_U64(stage_stats(&self).slack_bytes, ==, KIB(512));
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    stage_close(&self, "ratio");
}

/* Small blocks that another stream freed and is done with are seen to be quiet, and had without a wait. */
static void test_done(void)
{
    stage self = open_shape("placement=first,small=1M,growth=exact,streams=events", MIB(8));
    tenancy first = stage_pending(&self, KIB(900), 1, STAGE_SECOND), last = stage_take(&self, KIB(1100), 2);
    sim_advance(self.machine, 2 * STAGE_SECOND);
    tenancy more = stage_take(&self, KIB(1024), 2), again = stage_take(&self, KIB(900), 2);
    CHECK_MSG(more.ptr == first.ptr && again.ptr == first.ptr + MIB(1) && last.ptr != NULL, "what it freed");
    CHECK_U64(stage_stats(&self).settle_count, ==, 1);
    CHECK_U64(stage_stats(&self).grow_count, ==, 2);
    CHECK_U64(stage_stats(&self).gpu_wait_count, ==, 0);
    stage_close(&self, "done");
}

/* What placement and split_max keep from a request is not waited for either: whole segments go back instead. */
static void test_not_for_it(const char *text, uint64_t bytes, uint64_t taken)
{
    stage self = open_shape(text, MIB(8));
    tenancy large = stage_pending(&self, MIB(8), 1, STAGE_SECOND), small = stage_take(&self, bytes, 2);
    CHECK_MSG(small.ptr != NULL && large.ptr != NULL, "%s: served", text);
    CHECK_U64(stage_stats(&self).steal_count, ==, 0);
    CHECK_U64(stage_stats(&self).release_count, ==, 1);
    CHECK_U64(stage_stats(&self).live_bytes, ==, taken);
    stage_close(&self, text);
}

int main(void)
{
    test_ratio();
    test_done();
    test_not_for_it("placement=best,split_max=4M,growth=exact", MIB(1), MIB(1));
    test_not_for_it("placement=bins,bin_growth=2,bin_max=8M,growth=exact", MIB(1), MIB(1));

    test_halves("steal", 1, 0);
    test_halves("events", 0, 1);
    test_halves("same", 0, 1);
    test_no_halves();
    test_part();
    test_bins();
    test_kinds();
    test_capture("placement=buddy");
    test_capture("placement=bins,growth=exact");
    test_capture("placement=best,small=1M");
    test_capture("placement=first,split=ratio,split_max=4M");
    return tap_done();
}
