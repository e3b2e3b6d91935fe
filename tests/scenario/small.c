/* Scenarios about small programs: tiny models, tensors of a few kilobytes, batches that must fit, requests that may
   fail, and a data set that never does.
   It must not know how a policy rounds. Included by test_needs.c. */
#include "scene.h"

enum { SMALL_EPOCHS = 5, SMALL_BATCHES = 31 };

/* One batch of 32 rows through two dense layers of 64: activations, gradients, loss. 1: served. */
static int small_batch(ground *on)
{
    static const uint64_t sizes[] = { 32 * 100 * 8, 32 * 64 * 8, 32 * 64 * 8, 32 * 8, 100 * 64 * 8, 64 * 8, 64 * 8 };
    enum { SMALL_TENSORS = sizeof sizes / sizeof sizes[0] };
    void *tensors[SMALL_TENSORS] = { NULL };
    int served = 0;
    for (int at = 0; at < SMALL_TENSORS; at++) served += (tensors[at] = ground_alloc(on, sizes[at], NULL)) != NULL;
    for (int at = SMALL_TENSORS; at-- > 0;) {
        if (tensors[at]) ground_free(on, tensors[at], sizes[at], NULL);
    }
    return served == SMALL_TENSORS;
}

static void small_model(scene *self)
{
    const ground_shape shape = { 0 };
    ground on;
    uint64_t first = 0;
    int served = 1;
    if (!ground_open(&on, self, &shape)) {
        served &= ground_alloc(&on, 1000 * 100 * 8, NULL) && ground_alloc(&on, 100 * 64 * 8, NULL)
            && ground_alloc(&on, 64 * 8, NULL);
        for (int epoch = 0; epoch < SMALL_EPOCHS; epoch++) {
            for (int batch = 0; batch < SMALL_BATCHES; batch++) served &= small_batch(&on);
            if (!epoch) first = ground_calls(&on);
        }
        uint64_t calls = ground_calls(&on), held = ground_held_peak(&on);
        scene_say(self, served && calls == first && held <= 2 * MIB, "calls %" PRIu64 ", later %" PRIu64 "; held %"
                  PRIu64, first, calls - first, held);
    }
    ground_close(&on);
}

enum { SMALL_NEIGHBOURS = 5 };

/* How far apart blocks of this size lie: the least of a few, which no gap makes smaller. */
static uint64_t small_stride(ground *on, uint64_t bytes)
{
    char *blocks[SMALL_NEIGHBOURS];
    uint64_t least = UINT64_MAX;
    for (int at = 0; at < SMALL_NEIGHBOURS; at++) blocks[at] = ground_alloc(on, bytes, NULL);
    for (int at = 0; at < SMALL_NEIGHBOURS; at++) {
        for (int other = 0; other < SMALL_NEIGHBOURS; other++) {
            if (!blocks[at] || blocks[at] <= blocks[other]) continue;
            uint64_t apart = (uint64_t)(uintptr_t)blocks[at] - (uint64_t)(uintptr_t)blocks[other];
            if (apart < least) least = apart;
        }
    }
    return least;
}

/* 100 x 100 of 2, 4 and 8 bytes. */
static void small_sizes(scene *self)
{
    const ground_shape shape = { 0 };
    uint64_t strides[3] = { 0 }, held = 0;
    int tight = 1;
    for (int at = 0; at < 3; at++) {
        ground on;
        uint64_t bytes = (uint64_t)10000 << (at + 1);
        if (!ground_open(&on, self, &shape)) {
            strides[at] = small_stride(&on, bytes);
            held = ground_held(&on);
        }
        ground_close(&on);
        tight &= strides[at] >= bytes && strides[at] <= bytes + 512;
    }
    scene_say(self, tight && held <= 2 * MIB, "apart %" PRIu64 ", %" PRIu64 ", %" PRIu64 "; held %" PRIu64,
              strides[0], strides[1], strides[2], held);
}

/* ---- the largest batch that fits: found by trying, as a refusal changes nothing */

/* Activations of 24 layers, 640 KiB a sample each, forward and backward; 1: all served. */
static int small_train(ground *on, uint64_t samples)
{
    void *layers[24] = { NULL };
    int served = 0;
    while (served < 24 && (layers[served] = ground_alloc(on, samples * 640 * 1024, NULL)) != NULL) served++;
    for (int at = served; at-- > 0;) ground_free(on, layers[at], samples * 640 * 1024, NULL);
    return served == 24;
}

static void small_batches(scene *self)
{
    const ground_shape shape = { .capacity_bytes = 2 * GIB };
    const uint64_t weights = 128 * MIB, sample = 24 * 640 * 1024;
    ground on;
    uint64_t low = 0, high = 1, refused = 0, bad = 0;
    if (!ground_open(&on, self, &shape)) {
        void *ptr = ground_alloc(&on, weights, NULL);
        if (ptr) device_fill(on.on, NULL, ptr, weights, 4711, &self->trouble);
        for (; small_train(&on, high); high *= 2) low = high;
        for (refused = 1; high - low > 1;) {
            uint64_t middle = low + (high - low) / 2;
            int fits = small_train(&on, middle);
            if (fits) low = middle;
            else high = middle;
            refused += (uint64_t)!fits;
        }
        int intact = ptr && device_verify(on.on, ptr, weights, 4711, &bad, &self->trouble) == 1;
        uint64_t bound = (2 * GIB - weights) / sample;
        scene_say(self, intact && refused > 1 && low * 100 >= bound * 75 && small_train(&on, low),
                  "%" PRIu64 " of %" PRIu64 " samples, %" PRIu64 " refusals, intact %d", low, bound, refused, intact);
    }
    ground_close(&on);
}

/* ---- ten times the device through a ring of four batches */
static void small_ring(scene *self)
{
    enum { SMALL_RING = 4, SMALL_LAPS = 40 };
    const uint64_t bytes = 128 * MIB;
    const ground_shape shape = { .capacity_bytes = 2 * GIB };
    void *ring[SMALL_RING] = { NULL };
    ground on;
    uint64_t served = 0, first = 0;
    if (!ground_open(&on, self, &shape)) {
        for (int batch = 0; batch < SMALL_RING * SMALL_LAPS; batch++) {
            void **place = &ring[batch % SMALL_RING];
            if (*place) ground_free(&on, *place, bytes, NULL);
            *place = ground_alloc(&on, bytes, NULL);
            served += *place != NULL;
            if (batch == SMALL_RING) first = ground_calls(&on);
        }
        uint64_t later = ground_calls(&on) - first, peak = ground_held_peak(&on);
        scene_say(self, served * bytes == 10 * shape.capacity_bytes && !later && peak <= 6 * bytes, "served %" PRIu64
                  ", held %" PRIu64 ", later calls %" PRIu64, served * bytes, peak, later);
    }
    ground_close(&on);
}
