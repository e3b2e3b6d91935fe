/* How large a pattern is before it is compiled, by the library's own way: what is repeated is copied; and whether it
   repeats what may be empty, which behind a '^' or '$' takes the library as many steps as there are ways through it.
   It must not know what patterns are held against.
   Tested by tests/test_cli.c and tests/cli.t. */
#include "pattern.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

typedef struct pattern_group {
    uint64_t parts;
    uint64_t last;                               /* of them those that a repetition copies; 0: there is nothing yet */
    int      is_last_empty;                      /* may be: what a repetition repeats, .. */
    int      is_rest_empty;                      /* .. all before that in this branch, .. */
    int      is_branch_empty;                    /* .. one of the branches before */
} pattern_group;

typedef struct pattern {
    const char   *at;
    pattern_group groups[PATTERN_MOST_PARTS + 1];            /* that are open: the whole, and each '(' */
    size_t        depth;
} pattern;

typedef enum pattern_found { PATTERN_GOOD, PATTERN_LARGE, PATTERN_EMPTY } pattern_found;

static const pattern_group pattern_begun = { 0, 0, 1, 1, 0 };

/* Behind the ']' that ends a bracket expression: not the first character in it, nor one in [:alpha:] and the like. */
static const char *pattern_behind_bracket(const char *at)
{
    at += 1 + (at[1] == '^');
    at += *at == ']';
    while (*at && *at != ']') {
        char kind = *at == '[' ? at[1] : '\0', ends[3] = { kind, ']', '\0' };
        const char *end = kind == ':' || kind == '.' || kind == '=' ? strstr(at + 2, ends) : NULL;
        at = end ? end + 2 : at + 1;
    }
    return *at ? at + 1 : at;
}

static uint64_t pattern_number(const char **at)
{
    uint64_t number = 0;
    for (; isdigit((unsigned char)**at); ++*at) {
        if (number <= PATTERN_MOST_PARTS) number = number * 10 + (uint64_t)(**at - '0');
    }
    return number;
}

/* How many copies "+", "*", "?", "{N}", "{N,}" or "{N,M}" make, at least 1; *at moves behind it. "{" may be none. */
static uint64_t pattern_times(const char **at)
{
    const char *from = *at + 1;
    if (**at != '{') return *(*at)++ == '+' ? 2 : 1;
    uint64_t least = pattern_number(&from), most = least;
    if (*from == ',') {
        from++;
        most = isdigit((unsigned char)*from) ? pattern_number(&from) : least + 1;
    }
    *at = *from == '}' ? from + 1 : *at + 1;
    return most > least ? most : least > 1 ? least : 1;
}

/* What is repeated where nothing stands before it, the library refuses. */
static pattern_found pattern_repeat(pattern *self)
{
    pattern_group *group = &self->groups[self->depth];
    const char *from = self->at;
    uint64_t times = pattern_times(&self->at);
    if (group->last && group->is_last_empty) return PATTERN_EMPTY;
    group->parts += group->last * (times - 1);
    group->last *= times;
    group->is_last_empty |= *from != '+' && (*from != '{' || from[1] == '0' || from[1] == ',');
    return PATTERN_GOOD;
}

static void pattern_add(pattern *self, uint64_t parts, int is_empty)
{
    pattern_group *group = &self->groups[self->depth];
    group->is_rest_empty &= group->is_last_empty;
    group->is_last_empty = is_empty;
    group->last = parts;
    group->parts += parts;
}

static void pattern_branch(pattern *self)
{
    pattern_group *group = &self->groups[self->depth];
    group->is_branch_empty |= group->is_last_empty && group->is_rest_empty;
    group->is_last_empty = group->is_rest_empty = 1;
    group->last = 0;
    self->at++;
}

static void pattern_close(pattern *self)
{
    pattern_branch(self);
    const pattern_group *inside = &self->groups[self->depth--];
    pattern_add(self, inside->parts + 1, inside->is_branch_empty);
}

/* A character, as a ')' that ends nothing is; a bracket expression; or a place between characters. */
static void pattern_single(pattern *self)
{
    const char *from = self->at;
    int is_escaped = *from == '\\' && from[1];
    self->at = *from == '[' ? pattern_behind_bracket(from) : from + 1 + is_escaped;
    pattern_add(self, 1, *from == '^' || *from == '$' || (is_escaped && strchr("bB<>`'", from[1])));
}

/* Numbers stay below PATTERN_MOST_PARTS squared. */
static pattern_found pattern_look(const char *text)
{
    pattern self = { text, { { 0, 0, 0, 0, 0 } }, 0 };
    pattern_found found = PATTERN_GOOD;
    self.groups[0] = pattern_begun;
    if (strlen(text) > PATTERN_MOST_PARTS) return PATTERN_LARGE;
    while (*self.at && !found) {
        if (*self.at == '\\' && isdigit((unsigned char)self.at[1])) return PATTERN_LARGE;
        if (*self.at == '(') {
            self.groups[++self.depth] = pattern_begun;
            self.at++;
        } else if (*self.at == ')' && self.depth) pattern_close(&self);
        else if (*self.at == '|') pattern_branch(&self);
        else if (strchr("{+*?", *self.at)) found = pattern_repeat(&self);
        else pattern_single(&self);
        if (self.groups[self.depth].parts > PATTERN_MOST_PARTS) return PATTERN_LARGE;
    }
    return found;
}

int pattern_compile(regex_t *made, const char *text, problem *why)
{
    char message[128];
    pattern_found found = pattern_look(text);
    if (found == PATTERN_EMPTY) {
        return problem_set(why, EXIT_USAGE, "--filter '%.60s%s': expected no repetition of what may be empty, as a* "
                           "is in (a*)+", text, strlen(text) > 60 ? ".." : "");
    }
    if (found == PATTERN_LARGE) {
        return problem_set(why, EXIT_USAGE, "--filter '%.60s%s': expected at most %d characters, what is repeated "
                           "counted as often as it may be, and no back-references", text,
                           strlen(text) > 60 ? ".." : "", (int)PATTERN_MOST_PARTS);
    }
    int code = regcomp(made, text, REG_EXTENDED | REG_NOSUB);
    if (!code) return 0;
    regerror(code, made, message, sizeof message);
    return problem_set(why, EXIT_USAGE, "--filter '%.60s%s': %s", text, strlen(text) > 60 ? ".." : "", message);
}
