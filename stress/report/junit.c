/* Cases: a row is an error where it ended as one (out of memory is a result), a verdict is a failure where it fails
   the run, and skipped where it is none.
   It must not judge. Tested by tests/gate.t. */
#include "junit.h"

#include <string.h>

#include "../../gpuarena.h"
#include "xml.h"

static int junit_is_error(const row *shown)
{
    const cell *status = &shown->cells[COLUMN_STATUS];
    return status->kind == CELL_TEXT && strcmp(status->text, "ok") && strcmp(status->text, "oom");
}

/* A name is two texts, of any length. */
static void junit_case(FILE *out, const char *workload, const char *policy, const char *holes, const char *name,
                       const char *more)
{
    fputs("<testcase classname=\"", out);
    xml_text(out, workload);
    fputs(*workload ? "/" : "", out);
    xml_text(out, policy);
    fprintf(out, "%s%s", *holes ? " holes " : "", holes);
    fputs("\" name=\"", out);
    xml_text(out, name);
    xml_text(out, more);
    fputc('"', out);
}

static void junit_row(FILE *out, const row *shown)
{
    char holes[40];
    const cell *workload = &shown->cells[COLUMN_WORKLOAD];
    junit_case(out, workload->kind == CELL_TEXT ? workload->text : "", shown->cells[COLUMN_POLICY].text,
               cell_print(&shown->cells[COLUMN_HOLES], holes, sizeof holes), "runs", "");
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
    junit_case(out, shown->workload, shown->policy, shown->holes, "fail if ", shown->judged->text);
    if (!fails && shown->outcome == GATE_PASS) {
        fputs("/>\n", out);
        return;
    }
    snprintf(message, sizeof message, "%s: %s is %s, limit %s%s%s", gate_outcome_name(shown->outcome),
             shown->judged->column, shown->value, shown->limit, *shown->note ? ": " : "", shown->note);
    fputs(fails ? "><failure type=\"gate\" message=\"" : "><skipped message=\"", out);
    xml_text(out, message);
    fputs("\"/></testcase>\n", out);
}

void junit_write(FILE *out, const row_list *list, const char *device, const gate *gates)
{
    static const gate none;
    size_t rows = list->partial != NULL, errors = rows, skipped = 0;
    if (!gates) gates = &none;
    for (const row *each = list->rows; each < list->rows + list->count; each++) {
        rows += !each->is_baseline;
        errors += !each->is_baseline && junit_is_error(each);
    }
    for (size_t index = 0; index < gates->verdict_count; index++) {
        skipped += gates->verdicts[index].outcome != GATE_PASS && !gate_fails(gates, &gates->verdicts[index]);
    }
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"gpuarena stress\" "
                 "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n<properties>\n"
                 "<property name=\"version\" value=\"" GPUARENA_VERSION_TEXT "\"/>\n"
                 "<property name=\"device\" value=\"",
            rows + gates->verdict_count, gate_failed(gates), errors, skipped);
    xml_text(out, device);
    fputs("\"/>\n</properties>\n", out);
    for (size_t index = 0; index < list->count; index++) {
        if (!list->rows[index].is_baseline) junit_row(out, &list->rows[index]);
    }
    if (list->partial) {
        fputs("<testcase classname=\"stress\" name=\"all rows\"><error type=\"partial\" message=\"", out);
        xml_text(out, list->partial);
        fputs("\"/></testcase>\n", out);
    }
    for (size_t index = 0; index < gates->verdict_count; index++) junit_verdict(out, gates, &gates->verdicts[index]);
    fputs("</testsuite>\n</testsuites>\n", out);
}
