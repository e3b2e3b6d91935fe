/* Scrub under threads: blocks on shared streams and each thread's own default stream, handed from thread to thread,
   used elsewhere, resized. The driver's entry `clear` sees each clear once, whole, on the stream due, before reuse.
   It must not know when or how blocks are cleared. */
#include <pthread.h>
#include <sched.h>
#include "sim_device.h"

enum { THREADS = 4, OPS = 3000, HELD = 16, LETTERS = 8, UNIT = 256, PER_THREAD = THREADS };

/* A number of a thread is from 1. home: whose default stream it is on; user: who used it on its own. 0: none. */
typedef struct block { void *ptr; uint64_t bytes; int stream, home, user; } block;
typedef struct range { uint64_t from, to; } range;
typedef struct worker {
    pthread_t thread;
    int number, is_new;                          /* is_new: what a clear under way is of nobody has yet */
    gpuarena_stream due;                         /* a clear under way is to be on this one */
    uint64_t random, due_bytes, wrong;           /* due_bytes: are to be cleared by all it did */
    block held[HELD];
} worker;

typedef struct house {
    sim_bench bench;
    gpuarena *arena;
    gpuarena_stream streams[THREADS + 1];
    pthread_key_t self;                          /* the thread's worker */
    pthread_mutex_t lock;                        /* of all below */
    range dirty[THREADS * HELD + LETTERS];       /* what somebody has or had, and was not cleared since */
    int dirty_count, waited, owes_wait;
    uint64_t cleared_bytes, alone_count, wrong;
    block letters[LETTERS];
} house;
static house world;
static int (*clear_really)(const gpuarena_driver *, void *, uint64_t, gpuarena_stream);
static int (*wait_really)(const gpuarena_driver *);

/* Live blocks lose their end, or all. With the lock. */
static void cut(uint64_t from, uint64_t to, int is_new)
{
    for (int at = world.dirty_count - 1; at >= 0; at--) {
        range *one = &world.dirty[at];
        if (to <= one->from || from >= one->to) continue;
        world.wrong += is_new || from < one->from || to != one->to;
        one->to = from;
        if (one->to <= one->from) *one = world.dirty[--world.dirty_count];
    }
}

/* On the default stream the host waits before and after; no thread asks for that stream. */
static int watch_clear(const gpuarena_driver *driver, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    const worker *self = pthread_getspecific(world.self);
    pthread_mutex_lock(&world.lock);
    world.wrong += (self && stream != self->due) || world.owes_wait || (!stream && !world.waited);
    world.waited = 0;
    world.owes_wait = !stream;
    world.alone_count += !stream;
    world.cleared_bytes += bytes;
    cut(bench_number(ptr), bench_number(ptr) + bytes, self && self->is_new);
    pthread_mutex_unlock(&world.lock);
    return clear_really(driver, ptr, bytes, stream);
}

static int watch_wait(const gpuarena_driver *driver)
{
    pthread_mutex_lock(&world.lock);
    world.waited = 1;
    world.owes_wait = 0;
    pthread_mutex_unlock(&world.lock);
    return wait_really(driver);
}

/* A block has these bytes, too, from now on: none of them may be anybody's, or uncleared. */
static void soil(const void *ptr, uint64_t had, uint64_t bytes)
{
    uint64_t base = bench_number(ptr), from = base + had, to = base + bytes;
    range *own = NULL;
    pthread_mutex_lock(&world.lock);
    for (int at = 0; at < world.dirty_count; at++) {
        world.wrong += from < world.dirty[at].to && to > world.dirty[at].from;
        if (had && world.dirty[at].from == base) own = &world.dirty[at];
    }
    if (own) own->to = to;
    else if (!had && world.dirty_count < (int)COUNT(world.dirty))
        world.dirty[world.dirty_count++] = (range){ from, to };
    else world.wrong++;
    pthread_mutex_unlock(&world.lock);
}

/* The one stream that is behind all uses of a block, once it waits for them; or the default stream. */
static gpuarena_stream due_on(const worker *self, const block *one)
{
    int is_others = (one->home && one->home != self->number) || (one->user && one->user != self->number);
    return is_others ? NULL : world.streams[one->stream];
}

static void do_alloc(worker *self, block *made, int is_both)
{
    uint64_t bytes = UNIT * (1 + (splitmix64_next(&self->random) & 0xff));
    int stream = (int)(splitmix64_next(&self->random) % (THREADS + 2));
    if (stream > PER_THREAD) stream = PER_THREAD;
    *made = (block){ NULL, bytes, stream, stream == PER_THREAD ? self->number : 0, 0 };
    self->is_new = 1;
    self->due = world.streams[stream];
    self->due_bytes += is_both ? bytes : 0;
    self->wrong += gpuarena_alloc(world.arena, &made->ptr, bytes, world.streams[stream]) != GPUARENA_OK;
    self->is_new = 0;
    soil(made->ptr, 0, bytes);
}

/* On its own stream in any words that the thread has for it. */
static void do_free(worker *self, block *gone)
{
    gpuarena_stream words[3] = { GPUARENA_ANY_STREAM, GPUARENA_OWN_STREAM, world.streams[gone->stream] };
    int known = gone->home && gone->home != self->number ? 2 : 3;
    self->due = due_on(self, gone);
    self->due_bytes += gone->bytes;
    self->wrong += gpuarena_free(world.arena, gone->ptr, words[splitmix64_next(&self->random) % (uint64_t)known])
        != GPUARENA_OK;
    gone->ptr = NULL;
}

