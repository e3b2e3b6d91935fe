/* The table of scenarios, one at work as a row, and the list of claims.
   It must not know how anything is measured.
   Tested by tests/needs.t. */
#include "needs.h"

#include <string.h>

#include "../base/nearest.h"
#include "../base/program.h"
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
    { "needs:report", inspect_report,
      "the JSON report, the walk and the statistics say the same, and with `other` what the device says" },
    { "needs:events", inspect_hook,
      "what the observer was told adds up to the statistics: blocks, failures, memory from and to the device" },
    { "needs:peaks", inspect_peaks,
      "the highest use is told as it was counted beside it, and can be had of one step alone" },
    { "needs:addresses", inspect_virtual,
      "what is freed and trimmed loses its memory and keeps its addresses; both are told apart" },
    { "needs:limit", limits_kept,
      "5000 MiB are never passed at any call of the driver, and all of them are to be had" },
    { "needs:threads", limits_threads,
      "four threads at once never hold more than the limit, and nothing but memory is refused" },
    { "needs:reasons", limits_reasons,
      "each reason is provoked and named, and what is said to be missing is what it takes" },
    { "needs:late-change", configs_late,
      "a struct that changes after creation changes nothing, an uncleared one is refused; set_limit is in force" },
    { "needs:wrong-values", configs_validate,
      "each of 12 wrong settings is refused, its key named; a refusal says what was asked for and what is missing" },
    { "needs:environment", configs_environment,
      "9 texts in the environment are in force as they say; the program's own go before; a bad one is refused" },
    { "needs:marks", configs_marks,
      "memory taken beforehand: bytes, shares of total and of free, total and free less some, to the byte" },
    { "needs:headroom", configs_headroom,
      "1 GiB stays free for others whatever they take meanwhile, and growth goes on when they give it back" },
    { "needs:shares", sharing_shares,
      "four programs have the same parts of a device in whatever order they start" },
    { "needs:grabbed", sharing_grabbed,
      "a library took 12 of 16 GiB first: nothing held at creation, the rest to be used, or a share of it" },
    { "needs:manners", sharing_manners_kept,
      "beside another process: memory that is kept is ours, release=idle leaves it what is idle, frugal all of it" },
    { "needs:first-touch", growth_first_touch,
      "growing, nothing is held at creation and one step with the first block; growth=fixed holds the limit" },
    { "needs:overshoot", growth_overshoot,
      "while 4 GiB of tensors come, from 512 MiB on at most twice what is live is held; growth=exact: 1.2 times" },
    { "needs:steps", growth_steps,
      "every step of growth is told, and they add up to what the device holds" },
    { "needs:modes", growth_modes,
      "training fits under 1.15 times its peak, both with memory taken beforehand and with growth" },
    { "needs:walls", growth_walls,
      "half of what is free, in pieces, is served in one; or refused as fragmented, as gauge and dry run told" },
    { "needs:shapes", growth_shapes,
      "with other shapes at each of 300 steps what is held comes to rest: 1.1 times that of the first 100" },
    { "needs:jump", growth_jump,
      "an embedding's first step, four times its table: at most 1.05 times what is live is held" },
    { "needs:trim", held_trim,
      "4 GiB that were freed go back to the device by one call, while others stay live" },
    { "needs:again", held_again,
      "the same step again: a hundredth of the first time's driver calls, from the third on none; 1 % more in use" },
    { "needs:repeat", held_repeat,
      "the same step five times within what it took the first time" },
    { "needs:retention", held_retention,
      "each rule of release keeps of 1 GiB what it says" },
    { "needs:lifetimes", held_lifetimes,
      "what is freed after its last use lowers what is held as much as what is live, to a tenth" },
    { "needs:bound", held_bound,
      "training holds at most 1.25 times the lower bound, the peak of what is live" },
    { "needs:overlap", waits_overlap,
      "batches copied and used on two streams: in frees the host waits for no more than a tenth of the GPU's work" },
    { "needs:captured", waits_captured,
      "a captured step runs, and is captured anew, without a driver call" },
    { "needs:pressure", waits_pressure,
      "caches are told before memory runs out, and what they free serves the request" },
    { "needs:late-free", waits_late,
      "what another stream freed and still works on serves the next request, behind that work" },
    { "needs:tags", owners_tags,
      "what is live by tag adds up to what is live, is twice as much in float64, and a failure tells it" },
    { "needs:scope", owners_scope,
      "all that was allocated since a mark is freed by one call, and had again without a driver call" },
    { "needs:leaks", owners_leaks,
      "an end with live blocks is refused and tells them by size and tag; behind gpuarena_reset nothing stays" },
    { "needs:tenants", owners_tenants,
      "two tenants of a device have their limits to the byte, are refused for their own, and sum to the device" },
    { "needs:devices", owners_devices,
      "an arena on each of two devices: memory, limits and figures apart, a pointer of the other named" },
    { "needs:pinned", kinds_pinned,
      "pinned memory has a limit and figures of its own, apart from the device's" },
    { "needs:async", kinds_async,
      "with backing=async never more than the limit is had of the driver's pool, and all goes back" },
    { "needs:tiny", small_model,
      "a tiny model trains in one granule of 2 MiB, without a driver call after the first epoch" },
    { "needs:sizes", small_sizes,
      "20,000, 40,000 and 80,000 bytes take at most 512 more each" },
    { "needs:resize", inspect_resize,
      "a block grows where it is as soon as what follows it is free, and keeps its contents" },
    { "needs:batches", small_batches,
      "the largest batch is found by trying: 75 % of what there are bytes for; what was live is intact" },
    { "needs:scratch", small_scratch,
      "a request that may fail makes no driver call and no growth" },
    { "needs:ring", small_ring,
      "ten times the device's size passes through a ring, without a driver call after the first lap" },
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
    problem_set(why, EXIT_USAGE, "no need '%s'%s; see %s list needs", name,
                nearest_hint(&search, hint, sizeof hint), program_name());
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
    if (shown->is_unordered) return;
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
