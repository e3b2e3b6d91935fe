/* Slices: cutting, comparing, reading numbers strictly, and showing hostile text safely. */
#include "slice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

slice slice_of(const char *text)
{
    return (slice){ text, strlen(text) };
}

int slice_begins(slice text, const char *word)
{
    size_t length = strlen(word);
    return text.length >= length && memcmp(text.bytes, word, length) == 0;
}

int slice_is(slice text, const char *word)
{
    return text.length == strlen(word) && slice_begins(text, word);
}

int slice_take(slice *rest, char separator, slice *field)
{
    if (!rest->bytes) return 0;
    const char *end = rest->length > 0 ? memchr(rest->bytes, separator, rest->length) : NULL;
    *field = *rest;
    if (!end) {
        rest->bytes = NULL;
        rest->length = 0;
        return 1;
    }
    field->length = (size_t)(end - rest->bytes);
    rest->bytes = end + 1;
    rest->length -= field->length + 1;
    return 1;
}

int slice_cut(slice *rest, char separator, slice *field)
{
    return rest->length > 0 && memchr(rest->bytes, separator, rest->length) ? slice_take(rest, separator, field) : 0;
}

int slice_has(slice words, const char *word)
{
    slice each;
    while (*word && slice_take(&words, '|', &each)) {
        if (slice_is(each, word)) return 1;
    }
    return 0;
}

static int slice_number(slice text, unsigned base, uint64_t *number)
{
    uint64_t value = 0;
    if (text.length == 0) return 0;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char byte = (unsigned char)text.bytes[i];
        unsigned digit = byte - (unsigned)'0';
        if (digit > 9 && base > 10) digit = isxdigit(byte) ? (unsigned)(tolower(byte) - 'a') + 10 : base;
        if (digit >= base || value > (UINT64_MAX - digit) / base) return 0;
        value = value * base + digit;
    }
    *number = value;
    return 1;
}

int slice_digits(slice text, uint64_t *number)
{
    return slice_number(text, 10, number);
}

int slice_decimal(slice text, uint64_t *number)
{
    if (text.length > 1 && text.bytes[0] == '0') return 0;
    return slice_number(text, 10, number);
}

int slice_unit(slice text, unsigned *shift)
{
    static const char units[] = "kmgt";
    char word[4] = "";
    if (text.length >= sizeof word) return 0;
    for (size_t at = 0; at < text.length; at++) word[at] = (char)tolower((unsigned char)text.bytes[at]);
    const char *unit = *word ? strchr(units, *word) : NULL;
    const char *behind = word + (unit != NULL);
    *shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    return !*behind || !strcmp(behind, "b") || (unit && !strcmp(behind, "ib"));
}

int slice_size(slice text, uint64_t *bytes)
{
    unsigned shift;
    uint64_t number;
    size_t digits = 0;
    while (digits < text.length && isdigit((unsigned char)text.bytes[digits])) digits++;
    const slice front = { text.bytes, digits }, unit = { text.bytes + digits, text.length - digits };
    if (!slice_decimal(front, &number) || !slice_unit(unit, &shift) || number > UINT64_MAX >> shift) return 0;
    *bytes = number << shift;
    return 1;
}

int slice_hexadecimal(slice text, uint64_t *number)
{
    if (!slice_begins(text, "0x")) return 0;
    slice digits = { text.bytes + 2, text.length - 2 };
    return slice_number(digits, 16, number);
}

int slice_is_word(slice text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte <= ' ' || byte == 0x7f) return 0;
    }
    return text.length > 0;
}

uint64_t slice_hash(slice text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.length; i++) {
        hash = (hash ^ (unsigned char)text.bytes[i]) * 0x100000001b3u;
    }
    return hash;
}

slice_shown slice_show(slice text)
{
    slice_shown shown;
    size_t used = 0, i = 0;
    shown.text[used++] = '"';
    for (; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        int plain = byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
        size_t width = plain ? 1 : 4;
        if (used + width > SLICE_SHOWN + 1) break;
        snprintf(shown.text + used, sizeof shown.text - used, plain ? "%c" : "\\x%02x", byte);
        used += width;
    }
    snprintf(shown.text + used, sizeof shown.text - used, "\"%s", i < text.length ? "..." : "");
    return shown;
}

/* The last '*' takes one character more each time that what follows it does not fit. */
int slice_fits(slice pattern, const char *text)
{
    const char *at = pattern.bytes, *end = at + pattern.length, *star = NULL, *taken = NULL;
    while (*text) {
        if (at < end && *at == '*') {
            star = at++;
            taken = text;
        } else if (at < end && (*at == '?' || *at == *text)) {
            at++;
            text++;
        } else if (star) {
            at = star + 1;
            text = ++taken;
        } else {
            return 0;
        }
    }
    while (at < end && *at == '*') at++;
    return at == end;
}
