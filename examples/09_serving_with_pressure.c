/* A server's key-value cache that takes all memory it can get, and gives its oldest sequences up under pressure.
   Introduces config.pressure, gpuarena_failure.missing_bytes, GPUARENA_BACKING_PINNED for copies to the host.
   Run: make build/examples/09_serving_with_pressure && build/examples/09_serving_with_pressure */
#define GPUARENA_IMPLEMENTATION
#include "../gpuarena.h"
#include "example.h"

#define PAGE_BYTES (2 * MIB)                     /* keys and values of 16 tokens */
enum { SEQUENCES = 4096, PAGES = 64, REQUESTS = 600 };

typedef struct sequence { void *pages[PAGES]; unsigned count; } sequence;

/* Sequences from `oldest` to `newest` are in the cache; the newest is being made. */
typedef struct cache {
    sequence sequences[SEQUENCES];
    unsigned oldest, newest, evicted;
    gpuarena_stream stream;
} cache;

static uint64_t cache_evict(gpuarena *arena, cache *self)
{
    sequence *gone = &self->sequences[self->oldest++ % SEQUENCES];
    uint64_t freed = (uint64_t)gone->count * PAGE_BYTES;
    while (gone->count) gpuarena_free(arena, gone->pages[--gone->count], self->stream);
    self->evicted++;
    return freed;
}

/* Called by an allocation that would fail. Frees whole sequences, with at least the missing bytes. 0: there is
   nothing left to free, and the allocation fails. Any call but an allocation is allowed here. */
static int give_up(gpuarena *arena, const gpuarena_failure *why, void *user)
{
    cache *self = user;
    uint64_t freed = 0, wanted = why->missing_bytes ? why->missing_bytes : why->requested_bytes;
    while (freed < wanted && self->oldest != self->newest) freed += cache_evict(arena, self);
    return freed != 0;
}

/* Serves a request of so many pages of context. 1: it does not fit, though all other sequences were given up. */
static int serve(gpuarena *arena, cache *self, unsigned pages)
{
    sequence *made = &self->sequences[self->newest % SEQUENCES];
    for (made->count = 0; made->count < pages; made->count++)
        if (gpuarena_alloc(arena, &made->pages[made->count], PAGE_BYTES, self->stream)) return example_failed();
    self->newest++;
    return 0;
}

static void report(const gpuarena *arena, const cache *self)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    printf("%u requests served, %u sequences given up, %" PRIu64 " calls of the callback\n", self->newest,
           self->evicted, stats.pressure_count);
    printf("%u sequences in the cache; at most %" PRIu64 " MiB held, %" PRIu64 " failures\n",
           self->newest - self->oldest, stats.reserved_peak_bytes / MIB, stats.fail_count);
}

/* Answers go to the host through a ring of page-locked memory: an arena of another kind, with a limit of its own. */
static int answer(const gpuarena_driver *driver)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_device host;
    gpuarena *staging;
    void *ring[4];
    int i, failed = 0;
    config.driver = driver;
    config.backing = GPUARENA_BACKING_PINNED;
    config.limit_bytes = 8 * MIB;
    if (gpuarena_create(&config, &staging)) return example_failed();
    for (i = 0; i < 4; i++) failed |= gpuarena_alloc(staging, &ring[i], 2 * MIB, NULL) != GPUARENA_OK;
    failed |= gpuarena_get_device(staging, &host) != GPUARENA_OK;
    if (!failed) printf("4 buffers of 2 MiB in page-locked memory: the device has no less for it\n");
    for (i = 0; i < 4 && !failed; i++) failed |= gpuarena_free(staging, ring[i], NULL) != GPUARENA_OK;
    return gpuarena_destroy(staging) || failed ? example_failed() : 0;
}

int main(void)
{
    static cache kv;                             /* zeroed; too large for the stack */
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    unsigned i;
    config.driver = example_driver();
    config.limit_bytes = 512 * MIB;
    config.pressure = give_up;
    config.pressure_user = &kv;
    if (gpuarena_create(&config, &arena)) return example_failed();
    for (i = 0; i < REQUESTS; i++)
        if (serve(arena, &kv, 1 + i * 7 % 23)) return 1;
    report(arena, &kv);
    while (kv.oldest != kv.newest) (void)cache_evict(arena, &kv);
    if (gpuarena_destroy(arena)) return example_failed();
    return answer(config.driver);
}
