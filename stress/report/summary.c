/* Two tables of Markdown, every cell escaped.
   It must not judge.
   Tested by tests/gate.t. */
#include "summary.h"

#include <ctype.h>
#include <string.h>

enum { SUMMARY_MOST = 1000 };                    /* lines of a table: GitHub takes 1 MiB of a step, or nothing */

static void summary_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (ispunct((unsigned char)*text) && !strchr(".,:", *text)) fputc('\\', out);
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
    }
}

/* Of many verdicts those that pass are left out, and of very many all behind the first. */
static void summary_verdicts(FILE *out, const gate *gates)
{
    size_t left_out = 0, told = 0;
    fprintf(out, "%zu of %zu verdicts fail\n\n| verdict | row | fail if | value | limit |\n|---|---|---|---|---|\n",
            gate_failed(gates), gates->verdict_count);
    for (size_t index = 0; index < gates->verdict_count; index++) {
        const gate_verdict *shown = &gates->verdicts[index];
        if (gates->verdict_count > SUMMARY_MOST && (shown->outcome == GATE_PASS || told == SUMMARY_MOST)) {
            left_out++;
            continue;
        }
        told++;
        const char *const cells[] = { shown->workload, *shown->workload ? "/" : "", shown->policy,
                                      *shown->holes ? " holes " : "", shown->holes, NULL, shown->judged->text, NULL,
                                      shown->value, NULL, shown->limit };
        fprintf(out, "| %s%s%s | ", gate_fails(gates, shown) ? "**" : "", gate_outcome_name(shown->outcome),
                gate_fails(gates, shown) ? "**" : "");
        for (size_t at = 0; at < sizeof cells / sizeof cells[0]; at++) {
            if (cells[at]) summary_text(out, cells[at]);
            else fputs(" | ", out);
        }
        fputs(" |\n", out);
    }
    if (left_out) fprintf(out, "\n%zu verdicts are left out, those that pass first\n", left_out);
    fputc('\n', out);
}

void summary_write(FILE *out, const row_list *list, const char *device, const gate *gates)
{
    static const row_column shown[] = { COLUMN_WORKLOAD, COLUMN_POLICY, COLUMN_HOLES, COLUMN_STATUS, COLUMN_FOOTPRINT,
                                        COLUMN_RESERVED_PEAK, COLUMN_MIN_LIMIT, COLUMN_RATIO, COLUMN_DRIVER_CALLS,
                                        COLUMN_HOST_NS, COLUMN_NS_PER_PAIR, COLUMN_VERDICT, COLUMN_CLAIMS,
                                        COLUMN_SAID };
    const size_t count = sizeof shown / sizeof shown[0];
    fputs("### gpuarena stress on ", out);
    summary_text(out, device);
    fputs("\n\n", out);
    if (list->partial) {
        fputs("**partial**: ", out);
        summary_text(out, list->partial);
        fputs("\n\n", out);
    }
    if (gates && gates->verdict_count) summary_verdicts(out, gates);
    for (size_t line = 0; line < list->count + 2 && line < SUMMARY_MOST + 2; line++) {
        if (line > 1 && list->rows[line - 2].is_baseline) continue;
        for (size_t at = 0; at < count; at++) {
            char text[64];
            if (!row_has(list->kind, shown[at])) continue;
            const cell *value = line > 1 ? &list->rows[line - 2].cells[shown[at]] : NULL;
            fputs("| ", out);
            if (!value) fputs(line ? "---" : row_column_name(shown[at]), out);
            else summary_text(out, value->kind == CELL_TEXT ? value->text : cell_print(value, text, sizeof text));
            fputc(' ', out);
        }
        fputs("|\n", out);
    }
    if (list->count > SUMMARY_MOST) fprintf(out, "\n%zu rows are left out\n", list->count - SUMMARY_MOST);
    fputc('\n', out);
}
