/* What a family of workloads is, to workload.c: a row for `stress list`, its options, and how it makes its
   operations, in the words of maker.h. A family must not know of the command line, nor of policies, devices and
   files. */
#ifndef STRESS_WORKLOAD_FAMILY_H
#define STRESS_WORKLOAD_FAMILY_H

#include "stream.h"

enum { FAMILY_MAX_OPTIONS = 16 };

/* peak: how the highest sum of live bytes comes about, and what it is at the defaults; NULL and 0: as the file has
   it. */
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

#endif
