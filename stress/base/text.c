/* Texts that others read: well-formed UTF-8, and text in XML and HTML documents. */
#include "text.h"

#include <stdarg.h>
#include <string.h>

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

/* Bytes that are no UTF-8 are cut wherever it is. */
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

/* One conversion of printf's, and nothing else, with its value. */
static void text_convert(FILE *out, const char *conversion, text_escape *escape, va_list *values)
{
    switch (conversion[strlen(conversion) - 1]) {
    case 's': escape(out, va_arg(*values, const char *)); return;
    case 'g':
    case 'f': fprintf(out, conversion, va_arg(*values, double)); return;
    default:  break;
    }
    if (strchr(conversion, 'z')) fprintf(out, conversion, va_arg(*values, size_t));
    else if (strchr(conversion, 'l')) fprintf(out, conversion, va_arg(*values, uint64_t));
    else fprintf(out, conversion, va_arg(*values, int));
}

void text_print(FILE *out, text_escape *escape, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    for (const char *percent; (percent = strchr(format, '%')) != NULL;) {
        char conversion[16];
        size_t length = strcspn(percent, "sgfdux") + 1;
        fwrite(format, 1, (size_t)(percent - format), out);
        snprintf(conversion, sizeof conversion, "%.*s", (int)length, percent);
        text_convert(out, conversion, escape, &values);
        format = percent + length;
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
