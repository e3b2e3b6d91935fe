/* Text: slices of it and the few questions asked of them; what others read: well-formed UTF-8, text in JSON, XML and
   HTML documents, bytes for people. It must not know what the text means. */
#ifndef STRESS_BASE_TEXT_H
#define STRESS_BASE_TEXT_H

#include "program.h"

/* ---- Slices: text that is not NUL-terminated (a line, a field, a word of a specification) */

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

/* ---- UTF-8: what of a text is well-formed */

size_t utf8_length(const unsigned char *text);   /* of the sequence that text starts with; 0: it is none */
size_t utf8_fits(const char *text, size_t most);         /* bytes of so many, the last sequence whole */

/* ---- Text in XML and HTML documents: well-formed whatever it holds */

/* As the value of a quoted attribute, or between tags; what XML cannot hold is U+FFFD. */
void xml_text(FILE *out, const char *text);

/* ---- Text in JSON */

/* A JSON string, quotes included; bytes that are no UTF-8 become U+FFFD, so that the document always parses. NULL:
   null. */
void json_text(FILE *out, const char *text);

/* ---- Either, among what is written as it is */

/* As fprintf, but that the text of a %s is escaped: text_print(out, xml_text, "<li>%s, %d</li>", name, count). Of
   conversions %s, %d, %u, %x, %zu and PRIu64, and %f and %g with a precision. escape NULL: it is written as it is. */
typedef void text_escape(FILE *out, const char *text);
void text_print(FILE *out, text_escape *escape, const char *format, ...) PROBLEM_FORMAT(3, 4);

/* ---- Text that grows, and bytes for people */

/* Appends to a text in so many bytes; what there is no room for is left out. */
void text_add(char *text, size_t size, const char *format, ...) PROBLEM_FORMAT(3, 4);

/* "17.4 MiB", "512 B": in the unit that suits. Returns text. */
const char *text_bytes(uint64_t bytes, char *text, size_t size);

/* ---- "Did you mean": the known name that a mistyped one is closest to */

typedef struct nearest {
    const char *typed;                           /* what the user wrote */
    const char *name;                            /* the closest so far, or NULL: none is close */
    size_t      distance;                        /* of name: edits */
} nearest;

nearest nearest_to(const char *typed);                       /* no candidate yet */
void    nearest_offer(nearest *search, const char *name);    /* NULL is none. Must outlive the search */
/* ", did you mean 'NAME'?" into text, or "" where nothing is close. Returns text. */
const char *nearest_hint(const nearest *search, char *text, size_t size);

#endif
