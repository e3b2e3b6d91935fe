/* A report as one HTML file that needs nothing else, not even a script: verdict, command lines that show it again,
   table, figures. The file is well-formed XML, too. It is for light and dark screens, paper, phones, and screen
   readers. */
#include "output.h"

#include "../../gpuarena.h"
#include "../run/plan.h"
#include "figure.h"
#include "table.h"

enum { HTML_MAPS_BYTES = 800000, HTML_MOST_NOTES = 100, HTML_MOST_ROWS = 1000 };

/* ---- The look of the page, on a wide screen, on a narrow one and on paper */

static const char html_style[] =
    ":root{color-scheme:light dark;--ink:#1c1e21;--quiet:#5c6470;--page:#fff;--plate:#f6f7f9;--rule:#dfe3e8;"
    "--good:#00694f;--bad:#c1121f}"
    "@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--quiet:#a7afba;--page:#16181c;--plate:#1e2126;"
    "--rule:#3a4048;--good:#4cc9a0;--bad:#ff6b6b}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:1760px;padding:1rem;background:var(--page);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-top:1px solid var(--rule);"
    "padding-top:1rem}p{margin:.4rem 0;max-width:90ch}.quiet{color:var(--quiet);font-size:.875rem}"
    ".verdict{font-size:1.15rem;font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}"
    "pre{background:var(--plate);border:1px solid var(--rule);border-radius:6px;padding:.6rem .8rem;margin:.5rem 0;"
    "white-space:pre-wrap;font:13px/1.45 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".scroll{overflow-x:auto;margin:.6rem 0;border:1px solid var(--rule);border-radius:6px}"
    "table{border-collapse:separate;border-spacing:0;font-size:.875rem;width:100%;overflow-wrap:normal;"
    "font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.4rem .6rem;color:var(--quiet)}"
    "th,td{padding:.3rem .6rem;text-align:right;white-space:nowrap;border-top:1px solid var(--rule)}"
    "th.w,td.w,th.g{text-align:left}thead th{border-top:0}"
    "thead th,th.g{background:var(--plate)}th.g span{position:sticky;left:.6rem}tr.oom td{color:var(--bad)}"
    "td:first-child,thead th:first-child{position:sticky;left:0;background:var(--page)}"
    "thead th:first-child{background:var(--plate)}"
    "section{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,840px),1fr));gap:.8rem}"
    "h2,section>p,.all{grid-column:1/-1}.figures{display:grid;gap:.8rem;align-content:start;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))}"
    "figure{margin:0;max-width:640px;padding:.4rem;border:1px solid var(--rule);border-radius:6px;break-inside:avoid}"
    "figure svg{display:block;width:100%;height:auto}"
    ".hit{fill:transparent;cursor:pointer}.block text{display:none;paint-order:stroke;stroke:var(--page);"
    "stroke-width:6;fill:var(--ink)}.block:hover text{display:inline}"
    ".block:hover .hit{stroke:#000;stroke-width:1.5}"
    "@media print{:root{--ink:#000;--quiet:#333;--page:#fff;--plate:#fff;--rule:#bbb;--good:#000;--bad:#a00}"
    "body{max-width:none;padding:0;font-size:11pt}section{display:block}"
    ".figures{grid-template-columns:1fr 1fr;margin:.4rem 0}"
    ".scroll{overflow:visible}table{font-size:7pt}th,td{padding:.1rem .25rem;white-space:normal}}";

/* ---- Rows and verdicts as tables, the columns and cells those of the terminal's table */

/* Writes the text of the table's first column above the rows that share it, so that a phone has room for the other
   columns. */
static void html_group_line(FILE *out, const char *name, size_t columns)
{
    text_print(out, xml_text, "<tr><th class=\"g\" scope=\"rowgroup\" colspan=\"%zu\"><span>%s</span></th></tr>\n",
               columns, name);
}

static void html_row(FILE *out, table_best *best, size_t line, const table_column *const *columns, size_t count)
{
    const row_list *list = best->list;
    char text[1024];
    fputs(table_is_ok(&list->rows[line]) ? "<tr>" : "<tr class=\"oom\">", out);
    for (size_t at = 0; at < count; at++) {
        fputs(columns[at]->flags & TABLE_TEXT ? "<td class=\"w\">" : "<td>", out);
        text_print(out, xml_text, table_is_best(best, line, columns[at]) ? "<b>%s</b></td>" : "%s</td>",
                   table_fill(columns[at], &list->rows[line], text, sizeof text));
    }
    fputs("</tr>\n", out);
}

