/* The well-formed sequences of UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
   It must not know what texts are for.
   Tested by tests/test_report.c. */
#include "utf8.h"

size_t utf8_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                  : text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : 0;
    for (size_t index = 1; index < length; index++) {
        if ((text[index] & 0xc0) != 0x80) return 0;
    }
    if (length == 3 && ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f))) return 0;
    if (length == 4 && ((text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))) return 0;
    return length;
}

/* Bytes that are no UTF-8 are cut wherever it is. */
size_t utf8_fits(const char *text, size_t most)
{
    size_t fits = most;
    while (fits && most - fits < 3 && ((unsigned char)text[fits] & 0xc0) == 0x80) fits--;
    return fits && ((unsigned char)text[fits] & 0xc0) != 0x80 ? fits : most;
}
