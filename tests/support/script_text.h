/* The text of scripts: commands of a line, words, numbers, expressions, and the first trouble with its place. It must
   not know the meaning of commands and names. Included by script_world.h and script_cases.h. */
#ifndef TESTS_SCRIPT_TEXT_H
#define TESTS_SCRIPT_TEXT_H

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 32, WORD_BYTES = 200, LINE_BYTES = 1000, TROUBLE_BYTES = 600 };

typedef struct reader { const char *at; } reader;    /* of a line, or of one command */

static struct { const char *file; int line; char trouble[TROUBLE_BYTES]; } place;    /* trouble "": all is well */

__attribute__((format(printf, 1, 2)))
static void blame(const char *format, ...)
{
    va_list values;
    if (place.trouble[0]) return;
    int length = snprintf(place.trouble, sizeof place.trouble, "%s:%d: ", place.file, place.line);
    va_start(values, format);
    vsnprintf(place.trouble + length, sizeof place.trouble - (size_t)length, format, values);
    va_end(values);
}

/* The value that a name stands for. 0: nothing has this name. */
static int name_value(const char *name, uint64_t *value);

static void skip_spaces(reader *in)
{
    while (*in->at == ' ' || *in->at == '\t') in->at++;
}

static int at_end(reader *in)
{
    skip_spaces(in);
    return *in->at == '\0';
}

/* The next word, up to a space, a comma or a colon; or the text between quotes. "": there is none. */
static const char *next_word(reader *in, char word[WORD_BYTES])
{
    size_t length = 0;
    skip_spaces(in);
    int is_quoted = *in->at == '"';
    in->at += is_quoted;
    while (*in->at && (is_quoted ? *in->at != '"' : !strchr(" \t,:", *in->at)) && length + 1 < WORD_BYTES)
        word[length++] = *in->at++;
    if (is_quoted && *in->at == '"') in->at++;
    word[length] = '\0';
    return word;
}

/* Takes this word, if it is the next one. */
static inline int take_word(reader *in, const char *wanted)
{
    char word[WORD_BYTES];
    reader ahead = *in;
    if (strcmp(next_word(&ahead, word), wanted) != 0) return 0;
    *in = ahead;
    return 1;
}

/* Takes the mark, if it is next. */
static int take_mark(reader *in, const char *mark)
{
    skip_spaces(in);
    if (strncmp(in->at, mark, strlen(mark)) != 0) return 0;
    in->at += strlen(mark);
    return 1;
}

/* Takes the next command out of a line: up to the separator, outside of quotes. 0: there is none. */
static int next_command(reader *in, char separator, char command[LINE_BYTES])
{
    size_t length = 0;
    int quoted = 0;
    if (at_end(in)) return 0;
    for (; *in->at && (quoted || *in->at != separator) && length + 1 < LINE_BYTES; in->at++) {
        quoted ^= *in->at == '"';
        command[length++] = *in->at;
    }
    while (length && command[length - 1] == ' ') length--;
    command[length] = '\0';
    in->at += *in->at != '\0';
    return 1;
}

/* The text with the value in each place of $NAME. */
static void put_in(char to[LINE_BYTES], const char *text, const char *name, const char *value)
{
    size_t length = 0, name_length = strlen(name);
    while (*text && length + 1 < LINE_BYTES) {
        if (*text == '$' && !strncmp(text + 1, name, name_length) && !isalnum((unsigned char)text[1 + name_length])) {
            length += (size_t)snprintf(to + length, LINE_BYTES - length, "%s", value);
            text += 1 + name_length;
        } else to[length++] = *text++;
    }
    if (length >= LINE_BYTES) blame("a line is too long");
    to[length < LINE_BYTES ? length : LINE_BYTES - 1] = '\0';
}

/* ---- numbers: 3M, 64K, 1s, 20ms, and sums and products of numbers and names */

static uint64_t read_sum(reader *in);

static uint64_t read_unit(reader *in)
{
    static const struct { const char *text; uint64_t factor; } units[] = {
        { "ms", 1000000 }, { "us", 1000 }, { "s", 1000000000 }, { "K", 1024 }, { "M", 1048576 },
        { "G", UINT64_C(1) << 30 }, { "T", UINT64_C(1) << 40 },
    };
    for (size_t at = 0; at < sizeof units / sizeof *units; at++) {
        size_t length = strlen(units[at].text);
        if (strncmp(in->at, units[at].text, length) || isalnum((unsigned char)in->at[length])) continue;
        in->at += length;
        return units[at].factor;
    }
    return 1;
}

static uint64_t read_name(reader *in)
{
    char name[WORD_BYTES];
    uint64_t value = 0;
    size_t length = 0;
    while ((isalnum((unsigned char)*in->at) || *in->at == '_' || *in->at == '.') && length + 1 < WORD_BYTES)
        name[length++] = *in->at++;
    name[length] = '\0';
    if (!name_value(name, &value)) blame("there is no \"%s\"", name);
    return value;
}

/* Reads a sum that may have a sign before it; below 0 it is in two's complement. */
static uint64_t read_factor(reader *in)
{
    skip_spaces(in);
    if (take_mark(in, "(")) {
        uint64_t value = read_sum(in);
        if (!take_mark(in, ")")) blame("a bracket is not closed");
        return value;
    }
    if (take_mark(in, "-")) return 0 - read_factor(in);
    if (isdigit((unsigned char)*in->at)) {
        char *end;
        uint64_t value = strtoull(in->at, &end, 10);
        if (*end == '.') return read_name(in);   /* a block's figure: 1.bytes */
        in->at = end;
        value *= read_unit(in);
        if (isalnum((unsigned char)*in->at)) blame("no number: %.20s", in->at);
        return value;
    }
    if (isalpha((unsigned char)*in->at)) return read_name(in);
    blame("a number is expected at \"%.20s\"", in->at);
    return 0;
}

static uint64_t read_product(reader *in)
{
    uint64_t value = read_factor(in);
    while (!place.trouble[0]) {
        if (take_mark(in, "*")) value *= read_factor(in);
        else if (take_mark(in, "/") || take_mark(in, "%")) {
            char mark = in->at[-1];
            uint64_t by = read_factor(in);
            if (!by) blame("division by zero");
            else value = mark == '/' ? value / by : value % by;
        } else break;
    }
    return value;
}

static uint64_t read_sum(reader *in)
{
    uint64_t value = read_product(in);
    while (!place.trouble[0]) {
        if (take_mark(in, "+")) value += read_product(in);
        else if (take_mark(in, "-")) value -= read_product(in);
        else break;
    }
    return value;
}

/* ---- `left = right`, or with another sign; both sides may be sums */

/* Reads a sign and the sum to the right of it; 1: the relation holds. */
static inline int read_relation(reader *in, uint64_t left, uint64_t *right)
{
    static const char *const signs[] = { "!=", "<=", ">=", "=", "<", ">" };
    for (size_t at = 0; at < sizeof signs / sizeof *signs && !place.trouble[0]; at++) {
        if (!take_mark(in, signs[at])) continue;
        *right = read_sum(in);
        const int is_so[] = { left != *right, left <= *right, left >= *right, left == *right, left < *right,
                              left > *right };
        return is_so[at];
    }
    blame("a comparison is expected at \"%.30s\"", in->at);
    return 0;
}

#endif
