/* Fuzz target: rules of --fail-if, as words and as a file.
   It must not judge rows.
   Run: make fuzz FUZZ=rule; its corpus: build/tests/fuzz_rule */
#include "stress/result/gate.h"
#include "fuzz.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    rule made, *rules = NULL;
    size_t count = 0;
    problem why = { 0, "" }, trouble = { 0, "" };
    char *text = fuzz_text(data, size), path[96];
    if (rule_parse(&made, text, &why)) {
        fuzz_expect(why.exit_code == EXIT_USAGE && why.text[0], "refused with a problem");
    } else {
        (void)rule_matches(&made, "train:seq=512", "paged");
        (void)rule_holds(&made, 3.0L, rule_limit(&made, 7.0L));
        (void)rule_refers_to_base(&made);
    }
    rule_free(&made);
    snprintf(path, sizeof path, "@%s", fuzz_file(data, size));
    char *const texts[1] = { path };
    if (rule_file_all(&rules, &count, texts, 1, &trouble)) fuzz_expect(trouble.text[0], "refused with a problem");
    for (size_t index = 0; index < count; index++) rule_free(&rules[index]);
    free(rules);
    free(text);
}

FUZZ_TARGET(rule)
