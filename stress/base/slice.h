/* Slices: text that is not NUL-terminated (a line, a field, a word of a specification) and the few questions asked
   of it. They must not know what the text means, nor report problems. */
#ifndef STRESS_BASE_SLICE_H
#define STRESS_BASE_SLICE_H

#include <stddef.h>
#include <stdint.h>

typedef struct slice { const char *bytes; size_t length; } slice;    /* bytes NULL: nothing is there, not even "" */

slice slice_of(const char *text);
int   slice_is(slice text, const char *word);
int   slice_begins(slice text, const char *word);

/* Whether it is one of the words, with a | between them; an empty one is none. */
int   slice_has(slice words, const char *word);

/* Takes the text up to the separator (or all of it) off the front of *rest. 0 when nothing was left to take. */
int   slice_take(slice *rest, char separator, slice *field);
/* Likewise, where there is the separator; else 0, and nothing is taken. */
int   slice_cut(slice *rest, char separator, slice *field);

/* Decimal digits alone, below 2^64; decimal: without a leading zero. Hexadecimal: 0x and digits, below 2^64. 0 if it
   is not one. */
int   slice_digits(slice text, uint64_t *number);
int   slice_decimal(slice text, uint64_t *number);
int   slice_hexadecimal(slice text, uint64_t *number);

/* A size: decimal, and K, M, G or T (2^10 .. 2^40) or nothing, with B or iB behind it or not, in letters of any case:
   4G, 4GB, 4GiB, 4g. 0: it is none, or 2^64 and more. unit: what stands behind the digits, as a power of two. */
int   slice_size(slice text, uint64_t *bytes);
int   slice_unit(slice text, unsigned *shift);

/* 1 if not empty and without spaces, control characters and NUL. */
int   slice_is_word(slice text);

uint64_t slice_hash(slice text);                 /* FNV-1a, 64 bits */

/* For messages: quoted, unprintable bytes as \xNN, at most SLICE_SHOWN characters of text and then "...". */
enum { SLICE_SHOWN = 48 };
typedef struct slice_shown { char text[SLICE_SHOWN + 8]; } slice_shown;
slice_shown slice_show(slice text);

/* Whether the text fits the pattern: * is any text, ? any character. */
int slice_fits(slice pattern, const char *text);

#endif
