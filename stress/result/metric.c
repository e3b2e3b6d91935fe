/* The table of what columns are worth, and their numbers.
   It must not know rows: it sees names and texts.
   Tested by tests/test_gate.c. */
#include "metric.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gpuarena.h"
#include "../base/nearest.h"

#define LESS METRIC_LESS_IS_BETTER
#define MORE METRIC_MORE_IS_BETTER
#define NEITHER METRIC_NEITHER
static const metric metrics[COLUMN_COUNT] = {    /* what is not listed is a key: it names the row */
    [COLUMN_OPS] = { METRIC_COUNT, 0, MORE },             [COLUMN_STATUS] = { METRIC_TEXT, 0, NEITHER },
    [COLUMN_HOST_NS] = { METRIC_NS, 1, LESS },            [COLUMN_ALLOC_P50] = { METRIC_NS, 1, LESS },
    [COLUMN_ALLOC_P99] = { METRIC_NS, 1, LESS },          [COLUMN_ALLOC_MAX] = { METRIC_NS, 1, LESS },
    [COLUMN_FREE_P50] = { METRIC_NS, 1, LESS },           [COLUMN_DRIVER_CALLS] = { METRIC_COUNT, 0, LESS },
    [COLUMN_DRIVER_VNS] = { METRIC_NS, 0, LESS },         [COLUMN_GPU_WAITS] = { METRIC_COUNT, 0, LESS },
    [COLUMN_REQUESTED_PEAK] = { METRIC_BYTES, 0, NEITHER }, [COLUMN_LIVE_PEAK] = { METRIC_BYTES, 0, LESS },
    [COLUMN_RESERVED_PEAK] = { METRIC_BYTES, 0, LESS },   [COLUMN_FOOTPRINT] = { METRIC_SHARE, 0, LESS },
    [COLUMN_FRAGMENTATION] = { METRIC_SHARE, 0, LESS },   [COLUMN_STRANDED_PEAK] = { METRIC_BYTES, 0, LESS },
    [COLUMN_REMAPPED_PAGES] = { METRIC_COUNT, 0, LESS },  [COLUMN_OOM_OP] = { METRIC_COUNT, 0, MORE },
    [COLUMN_OOM_REQUESTED] = { METRIC_BYTES, 0, NEITHER }, [COLUMN_OOM_FREE] = { METRIC_BYTES, 0, NEITHER },
    [COLUMN_OOM_LARGEST] = { METRIC_BYTES, 0, NEITHER },  [COLUMN_OOM_REASON] = { METRIC_TEXT, 0, NEITHER },
    [COLUMN_DIGEST] = { METRIC_TEXT, 0, NEITHER },        [COLUMN_PENDING_PEAK] = { METRIC_BYTES, 0, LESS },
    [COLUMN_ALLOCS] = { METRIC_COUNT, 0, NEITHER },       [COLUMN_MIN_LIMIT] = { METRIC_BYTES, 0, LESS },
    [COLUMN_RATIO] = { METRIC_SHARE, 0, LESS },           [COLUMN_PROBES] = { METRIC_COUNT, 0, NEITHER },
    [COLUMN_NS_PER_PAIR] = { METRIC_NS, 1, LESS },        [COLUMN_PAIR_INSTRUCTIONS] = { METRIC_COUNT, 0, LESS },
    [COLUMN_RATIO_LOW] = { METRIC_SHARE, 1, NEITHER },    [COLUMN_RATIO_HIGH] = { METRIC_SHARE, 1, NEITHER },
    [COLUMN_AGAINST_NS] = { METRIC_NS, 1, NEITHER },      [COLUMN_MET] = { METRIC_TEXT, 1, NEITHER },
    [COLUMN_AGAINST_INSTRUCTIONS] = { METRIC_COUNT, 0, NEITHER },
    [COLUMN_ROUNDS] = { METRIC_COUNT, 0, NEITHER },
    [COLUMN_LARGEST] = { METRIC_COUNT, 0, MORE },         [COLUMN_ALLOWED] = { METRIC_COUNT, 0, NEITHER },
    [COLUMN_NEXT_PEAK] = { METRIC_BYTES, 0, NEITHER },    [COLUMN_STOP_TEXT] = { METRIC_TEXT, 0, NEITHER },
    [COLUMN_CLAIMS] = { METRIC_TEXT, 0, NEITHER },        [COLUMN_VERDICT] = { METRIC_TEXT, 0, NEITHER },
    [COLUMN_SAID] = { METRIC_TEXT, 0, NEITHER },
    [COLUMN_GROWTH] = { METRIC_TEXT, 1, NEITHER },        [COLUMN_GROWTH_RMS] = { METRIC_SHARE, 1, NEITHER },
    [COLUMN_INSTRUCTIONS_GROWTH] = { METRIC_TEXT, 0, NEITHER },
    [COLUMN_INSTRUCTIONS_GROWTH_RMS] = { METRIC_SHARE, 0, NEITHER },
    [COLUMN_OOM_ROUND] = { METRIC_COUNT, 0, MORE },       [COLUMN_OOM_ROUND_OP] = { METRIC_COUNT, 0, NEITHER },
    [COLUMN_MISSES] = { METRIC_COUNT, 0, LESS },          [COLUMN_HIT_P50] = { METRIC_NS, 1, LESS },
    [COLUMN_HIT_P99] = { METRIC_NS, 1, LESS },            [COLUMN_MISS_P50] = { METRIC_NS, 1, LESS },
    [COLUMN_WAITED_P50] = { METRIC_NS, 0, LESS },         [COLUMN_WAITED_P99] = { METRIC_NS, 0, LESS },
    [COLUMN_WAITED_MAX] = { METRIC_NS, 0, LESS },         [COLUMN_SERVED_P99] = { METRIC_NS, 0, LESS },
    [COLUMN_VNS_PER_OP] = { METRIC_NS, 0, LESS },         [COLUMN_STEADY_STEPS] = { METRIC_COUNT, 0, NEITHER },
    [COLUMN_STEADY_CALLS] = { METRIC_COUNT, 0, LESS },    [COLUMN_STEADY_VNS] = { METRIC_NS, 0, LESS },
    [COLUMN_ENDED] = { METRIC_TEXT, 1, NEITHER },
    [COLUMN_STOP_OP] = { METRIC_COUNT, 0, NEITHER },      [COLUMN_STOP_REASON] = { METRIC_TEXT, 0, NEITHER },
};
#undef LESS
#undef MORE
#undef NEITHER

