/* The page from top to bottom.
   It must not know what figures show.
   Tested by tests/html.t. */
#include "html.h"

#include <stdlib.h>
#include <string.h>

#include "../../gpuarena.h"
#include "../run/sweep.h"
#include "environment.h"
#include "figure.h"
#include "svg.h"
#include "table_columns.h"
#include "verdict.h"
#include "../base/text.h"

enum { HTML_MAPS_BYTES = 800000, HTML_MOST_NOTES = 100 };

static void html_head(FILE *out, const html_page *page)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"/>"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>gpuarena stress ", out);
    xml_text(out, page->asked->command);
    fputs(" on ", out);
    xml_text(out, page->device);
    fprintf(out, "</title>\n<style>%s%s</style></head>\n<body>\n", html_style, plot_style);
}

static size_t html_count(const row_list *kept, const char *status)
{
    size_t count = 0;
    for (size_t at = 0; at < kept->count; at++) {
        const cell *value = &kept->rows[at].cells[COLUMN_STATUS];
        count += value->kind == CELL_TEXT && !strcmp(value->text, status);
    }
    return count;
}

/* What became of the rows, in words; then of the rules. */
static void html_verdict(FILE *out, const html_page *page, const row_list *kept)
{
    size_t good = html_count(kept, "ok"), empty = html_count(kept, "oom"), bad = kept->count - good - empty;
    size_t broken = page->gates ? gate_failed(page->gates) : 0;
    const char *tone = good < kept->count || broken || kept->partial ? "bad" : "good";
    fprintf(out, "<p class=\"verdict %s\">%zu of %zu row%s complete%s", tone, good, kept->count,
            kept->count == 1 ? "" : "s", good == 1 ? "s" : "");
    if (empty) fprintf(out, "; %zu run%s out of memory", empty, empty == 1 ? "s" : "");
    if (bad) fprintf(out, "; %zu fail%s", bad, bad == 1 ? "s" : "");
    if (page->gates && page->gates->verdict_count) {
        fprintf(out, "; %zu of %zu verdicts fail", broken, page->gates->verdict_count);
    }
    fputs(".</p>\n", out);
    if (kept->shard) {
        fputs("<p class=\"bad\">Rows of one shard: ", out);
        xml_text(out, kept->shard);
        fputs("</p>\n", out);
    }
    if (!kept->partial) return;
    fputs("<p class=\"bad\">Not all rows are here: ", out);
    xml_text(out, kept->partial);
    fputs("</p>\n", out);
}

/* What each workload comes to. */
static void html_comes_to(FILE *out, const row_list *kept)
{
    char text[VERDICT_ROOM];
    size_t told = 0;
    for (size_t first = 0; first < kept->count; first = verdict_next(kept, first)) {
        if (!*verdict_line(kept, first, text) || told >= HTML_MOST_NOTES) continue;
        fputs(told++ ? "<li>" : "<ul>\n<li>", out);
        xml_text(out, text);
        fputs("</li>\n", out);
    }
    if (told) fputs("</ul>\n", out);
}

static void html_intro(FILE *out, const html_page *page, const row_list *kept)
{
    char line[512];
    fputs("<h1>gpuarena stress ", out);
    xml_text(out, page->asked->command);
    fputs("</h1>\n<p class=\"quiet\">Version " GPUARENA_VERSION_TEXT ", device ", out);
    xml_text(out, page->device);
    if (page->environment) {
        fputs(": ", out);
        xml_text(out, cuda_environment_line(page->environment, line, sizeof line));
    }
    else fputs(", simulated: virtual time is the device's, measured time this machine's", out);
    fputs(".</p>\n", out);
    html_verdict(out, page, kept);
    if (row_is_run(kept->kind)) html_comes_to(out, kept);
}

/* What a function writes, escaped. */
static void html_escaped(FILE *out, void (*write)(FILE *to, const void *user), const void *user)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (!memory) return;
    write(memory, user);
    if (!fclose(memory) && text) xml_text(out, text);
    free(text);
}

static void html_words(FILE *to, const void *user)
{
    const char *const *argv = user;
    for (size_t at = 0; argv[at]; at++) {
        if (at) fputc(' ', to);
        cli_print_word(to, argv[at]);
    }
}

static void html_line(FILE *to, const void *user)
{
    repro_write(to, user);
}

