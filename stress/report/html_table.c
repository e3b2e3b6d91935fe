/* Rows and verdicts as tables; each number names its cell of the CSV.
   It must not know how a number came about.
   Tested by tests/html.t. */
#include <string.h>

#include "../policy/policy_name.h"
#include "html.h"
#include "plot.h"
#include "table_columns.h"
#include "../base/xml.h"

typedef struct html_column { row_column column; const char *heading; } html_column;   /* NULL: table_heading */

static const html_column html_columns[] = {
    { COLUMN_WORKLOAD, "workload" }, { COLUMN_POLICY, "policy" }, { COLUMN_HOLES, NULL },
    { COLUMN_STATUS, "status" }, { COLUMN_THREADS, "threads" }, { COLUMN_KEY, "varied" },
    { COLUMN_LARGEST, "largest" }, { COLUMN_ALLOWED, "allowed" }, { COLUMN_RATIO, "ratio" },
    { COLUMN_MIN_LIMIT, "smallest limit" },
    { COLUMN_REQUESTED_PEAK, "requested" }, { COLUMN_RESERVED_PEAK, "reserved" }, { COLUMN_FOOTPRINT, NULL },
    { COLUMN_FRAGMENTATION, "fragmentation" }, { COLUMN_STRANDED_PEAK, "stranded" },
    { COLUMN_REMAPPED_PAGES, "pages moved" }, { COLUMN_DRIVER_CALLS, "driver calls" },
    { COLUMN_DRIVER_VNS, NULL }, { COLUMN_HOST_NS, "host ns/op" }, { COLUMN_ALLOC_P50, "p50 ns" },
    { COLUMN_ALLOC_P99, "p99 ns" }, { COLUMN_ALLOC_MAX, "max ns" }, { COLUMN_NS_PER_PAIR, "ns a pair" },
    { COLUMN_PAIR_INSTRUCTIONS, "instructions" }, { COLUMN_TARGET, "target" }, { COLUMN_MET, "met" },
    { COLUMN_GROWTH, "growth" }, { COLUMN_INSTRUCTIONS_GROWTH, "growth of instructions" },
    { COLUMN_WAITED_P99, "p99 waited (modelled), ns" }, { COLUMN_OOM_ROUND, "out in round" },
    { COLUMN_OOM_OP, "out at op" },
    { COLUMN_OOM_REQUESTED, "asked" }, { COLUMN_OOM_FREE, "free then" }, { COLUMN_OOM_LARGEST, "longest then" },
    { COLUMN_OOM_REASON, "reason" }, { COLUMN_STOP_OP, "ends at op" }, { COLUMN_STOP_REASON, "reason" },
};
enum { HTML_COLUMNS = sizeof html_columns / sizeof html_columns[0] };

static int html_is_used(const row_list *kept, row_column column)
{
    if (!row_has(kept->kind, column)) return 0;
    for (size_t at = 0; at < kept->count; at++) {
        const cell *value = &kept->rows[at].cells[column];
        if (value->kind != CELL_NONE && !table_is_dull(&kept->rows[at], column)) return 1;
    }
    return 0;
}

static int html_is_word(row_column column)
{
    return column == COLUMN_WORKLOAD || column == COLUMN_POLICY || column == COLUMN_STATUS || column == COLUMN_KEY
        || column == COLUMN_TARGET || column == COLUMN_MET || column == COLUMN_GROWTH
        || column == COLUMN_INSTRUCTIONS_GROWTH || column == COLUMN_OOM_REASON || column == COLUMN_STOP_REASON;
}

static const char *html_shown(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    if (value->kind == CELL_NONE) return "-";
    if (column == COLUMN_FOOTPRINT) return table_overhead(shown, text, size);
    if (column == COLUMN_POLICY) return policy_name_shown(value->text, text, size);
    if (column == COLUMN_WORKLOAD) return table_name(value->text, text, size);
    if (value->kind == CELL_TEXT) return value->text;
    if (value->kind != CELL_COUNT) return cell_print(value, text, size);
    if (strstr(row_column_name(column), "_bytes")) return plot_bytes(value->count, text, size);
    return plot_count(value->count, text, size);
}

static void html_cell(FILE *out, const row_list *kept, size_t line, row_column column)
{
    char text[1024], exact[64];
    const cell *value = &kept->rows[line].cells[column];
    fprintf(out, "<td%s data-row=\"%zu\" data-column=\"%s\" data-value=\"",
            html_is_word(column) ? " class=\"w\"" : "", line, row_column_name(column));
    xml_text(out, value->kind == CELL_TEXT ? value->text : cell_print(value, exact, sizeof exact));
    fputs("\">", out);
    xml_text(out, html_shown(&kept->rows[line], column, text, sizeof text));
    fputs("</td>", out);
}

void html_table(FILE *out, const row_list *kept)
{
    int is_used[HTML_COLUMNS];
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results\"><table>"
          "<caption>Every number with all its digits: --out csv</caption>\n<thead><tr>", out);
    for (size_t at = 0; at < HTML_COLUMNS; at++) {
        const char *heading = table_heading(kept->kind, html_columns[at].column);
        is_used[at] = html_is_used(kept, html_columns[at].column);
        if (!is_used[at]) continue;
        fprintf(out, "<th scope=\"col\"%s>%s</th>", html_is_word(html_columns[at].column) ? " class=\"w\"" : "",
                heading ? heading : html_columns[at].heading);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t line = 0; line < kept->count && line < HTML_MOST_ROWS; line++) {
        fputs(table_is_ok(&kept->rows[line]) ? "<tr>" : "<tr class=\"oom\">", out);
        for (size_t at = 0; at < HTML_COLUMNS; at++) {
            if (is_used[at]) html_cell(out, kept, line, html_columns[at].column);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    if (kept->count > HTML_MOST_ROWS) {
        fprintf(out, "<p class=\"quiet\">%zu rows more are in the CSV.</p>\n", kept->count - HTML_MOST_ROWS);
    }
}

static void html_word(FILE *out, const char *text)
{
    fputs("<td class=\"w\">", out);
    xml_text(out, text);
    fputs("</td>", out);
}

void html_verdicts(FILE *out, const gate *gates)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Verdicts\"><table><thead><tr>"
          "<th scope=\"col\" class=\"w\">verdict</th><th scope=\"col\" class=\"w\">workload</th>"
          "<th scope=\"col\" class=\"w\">policy</th><th scope=\"col\" class=\"w\">fail if</th>"
          "<th scope=\"col\" class=\"w\">value</th><th scope=\"col\" class=\"w\">limit</th></tr></thead>\n"
          "<tbody>\n", out);
    for (size_t index = 0; index < gates->verdict_count && index < HTML_MOST_ROWS; index++) {
        const gate_verdict *shown = &gates->verdicts[index];
        char name[1024];
        fputs(gate_fails(gates, shown) ? "<tr class=\"oom\">" : "<tr>", out);
        html_word(out, gate_outcome_name(shown->outcome));
        html_word(out, table_name(shown->workload, name, sizeof name));
        char policy[900];
        snprintf(name, sizeof name, "%s%s%s", policy_name_shown(shown->policy, policy, sizeof policy),
                 *shown->holes ? " free blocks " : "", shown->holes);
        html_word(out, name);
        html_word(out, shown->judged->text);
        html_word(out, shown->value);
        html_word(out, shown->limit);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}
