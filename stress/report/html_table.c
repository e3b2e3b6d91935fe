/* Rows and verdicts as tables, the columns and cells those of the terminal's table.
   It must not know how a number came about.
   Tested by tests/html.t. */
#include <string.h>

#include "../policy/policy_name.h"
#include "html.h"
#include "table_columns.h"
#include "../base/text.h"

static int html_is_used(const row_list *kept, const table_column *column)
{
    char text[1024];
    for (size_t at = 0; at < kept->count; at++) {
        if (strcmp(column->fill(&kept->rows[at], text, sizeof text), "-")) return 1;
    }
    return !(column->flags & TABLE_OPTIONAL);
}

/* What stands in the table's first column stands above the rows that share it, so that a phone has room for the
   others. */
static const char *html_group(const row *shown, const table_column *column, char *text, size_t size)
{
    const cell *workload = &shown->cells[COLUMN_WORKLOAD];
    return workload->kind == CELL_TEXT ? workload->text : column->fill(shown, text, size);
}

static void html_group_line(FILE *out, const char *name, size_t columns)
{
    fprintf(out, "<tr><th class=\"g\" scope=\"rowgroup\" colspan=\"%zu\"><span>", columns);
    xml_text(out, name);
    fputs("</span></th></tr>\n", out);
}

static void html_cell(FILE *out, const row_list *kept, size_t line, const table_column *column)
{
    char text[1024];
    int is_best = table_is_best(kept, line, column);
    fputs(column->flags & TABLE_TEXT ? "<td class=\"w\">" : "<td>", out);
    if (is_best) fputs("<b>", out);
    xml_text(out, column->fill(&kept->rows[line], text, sizeof text));
    fputs(is_best ? "</b></td>" : "</td>", out);
}

/* What headings mean. */
static void html_notes(FILE *out, const table_column *columns, size_t count, const int *is_used)
{
    int told = 0;
    for (size_t at = 0; at < count; at++) {
        if (!is_used[at] || !columns[at].note) continue;
        fprintf(out, "%s<b>%s</b>: ", told ? "; " : "<p class=\"quiet\">", columns[at].heading);
        xml_text(out, columns[at].note);
        told = 1;
    }
    if (told) fputs(". Bold in a column: the best of the workload.</p>\n", out);
}

static void html_headings(FILE *out, const table_column *columns, size_t count, const int *is_used)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results\"><table>"
          "<caption>Every number with all its digits: --out csv</caption>\n<thead><tr>", out);
    for (size_t at = 1; at < count; at++) {
        if (!is_used[at]) continue;
        fprintf(out, "<th scope=\"col\"%s>%s</th>", columns[at].flags & TABLE_TEXT ? " class=\"w\"" : "",
                columns[at].heading);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

void html_table(FILE *out, const row_list *kept)
{
    const table_column *columns;
    size_t count = table_columns(kept->kind, &columns), used = 0;
    int is_used[TABLE_MOST];
    char above[1024] = "", text[1024];
    for (size_t at = 0; at < count; at++) used += (size_t)(is_used[at] = html_is_used(kept, &columns[at]));
    html_headings(out, columns, count, is_used);
    for (size_t line = 0; line < kept->count && line < HTML_MOST_ROWS; line++) {
        const char *group = html_group(&kept->rows[line], &columns[0], text, sizeof text);
        if (!line || strncmp(group, above, sizeof above - 1)) html_group_line(out, group, used - 1);
        snprintf(above, sizeof above, "%s", group);
        fputs(table_is_ok(&kept->rows[line]) ? "<tr>" : "<tr class=\"oom\">", out);
        for (size_t at = 1; at < count; at++) {
            if (is_used[at]) html_cell(out, kept, line, &columns[at]);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    if (kept->count > HTML_MOST_ROWS) {
        fprintf(out, "<p class=\"quiet\">%zu rows more are in the CSV.</p>\n", kept->count - HTML_MOST_ROWS);
    }
    html_notes(out, columns, count, is_used);
}

static void html_word(FILE *out, const char *text)
{
    fputs("<td class=\"w\">", out);
    xml_text(out, text);
    fputs("</td>", out);
}

void html_verdicts(FILE *out, const gate *gates)
{
    const char *above = NULL;
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Verdicts\"><table><thead><tr>"
          "<th scope=\"col\" class=\"w\">policy</th><th scope=\"col\" class=\"w\">verdict</th>"
          "<th scope=\"col\" class=\"w\">fail if</th><th scope=\"col\" class=\"w\">value</th>"
          "<th scope=\"col\" class=\"w\">limit</th></tr></thead>\n<tbody>\n", out);
    for (size_t index = 0; index < gates->verdict_count && index < HTML_MOST_ROWS; index++) {
        const gate_verdict *shown = &gates->verdicts[index];
        char name[1024], policy[900];
        if (*shown->workload && (!above || strcmp(above, shown->workload))) html_group_line(out, shown->workload, 5);
        above = shown->workload;
        fputs(gate_fails(gates, shown) ? "<tr class=\"oom\">" : "<tr>", out);
        snprintf(name, sizeof name, "%s%s%s", policy_name_shown(shown->policy, policy, sizeof policy),
                 *shown->holes ? " free blocks " : "", shown->holes);
        html_word(out, name);
        html_word(out, gate_outcome_name(shown->outcome));
        html_word(out, shown->judged->text);
        html_word(out, shown->value);
        html_word(out, shown->limit);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}
