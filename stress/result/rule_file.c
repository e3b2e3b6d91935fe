/* Rules from the command line and from files.
   It must not know their grammar.
   Tested by tests/gate.t. */
#include "rule_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "csv_table.h"

static int rule_file_add(rule **rules, size_t *count, const char *text, problem *why)
{
    rule *larger = realloc(*rules, (*count + 1) * sizeof *larger);
    if (!larger) return problem_set(why, EXIT_HARNESS, "no host memory for the rules");
    *rules = larger;
    return rule_parse(&larger[(*count)++], text, why);
}

/* Without the comment, which a '#' begins that is not in quotes and stands first or behind a space, nor the spaces
   before it. */
static void rule_file_strip(char *text)
{
    char quote = '\0', *end = text;
    for (; *end; end++) {
        if (quote) quote = *end == quote ? '\0' : quote;
        else if (*end == '"' || *end == '\'') quote = *end;
        else if (*end == '#' && (end == text || isspace((unsigned char)end[-1]))) break;
    }
    while (end > text && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
}

static int rule_file_lines(rule **rules, size_t *count, const char *path, char *text, problem *why)
{
    size_t line = 1, before = *count;
    for (char *at = text, *next; at; at = next, line++) {
        problem trouble = { 0, "" };
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        at += strspn(at, " \t");
        rule_file_strip(at);
        if (!*at) continue;
        if (rule_file_add(rules, count, at, &trouble)) {
            return problem_set(why, trouble.exit_code, "%s: line %zu: %.400s", path, line, trouble.text);
        }
    }
    return *count > before ? 0 : problem_set(why, EXIT_USAGE, "--fail-if: %s: no rule in it", path);
}

static int rule_file_read(rule **rules, size_t *count, const char *path, problem *why)
{
    size_t length;
    char *text = csv_table_slurp(path, &length, why);
    if (!text) return -1;
    int failed = rule_file_lines(rules, count, path, text, why);
    free(text);
    return failed;
}

int rule_file_all(rule **rules, size_t *count, char *const *texts, size_t text_count, problem *why)
{
    for (size_t index = 0; index < text_count; index++) {
        if (!strcmp(texts[index], "@")) {
            return problem_set(why, EXIT_USAGE, "--fail-if @: expected a file of rules behind the @, found nothing");
        }
        if (texts[index][0] == '@' ? rule_file_read(rules, count, texts[index] + 1, why)
                                   : rule_file_add(rules, count, texts[index], why)) return -1;
    }
    return 0;
}