/* Rows that did not complete: why, and the line that shows it again. */
static void html_failures(FILE *out, const html_page *page, const row_list *kept)
{
    size_t told = 0, failed = kept->count - html_count(kept, "ok");
    for (size_t at = 0; at < kept->count && told < HTML_MOST_NOTES; at++) {
        const row *shown = &kept->rows[at];
        figure_words words;
        plot_frame frame;
        if (table_is_ok(shown) || shown->cells[COLUMN_STATUS].kind != CELL_TEXT) continue;
        const char *workload = shown->cells[COLUMN_WORKLOAD].text;
        const repro line = { page->argv[0], page->asked->command, page->asked, page->device, workload ? workload : "",
                             shown->cells[COLUMN_POLICY].text, 0, 0, UINT64_MAX, 0, 0, NULL };
        fputs("<p><strong>", out);
        figure_title(&frame, &words, shown, 1, "");
        xml_text(out, words.title);
        fputs("</strong>: ", out);
        xml_text(out, *shown->note ? shown->note : shown->cells[COLUMN_STATUS].text);
        fputs("</p>\n", out);
        if (workload) {
            fputs("<pre>", out);
            html_escaped(out, html_line, &line);
            fputs("</pre>\n", out);
        }
        told++;
    }
    if (failed > told) fprintf(out, "<p class=\"quiet\">%zu more are in the table.</p>\n", failed - told);
}

static void html_heading(FILE *out, const row_list *kept, size_t first)
{
    const cell *workload = &kept->rows[first].cells[COLUMN_WORKLOAD];
    fputs("<section><h2>", out);
    xml_text(out, workload->kind == CELL_TEXT ? workload->text : "Figures");
    fputs("</h2>\n", out);
}

/* A heading for each workload; below it its figures, then those of each of its rows. */
static void html_figures(FILE *out, const row_list *kept, const figure *figures, size_t count)
{
    enum { HTML_BLOCK_SHARE = 400 };             /* a block that says what it is takes 200 bytes */
    size_t last = SIZE_MAX;
    figure_sheet sheet = figure_sheet_for(kept, figures, count, HTML_MAPS_BYTES);
    sheet.told_blocks = sheet.map_bytes / HTML_BLOCK_SHARE;
    for (size_t at = 0; at < count; at++) {
        size_t first, rows;
        int begins_set = figure_begins(figures, at);
        row_group(kept, figures[at].first, &first, &rows);
        if (begins_set && at) fputs("</div>\n", out);
        if (first != last) {
            if (at) fputs("</section>\n", out);
            html_heading(out, kept, first);
        }
        if (begins_set) fputs(first != last ? "<div class=\"figures all\">\n" : "<div class=\"figures\">\n", out);
        last = first;
        fputs("<figure>", out);
        figure_write(out, &sheet, &figures[at], (unsigned)at + 1, "");
        fputs("</figure>\n", out);
    }
    if (count) fputs("</div></section>\n", out);
}

static void html_legend(FILE *out, size_t left_out, int has_maps)
{
    if (left_out) fprintf(out, "<p>%zu rows more have no figures: ask for fewer rows.</p>\n", left_out);
    if (!has_maps) return;
    fputs("<section><h2>How to read the maps</h2>\n<p>To the right goes time, counted in allocations and frees; "
          "up go addresses, those left out that never held memory. Live blocks have the colour of the step that they "
          "were allocated in, or, where the workload has no steps, of their age. Red is slack: in a block, and not "
          "asked for. Black are blocks too small to draw. White is free memory, and grey are addresses without "
          "memory: what paged memory leaves behind when pages move. Where a red dashed line stands memory ran out; "
          "the red box beside it is as high as what was asked for in one piece. All that is white at that line was "
          "free, and no single piece of it was as high as the box, or the limit forbade more. Point at a large block, "
          "or tap it, to read its size, tag, step and lifetime.</p></section>\n", out);
}

void html_write(FILE *out, const html_page *page)
{
    size_t count = 0, left_out = 0;
    row_list kept = *page->list;
    kept.rows = svg_rows(page->list, &kept.count);
    figure *figures = kept.rows ? figure_list(&kept, &count, &left_out) : NULL;
    int has_maps = 0;
    for (size_t at = 0; figures && at < count; at++) has_maps |= figures[at].kind == FIGURE_MAP;
    html_head(out, page);
    html_intro(out, page, &kept);
    if (!figures) fputs("<p>Not enough host memory for this report.</p>\n", out);
    fputs("<pre>", out);
    html_escaped(out, html_words, page->argv);
    fputs("</pre>\n", out);
    if (page->gates && page->gates->verdict_count) html_verdicts(out, page->gates);
    html_table(out, &kept);
    if (figures) html_failures(out, page, &kept);
    if (figures) html_figures(out, &kept, figures, count);
    html_legend(out, left_out, has_maps);
    fputs("</body></html>\n", out);
    free(figures);
    free(kept.rows);
}
