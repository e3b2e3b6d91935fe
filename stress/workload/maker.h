/* A family of workloads, for workload.c: a row for `stress list`, its options, and how it makes its operations; and
   the words for that. A family must not know of the command line, nor of policies, devices, files. */
#ifndef STRESS_WORKLOAD_MAKER_H
#define STRESS_WORKLOAD_MAKER_H

#include "stream.h"

enum { FAMILY_MAX_OPTIONS = 16 };

/* peak: how the highest sum of live bytes comes about. peak_bytes: that sum at the defaults. NULL and 0: as the file
   has it. */
typedef struct workload_family {
    const char *name, *summary, *peak;
    uint64_t    peak_bytes;
} workload_family;

/* A value is put into the family's struct before it makes anything: a uint64_t, or a family_range. */
typedef struct family_range { uint64_t low, high; } family_range;

typedef struct family_option {
    const char *key;
    uint64_t lowest, highest;                    /* allowed */
    family_range value;                          /* default; the two differ only in a range */
    int      is_range;                           /* N or LO-HI, LO <= HI */
    const char *const *words;                    /* allowed: the value is a word's number, from 0 to highest. NULL: a
                                                    number */
    size_t   at;                                 /* where it goes */
} family_option;

#define OPTION(of, field, key, lowest, highest, value) \
    { key, lowest, highest, { value, value }, 0, NULL, offsetof(of, field) }
#define OPTION_RANGE(of, field, key, lowest, highest, low, high) \
    { key, lowest, highest, { low, high }, 1, NULL, offsetof(of, field) }
#define OPTION_WORDS(of, field, key, words) \
    { key, 0, sizeof(words) / sizeof(words)[0] - 1, { 0, 0 }, 0, words, offsetof(of, field) }

typedef struct family {
    workload_family      shown;
    const family_option *options;
    size_t               option_count;           /* 0: takes a path */
    size_t               size;                   /* of its struct, which begins with a maker .. */
    void               (*make)(void *self);      /* .. whose words it makes its operations of */
    int                (*read)(const char *path, stream_builder *builder);   /* where it takes a path */
} family;

/* A family of the name of its struct, whose options and make are named after it. */
#define FAMILY(name, summary, peak, peak_bytes) \
    const family family_##name = { { #name, summary, peak, UINT64_C(peak_bytes) }, name##_options, \
                                   sizeof name##_options / sizeof name##_options[0], sizeof(name), name##_make, NULL }

/* All of them, in the order of `stress list`. A new one is a file, and a word here. */
#define FAMILIES(X) \
    X(uniform) X(train) X(producer) X(larson) X(phases) X(replay) X(pareto) X(cnn) X(dataset) X(embedding) X(tape) \
    X(growing) X(serve) X(rival)
#define X(name) extern const family family_##name;
FAMILIES(X)
#undef X

/* ---- The words in which families write their operations. Like the builder's functions they do nothing once anything
        has failed, so that a program reads as its operations alone, and is asked at its end whether all of it went
        well */

enum { MAKER_SIDE_STEP = 32, MAKER_ARRAYS = 8 };

typedef struct maker {
    stream_builder *builder;
    uint64_t random;                             /* the seed, at first */
    void    *arrays[MAKER_ARRAYS];               /* maker_array's */
    size_t   array_count;
} maker;

/* `self` is a maker everywhere below, or a family's struct, which begins with one. */

int  maker_end(void *self);                      /* frees its arrays. 0, or -1: failed */
int  maker_is_over(const void *self);            /* failed, or cut by --ops: to leave loops */
/* The input is wrong: a problem, as stream_refuse has it. */
#define MAKER_REFUSE(self, ...) ((void)stream_refuse(((maker *)(void *)(self))->builder, __VA_ARGS__))
/* Zeroed, with one item more, up to maker_end. MAKER_ARRAYS of them. */
void *maker_array(void *self, uint64_t count, size_t item_bytes);

/* i from 0 to below count, as long as it is not over; and the same in steps, with their labels `NAMEi`. */
#define MAKER_EACH(self, i, count) for (uint64_t i = 0; i < (count) && !maker_is_over(self); i++)
#define MAKER_STEPS(self, name, i, count) \
    for (uint64_t i = 0; i < (count) && !maker_is_over(self) && maker_step(self, name, i); i++)

