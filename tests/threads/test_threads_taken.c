/* Another thread's hit takes what a miss is about to use: part of the run that it waits for, when pages that are
   quiet by then can still serve it; or the pages that are to move. */
#include "thread_world.h"

static thread_arena *const self = &thread_arenas[0];
static int is_armed;
static void *taken;
static uint64_t hit_bytes;
static slot_call hit_at;

static void *hit(void *user)
{
    (void)user;
    WANT(gpuarena_alloc(self->arena, &taken, hit_bytes, slot_stream(1)) == GPUARENA_OK);
    return NULL;
}

static gpuarena_status hit_beside(const gpuarena_driver *driver, slot_call call, uint64_t claim_bytes)
{
    gpuarena_status status = thread_call_begin(driver, call, claim_bytes);
    pthread_t thread;
    if (call == hit_at && is_armed) {
        is_armed = 0;
        WANT(!pthread_create(&thread, NULL, hit, NULL) && !pthread_join(thread, NULL));
    }
    return status;
}

/* From now on another thread allocates so many bytes in the next call of this kind. */
static void arm(slot_call call, uint64_t bytes)
{
    hit_at = call;
    hit_bytes = bytes;
    taken = NULL;
    is_armed = 1;
}

/* The place of the miss begins inside a page of a hole. Nothing was mapped there yet, so nothing is unmapped. */
static void test_pages_taken(void)
{
    static const uint64_t sizes[] = { MIB(2), MIB(6), MIB(1), MIB(1), MIB(2) };
    gpuarena_config config = thread_open(self, GPUARENA_BACKING_PAGED, MIB(12));
    gpuarena_stats stats;
    void *blocks[5], *ptr = NULL;
    config.page_bytes = MIB(2);
    self->device->begin = hit_beside;
    CHECK_INT(gpuarena_create(&config, &self->arena), ==, GPUARENA_OK);
    for (int at = 0; at < 5; at++)
        CHECK_INT(gpuarena_alloc(self->arena, &blocks[at], sizes[at], slot_stream(1)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self->arena, blocks[1], slot_stream(1)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(self->arena, 0, NULL), ==, GPUARENA_OK);
    thread_set_limit(self, MIB(8));
    CHECK_INT(gpuarena_free(self->arena, blocks[2], slot_stream(1)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self->arena, blocks[4], slot_stream(1)), ==, GPUARENA_OK);
    arm(SLOT_CREATE, MIB(2));
    (void)gpuarena_alloc(self->arena, &ptr, MIB(4) + KIB(512), slot_stream(1));
    gpuarena_get_stats(self->arena, &stats);
    CHECK_MSG(!is_armed && taken && !thread_trouble, "another thread's hit took the pages that were to move: %s",
              thread_trouble ? thread_trouble : "all well");
    CHECK_U64(stats.driver_error_count, ==, 0);
    CHECK_INT(gpuarena_check(self->arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(self->arena, slot_stream(1)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
}

static void test_run_taken(void)
{
    gpuarena_config config = thread_open(self, GPUARENA_BACKING_PAGED, MIB(8));
    gpuarena_failure failure;
    char why[512];
    void *busy, *ptr = NULL;
    config.page_bytes = MIB(2);
    config.streams = GPUARENA_STREAMS_SAME;
    self->device->begin = hit_beside;
    CHECK_INT(gpuarena_create(&config, &self->arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self->arena, &busy, MIB(6), slot_stream(1)), ==, GPUARENA_OK);
    slot_work(self->device, 1, 1000000000);
    CHECK_INT(gpuarena_free(self->arena, busy, slot_stream(1)), ==, GPUARENA_OK);
    arm(SLOT_DEVICE_WAIT, MIB(2) + KIB(512));
    (void)gpuarena_alloc(self->arena, &ptr, MIB(4), slot_stream(2));
    gpuarena_last_failure(NULL, &failure);
    gpuarena_failure_text(&failure, why, sizeof why);
    CHECK_MSG(ptr != NULL, "quiet pages serve the miss: %s", why);
    CHECK_MSG(!is_armed && taken && !thread_trouble, "another thread's hit came in between: %s",
              thread_trouble ? thread_trouble : "all well");
    CHECK_INT(gpuarena_free(self->arena, taken, slot_stream(1)), ==, GPUARENA_OK);
    if (ptr) CHECK_INT(gpuarena_free(self->arena, ptr, slot_stream(2)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
}

int main(void)
{
    test_run_taken();
    test_pages_taken();
    return tap_done();
}
