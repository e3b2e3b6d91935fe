/* JUnit XML, as CI systems read it: one suite, a case a row and a case a verdict. A row is an error where it ended as
   one (out of memory is a result), a verdict is a failure where it fails the run, and skipped where it is none. */
#include "writers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../gpuarena.h"
#include "../base/hash.h"
#include "../base/program.h"
#include "../base/slice.h"
#include "../base/text.h"

static int junit_is_error(const row *shown)
{
    const cell *status = &shown->cells[COLUMN_STATUS];
    return status->kind == CELL_TEXT && strcmp(status->text, "ok") && strcmp(status->text, "oom");
}

/* Begins a case of this row and, unless that is "", the rule that judged it. Readers take cases of one name for one
   case: those that come again, as repeats do, have a number. */
static void junit_case(FILE *out, id_map *names, const char *workload, const char *policy, const char *holes,
                       const char *judged)
{
    char *text;
    size_t length;
    FILE *name = program_stream(&text, &length);
    xml_between(name, "<testcase classname=\"", workload, *workload ? "/" : "");
    xml_text(name, policy);
    fprintf(name, "%s%s\" name=\"%s", *holes ? " holes " : "", holes, *judged ? "fail if " : "runs");
    xml_text(name, judged);
    fclose(name);
    id_entry *before = id_map_add(names, slice_hash(slice_of(text)));
    fputs(text, out);
    if (before->value++) fprintf(out, " #%" PRIu32, before->value);
    fputc('"', out);
    free(text);
}

static void junit_row(FILE *out, const row *shown)
{
    if (!junit_is_error(shown)) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, "><error type=\"%s\" message=\"", shown->cells[COLUMN_STATUS].text);
    xml_text(out, shown->note);
    fputs("\"/></testcase>\n", out);
}

static void junit_verdict(FILE *out, const gate *gates, const gate_verdict *shown)
{
    char message[512];
    int fails = gate_fails(gates, shown);
    if (!fails && shown->outcome == GATE_PASS) {
        fputs("/>\n", out);
        return;
    }
    snprintf(message, sizeof message, "%s: %s is %s, limit %s%s%s", gate_outcome_name(shown->outcome),
             shown->judged->column, shown->value, shown->limit, *shown->note ? ": " : "", shown->note);
    xml_between(out, fails ? "><failure type=\"gate\" message=\"" : "><skipped message=\"",
                message, "\"/></testcase>\n");
}

static void junit_body(FILE *out, const row_list *list, const gate *gates)
{
    id_map names = { .count = 0 };
    char holes[CELL_ROOM];
    for (size_t index = 0; index < list->count; index++) {
        const row *shown = &list->rows[index];
        junit_case(out, &names, row_workload(shown), shown->cells[COLUMN_POLICY].text,
                   cell_text(&shown->cells[COLUMN_HOLES], holes), "");
        junit_row(out, shown);
    }
    if (list->partial) {
        xml_between(out, "<testcase classname=\"stress\" name=\"all rows\"><error type=\"partial\" message=\"",
                    list->partial, "\"/></testcase>\n");
    }
    for (size_t index = 0; index < gates->verdict_count; index++) {
        const gate_verdict *shown = &gates->verdicts[index];
        junit_case(out, &names, shown->workload, shown->policy, shown->holes, shown->judged->text);
        junit_verdict(out, gates, shown);
    }
    id_map_free(&names);
}

static void junit_write(FILE *out, const output_material *material)
{
    static const gate none;
    const row_list *list = material->list;
    const gate *gates = material->gates ? material->gates : &none;
    size_t rows = list->count + (list->partial != NULL), errors = list->partial != NULL, skipped = 0;
    for (size_t index = 0; index < list->count; index++) errors += (size_t)junit_is_error(&list->rows[index]);
    for (size_t index = 0; index < gates->verdict_count; index++) {
        skipped += gates->verdicts[index].outcome != GATE_PASS && !gate_fails(gates, &gates->verdicts[index]);
    }
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                 "<testsuite name=\"gpuarena stress%s%.*s\" "
                 "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n<properties>\n"
                 "<property name=\"version\" value=\"" GPUARENA_VERSION_TEXT "\"/>\n"
                 "<property name=\"device\" value=\"",
            list->shard ? ", " : "", list->shard ? (int)strcspn(list->shard, ":") : 0, list->shard ? list->shard : "",
            rows + gates->verdict_count, gate_failed(gates), errors, skipped);
    xml_text(out, material->device);
    if (list->shard) {
        fputs("\"/>\n<property name=\"shard\" value=\"", out);
        xml_text(out, list->shard);
    }
    fputs("\"/>\n</properties>\n", out);
    junit_body(out, list, gates);
    fputs("</testsuite>\n</testsuites>\n", out);
}

const output_kind output_junit = {
    "junit", "run|capacity|batch|holes|compare|merge", 0, 0, junit_write,
    "a case a row and a case a verdict (stress help gates); compare and merge write this and md, with --fail-if",
};