/* Factors multiplied from the left, and a + b; past 2^64 - 1 the maker fails with a problem and they return 0. */
#define MAKER_TIMES(self, ...) \
    maker_product(self, (const uint64_t[]){ __VA_ARGS__ }, \
                  sizeof (const uint64_t[]){ __VA_ARGS__ } / sizeof(uint64_t))
uint64_t maker_product(void *self, const uint64_t *factors, size_t count);
uint64_t maker_plus(void *self, uint64_t left, uint64_t right);

uint64_t maker_draw(void *self, uint64_t low, uint64_t high);        /* even, both ends included */
uint64_t maker_draw_of(void *self, family_range range);
int      maker_draw_chance(void *self, uint64_t in);          /* 1 once in so many times */
/* One side of images: low where that is high, too, else a multiple of MAKER_SIDE_STEP; the maker fails where there is
   none from low to high. */
uint64_t maker_draw_side(void *self, family_range sides);
/* Time until the next of events that come at random, one in mean_ns on average (exponential): integers alone, the
   same on every machine. mean_ns: at most 10^10. At most 22.2 times the mean. */
uint64_t maker_draw_gap(void *self, uint64_t mean_ns);

void     maker_label(void *self, const char *label);          /* `s LABEL`, which is kept once */
int      maker_step(void *self, const char *name, uint64_t number);  /* `s NAME`, with the number behind it. 1 */
/* A new block, on stream 0 or another; its id is the block's number. */
uint32_t maker_new(void *self, uint64_t bytes);
uint32_t maker_new_on(void *self, uint64_t bytes, uint64_t on_stream);
void     maker_free_all(void *self, const uint32_t *blocks, size_t count, uint64_t on_stream);
void     maker_free_run(void *self, uint32_t first, uint64_t count);         /* numbers in a row, on stream 0 */
uint64_t maker_bytes(const void *self, uint32_t block);
uint32_t maker_next(const void *self);                        /* the number of the next new block */
void     maker_kernel(void *self, uint64_t on_stream, uint64_t duration_ns); /* at least 1 ns */
void     maker_touch_all(void *self, const uint32_t *blocks, size_t count);  /* by the kernel before */
void     maker_touch_run(void *self, uint32_t first, uint64_t count);
void     maker_wait(void *self, uint64_t on_stream, uint64_t for_stream);    /* nothing, where both are one */
/* A new block that a kernel on stream 0 makes from another one, at the speed of memory. */
uint32_t maker_made(void *self, uint64_t bytes, uint32_t from);

/* Blocks named one by one: as an array and its length; touched by the kernel before, or by one that comes with them;
   by one on stream 0 that takes as long as so many bytes of memory; their frees on stream 0. */
#define MAKER_BLOCKS(...) \
    (const uint32_t[]){ __VA_ARGS__ }, sizeof (const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t)
#define MAKER_TOUCH(self, ...) maker_touch_all(self, MAKER_BLOCKS(__VA_ARGS__))
#define MAKER_KERNEL(self, on_stream, duration_ns, ...) \
    (maker_kernel(self, on_stream, duration_ns), MAKER_TOUCH(self, __VA_ARGS__))
#define MAKER_MOVE(self, bytes, ...) MAKER_KERNEL(self, 0, (bytes) / RATE_MEMORY_BYTES_PER_NS, __VA_ARGS__)
#define MAKER_FREE(self, ...) maker_free_all(self, MAKER_BLOCKS(__VA_ARGS__), 0)

/* ---- How long GPU work takes, for families whose kernels have shapes: a GPU of 2020 and its links, in round figures
        */

enum {
    RATE_FLOPS_PER_NS = 200000,                  /* 200 TFLOP/s in 16-bit matrices */
    RATE_MEMORY_BYTES_PER_NS = 2000,             /* 2 TB/s */
    RATE_LINK_BYTES_PER_NS = 200,                /* 200 GB/s between GPUs */
    RATE_HOST_BYTES_PER_NS = 25                  /* 25 GB/s to and from the host: PCIe 4.0 x16 */
};

#endif
