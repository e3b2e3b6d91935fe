/* Text: slices and tests on them; text for other programs, as valid UTF-8, JSON, XML and HTML; bytes for people.
   It must not know the meaning of the text. */
#ifndef STRESS_BASE_TEXT_H
#define STRESS_BASE_TEXT_H

#include "program.h"

/* ---- Slices: text that is not NUL-terminated (a line, a field, a word of a specification) */

typedef struct slice { const char *bytes; size_t length; } slice;    /* bytes NULL: no text, not even "" */

slice slice_of(const char *text);
int   slice_is(slice text, const char *word);
int   slice_begins(slice text, const char *word);

/* Tells whether word is one of the words, which have a | between them. An empty word is none of them. */
int   slice_has(slice words, const char *word);

/* Takes the text up to the separator (or all of it) off the front of *rest. 0 when nothing was left to take. */
int   slice_take(slice *rest, char separator, slice *field);
/* Takes the text up to the separator off the front of *rest. 0 without a separator; nothing is taken then. */
int   slice_cut(slice *rest, char separator, slice *field);

/* Read a number below 2^64. slice_digits takes decimal digits, slice_decimal takes no leading zero, slice_hexadecimal
   takes 0x and hexadecimal digits. 0: the text is no such number. */
int   slice_digits(slice text, uint64_t *number);
int   slice_decimal(slice text, uint64_t *number);
int   slice_hexadecimal(slice text, uint64_t *number);

/* A size: decimal, and K, M, G or T (2^10 .. 2^40) or nothing, with B or iB behind it or not, in letters of any case:
   4G, 4GB, 4GiB, 4g. 0: the text is no size, or one of 2^64 and more. slice_unit reads the unit alone, as a power of
   two. */
int   slice_size(slice text, uint64_t *bytes);
int   slice_unit(slice text, unsigned *shift);

/* 1 if not empty and without spaces, control characters and NUL. */
int   slice_is_word(slice text);

uint64_t slice_hash(slice text);                 /* FNV-1a, 64 bits */

/* For messages: quoted, unprintable bytes as \xNN, at most SLICE_SHOWN characters of text and then "...". */
enum { SLICE_SHOWN = 48 };
typedef struct slice_shown { char text[SLICE_SHOWN + 8]; } slice_shown;
slice_shown slice_show(slice text);

/* Tells whether the text fits the pattern: * is any text, ? any character. */
int slice_fits(slice pattern, const char *text);

/* ---- UTF-8: well-formed sequences of a text */

size_t utf8_length(const unsigned char *text);   /* length of the first sequence; 0: it is not well-formed */
size_t utf8_fits(const char *text, size_t most);         /* bytes that fit in `most`, with the last sequence whole */

/* ---- Text in XML and HTML documents: well-formed whatever it holds */

/* Fit for the value of a quoted attribute and between tags. A character that XML cannot hold becomes U+FFFD. */
void xml_text(FILE *out, const char *text);

/* ---- Text in JSON */

/* Prints a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, so that the document always parses.
   NULL becomes null. */
void json_text(FILE *out, const char *text);

/* ---- Escaped text within a format */

/* Prints like fprintf, but escapes the text of each %s: text_print(out, xml_text, "<li>%s, %d</li>", name, count).
   It knows %s, %d, %u, %x, %zu and PRIu64, and %f and %g with a precision. escape NULL: %s is not escaped. */
typedef void text_escape(FILE *out, const char *text);
void text_print(FILE *out, text_escape *escape, const char *format, ...) PROBLEM_FORMAT(3, 4);

/* ---- Text that grows, and bytes for people */

/* Appends to a text in a buffer of `size` bytes. Text without room is left out. */
void text_add(char *text, size_t size, const char *format, ...) PROBLEM_FORMAT(3, 4);

/* "17.4 MiB", "512 B": in the unit that suits. Returns text. */
const char *text_bytes(uint64_t bytes, char *text, size_t size);

/* ---- "Did you mean": the known name closest to a mistyped one */

typedef struct nearest {
    const char *typed;                           /* the user's word */
    const char *name;                            /* the closest so far, or NULL: none is close */
    size_t      distance;                        /* edits from typed to name */
} nearest;

nearest nearest_to(const char *typed);                       /* no candidate yet */
void    nearest_offer(nearest *search, const char *name);    /* NULL is ignored. The name must outlive the search */
/* ", did you mean 'NAME'?" into text, or "" where nothing is close. Returns text. */
const char *nearest_hint(const nearest *search, char *text, size_t size);

#endif
