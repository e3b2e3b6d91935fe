/* Files of cases: the lines of each, and the values of their variants in each run. A case begins with `case TITLE`;
   lines before the first one begin each case. It must not know the meaning of lines: the program that includes it
   runs them. Included by script_files.h and contract.h. */
#ifndef TESTS_SCRIPT_CASES_H
#define TESTS_SCRIPT_CASES_H

#include "script_text.h"
#include "tap.h"

enum { MOST_LINES = 1000, MOST_VARIANTS = 8, NOTE_BYTES = 60 };

typedef struct variant {
    char name[NAME_BYTES], values[WORD_BYTES * 2], value[WORD_BYTES];        /* value: of this run */
    int is_tied;                                 /* it has its nth value where the one before has its nth */
    int count;                                   /* of values; of a `text` 1, in which | divides nothing */
} variant;
typedef struct script_case {
    const char *file, *title, *fails, *turn;     /* "": none */
    uint64_t orders;                             /* of its threads, in which it is run; 0: it has none */
    variant variants[MOST_VARIANTS];
    int variant_count;
    const char *lines[MOST_LINES];
    int numbers[MOST_LINES], line_count;
} script_case;

/* Runs the case with the present values of its variants, and blames the first trouble. 0: the case is not for this
   program. The note stands behind the title. */
static int run_values(const script_case *self, char note[NOTE_BYTES]);

/* The text with each $NAME replaced. */
static void put_values(char line[LINE_BYTES], const script_case *self, const char *text)
{
    char next[LINE_BYTES];
    snprintf(line, LINE_BYTES, "%s", text);
    for (int at = 0; at < self->variant_count; at++) {
        put_in(next, line, self->variants[at].name, self->variants[at].value);
        memcpy(line, next, sizeof next);
    }
}

/* Runs the case with the present values of its variants, which `shown` lists. Prints one line of TAP. */
static void run_variant(const script_case *self, const char *shown)
{
    char note[NOTE_BYTES] = "";
    int line = self->line_count ? self->numbers[0] : 0;
    place.trouble[0] = '\0';
    place.file = self->file;
    place.line = line;
    if (!run_values(self, note)) return;
    int as_wanted = self->fails[0] ? strstr(place.trouble, self->fails) != NULL : !place.trouble[0];
    const char *file = strrchr(self->file, '/');
    tap_ok(as_wanted, self->file, line, "%s: %s%s%s", file ? file + 1 : self->file, self->title, shown, note);
    if (as_wanted) return;
    if (self->fails[0]) printf("#   it should fail with: %s\n", self->fails);
    if (place.trouble[0]) printf("#   %s\n", place.trouble);
}

/* Runs the case with every combination of the values that `with` lists. */
static void run_case(script_case *self)
{
    char shown[WORD_BYTES * 2];
    int total = 1;
    for (int at = 0; at < self->variant_count; at++)
        if (!self->variants[at].is_tied) total *= self->variants[at].count;
    for (int number = 0; number < total; number++) {
        int rest = number, nth = 0;
        size_t length = 0;
        shown[0] = '\0';
        for (variant *of = self->variants; of < self->variants + self->variant_count; of++) {
            const char *value = of->values;
            if (!of->is_tied) {
                nth = rest % of->count;
                rest /= of->count;
            }
            for (int skip = nth; skip && *value; value++) skip -= *value == '|';
            snprintf(of->value, WORD_BYTES, "%.*s", (int)strcspn(value, of->count > 1 ? "|" : ""), value);
            if (of->count > 1)
                length += (size_t)snprintf(shown + length, sizeof shown - length, ", %s=%.60s", of->name, of->value);
        }
        run_variant(self, shown);
    }
}

/* Takes a line `with NAME=VALUE|VALUE`, `and ..` or `text ..`; an earlier one of this name is forgotten. 0: bad. */
static int read_variant(script_case *self, const char *line)
{
    const char *name = line + strcspn(line, " ") + 1, *equals = strchr(name, '=');
    int at = 0, length = equals ? (int)(equals - name) : NAME_BYTES, is_tied = line[0] == 'a';
    while (at < self->variant_count && (strncmp(self->variants[at].name, name, (size_t)length)
                                        || self->variants[at].name[length])) at++;
    if (at == MOST_VARIANTS || length >= NAME_BYTES || at < is_tied
        || strlen(equals) > sizeof self->variants[at].values) return 0;
    variant *made = &self->variants[at];
    self->variant_count += at == self->variant_count;
    made->is_tied = is_tied;
    made->count = 1;
    for (const char *mark = equals; *mark && line[0] != 't'; mark++) made->count += *mark == '|';
    snprintf(made->name, sizeof made->name, "%.*s", length, name);
    snprintf(made->values, sizeof made->values, "%s", equals + 1);
    return 1;
}

/* Takes a line that says something of the case. 0: it is one of commands. */
static int read_head(script_case *self, const char *line)
{
    if (!strncmp(line, "with ", 5) || !strncmp(line, "and ", 4) || !strncmp(line, "text ", 5))
        return read_variant(self, line);
    if (!strncmp(line, "fails ", 6)) self->fails = line + 6;
    else if (!strncmp(line, "turn ", 5)) self->turn = line + 5;
    else if (!strncmp(line, "orders ", 7)) self->orders = strtoull(line + 7, NULL, 10);
    else return 0;
    return 1;
}

static void run_file(const char *name)
{
    static script_case made, first;
    char *text = tap_text(name);
    int number = 0, begun = 0;
    memset(&made, 0, sizeof made);
    made.file = name;
    made.title = made.fails = made.turn = "";
    for (char *end, *line = text; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end) *end = '\0';
        number++;
        line[strcspn(line, "#")] = '\0';
        line += strspn(line, " \t");
        if (!strncmp(line, "case ", 5)) {
            if (begun++) run_case(&made);
            else first = made;
            made = first;
            made.title = line + 5;
        } else if (*line && !read_head(&made, line)) {
            if (made.line_count == MOST_LINES) {
                CHECK_MSG(0, "%s:%d: a case has %d lines at most", name, number, MOST_LINES);
                break;
            }
            made.lines[made.line_count] = line;
            made.numbers[made.line_count++] = number;
        }
    }
    if (begun) run_case(&made);
    else CHECK_MSG(0, "%s has no case", name);
    free(text);
}

#endif
