/* The option table, and all that is derived from it: parsing and help. */
#include "cli.h"

#include <ctype.h>

#include "text.h"

/* ---- Values of options: numbers, sizes, lists, and words for a shell */

/* up to four decimals, and the sign: 0.25% */
static int cli_read_share(const char *text, uint64_t *millionths)
{
    uint64_t percent, parts = 0;
    slice rest = slice_of(text), whole;
    if (!rest.length || rest.bytes[--rest.length] != '%') return -1;
    int has_parts = slice_cut(&rest, '.', &whole);
    if (!slice_digits(has_parts ? whole : rest, &percent) || percent > 100) return -1;
    if (has_parts && (rest.length > 4 || !slice_digits(rest, &parts))) return -1;
    for (size_t digits = rest.length; has_parts && digits < 4; digits++) parts *= 10;
    *millionths = percent * 10000 + parts;
    return *millionths > 1000000 ? -1 : 0;
}

static void cli_add_item(cli_value *value, const char *text)
{
    value->items = program_resize(value->items, value->item_count + 1, sizeof *value->items);
    value->items[value->item_count++] = program_copy(text, strlen(text));
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

/* The length of the item that text begins with. The comma before the next item ends it. */
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

/* `NAME:a=1,2,b=3,4` are four items; the last list changes fastest. */
static int cli_add_items(const char *option, cli_value *value, const char *text, problem *why)
{
    enum { CLI_MOST_ITEMS = 10000 };
    size_t first = strcspn(text, ","), key, end, from, to;
    while (text[first] && !cli_is_value(text + first + 1)) first += 1 + strcspn(text + first + 1, ",");
    if (value->item_count >= CLI_MOST_ITEMS) {
        return problem_set(why, EXIT_USAGE, "--%s: more than %d items", option, (int)CLI_MOST_ITEMS);
    }
    if (!text[first]) {
        cli_add_item(value, text);
        return 0;
    }
    for (key = first; text[key - 1] != '=';) key--;
    for (end = first; text[end] && cli_is_value(text + end + 1);) end += 1 + strcspn(text + end + 1, ",");
    size_t room = strlen(text) + 1;
    char *one = program_need(room, 1);           /* the text with one value in place of its first list */
    int failed = 0;
    for (from = key; from < end && !failed; from = to + 1) {
        to = from + strcspn(text + from, ",");
        snprintf(one, room, "%.*s%.*s%s", (int)key, text, (int)(to - from), text + from, text + end);
        failed = cli_add_items(option, value, one, why);
    }
    free(one);
    return failed;
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

/* Adds the items of a list to value->items: `NAME` or `NAME:key=value,key=value`, separated by commas. plain: the
   name suggested for keys that stand without a name; NULL: there is none. */
static int cli_split_list(const char *option, const char *plain, const char *text, cli_value *value, problem *why)
{
    for (;;) {
        size_t length = cli_item_length(text);
        char *item = program_copy(text, length);
        int failed = cli_check_item(option, plain, text, length, why) || cli_add_items(option, value, item, why);
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

/* ---- The option table, and all that is derived from it: parsing and help */

const cli_option cli_options[CLI_COUNT] = {
#define X(id, group, name, letter, kind, argument, fallback, least, most, effect, commands, summary) \
    { group, name, letter, CLI_##kind, argument, fallback, least, most, CLI_##effect, commands, summary },
    CLI_OPTIONS(X)
#undef X
};

static int cli_read_value(const cli_option *option, const char *text, cli_value *value, problem *why)
{
    char most[24] = "2^64-1";
    if (!*text)
        return problem_set(why, EXIT_USAGE, "--%s: expected %s, found nothing", option->name, option->argument);
    value->text = text;
    value->number = 0;                           /* the number of an earlier use of the option does not count */
    switch (option->kind) {
    case CLI_COUNT_OR_AUTO:
    case CLI_NUMBER:
        if (option->kind == CLI_COUNT_OR_AUTO && !strcmp(text, "auto")) return 0;
        if (slice_digits(slice_of(text), &value->number) && value->number >= option->least
            && (!option->most || value->number <= option->most)) return 0;
        if (option->most) snprintf(most, sizeof most, "%" PRIu64, option->most);
        return problem_set(why, EXIT_USAGE, "--%s: expected %sa number from %" PRIu64 " to %s, found '%s'",
                           option->name, option->kind == CLI_COUNT_OR_AUTO ? "auto or " : "", option->least, most,
                           text);
    case CLI_SIZE:
        if (slice_size(slice_of(text), &value->number) && value->number >= option->least) return 0;
        return problem_set(why, EXIT_USAGE,
                           "--%s: expected a size such as 512M or 4G, at least %" PRIu64 ", found '%s'", option->name,
                           option->least, text);
    case CLI_SHARE:
        if (!cli_read_share(text, &value->number)) return 0;
        return problem_set(why, EXIT_USAGE,
                           "--%s: expected a share from 0%% to 100%%, such as 2%% or 0.5%%, found '%s'",
                           option->name, text);
    case CLI_CHOICE:
        if (slice_has(slice_of(option->argument), text)) return 0;
        return problem_set(why, EXIT_USAGE, "--%s: expected %s, found '%s'", option->name, option->argument, text);
    case CLI_LIST:
        return cli_split_list(option->name, option == &cli_options[CLI_POLICY] ? "config" : NULL, text, value, why);
    case CLI_REPEAT:
        cli_add_item(value, text);
        break;
    case CLI_FLAG:
    case CLI_TEXT:
        break;
    }
    return 0;
}

/* Takes one option. inline_text is the text behind the '=' or the letter, or NULL. *at moves past an argument that
   is a word of its own. */
static int cli_take(cli *self, size_t index, const char *inline_text, int argc, char *const *argv, int *at,
                    problem *why)
{
    const cli_option *option = &cli_options[index];
    cli_value *value = &self->values[index];
    value->given = 1;
    if (option->kind == CLI_FLAG) {
        if (!inline_text) return 0;
        return problem_set(why, EXIT_USAGE, "--%s takes no value, found '%s'", option->name, inline_text);
    }
    if (!inline_text) {
        if (*at + 1 >= argc)
            return problem_set(why, EXIT_USAGE, "--%s: expected %s after it", option->name, option->argument);
        inline_text = argv[++*at];
    }
    return cli_read_value(option, inline_text, value, why);
}

static int cli_take_long(cli *self, int argc, char *const *argv, int *at, problem *why)
{
    const char *word = argv[*at] + 2, *equals = strchr(word, '=');
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    nearest search = nearest_to(name);
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const char *known = cli_options[index].name;
        if (!strcmp(name, known)) return cli_take(self, index, equals ? equals + 1 : NULL, argc, argv, at, why);
        nearest_offer(&search, known);
    }
    if (search.name) {
        return problem_set(why, EXIT_USAGE, "unknown option '--%s', did you mean '--%s'?", name, search.name);
    }
    return problem_set(why, EXIT_USAGE, "unknown option '--%s' (%s help)", name, program_name());
}

static int cli_take_short(cli *self, int argc, char *const *argv, int *at, problem *why)
{
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        size_t index = 0;
        while (index < CLI_COUNT && cli_options[index].letter != *letter) index++;
        if (index == CLI_COUNT) {
            return problem_set(why, EXIT_USAGE, "unknown option '-%c' (%s help)", *letter, program_name());
        }
        int is_flag = cli_options[index].kind == CLI_FLAG;
        if (cli_take(self, index, is_flag || !letter[1] ? NULL : letter + 1, argc, argv, at, why)) return -1;
        if (!is_flag) return 0;
    }
    return 0;
}

int cli_parse(cli *self, int argc, char *const *argv, problem *why)
{
    int words_only = 0;
    *self = (cli){ .argv = (const char *const *)argv, .command = "" };
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        int failed = 0;
        if (!words_only && !strcmp(word, "--")) words_only = 1;
        else if (!words_only && !strncmp(word, "--", 2)) failed = cli_take_long(self, argc, argv, &at, why);
        else if (!words_only && word[0] == '-' && word[1]) failed = cli_take_short(self, argc, argv, &at, why);
        else if (!*self->command) self->command = word;
        else cli_add_item(&self->words, word);
        if (failed) return -1;
    }
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const cli_option *option = &cli_options[index];
        if (option->fallback && !self->values[index].given
            && cli_read_value(option, option->fallback, &self->values[index], why)) return -1;
    }
    return 0;
}

static void cli_free_value(cli_value *value)
{
    for (size_t item = 0; item < value->item_count; item++) free(value->items[item]);
    free(value->items);
}

void cli_free(cli *self)
{
    for (size_t index = 0; index < CLI_COUNT; index++) cli_free_value(&self->values[index]);
    cli_free_value(&self->words);
}

void cli_help_option(FILE *out, const cli_option *option)
{
    char left[80], letter[8] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    fprintf(out, "  %-44s %s", left, option->summary);
    if (option->fallback) fprintf(out, " [%s]", option->fallback);
    fputc('\n', out);
}

void cli_help(FILE *out)
{
    for (size_t index = 0; index < CLI_COUNT; index++) {
        if (cli_options[index].group) fprintf(out, "\n%s\n", cli_options[index].group);
        cli_help_option(out, &cli_options[index]);
    }
}