static void do_resize(worker *self, block *one, int is_both)
{
    uint64_t bytes = UNIT * (1 + (splitmix64_next(&self->random) & 0xff)), had = one->bytes;
    if (one->home && one->home != self->number) return;
    self->is_new = bytes > had;
    self->due = bytes > had ? world.streams[one->stream] : due_on(self, one);
    gpuarena_result result = gpuarena_resize(world.arena, one->ptr, bytes, world.streams[one->stream]);
    self->is_new = 0;
    self->wrong += result != GPUARENA_OK && result != GPUARENA_OUT_OF_MEMORY;
    if (result) return;
    one->bytes = bytes;
    if (bytes < had) self->due_bytes += had - bytes;
    else self->due_bytes += is_both ? bytes - had : 0;
    if (bytes > had) soil(one->ptr, had, bytes);
}

/* Used on another stream, perhaps the thread's own, and left for another, whose letter is taken. */
static void do_post(worker *self, block *one)
{
    block *letter = &world.letters[splitmix64_next(&self->random) % LETTERS], taken;
    int stream = (int)(splitmix64_next(&self->random) % (THREADS + 1));
    if (stream != one->stream && !one->user) {
        self->wrong += gpuarena_use(world.arena, one->ptr, world.streams[stream]) != GPUARENA_OK;
        one->user = stream == PER_THREAD ? self->number : 0;
    }
    pthread_mutex_lock(&world.lock);
    taken = *letter;
    *letter = *one;
    pthread_mutex_unlock(&world.lock);
    *one = taken;
    sched_yield();                               /* else few letters are from anybody else */
}

static void *work(void *argument, int is_both)
{
    worker *self = argument;
    self->wrong += pthread_setspecific(world.self, self) != 0;
    for (int op = 0; op < OPS; op++) {
        block *one = &self->held[splitmix64_next(&self->random) % HELD];
        uint64_t choice = splitmix64_next(&self->random) % 8;
        if (!one->ptr) do_alloc(self, one, is_both);
        else if (choice < 3) do_free(self, one);
        else if (choice < 5) do_resize(self, one, is_both);
        else do_post(self, one);
    }
    return NULL;
}

static void *work_free(void *self) { return work(self, 0); }
static void *work_both(void *self) { return work(self, 1); }

static void begin(const char *keys)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(&world, 0, sizeof world);
    world.bench = bench_open_sized(GIB(1), NULL);
    clear_really = world.bench.driver.clear;
    wait_really = world.bench.driver.events.device_wait;
    world.bench.driver.clear = watch_clear;
    world.bench.driver.events.device_wait = watch_wait;
    world.streams[PER_THREAD] = world.bench.driver.per_thread;
    for (int at = 0; at < THREADS; at++)
        CHECK_INT(sim_stream_create(world.bench.machine, 0, 0, &world.streams[at]), ==, 0);
    CHECK(!pthread_key_create(&world.self, NULL) && !pthread_mutex_init(&world.lock, NULL));
    config.driver = &world.bench.driver;
    config.environment = "";
    CHECK_INT(gpuarena_config_parse(keys, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_create(&config, &world.arena), ==, GPUARENA_OK);
}

/* What the threads left is freed by none of them: their own streams' by the host's wait. */
static void end(const char *keys, uint64_t due_bytes)
{
    gpuarena_stats stats = GPUARENA_INIT;
    uint64_t wrong = world.wrong;
    CHECK_MSG(wrong == 0 && world.cleared_bytes == due_bytes,
              "%s: %" PRIu64 " bytes cleared, each where and when it is due", keys, world.cleared_bytes);
    CHECK_MSG(world.alone_count > 0, "%s: %" PRIu64 " times the host waited", keys, world.alone_count);
    CHECK_INT(gpuarena_check(world.arena, NULL, 0), ==, GPUARENA_OK);
    gpuarena_get_stats(world.arena, &stats);
    CHECK_INT(gpuarena_reset(world.arena, GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_MSG(world.wrong == 0 && !world.dirty_count && !world.owes_wait
              && world.cleared_bytes == due_bytes + stats.live_bytes, "%s: after a reset nothing is uncleared", keys);
    CHECK_INT(gpuarena_destroy(world.arena), ==, GPUARENA_OK);
    CHECK_MSG(!sim_finding_count(world.bench.machine), "%s: %s", keys,
              sim_finding_count(world.bench.machine) ? sim_finding(world.bench.machine, 0) : "no finding");
    pthread_key_delete(world.self);
    pthread_mutex_destroy(&world.lock);
    bench_close(&world.bench);
}

static void test_workers(const char *keys, void *(*job)(void *))
{
    worker workers[THREADS];
    uint64_t due_bytes = 0;
    memset(workers, 0, sizeof workers);
    begin(keys);
    for (int at = 0; at < THREADS; at++) {
        workers[at].number = at + 1;
        workers[at].random = (uint64_t)at;
        if (pthread_create(&workers[at].thread, NULL, job, &workers[at])) workers[at].number = 0;
    }
    for (int at = 0; at < THREADS; at++) {
        CHECK(workers[at].number && !pthread_join(workers[at].thread, NULL) && workers[at].wrong == 0);
        due_bytes += workers[at].due_bytes;
    }
    end(keys, due_bytes);
}

int main(void)
{
    test_workers("backing=segments,scrub=free", work_free);
    test_workers("backing=segments,scrub=both", work_both);
    test_workers("backing=paged,scrub=free", work_free);
    test_workers("backing=paged,scrub=both", work_both);
    return tap_done();
}
