/* JUnit XML for CI systems: one suite, with a case for each row and each verdict. A row is an error if it ended as
   one (out of memory is a result). A verdict is a failure if it fails the run, and skipped if it is undecided. */
#include "output.h"

#include "../../gpuarena.h"

static int junit_is_error(const row *shown)
{
    return *row_status(shown) && strcmp(row_status(shown), "ok") && strcmp(row_status(shown), "oom");
}

/* Begins a case of this row and, unless that is "", the rule that judged it. Readers take cases of one name for one
   case. Names that come again, for repeats, therefore have a number. */
static void junit_case(FILE *out, device_table *names, const row *of, const char *judged)
{
    char *text;
    size_t length;
    FILE *name = program_stream(&text, &length);
    fputs("<testcase classname=\"", name);
    row_name(name, xml_text, of, 0);
    text_print(name, xml_text, "\" name=\"%s%s", *judged ? "fail if " : "runs", judged);
    fclose(name);
    const uint64_t hash = slice_hash(slice_of(text)), before = device_table_find(names, hash);
    device_table_add(names, hash, 1);
    fputs(text, out);
    if (before) fprintf(out, " #%" PRIu64, before + 1);
    fputc('"', out);
    free(text);
}

static void junit_rows(FILE *out, device_table *names, const row_list *list)
{
    for (const row *shown = list->rows; shown < list->rows + list->count; shown++) {
        junit_case(out, names, shown, "");
        if (!junit_is_error(shown)) fputs("/>\n", out);
        else {
            text_print(out, xml_text, "><error type=\"%s\" message=\"%s\"/></testcase>\n",
                       row_status(shown), shown->note);
        }
    }
    if (!list->partial) return;
    text_print(out, xml_text, "<testcase classname=\"stress\" name=\"all rows\"><error type=\"partial\" "
               "message=\"%s\"/></testcase>\n", list->partial);
}

static void junit_write(FILE *out, const report *material)
{
    const row_list *list = &material->list;
    const gate *gates = &material->gates;
    size_t partial = list->partial != NULL, errors = partial, failed = gate_failed(gates);
    device_table names = { .count = 0 };
    for (size_t index = 0; index < list->count; index++) errors += (size_t)junit_is_error(&list->rows[index]);
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                 "<testsuite name=\"gpuarena stress%s%.*s\" "
                 "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n<properties>\n"
                 "<property name=\"version\" value=\"" GPUARENA_VERSION_TEXT "\"/>\n",
            list->shard ? ", " : "", list->shard ? (int)strcspn(list->shard, ":") : 0, list->shard ? list->shard : "",
            list->count + partial + gates->verdict_count, failed, errors,
            gates->verdict_count - gates->counts[GATE_PASS] - failed);
    text_print(out, xml_text, "<property name=\"device\" value=\"%s\"/>\n", material->device);
    if (list->shard) text_print(out, xml_text, "<property name=\"shard\" value=\"%s\"/>\n", list->shard);
    fputs("</properties>\n", out);
    junit_rows(out, &names, list);
    for (size_t index = 0; index < gates->verdict_count; index++) {
        const gate_verdict *shown = &gates->verdicts[index];
        junit_case(out, &names, shown->of, shown->judged->text);
        if (shown->outcome == GATE_PASS) {
            fputs("/>\n", out);
            continue;
        }
        fputs(gate_fails(gates, shown) ? "><failure type=\"gate\"" : "><skipped", out);
        text_print(out, xml_text, " message=\"%s: %s is %s, limit %s%s%s\"/></testcase>\n",
                   gate_outcome_name(shown->outcome), shown->judged->column, shown->value, shown->limit,
                   *shown->note ? ": " : "", shown->note);
    }
    device_table_clear(&names);
    fputs("</testsuite>\n</testsuites>\n", out);
}

const output_kind output_junit = {
    "junit", "run|capacity|batch|holes|compare|merge", 0, 0, junit_write,
    "a case a row and a case a verdict (stress help gates); compare and merge write this and md, with --fail-if",
};
