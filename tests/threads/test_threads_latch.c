/* One thread's growth, release or wait hangs inside the driver, behind a latch: another thread's hits, frees and
   looks all end before the latch is opened.
   It waits for no time but to tell a failure. */
#include <errno.h>
#include <time.h>

#include "thread_world.h"

enum { HITS = 500, GIVE_UP_S = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static slot_call held_call;
static int is_armed, is_held, is_open, is_done;

static thread_arena *const self = &thread_arenas[0];
static void *cached[4];

static void set(int *flag, int value)
{
    pthread_mutex_lock(&lock);
    *flag = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* 0: it was not set for so long that it never will be. */
static int wait_for(const int *flag)
{
    struct timespec until;
    int is_set, code = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GIVE_UP_S;
    pthread_mutex_lock(&lock);
    while (!*flag && code != ETIMEDOUT) code = pthread_cond_timedwait(&changed, &lock, &until);
    is_set = *flag;
    pthread_mutex_unlock(&lock);
    return is_set;
}

/* The call that the latch is for stays here until it is opened. */
static gpuarena_status hold(const gpuarena_driver *driver, slot_call call, uint64_t claim_bytes)
{
    gpuarena_status status = thread_call_begin(driver, call, claim_bytes);
    pthread_mutex_lock(&lock);
    if (is_armed && call == held_call) {
        is_armed = 0;
        is_held = 1;
        pthread_cond_broadcast(&changed);
        while (!is_open) pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void *hit(void *user)
{
    gpuarena_stats stats;
    gpuarena_block block;
    (void)user;
    for (int round = 0; round < HITS; round++) {
        void **mine = &cached[round % 4];
        WANT(gpuarena_free(self->arena, *mine, NULL) == GPUARENA_OK);
        WANT(gpuarena_alloc(self->arena, mine, KIB(64), NULL) == GPUARENA_OK);
        WANT(gpuarena_lookup(self->arena, *mine, &block) == GPUARENA_OK && block.ptr == *mine);
        WANT(gpuarena_owner(*mine) == self->arena);
        gpuarena_get_stats(self->arena, &stats);
        WANT(stats.live_bytes + stats.pending_bytes + stats.cached_bytes == stats.reserved_bytes);
    }
    set(&is_done, 1);
    return NULL;
}

/* ---- what hangs */

static void *grow(void *user)
{
    void *ptr = NULL;
    (void)user;
    WANT(gpuarena_alloc(self->arena, &ptr, MIB(8), NULL) == GPUARENA_OK);
    WANT(gpuarena_free(self->arena, ptr, NULL) == GPUARENA_OK);
    return NULL;
}

static void *trim(void *user)
{
    (void)user;
    WANT(gpuarena_trim(self->arena, 0, NULL) == GPUARENA_OK);
    return NULL;
}

/* Needs memory that another stream's work still uses, for which the host waits. */
static void *wait_for_other_stream(void *user)
{
    void *ptr = NULL;
    (void)user;
    WANT(gpuarena_alloc(self->arena, &ptr, MIB(8), slot_stream(1)) == GPUARENA_OK);
    WANT(gpuarena_free(self->arena, ptr, slot_stream(1)) == GPUARENA_OK);
    return NULL;
}

static void open_world(gpuarena_backing backing, slot_call call, void *(*body)(void *))
{
    gpuarena_config config = thread_open(self, backing, MIB(12));
    void *large = NULL;
    self->device->begin = hold;
    self->device->tick_ns = 0;
    config.streams = GPUARENA_STREAMS_EVENTS;
    if (call == SLOT_DEVICE_WAIT) config.initial_bytes = MIB(12);    /* all in one segment, which cannot go back */
    held_call = call;
    is_armed = is_held = is_open = is_done = 0;
    CHECK_INT(gpuarena_create(&config, &self->arena), ==, GPUARENA_OK);
    for (int at = 0; at < 4; at++) CHECK_INT(gpuarena_alloc(self->arena, &cached[at], KIB(64), NULL), ==, 0);
    if (body == grow) return;
    CHECK_INT(gpuarena_alloc(self->arena, &large, MIB(8), slot_stream(2)), ==, 0);
    slot_work(self->device, 2, 1000 * SLOT_MS);
    CHECK_INT(gpuarena_free(self->arena, large, slot_stream(2)), ==, GPUARENA_OK);
}

static void close_world(const char *name)
{
    for (int at = 0; at < 4; at++) CHECK_INT(gpuarena_free(self->arena, cached[at], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
    CHECK_STR(slot_left(self->device), "");
    CHECK_MSG(!thread_trouble, "%s: %s", name, thread_trouble ? thread_trouble : "all judged well");
    pthread_mutex_destroy(&self->limit_lock);
}

static void test_latch(gpuarena_backing backing, slot_call call, void *(*body)(void *))
{
    pthread_t held, hitting;
    char name[100];
    snprintf(name, sizeof name, "%s hangs, %s", slot_names[call],
             backing == GPUARENA_BACKING_PAGED ? "paged" : "segments");
    open_world(backing, call, body);
    set(&is_armed, 1);
    pthread_create(&held, NULL, body, NULL);
    CHECK_MSG(wait_for(&is_held), "%s", name);
    pthread_create(&hitting, NULL, hit, NULL);
    CHECK_MSG(wait_for(&is_done), "%s: %d hits beside it have ended", name, HITS);
    set(&is_open, 1);
    pthread_join(held, NULL);
    pthread_join(hitting, NULL);
    close_world(name);
}

int main(void)
{
    test_latch(GPUARENA_BACKING_SEGMENTS, SLOT_OBTAIN, grow);
    test_latch(GPUARENA_BACKING_PAGED, SLOT_CREATE, grow);
    test_latch(GPUARENA_BACKING_PAGED, SLOT_MAP, grow);
    test_latch(GPUARENA_BACKING_PAGED, SLOT_ACCESS, grow);
    test_latch(GPUARENA_BACKING_SEGMENTS, SLOT_GIVE_BACK, trim);
    test_latch(GPUARENA_BACKING_PAGED, SLOT_UNMAP, trim);
    test_latch(GPUARENA_BACKING_PAGED, SLOT_DESTROY, trim);
    test_latch(GPUARENA_BACKING_SEGMENTS, SLOT_GIVE_BACK, wait_for_other_stream);
    test_latch(GPUARENA_BACKING_SEGMENTS, SLOT_DEVICE_WAIT, wait_for_other_stream);
    test_latch(GPUARENA_BACKING_PAGED, SLOT_HOST_WAIT, wait_for_other_stream);
    return tap_done();
}