static void html_table(FILE *out, const row_list *list)
{
    const table_column *columns = table_columns(list->kind);
    const table_column *used[TABLE_MOST];        /* behind the first, which stands above its rows */
    table_best best = { .list = list };
    size_t count = 0;
    char above[1024] = "", text[1024];
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results\"><table>"
          "<caption>Every number with all its digits: --out csv</caption>\n<thead><tr>", out);
    for (const table_column *column = columns + 1; column->heading; column++) {
        if (!table_is_used(list, column)) continue;
        used[count++] = column;
        fprintf(out, "<th scope=\"col\"%s>%s</th>", column->flags & TABLE_TEXT ? " class=\"w\"" : "",
                column->heading);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t line = 0; line < list->count && line < HTML_MOST_ROWS; line++) {
        const row *shown = &list->rows[line];
        const char *group = row_workload(shown);
        if (!*group) group = table_fill(columns, shown, text, sizeof text);
        if (!line || strncmp(group, above, sizeof above - 1)) html_group_line(out, group, count);
        snprintf(above, sizeof above, "%s", group);
        html_row(out, &best, line, used, count);
    }
    fputs("</tbody></table></div>\n", out);
    if (list->count > HTML_MOST_ROWS) {
        fprintf(out, "<p class=\"quiet\">%zu rows more are in the CSV.</p>\n", list->count - HTML_MOST_ROWS);
    }
    int told = 0;
    for (size_t at = 0; at < count; at++) {      /* the meanings of headings */
        if (!used[at]->note) continue;
        fputs(told++ ? "; " : "<p class=\"quiet\">", out);
        text_print(out, xml_text, "<b>%s</b>: %s", used[at]->heading, used[at]->note);
    }
    if (told) fputs(". Bold in a column: the best of the workload.</p>\n", out);
}

static void html_verdicts(FILE *out, const gate *gates)
{
    const char *above = "";
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Verdicts\"><table><thead><tr>"
          "<th scope=\"col\" class=\"w\">policy</th><th scope=\"col\" class=\"w\">verdict</th>"
          "<th scope=\"col\" class=\"w\">fail if</th><th scope=\"col\" class=\"w\">value</th>"
          "<th scope=\"col\" class=\"w\">limit</th></tr></thead>\n<tbody>\n", out);
    for (size_t index = 0; index < gates->verdict_count && index < HTML_MOST_ROWS; index++) {
        const gate_verdict *shown = &gates->verdicts[index];
        char of[900], held[CELL_ROOM];
        const char *workload = row_workload(shown->of), *holes = cell_text(&shown->of->cells[COLUMN_HOLES], held);
        if (*workload && strcmp(above, workload)) html_group_line(out, workload, 5);
        above = workload;
        fputs(gate_fails(gates, shown) ? "<tr class=\"oom\">" : "<tr>", out);
        text_print(out, xml_text, "<td class=\"w\">%s%s%s</td><td class=\"w\">%s</td><td class=\"w\">%s</td>"
                   "<td class=\"w\">%s</td><td class=\"w\">%s</td></tr>\n",
                   row_policy_shown(shown->of, of, sizeof of), *holes ? " free blocks " : "",
                   holes, gate_outcome_name(shown->outcome), shown->judged->text, shown->value, shown->limit);
    }
    fputs("</tbody></table></div>\n", out);
}

/* ---- The page from top to bottom */

static size_t html_count(const row_list *list, const char *status)
{
    size_t count = 0;
    for (size_t at = 0; at < list->count; at++) count += !strcmp(row_status(&list->rows[at]), status);
    return count;
}

/* Tells in words how the rows ended; then the verdicts on rules. */
static void html_verdict(FILE *out, const report *page)
{
    const row_list *list = &page->list;
    size_t good = html_count(list, "ok"), empty = html_count(list, "oom"), bad = list->count - good - empty;
    const char *tone = good < list->count || gate_failed(&page->gates) || list->partial ? "bad" : "good";
    fprintf(out, "<p class=\"verdict %s\">%zu of %zu row%s complete%s", tone, good, list->count,
            list->count == 1 ? "" : "s", good == 1 ? "s" : "");
    if (empty) fprintf(out, "; %zu run%s out of memory", empty, empty == 1 ? "s" : "");
    if (bad) fprintf(out, "; %zu fail%s", bad, bad == 1 ? "s" : "");
    if (page->gates.verdict_count) {
        fputs("; ", out);
        gate_write_sum(out, &page->gates);
    }
    fputs(".</p>\n", out);
    if (list->shard) text_print(out, xml_text, "<p class=\"bad\">Rows of one shard: %s</p>\n", list->shard);
    if (list->partial) text_print(out, xml_text, "<p class=\"bad\">Not all rows are here: %s</p>\n", list->partial);
}

/* Writes a command line: these words, or the line that shows a failure again. */
static void html_command(FILE *out, const char *const *argv, const repro *line)
{
    char *text;
    size_t length;
    FILE *memory = program_stream(&text, &length);
    for (size_t at = 0; argv && argv[at]; at++) {
        if (at) fputc(' ', memory);
        cli_print_word(memory, argv[at]);
    }
    if (line) repro_write(memory, line);
    fclose(memory);
    text_print(out, xml_text, "<pre>%s</pre>\n", text);
    free(text);
}

