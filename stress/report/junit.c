/* JUnit XML, as CI systems read it: one suite, a case a row and a case a verdict. A row is an error where it ended as
   one (out of memory is a result), a verdict is a failure where it fails the run, and skipped where it is none. */
#include "writers.h"

#include <string.h>

#include "../../gpuarena.h"
#include "../base/text.h"

static int junit_is_error(const row *shown)
{
    const cell *status = &shown->cells[COLUMN_STATUS];
    return status->kind == CELL_TEXT && strcmp(status->text, "ok") && strcmp(status->text, "oom");
}

typedef struct junit_case {
    const char *workload, *policy, *name;        /* name: of a verdict the rule, of a row "" */
    char        holes[24];
} junit_case;

/* Rows, then verdicts, in their order. */
static junit_case junit_case_at(const row_list *list, const gate *gates, size_t place)
{
    if (place >= list->count) {
        const gate_verdict *judged = &gates->verdicts[place - list->count];
        junit_case verdict = { judged->workload, judged->policy, judged->judged->text, "" };
        memcpy(verdict.holes, judged->holes, sizeof verdict.holes);
        return verdict;
    }
    const cell *cells = list->rows[place].cells;
    junit_case made = { row_workload(&list->rows[place]), cells[COLUMN_POLICY].text, "", "" };
    cell_print(&cells[COLUMN_HOLES], made.holes, sizeof made.holes);
    return made;
}

/* Readers take cases of one name for one case: those that come again, as repeats do, have a number. */
static size_t junit_number(const row_list *list, const gate *gates, size_t place)
{
    const junit_case shown = junit_case_at(list, gates, place);
    size_t number = 1;
    for (size_t at = 0; at < place; at++) {
        const junit_case before = junit_case_at(list, gates, at);
        number += !strcmp(before.policy, shown.policy) && !strcmp(before.workload, shown.workload)
            && !strcmp(before.holes, shown.holes) && !strcmp(before.name, shown.name);
    }
    return number;
}

static void junit_name(FILE *out, const row_list *list, const gate *gates, size_t place)
{
    const junit_case shown = junit_case_at(list, gates, place);
    size_t number = junit_number(list, gates, place);
    xml_between(out, "<testcase classname=\"", shown.workload, *shown.workload ? "/" : "");
    xml_text(out, shown.policy);
    fprintf(out, "%s%s\" name=\"%s", *shown.holes ? " holes " : "", shown.holes, *shown.name ? "fail if " : "runs");
    xml_text(out, shown.name);
    if (number > 1) fprintf(out, " #%zu", number);
    fputc('"', out);
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
    for (size_t index = 0; index < list->count; index++) {
        junit_name(out, list, gates, index);
        junit_row(out, &list->rows[index]);
    }
    if (list->partial) {
        xml_between(out, "<testcase classname=\"stress\" name=\"all rows\"><error type=\"partial\" message=\"",
                    list->partial, "\"/></testcase>\n");
    }
    for (size_t index = 0; index < gates->verdict_count; index++) {
        junit_name(out, list, gates, list->count + index);
        junit_verdict(out, gates, &gates->verdicts[index]);
    }
}

void junit_write(FILE *out, const output_material *material)
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
