/* Fuzz target: one item of -p.
   It must not open a policy.
   Run: make fuzz FUZZ=policy; its corpus: build/tests/fuzz_policy */
#include "stress/policy/policy.h"
#include "fuzz.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    for (uint64_t limit_bytes = 0; limit_bytes <= 1 << 20; limit_bytes += 1 << 20) {
        problem why = { 0, "" };
        policy made;
        int failed = policy_parse(text, limit_bytes, &made, &why);
        fuzz_expect(failed ? why.exit_code == EXIT_USAGE && why.text[0] : !why.exit_code,
                    "refused with a problem, or not");
    }
    free(text);
}

FUZZ_TARGET(policy)
