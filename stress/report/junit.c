/* JUnit XML, as CI systems read it: one suite, a case a row and a case a verdict. A row is an error where it ended as
   one (out of memory is a result), a verdict is a failure where it fails the run, and skipped where it is none. */
#include "writers.h"

#include <stdlib.h>
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
    char        holes[40];
    size_t      place, number;                   /* among all; among those of this name, from 1 */
} junit_case;

static junit_case junit_of_row(const row *shown)
{
    const cell *workload = &shown->cells[COLUMN_WORKLOAD];
    junit_case made = { "", shown->cells[COLUMN_POLICY].text, "", "", 0, 1 };
    if (workload->kind == CELL_TEXT) made.workload = workload->text;
    cell_print(&shown->cells[COLUMN_HOLES], made.holes, sizeof made.holes);
    return made;
}

static junit_case junit_of_verdict(const gate_verdict *shown)
{
    junit_case made = { shown->workload, shown->policy, shown->judged->text, "", 0, 1 };
    snprintf(made.holes, sizeof made.holes, "%.39s", shown->holes);
    return made;
}

static int junit_compare_names(const junit_case *one, const junit_case *other)
{
    int order = strcmp(one->workload, other->workload);
    if (!order) order = strcmp(one->policy, other->policy);
    if (!order) order = strcmp(one->holes, other->holes);
    return order ? order : strcmp(one->name, other->name);
}

static int junit_by_name(const void *left, const void *right)
{
    const junit_case *one = left, *other = right;
    int order = junit_compare_names(one, other);
    return order ? order : (one->place > other->place) - (one->place < other->place);
}

static int junit_by_place(const void *left, const void *right)
{
    const junit_case *one = left, *other = right;
    return (one->place > other->place) - (one->place < other->place);
}

/* Rows, then verdicts, in their order. Readers take cases of one name for one case: those that come again, as repeats
   do, have a number. Free it; NULL: no host memory, and then none has. */
static junit_case *junit_cases(const row_list *list, const gate *gates)
{
    size_t count = 0;
    junit_case *all = calloc(list->count + gates->verdict_count + 1, sizeof *all);
    if (!all) return NULL;
    for (size_t index = 0; index < list->count; index++) {
        if (!list->rows[index].is_baseline) all[count++] = junit_of_row(&list->rows[index]);
    }
    for (size_t index = 0; index < gates->verdict_count; index++) {
        all[count++] = junit_of_verdict(&gates->verdicts[index]);
    }
    for (size_t place = 0; place < count; place++) all[place].place = place;
    qsort(all, count, sizeof *all, junit_by_name);
    for (size_t at = 1; at < count; at++) {
        if (!junit_compare_names(&all[at - 1], &all[at])) all[at].number = all[at - 1].number + 1;
    }
    qsort(all, count, sizeof *all, junit_by_place);
    return all;
}

static void junit_name(FILE *out, const junit_case *shown)
{
    xml_between(out, "<testcase classname=\"", shown->workload, *shown->workload ? "/" : "");
    xml_text(out, shown->policy);
    fprintf(out, "%s%s\" name=\"%s", *shown->holes ? " holes " : "", shown->holes,
            *shown->name ? "fail if " : "runs");
    xml_text(out, shown->name);
    if (shown->number > 1) fprintf(out, " #%zu", shown->number);
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
    junit_case *all = junit_cases(list, gates), *next = all;
    for (size_t index = 0; index < list->count; index++) {
        const row *shown = &list->rows[index];
        if (shown->is_baseline) continue;
        const junit_case plain = junit_of_row(shown);
        junit_name(out, all ? next++ : &plain);
        junit_row(out, shown);
    }
    if (list->partial) {
        xml_between(out, "<testcase classname=\"stress\" name=\"all rows\"><error type=\"partial\" message=\"",
                    list->partial, "\"/></testcase>\n");
    }
    for (size_t index = 0; index < gates->verdict_count; index++) {
        const junit_case plain = junit_of_verdict(&gates->verdicts[index]);
        junit_name(out, all ? next++ : &plain);
        junit_verdict(out, gates, &gates->verdicts[index]);
    }
    free(all);
}

void junit_write(FILE *out, const output_material *material)
{
    static const gate none;
    const row_list *list = material->list;
    const gate *gates = material->gates ? material->gates : &none;
    size_t rows = list->partial != NULL, errors = rows, skipped = 0;
    for (const row *each = list->rows; each < list->rows + list->count; each++) {
        rows += !each->is_baseline;
        errors += !each->is_baseline && junit_is_error(each);
    }
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
