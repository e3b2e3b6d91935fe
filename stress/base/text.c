/* Cutting, comparing, reading numbers strictly, showing hostile text safely; and text in documents. */
#include "text.h"

#include <ctype.h>

/* ---- Slices */

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

/* Where the pattern behind the last '*' does not fit, that '*' takes one character more. */
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

/* ---- The well-formed sequences of UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF */

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

/* Text that is not UTF-8 is cut at `most`. */
size_t utf8_fits(const char *text, size_t most)
{
    size_t fits = most;
    while (fits && most - fits < 3 && ((unsigned char)text[fits] & 0xc0) == 0x80) fits--;
    return fits && ((unsigned char)text[fits] & 0xc0) != 0x80 ? fits : most;
}

/* ---- Escapes */

void xml_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t length = utf8_length(at);
        int is_none = length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;        /* U+FFFE, U+FFFF */
        if (!length || is_none || (*at < 0x20 && !strchr("\t\n\r", *at))) fputs("&#xFFFD;", out);
        else if (length == 1 && strchr("<>&\"\t\n\r", *at)) fprintf(out, "&#%u;", (unsigned)*at);
        else fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
}

/* ---- JSON */

void json_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    while (*at) {
        size_t length = utf8_length(at);
        if (!length) fputs("\\ufffd", out);
        else if (*at == '"' || *at == '\\') fprintf(out, "\\%c", *at);
        else if (*at < 0x20) fprintf(out, "\\u%04x", (unsigned)*at);
        else fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

/* ---- Printing with an escape */

void text_print(FILE *out, text_escape *escape, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    for (const char *percent; (percent = strchr(format, '%')) != NULL;) {
        char conversion[16];
        size_t length = strcspn(percent, "sgfdux") + 1;
        fwrite(format, 1, (size_t)(percent - format), out);
        snprintf(conversion, sizeof conversion, "%.*s", (int)length, percent);
        format = percent + length;
        if (format[-1] == 's' && escape) escape(out, va_arg(values, const char *));
        else if (format[-1] == 's') fputs(va_arg(values, const char *), out);
        else if (format[-1] == 'g' || format[-1] == 'f') fprintf(out, conversion, va_arg(values, double));
        else if (strchr(conversion, 'z')) fprintf(out, conversion, va_arg(values, size_t));
        else if (strchr(conversion, 'l')) fprintf(out, conversion, va_arg(values, uint64_t));
        else fprintf(out, conversion, va_arg(values, int));
    }
    va_end(values);
    fputs(format, out);
}

/* ---- Text that grows, and bytes for people */

void text_add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    PROBLEM_PRINT(text + used, size - used, format);
}

const char *text_bytes(uint64_t bytes, char *text, size_t size)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double scaled = (double)bytes;
    size_t power = 0;
    for (; scaled >= 1023.5 && power < 6; power++) scaled /= 1024.0;
    snprintf(text, size, "%.*f %s", !power || scaled >= 99.95 ? 0 : scaled < 9.995 ? 2 : 1, scaled,
             names[power]);
    return text;
}

/* ---- Edit distance over short names: insert, delete, replace, swap of neighbours */

enum { NEAREST_LONGEST = 40 }; /* longer names are never offered: no option or policy is that long */

static size_t nearest_min(size_t left, size_t right)
{
    return left < right ? left : right;
}

static size_t nearest_distance(const char *from, size_t from_length, const char *to, size_t to_length)
{
    size_t table[NEAREST_LONGEST + 1][NEAREST_LONGEST + 1];      /* from[..line] to to[..column] */
    for (size_t line = 0; line <= from_length; line++) {
        for (size_t column = 0; column <= to_length; column++) {
            size_t best = line + column;
            if (line && column) {
                best = table[line - 1][column - 1] + (from[line - 1] != to[column - 1]);
                best = nearest_min(best, nearest_min(table[line - 1][column], table[line][column - 1]) + 1);
            }
            if (line > 1 && column > 1 && from[line - 1] == to[column - 2] && from[line - 2] == to[column - 1])
                best = nearest_min(best, table[line - 2][column - 2] + 1);
            table[line][column] = best;
        }
    }
    return table[from_length][to_length];
}

nearest nearest_to(const char *typed)
{
    return (nearest){ typed, NULL, 0 };
}

void nearest_offer(nearest *search, const char *name)
{
    size_t typed_length = strlen(search->typed), name_length = name ? strlen(name) : 0;
    if (!name || name_length > NEAREST_LONGEST || typed_length > NEAREST_LONGEST) return;
    size_t distance = nearest_distance(search->typed, typed_length, name, name_length);
    size_t allowed = nearest_min(3, nearest_min(typed_length, name_length) / 2);
    if (distance > allowed || (search->name && distance >= search->distance)) return;
    search->name = name;
    search->distance = distance;
}

const char *nearest_hint(const nearest *search, char *text, size_t size)
{
    if (size) text[0] = '\0';
    if (search->name) snprintf(text, size, ", did you mean '%s'?", search->name);
    return text;
}
