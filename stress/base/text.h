/* Texts that others read: well-formed UTF-8, text in JSON, XML and HTML documents, bytes for people. */
#ifndef STRESS_BASE_TEXT_H
#define STRESS_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "problem.h"

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
   conversions %s, %d, %u, %x, %zu and PRIu64, and %f and %g with a precision. */
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