/* Writes the rows that did not complete: the reason, and the line that shows it again. */
static void html_failures(FILE *out, const report *page)
{
    const row_list *list = &page->list;
    size_t told = 0, failed = list->count - html_count(list, "ok");
    for (size_t at = 0; at < list->count && told < HTML_MOST_NOTES; at++) {
        const row *shown = &list->rows[at];
        figure_words words;
        if (table_is_ok(shown) || !*row_status(shown)) continue;
        const char *workload = shown->cells[COLUMN_WORKLOAD].text;
        const uint64_t times = list->kind == ROW_BATCH ? page->asked->values[CLI_TIMES].number : 0;
        const repro line = { page->asked->command, page->asked, page->device, workload ? workload : "",
                             row_policy(shown), 0, times, UINT64_MAX, 0, 0, NULL };
        figure_title(&words, shown, 1, "");
        text_print(out, xml_text, "<p><strong>%s</strong>: %s</p>\n", words.title,
                   *shown->note ? shown->note : row_status(shown));
        if (workload) html_command(out, NULL, &line);
        told++;
    }
    if (failed > told) fprintf(out, "<p class=\"quiet\">%zu more are in the table.</p>\n", failed - told);
}

/* Writes a heading for each workload; below it its figures, then those of each of its rows. */
static void html_figures(FILE *out, const figure_sheet *sheet)
{
    size_t last = SIZE_MAX;
    for (size_t at = 0; at < sheet->count; at++) {
        size_t first, rows;
        int begins_set = figure_begins(sheet, at);
        row_group(sheet->list, sheet->figures[at].first, &first, &rows);
        if (begins_set && at) fputs("</div>\n", out);
        if (first != last) {
            if (at) fputs("</section>\n", out);
            const char *workload = row_workload(&sheet->list->rows[first]);
            text_print(out, xml_text, "<section><h2>%s</h2>\n", *workload ? workload : "Figures");
        }
        if (begins_set) fputs(first != last ? "<div class=\"figures all\">\n" : "<div class=\"figures\">\n", out);
        last = first;
        fputs("<figure>", out);
        figure_write(out, sheet, at, "");
        fputs("</figure>\n", out);
    }
    if (sheet->count) fputs("</div></section>\n", out);
    if (!sheet->left_out) return;
    fprintf(out, "<p>%zu rows more have no figures: ask for fewer rows.</p>\n", sheet->left_out);
}

static const char html_legend[] =
    "<section><h2>How to read the maps</h2>\n<p>To the right goes time, counted in allocations and frees; "
    "up go addresses, those left out that never held memory. Live blocks have the colour of the step that they "
    "were allocated in, or, where the workload has no steps, of their age. Red is slack: in a block, and not "
    "asked for. Black are blocks too small to draw. White is free memory, and grey are addresses without "
    "memory: paged memory leaves them behind when pages move. At a red dashed line memory ran out; the red "
    "box beside it is as high as the request that failed, in one piece. All that is white at that line was "
    "free, and no single piece of it was as high as the box, or the limit forbade more. Point at a large "
    "block, or tap it, to read its size, tag, step and lifetime.</p></section>\n";

static void html_write(FILE *out, const report *page)
{
    enum { HTML_BLOCK_SHARE = 400 };             /* a block with its words takes 200 bytes: half of the share */
    char line[512], text[VERDICT_ROOM];
    size_t told = 0, at = row_is_run(page->list.kind) ? 0 : page->list.count;        /* verdicts on run alone */
    figure_sheet sheet = figure_sheet_of(&page->list, 0, HTML_MAPS_BYTES);
    sheet.told_blocks = sheet.map_bytes / HTML_BLOCK_SHARE;
    text_print(out, xml_text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"/>"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
               "<title>gpuarena stress %s on %s</title>\n", page->asked->command, page->device);
    fprintf(out, "<style>%s%s</style></head>\n<body>\n", html_style, plot_style);
    text_print(out, xml_text, "<h1>gpuarena stress %s</h1>\n<p class=\"quiet\">Version " GPUARENA_VERSION_TEXT
               ", device %s%s%s.</p>\n", page->asked->command, page->device,
               page->environment ? ": " : ", simulated: ", page->environment
                                 ? cuda_environment_line(page->environment, line, sizeof line)
                                 : "virtual time is the device's, measured time this machine's");
    html_verdict(out, page);
    while (told < HTML_MOST_NOTES && verdict_take(&page->list, &at, text)) {          /* one line for each workload */
        text_print(out, xml_text, told++ ? "<li>%s</li>\n" : "<ul>\n<li>%s</li>\n", text);
    }
    if (told) fputs("</ul>\n", out);
    html_command(out, page->asked->argv, NULL);
    if (page->gates.verdict_count) html_verdicts(out, &page->gates);
    html_table(out, &page->list);
    html_failures(out, page);
    html_figures(out, &sheet);
    if (sheet.map_count) fputs(html_legend, out);
    fputs("</body></html>\n", out);
    free(sheet.figures);
}

const output_kind output_html = {
    "html", "run|capacity|batch|holes", 0, RECORD_SERIES | RECORD_MAP, html_write,
    "a report: verdict, command lines that show failures again, table, figures",
};
