/* What a column of a result is worth: its unit, whether it is measured time, which way is better; numbers with units.
   Knows nothing of rules or files. A new column that may be judged is one row in metric.c.
   Tested by tests/test_gate.c. */
#ifndef STRESS_RESULT_METRIC_H
#define STRESS_RESULT_METRIC_H

#include "row.h"
#include "../base/slice.h"

typedef enum metric_unit {
    METRIC_KEY,                                  /* names the row: not judged */
    METRIC_TEXT,                                 /* is it the same word? */
    METRIC_COUNT, METRIC_BYTES, METRIC_NS, METRIC_SHARE
} metric_unit;

typedef enum metric_sense { METRIC_LESS_IS_BETTER = -1, METRIC_NEITHER, METRIC_MORE_IS_BETTER } metric_sense;

typedef struct metric {
    metric_unit  unit;
    int          is_timed;                       /* measured on this machine: another run has another value */
    metric_sense sense;
} metric;

/* Of a column by its name in files; NULL: there is no such column. */
const metric *metric_find(const char *name);
/* For messages: the nearest name of what is judged, "" if none is close. Returns text. */
const char   *metric_hint(const char *name, char *text, size_t size);

/* "1.05", "512M", "20%", "1.5us": a number in the unit's own measure (bytes, ns, 1.0 for 100%). -1: it is none. */
int         metric_read(slice text, metric_unit unit, long double *value);
/* What may stand behind a number of this unit, for messages. */
const char *metric_suffixes(metric_unit unit);
/* Whether two numbers are one: up to what arithmetic on decimals rounds (1.2 * 1.05 is 1.26). */
int         metric_equal(long double one, long double other);
/* Whether a METRIC_TEXT may be this word: 0 of a typing error, where the column has a known set of words; those. */
int         metric_has_word(const metric *measure, const char *word);
const char *metric_list_words(const metric *measure, char *text, size_t size);
/* As files have it, with up to four places more where a limit has them. Returns text. */
const char *metric_show(long double value, metric_unit unit, char *text, size_t size);

#endif
