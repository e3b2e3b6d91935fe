/* The table of scenarios, one at work as a row, and the list of claims.
   It must not know how anything is measured.
   Tested by tests/needs.t. */
#include "needs.h"

#include <string.h>

#include "../nearest.h"
#include "claims.h"
#include "scenarios.h"

#define NEEDS_PREFIX "needs:"

static const need needs[] = {
    { "needs:sums", figures_sums,
      "requested + slack = live, + pending + cached = reserved = what the device holds, after each of 400 steps" },
    { "needs:other", figures_other,
      "context and kernels are told apart from what is reserved, to the byte" },
    { "needs:predict", figures_predict,
      "gpuarena_can_alloc is right of 400 steps' requests, and the largest free block is to be had" },
    { "needs:limit", limits_kept,
      "5000 MiB are never passed at any call of the driver, and all of them are to be had" },
    { "needs:reasons", limits_reasons,
      "each reason is provoked and named, and what is said to be missing is what it takes" },
    { "needs:first-touch", growth_first_touch,
      "growing, nothing is held at creation and one step with the first block; growth=fixed holds the limit" },
    { "needs:overshoot", growth_overshoot,
      "while 4 GiB of tensors come, at most twice what is live is held" },
    { "needs:trim", held_trim,
      "4 GiB that were freed go back to the device by one call, while others stay live" },
    { "needs:again", held_again,
      "the same step again: 1 in 100 of the first time's driver calls at most, from the third time on none; and 1 % "
      "more in use at most" },
    { "needs:bound", held_bound,
      "training holds at most 1.25 times the lower bound, the peak of what is live" },
};

const need *need_at(size_t index)
{
    return index < sizeof needs / sizeof needs[0] ? &needs[index] : NULL;
}

const char *need_name(const need *self)
{
    return self->text + strlen(NEEDS_PREFIX);
}

int needs_names(const char *item)
{
    return !strcmp(item, "needs") || !strncmp(item, NEEDS_PREFIX, strlen(NEEDS_PREFIX));
}

const need *needs_find(const char *item, int *all, problem *why)
{
    char hint[96];
    *all = !strcmp(item, "needs");
    if (*all) return NULL;
    const char *name = item + strlen(NEEDS_PREFIX);
    nearest search = nearest_to(name);
    for (size_t index = 0; need_at(index); index++) {
        if (!strcmp(item, need_at(index)->text)) return need_at(index);
        nearest_offer(&search, need_name(need_at(index)));
    }
    problem_set(why, EXIT_USAGE, "no need '%s'%s; see stress list needs", name,
                nearest_hint(&search, hint, sizeof hint));
    return NULL;
}

static void needs_cells(const need *self, const scene *shown, row *made)
{
    static const char *const verdicts[] = { "", "pass", "fail", "none" };
    char *claims = made->claims;
    row_text(made, COLUMN_CLAIMS, claim_ids(need_name(self), claims, sizeof made->claims));
    row_text(made, COLUMN_VERDICT, verdicts[shown->verdict]);
    snprintf(made->note, sizeof made->note, "%s", shown->said);
    row_text(made, COLUMN_SAID, made->note);
    row_count(made, COLUMN_DRIVER_CALLS, shown->driver_calls);
    row_count(made, COLUMN_DRIVER_VNS, shown->driver_vns);
    row_count(made, COLUMN_RESERVED_PEAK, shown->held_peak_bytes);
}

void needs_row(const need *self, const runner_job *job, const device_config *on, row *made,
               runner_outcome *outcome)
{
    scene shown;
    memset(&shown, 0, sizeof shown);
    shown.chosen = job->chosen;
    shown.device = *on;
    shown.seed = job->seed;
    self->act(&shown);
    if (!shown.trouble.exit_code && shown.verdict == NEED_UNSAID) {
        problem_set(&shown.trouble, EXIT_HARNESS, "the scenario ended without a verdict");
    }
    runner_identity(job, made);
    runner_status(shown.trouble.exit_code ? PASS_ERROR : PASS_OK, shown.trouble.text, made, outcome);
    if (!shown.trouble.exit_code) needs_cells(self, &shown, made);
}

static void needs_list_scenarios(FILE *out)
{
    fputs("needs: stress run -w needs -p POLICY[,..] runs all of these, -w needs:NAME one; each passes where\n", out);
    for (size_t index = 0; need_at(index); index++) {
        char ids[CLAIM_IDS_ROOM];
        const need *each = need_at(index);
        fprintf(out, "  %-12s %s\n  %-12s %s\n", need_name(each), each->sentence, "",
                claim_ids(need_name(each), ids, sizeof ids));
    }
}

void needs_list(FILE *out)
{
    needs_list_scenarios(out);
    fputs("claims: true (T), false (F), half true (~), asked for (need), asked by users (ask)\n", out);
    for (size_t index = 0; claim_at(index); index++) {
        const claim *each = claim_at(index);
        fprintf(out, "  %-7s %-4s %s\n  %-12s %s%s\n", each->id, each->truth, each->said, "",
                each->scenario ? NEEDS_PREFIX : "", each->scenario ? each->scenario : each->elsewhere);
    }
}
