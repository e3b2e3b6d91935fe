/* Values of options: numbers, sizes, lists, and words for a shell.
   It must not know the options.
   Tested by tests/test_cli.c. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "slice.h"

/* Decimal digits at *text, which moves past them. */
static int cli_read_digits(const char **text, uint64_t *number)
{
    const char *at = *text;
    uint64_t value = 0;
    if (!isdigit((unsigned char)*at)) return -1;
    for (; isdigit((unsigned char)*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10) return -1;
        value = value * 10 + digit;
    }
    *text = at;
    *number = value;
    return 0;
}

int cli_read_number(const char *text, uint64_t *number)
{
    uint64_t value;
    if (cli_read_digits(&text, &value) || *text) return -1;
    *number = value;
    return 0;
}

int cli_read_size(const char *text, uint64_t *bytes)
{
    return slice_size(slice_of(text), bytes) ? 0 : -1;
}

int cli_read_share(const char *text, uint64_t *millionths)
{
    uint64_t value, scale = 10000;
    if (cli_read_digits(&text, &value) || value > 100) return -1;
    value *= scale;
    if (*text == '.') {
        if (!isdigit((unsigned char)*++text)) return -1;
        for (; isdigit((unsigned char)*text) && scale > 1; text++) {
            scale /= 10;
            value += (uint64_t)(*text - '0') * scale;
        }
    }
    if (strcmp(text, "%") || value > 1000000) return -1;
    *millionths = value;
    return 0;
}

static int cli_add_item(cli_value *value, const char *text, size_t length, problem *why)
{
    char **items = realloc(value->items, (value->item_count + 1) * sizeof *items);
    if (items) value->items = items;
    char *item = items ? malloc(length + 1) : NULL;
    if (!item) return problem_set(why, EXIT_HARNESS, "no host memory for the command line");
    memcpy(item, text, length);
    item[length] = '\0';
    value->items[value->item_count++] = item;
    return 0;
}

int cli_keep_item(cli_value *value, const char *text, problem *why)
{
    return cli_add_item(value, text, strlen(text), why);
}

/* A part whose first of ':' and '=' is '=' belongs to the item on its left. */
static int cli_continues(const char *part)
{
    return part[strcspn(part, ":=,")] == '=';
}

/* A part that begins with a digit and names nothing is another value of the key on its left: batch=1,2,4. */
static int cli_is_value(const char *part)
{
    size_t end = strcspn(part, ":=,+");
    return isdigit((unsigned char)*part) && (part[end] == ',' || !part[end]);
}

/* Length of the item at text: up to the comma that the next item follows. */
static size_t cli_item_length(const char *text)
{
    size_t length = strcspn(text, ",");
    int has_key = memchr(text, '=', length) != NULL;
    while (text[length]) {
        const char *next = text + length + 1;
        if (!cli_continues(next) && !(has_key && cli_is_value(next))) break;
        has_key |= cli_continues(next);
        length += 1 + strcspn(next, ",");
    }
    return length;
}

/* An item with one of the values of its first list: what is before the value, the value, what is after the list. */
static char *cli_with_value(const char *text, size_t before, size_t from, size_t to, size_t after)
{
    size_t length = to - from, rest = strlen(text + after);
    char *made = malloc(before + length + rest + 1);
    if (!made) return NULL;
    memcpy(made, text, before);
    memcpy(made + before, text + from, length);
    memcpy(made + before + length, text + after, rest + 1);
    return made;
}

/* `NAME:a=1,2,b=3,4` are four items; the last list changes fastest. */
static int cli_add_items(const char *option, cli_value *value, const char *text, problem *why)
{
    enum { CLI_MOST_ITEMS = 10000 };
    size_t first = strcspn(text, ","), key, end, from, to;
    while (text[first] && !cli_is_value(text + first + 1)) first += 1 + strcspn(text + first + 1, ",");
    if (value->item_count >= CLI_MOST_ITEMS) {
        return problem_set(why, EXIT_USAGE, "--%s: more than %d items", option, (int)CLI_MOST_ITEMS);
    }
    if (!text[first]) return cli_add_item(value, text, strlen(text), why);
    for (key = first; text[key - 1] != '=';) key--;
    for (end = first; text[end] && cli_is_value(text + end + 1);) end += 1 + strcspn(text + end + 1, ",");
    for (from = key; from < end; from = to + 1) {
        to = from + strcspn(text + from, ",");
        char *made = cli_with_value(text, key, from, to, end);
        int failed = made ? cli_add_items(option, value, made, why)
                          : problem_set(why, EXIT_HARNESS, "no host memory for the command line");
        free(made);
        if (failed) return -1;
    }
    return 0;
}

static int cli_check_item(const char *option, const char *plain, const char *text, size_t length, problem *why)
{
    char also[160] = "";
    int end = (int)length, name = (int)strcspn(text, ":=,");
    if (!length) return problem_set(why, EXIT_USAGE, "--%s: an item is empty", option);
    if (name >= end || text[name] == ':') return 0;
    int is_named = text[name] == ',', from = is_named ? name + 1 : 0, keys = end - from;
    if (plain) snprintf(also, sizeof also, ", or %s:%.*s", plain, keys, text + from);
    if (is_named) {
        return problem_set(why, EXIT_USAGE, "--%s: '%.*s': the first key follows the name after a ':', not a ',': "
                           "write %.*s:%.*s%s", option, end, text, name, text, keys, text + from, also);
    }
    return problem_set(why, EXIT_USAGE, "--%s: '%.*s' has no name before it: write NAME:%.*s%s", option, end, text,
                       end, text, also);
}

int cli_split_list(const char *option, const char *plain, const char *text, cli_value *value, problem *why)
{
    for (;;) {
        size_t length = cli_item_length(text);
        char *item = cli_with_value(text, 0, 0, length, strlen(text));
        int failed = item ? cli_check_item(option, plain, text, length, why)
                            || cli_add_items(option, value, item, why)
                          : problem_set(why, EXIT_HARNESS, "no host memory for the command line");
        free(item);
        if (failed) return -1;
        if (!text[length]) return 0;
        text += length + 1;
    }
}

void cli_print_word(FILE *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'') fputs("'\\''", out);
        else fputc(*word, out);
    }
    fputc('\'', out);
}
