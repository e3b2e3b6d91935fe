/* UTF-8: what of a text is well-formed.
   Knows nothing of formats. Tested by tests/test_report.c. */
#ifndef STRESS_BASE_UTF8_H
#define STRESS_BASE_UTF8_H

#include <stddef.h>

size_t utf8_length(const unsigned char *text);   /* of the sequence that text starts with; 0: it is none */
size_t utf8_fits(const char *text, size_t most);         /* bytes of so many, the last sequence whole */

#endif
