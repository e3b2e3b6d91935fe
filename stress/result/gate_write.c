/* Verdicts for people.
   It must not judge.
   Tested by tests/gate.t. */
#include <string.h>

#include "../policy/policy_name.h"
#include "../base/program.h"
#include "gate.h"

const char *gate_outcome_name(gate_outcome outcome)
{
    static const char *const names[] = { "pass", "AMBIGUOUS", "NO VALUE", "FAILED" };
    return names[outcome];
}

static void gate_write_row(FILE *out, const gate_verdict *verdict)
{
    char policy[1024];
    fprintf(out, "%s%s%s%s%s", verdict->workload, *verdict->workload ? "/" : "",
            policy_name_shown(verdict->policy, policy, sizeof policy), *verdict->holes ? " free blocks " : "",
            verdict->holes);
}

void gate_write(FILE *out, const gate *self)
{
    const rule *last = NULL;
    for (size_t index = 0; index < self->verdict_count; index++) {
        const gate_verdict *shown = &self->verdicts[index];
        if (shown->judged != last) fprintf(out, "%sfail if %s\n", last ? "" : "\n", shown->judged->text);
        last = shown->judged;
        fprintf(out, "  %-9s  ", gate_outcome_name(shown->outcome));
        gate_write_row(out, shown);
        fprintf(out, ": %s, limit %s%s%s\n", shown->value, shown->limit, *shown->note ? "; " : "", shown->note);
    }
    if (!last) return;
    size_t failed = gate_failed(self), undecided = gate_undecided(self);
    fprintf(out, "%zu of %zu verdicts fail%s", failed, self->verdict_count, failed == 1 ? "s" : "");
    if (self->is_strict) fputs(" (--strict: what is ambiguous or has no value fails)", out);
    else if (undecided) fprintf(out, ", %zu could not be given (--strict: that fails)", undecided);
    fputc('\n', out);
}

void gate_tell(FILE *out, const gate *self)
{
    for (size_t index = 0; index < self->verdict_count; index++) {
        const gate_verdict *shown = &self->verdicts[index];
        if (shown->outcome == GATE_PASS) continue;
        fprintf(out, "%s: gate: %s: ", program_name(), gate_outcome_name(shown->outcome));
        gate_write_row(out, shown);
        fprintf(out, ": %s is %s, limit %s (fail if %s)%s%s\n", shown->judged->column, shown->value, shown->limit,
                shown->judged->text, *shown->note ? ": " : "", shown->note);
    }
}
