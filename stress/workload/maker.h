/* The words in which families write their operations: each does nothing once anything has failed, so that a program
   reads as what it does, and is asked at its end whether all of it went well.
   It must not know of any one family. */
#ifndef STRESS_WORKLOAD_MAKER_H
#define STRESS_WORKLOAD_MAKER_H

#include "family.h"

enum { MAKER_SIDE_STEP = 32, MAKER_ARRAYS = 8 };

typedef struct maker {
    stream_builder *builder;
    int      failed;                             /* a problem is set; every call returns at once */
    uint64_t random;                             /* the seed, at first */
    void    *arrays[MAKER_ARRAYS];               /* maker_array's */
    size_t   array_count;
} maker;

int  maker_end(maker *self);                     /* frees its arrays. 0, or -1: failed */
int  maker_is_over(const maker *self);           /* failed, or cut by --ops: to leave loops */
/* Zeroed, with one item more, up to maker_end. MAKER_ARRAYS of them. */
void *maker_array(maker *self, uint64_t count, size_t item_bytes);

/* a x b, and a + b; past 2^64 - 1 the maker fails with a problem and they return 0. */
uint64_t maker_times(maker *self, uint64_t left, uint64_t right);
uint64_t maker_plus(maker *self, uint64_t left, uint64_t right);

uint64_t maker_draw(maker *self, uint64_t low, uint64_t high);       /* even, both ends included */
/* One side of images: low where that is high, too, else a multiple of MAKER_SIDE_STEP; the maker fails where there is
   none from low to high. */
uint64_t maker_draw_side(maker *self, uint64_t low, uint64_t high);
/* Time until the next of events that come at random, one in mean_ns on average (exponential): integers alone, the
   same on every machine. mean_ns: at most 10^10. At most 22.2 times the mean. */
uint64_t maker_draw_gap(maker *self, uint64_t mean_ns);

void     maker_label(maker *self, const char *label);         /* `s LABEL`, which is kept once */
void     maker_step(maker *self, const char *name, uint64_t number);         /* `s NAME`, with the number behind it */
/* A new block, on stream 0 or another; its id is the block's number. */
uint32_t maker_new(maker *self, uint64_t bytes);
uint32_t maker_new_on(maker *self, uint64_t bytes, uint64_t on_stream);
void     maker_free(maker *self, uint32_t block);             /* on stream 0 */
void     maker_free_all(maker *self, const uint32_t *blocks, size_t count, uint64_t on_stream);
void     maker_free_run(maker *self, uint32_t first, uint32_t count);        /* numbers in a row, on stream 0 */
uint64_t maker_bytes(const maker *self, uint32_t block);
uint32_t maker_next(const maker *self);                       /* the number of the next new block */
void     maker_kernel(maker *self, uint64_t on_stream, uint64_t duration_ns);                /* at least 1 ns */
void     maker_touch(maker *self, uint32_t block);                   /* by the kernel before */
void     maker_touch_all(maker *self, const uint32_t *blocks, size_t count);
void     maker_touch_run(maker *self, uint32_t first, uint32_t count);
void     maker_wait(maker *self, uint64_t on_stream, uint64_t for_stream);   /* nothing, where both are one */
/* A new block that a kernel on stream 0 makes from another one, at the speed of memory. */
uint32_t maker_made(maker *self, uint64_t bytes, uint32_t from);

/* Blocks named one by one: as an array and its length; a kernel that touches them; their frees on stream 0. */
#define MAKER_BLOCKS(...) \
    (const uint32_t[]){ __VA_ARGS__ }, sizeof (const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t)
#define MAKER_KERNEL(words, on_stream, duration_ns, ...) \
    (maker_kernel(words, on_stream, duration_ns), maker_touch_all(words, MAKER_BLOCKS(__VA_ARGS__)))
#define MAKER_FREE(words, ...) maker_free_all(words, MAKER_BLOCKS(__VA_ARGS__), 0)

/* ---- How long GPU work takes, for families whose kernels have shapes: a GPU of 2020 and its links, in round figures
        */

enum {
    RATE_FLOPS_PER_NS = 200000,                  /* 200 TFLOP/s in 16-bit matrices */
    RATE_MEMORY_BYTES_PER_NS = 2000,             /* 2 TB/s */
    RATE_LINK_BYTES_PER_NS = 200,                /* 200 GB/s between GPUs */
    RATE_HOST_BYTES_PER_NS = 25                  /* 25 GB/s to and from the host: PCIe 4.0 x16 */
};

#endif
