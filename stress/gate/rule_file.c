/* Rules from the command line and from files.
   It must not know their grammar.
   Tested by tests/gate.t. */
#include "rule_file.h"

#include <stdlib.h>
#include <string.h>

#include "../report/csv_table.h"

static int rule_file_add(rule **rules, size_t *count, const char *text, problem *why)
{
    rule *larger = realloc(*rules, (*count + 1) * sizeof *larger);
    if (!larger) return problem_set(why, EXIT_HARNESS, "no host memory for the rules");
    *rules = larger;
    return rule_parse(&larger[(*count)++], text, why);
}

static int rule_file_lines(rule **rules, size_t *count, const char *path, char *text, problem *why)
{
    size_t line = 1, before = *count;
    for (char *at = text, *next; at; at = next, line++) {
        problem trouble = { 0, "" };
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        at[strcspn(at, "\r")] = '\0';
        at += strspn(at, " \t");
        if (!*at || *at == '#') continue;
        if (rule_file_add(rules, count, at, &trouble)) {
            return problem_set(why, trouble.exit_code, "%s: line %zu: %.400s", path, line, trouble.text);
        }
    }
    return *count > before ? 0 : problem_set(why, EXIT_USAGE, "--fail-if: %s: no rule in it", path);
}

int rule_file_all(rule **rules, size_t *count, char *const *texts, size_t text_count, problem *why)
{
    for (size_t index = 0; index < text_count; index++) {
        size_t length;
        if (!strcmp(texts[index], "@")) {
            return problem_set(why, EXIT_USAGE, "--fail-if @: expected a file of rules behind the @, found nothing");
        }
        if (texts[index][0] != '@') {
            if (rule_file_add(rules, count, texts[index], why)) return -1;
            continue;
        }
        char *text = csv_table_slurp(texts[index] + 1, &length, why);
        int failed = !text || rule_file_lines(rules, count, texts[index] + 1, text, why);
        free(text);
        if (failed) return -1;
    }
    return 0;
}
