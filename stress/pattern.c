/* How large a pattern is before it is compiled, by the library's own way: what is repeated is copied.
   It must not know what patterns are held against.
   Tested by tests/test_cli.c and tests/cli.t. */
#include "pattern.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

typedef struct pattern {
    const char *at;
    uint64_t outside[PATTERN_MOST_PARTS];        /* parts before each '(' that is open */
    size_t   depth;
    uint64_t parts;                              /* inside the innermost one */
    uint64_t last;                               /* of them those that a repetition copies */
} pattern;

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

static void pattern_repeat(pattern *self, uint64_t times)
{
    self->parts += self->last * (times - 1);
    self->last *= times;
}

static void pattern_group(pattern *self)
{
    if (*self->at == '(') {
        self->outside[self->depth++] = self->parts;
        self->parts = self->last = 0;
    } else if (self->depth) {
        self->last = self->parts + 1;
        self->parts = self->outside[--self->depth] + self->last;
    }
    self->at++;
}

static void pattern_single(pattern *self)
{
    self->at = *self->at == '[' ? pattern_behind_bracket(self->at) : self->at + 1 + (*self->at == '\\' && self->at[1]);
    self->last = 1;
    self->parts++;
}

/* 0, or -1: it is too large, or refers back. Numbers stay below PATTERN_MOST_PARTS squared. */
static int pattern_is_bounded(const char *text)
{
    pattern self = { text, { 0 }, 0, 0, 0 };
    if (strlen(text) > PATTERN_MOST_PARTS) return -1;
    while (*self.at) {
        if (*self.at == '\\' && isdigit((unsigned char)self.at[1])) return -1;
        if (*self.at == '(' || *self.at == ')') pattern_group(&self);
        else if (strchr("{+*?", *self.at)) pattern_repeat(&self, pattern_times(&self.at));
        else pattern_single(&self);
        if (self.parts > PATTERN_MOST_PARTS) return -1;
    }
    return 0;
}

int pattern_compile(regex_t *made, const char *text, problem *why)
{
    char message[128];
    if (pattern_is_bounded(text)) {
        return problem_set(why, EXIT_USAGE, "--filter '%.60s%s': expected at most %d characters, what is repeated "
                           "counted as often as it may be, and no back-references", text,
                           strlen(text) > 60 ? ".." : "", (int)PATTERN_MOST_PARTS);
    }
    int code = regcomp(made, text, REG_EXTENDED | REG_NOSUB);
    if (!code) return 0;
    regerror(code, made, message, sizeof message);
    return problem_set(why, EXIT_USAGE, "--filter '%s': %s", text, message);
}
