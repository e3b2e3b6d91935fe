/* Tags of threads: names made at the same time, scopes apart, figures that add up when all have ended.
   It must not know how tags are counted. */
#include <pthread.h>
#include "sim_device.h"

enum { THREADS = 4, OPS = 20000, HELD = 32, COMMON = 100 };

typedef struct worker {
    pthread_t thread;
    gpuarena *arena;
    gpuarena_stream stream;
    uint64_t random, live[3], counts[3], wrong;
    uint32_t own, common[COMMON];
} worker;

static void named(worker *self, int at)
{
    char name[24];
    snprintf(name, sizeof name, "common %d", at);
    self->common[at] = gpuarena_tag(name);
    self->wrong += strcmp(gpuarena_tag_name(self->common[at]), name) != 0;
}

/* A third of the blocks is the thread's own tag's, by its scope, a third has none, a third a tag of all. */
static void *work(void *argument)
{
    worker *self = argument;
    void *held[HELD] = { NULL };
    int kinds[HELD] = { 0 };
    gpuarena_tag_stats stats;
    for (int at = 0; at < COMMON; at++) named(self, at);
    for (int op = 0; op < OPS; op++) {
        gpuarena_request request = GPUARENA_INIT;
        uint64_t at = splitmix64_next(&self->random) % HELD;
        int kind = (int)(splitmix64_next(&self->random) % 3);
        request.bytes = KIB(1) << splitmix64_next(&self->random) % 6;
        request.stream = self->stream;
        request.tag = kind == 2 ? self->common[0] : 0;
        if (held[at]) {
            self->wrong += gpuarena_free(self->arena, held[at], self->stream) != GPUARENA_OK;
            self->live[kinds[at]]--;
        }
        if (kind == 1) self->wrong += gpuarena_tag_scope(self->own) != 0;
        self->wrong += gpuarena_alloc_ex(self->arena, &held[at], &request) != GPUARENA_OK;
        if (kind == 1) self->wrong += gpuarena_tag_scope(0) != self->own;
        kinds[at] = kind;
        self->live[kind]++;
        self->counts[kind]++;
        if (op % 1000) continue;
        self->wrong += gpuarena_get_tag(self->arena, self->own, &stats) != GPUARENA_OK
            || stats.live_count != self->live[1] || stats.alloc_count != self->counts[1];
    }
    return NULL;
}

static void test_workers(const char *keys)
{
    sim_bench bench = bench_open_sized(GIB(4), NULL);
    gpuarena_config config = GPUARENA_INIT;
    worker workers[THREADS];
    uint64_t wrong = 0, live[3] = { 0, 0, 0 }, counts[3] = { 0, 0, 0 };
    gpuarena *arena = NULL;
    gpuarena_tag_stats stats;
    memset(workers, 0, sizeof workers);
    config.driver = &bench.driver;
    config.environment = "";
    CHECK_INT(gpuarena_config_parse(keys, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    for (int at = 0; at < THREADS; at++) {
        char name[24];
        snprintf(name, sizeof name, "own %d", at);
        workers[at].arena = arena;
        workers[at].random = (uint64_t)at;
        workers[at].own = gpuarena_tag(name);
        wrong += sim_stream_create(bench.machine, 0, 0, &workers[at].stream) != 0;
    }
    for (int at = 0; at < THREADS; at++) wrong += pthread_create(&workers[at].thread, NULL, work, &workers[at]) != 0;
    for (int at = 0; at < THREADS; at++) pthread_join(workers[at].thread, NULL);
    for (int at = 0; at < THREADS; at++) {
        wrong += workers[at].wrong;
        wrong += memcmp(workers[at].common, workers[0].common, sizeof workers[0].common) != 0;
        for (int kind = 0; kind < 3; kind++) live[kind] += workers[at].live[kind];
        for (int kind = 0; kind < 3; kind++) counts[kind] += workers[at].counts[kind];
    }
    CHECK_MSG(wrong == 0, "%s: every call as it should be, and one tag a name", keys);
    CHECK_INT(gpuarena_get_tag(arena, 0, &stats), ==, GPUARENA_OK);
    CHECK_MSG(stats.live_count == live[0] && stats.alloc_count == counts[0], "%s: what has no tag", keys);
    CHECK_INT(gpuarena_get_tag(arena, workers[0].common[0], &stats), ==, GPUARENA_OK);
    CHECK_MSG(stats.live_count == live[2] && stats.alloc_count == counts[2], "%s: a tag of all threads", keys);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_reset(arena, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_get_tag(arena, workers[0].common[0], &stats), ==, GPUARENA_OK);
    CHECK_MSG(stats.live_count + stats.live_bytes == 0, "%s: none after a reset", keys);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
}

int main(void)
{
    test_workers("backing=segments");
    test_workers("backing=paged");
    return tap_done();
}
