/* Texts that others read: well-formed UTF-8, and text in XML and HTML documents.
   Tested by tests/test_report.c, tests/gate.t and tests/html.t. */
#ifndef STRESS_BASE_TEXT_H
#define STRESS_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* ---- UTF-8: what of a text is well-formed */

size_t utf8_length(const unsigned char *text);   /* of the sequence that text starts with; 0: it is none */
size_t utf8_fits(const char *text, size_t most);         /* bytes of so many, the last sequence whole */

/* ---- Text in XML and HTML documents: well-formed whatever it holds */

/* As the value of a quoted attribute, or between tags; what XML cannot hold is U+FFFD. */
void xml_text(FILE *out, const char *text);

#endif
