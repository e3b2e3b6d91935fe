/* While a miss waits for the device, another thread's hit takes part of the run that the miss waits for. Pages that
   are quiet by then can still serve the miss. */
#include "thread_world.h"

static thread_arena *const self = &thread_arenas[0];
static int is_armed;
static void *taken;

static void *hit(void *user)
{
    (void)user;
    WANT(gpuarena_alloc(self->arena, &taken, MIB(2) + KIB(512), slot_stream(1)) == GPUARENA_OK);
    return NULL;
}

static gpuarena_status hit_beside(const gpuarena_driver *driver, slot_call call, uint64_t claim_bytes)
{
    gpuarena_status status = thread_call_begin(driver, call, claim_bytes);
    pthread_t thread;
    if (call == SLOT_DEVICE_WAIT && is_armed) {
        is_armed = 0;
        WANT(!pthread_create(&thread, NULL, hit, NULL) && !pthread_join(thread, NULL));
    }
    return status;
}

int main(void)
{
    gpuarena_config config = thread_open(self, GPUARENA_BACKING_PAGED, MIB(8));
    gpuarena_failure failure;
    char why[512];
    void *busy, *ptr = NULL;
    config.page_bytes = MIB(2);
    config.streams = GPUARENA_STREAMS_SAME;
    self->device.begin = hit_beside;
    CHECK_INT(gpuarena_create(&config, &self->arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self->arena, &busy, MIB(6), slot_stream(1)), ==, GPUARENA_OK);
    slot_work(&self->device, 1, 1000000000);
    CHECK_INT(gpuarena_free(self->arena, busy, slot_stream(1)), ==, GPUARENA_OK);
    is_armed = 1;
    (void)gpuarena_alloc(self->arena, &ptr, MIB(4), slot_stream(2));
    gpuarena_last_failure(NULL, &failure);
    gpuarena_failure_text(&failure, why, sizeof why);
    CHECK_MSG(ptr != NULL, "quiet pages serve the miss: %s", why);
    CHECK_MSG(!is_armed && taken && !thread_trouble, "another thread's hit came in between: %s",
              thread_trouble ? thread_trouble : "all well");
    CHECK_INT(gpuarena_free(self->arena, taken, slot_stream(1)), ==, GPUARENA_OK);
    if (ptr) CHECK_INT(gpuarena_free(self->arena, ptr, slot_stream(2)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
    return tap_done();
}