typedef struct metric_suffix { metric_unit unit; const char *text; long double scale; } metric_suffix;
static const metric_suffix metric_scales[] = {
    { METRIC_COUNT, "", 1.0L }, { METRIC_NS, "", 1.0L }, { METRIC_SHARE, "", 1.0L },
    { METRIC_NS, "ns", 1.0L }, { METRIC_NS, "us", 1e3L }, { METRIC_NS, "ms", 1e6L }, { METRIC_NS, "s", 1e9L },
    { METRIC_SHARE, "%", 100.0L },               /* .. divided: 7% is 0.07 to the last bit */
};

const metric *metric_find(const char *name)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!strcmp(name, row_column_name((row_column)column))) return &metrics[column];
    }
    return NULL;
}

const char *metric_hint(const char *name, char *text, size_t size)
{
    nearest search = nearest_to(name);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (metrics[column].unit != METRIC_KEY) nearest_offer(&search, row_column_name((row_column)column));
    }
    return nearest_hint(&search, text, size);
}

/* Length of the digits, with at most one point among them; 0: it begins with none. */
static size_t metric_digits(slice text)
{
    size_t length = 0, points = 0;
    while (length < text.length && ((text.bytes[length] >= '0' && text.bytes[length] <= '9')
                                    || (text.bytes[length] == '.' && length && !points++))) length++;
    return length && text.bytes[length - 1] == '.' ? 0 : length;
}

int metric_read(slice text, metric_unit unit, long double *value)
{
    char number[48];
    size_t digits = metric_digits(text);
    const slice behind = { text.bytes + digits, text.length - digits };
    if (!digits || digits >= sizeof number) return -1;
    memcpy(number, text.bytes, digits);
    number[digits] = '\0';
    unsigned shift;
    if (unit == METRIC_BYTES && slice_unit(behind, &shift)) {
        *value = ldexpl(strtold(number, NULL), (int)shift);
        return 0;
    }
    for (size_t at = 0; at < sizeof metric_scales / sizeof metric_scales[0]; at++) {
        if (metric_scales[at].unit != unit || !slice_is(behind, metric_scales[at].text)) continue;
        long double read = strtold(number, NULL), scale = metric_scales[at].scale;
        *value = unit == METRIC_SHARE ? read / scale : read * scale;
        return 0;
    }
    return -1;
}

const char *metric_suffixes(metric_unit unit)
{
    return unit == METRIC_BYTES ? "a number of bytes, such as 512M or 1.5GiB"
         : unit == METRIC_NS    ? "a time, such as 20us or 1.5ms, plain: nanoseconds"
         : unit == METRIC_SHARE ? "a number, such as 1.05 or 20%" : "a plain number";
}

int metric_equal(long double one, long double other)
{
    return fabsl(one - other) <= 1e-9L + 8.0L * LDBL_EPSILON * fabsl(other);
}

const char *metric_show(long double value, metric_unit unit, char *text, size_t size)
{
    int places = unit == METRIC_SHARE ? 4 : unit == METRIC_NS ? 1 : 0;
    const int most = places + 4;
    for (long double scaled = value * powl(10.0L, places); places < most; scaled *= 10.0L, places++) {
        if (metric_equal(scaled, rintl(scaled))) break;
    }
    snprintf(text, size, "%.*Lf", places, value);
    return text;
}

/* The words that a column may hold, each behind a '|'; NULL: any. */
static const char *metric_words(const metric *measure)
{
#define METRIC_WORD(name, text) "|" text
    switch (measure - metrics) {
    case COLUMN_STATUS:      return "|ok|oom|verify_failed|error";
    case COLUMN_VERDICT:     return "|pass|fail|none";
    case COLUMN_MET:         return "|yes|no|unclear";
    case COLUMN_GROWTH:
    case COLUMN_INSTRUCTIONS_GROWTH: return "|O(1)|O(log n)|O(n)|unclear";
    case COLUMN_ENDED:       return "|precise|rounds|time";
    case COLUMN_OOM_REASON:  return GPUARENA_REASONS(METRIC_WORD);
    case COLUMN_STOP_REASON: return GPUARENA_REASONS(METRIC_WORD) "|not_opened|not_made|option_maximum";
    default:                 return NULL;
    }
#undef METRIC_WORD
}

int metric_has_word(const metric *measure, const char *word)
{
    const char *at = metric_words(measure);
    size_t length = strlen(word);
    if (!at) return 1;
    for (; at; at = strchr(at + 1, '|')) {
        if (!strncmp(at + 1, word, length) && (!at[length + 1] || at[length + 1] == '|')) return 1;
    }
    return 0;
}

const char *metric_list_words(const metric *measure, char *text, size_t size)
{
    size_t used = 0;
    for (const char *at = metric_words(measure); at && used + 2 < size; at = strchr(at + 1, '|')) {
        int length = (int)strcspn(at + 1, "|");
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? " " : "", length, at + 1);
    }
    return text;
}
