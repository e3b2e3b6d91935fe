/* Figures two in a line, each workload on lines of its own.
   It must not know what figures show.
   Tested by tests/html.t. */
#include "svg.h"

#include <stdlib.h>

#include "figure.h"
#include "xml.h"

enum { SVG_GAP = 8, SVG_MAPS_BYTES = 800000 };

row *svg_rows(const row_list *list, size_t *count)
{
    row *kept = calloc(list->count + 1, sizeof *kept);
    *count = 0;
    for (size_t index = 0; kept && index < list->count; index++) {
        if (!list->rows[index].is_baseline) kept[(*count)++] = list->rows[index];
    }
    return kept;
}

static size_t svg_keep_maps(figure *figures, size_t count)
{
    size_t kept = 0;
    for (size_t at = 0; at < count; at++) {
        if (figures[at].kind == FIGURE_MAP) figures[kept++] = figures[at];
    }
    return kept;
}

static int svg_columns(size_t count)
{
    return count > 1 ? 2 : 1;
}

static void svg_open(FILE *out, size_t count, const char *device)
{
    int columns = svg_columns(count), lines = (int)((count + (size_t)columns - 1) / (size_t)columns);
    int width = columns * (PLOT_WIDTH + SVG_GAP) + SVG_GAP;
    int height = (lines ? lines : 1) * (PLOT_HEIGHT + SVG_GAP) + SVG_GAP;
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" ",
            width, height, width, height);
    fputs("role=\"img\" aria-labelledby=\"t0\">\n<title id=\"t0\">gpuarena stress on ", out);
    xml_text(out, device);
    fprintf(out, "</title>\n<style>%s</style>\n", plot_style);
    fprintf(out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height);
}

void svg_write(FILE *out, const row_list *list, const char *device, int maps_only)
{
    size_t count = 0, left_out = 0;
    row_list kept = { NULL, 0, list->kind, list->partial };
    kept.rows = svg_rows(list, &kept.count);
    figure *figures = kept.rows ? figure_list(&kept, &count, &left_out) : NULL;
    if (maps_only && figures) count = svg_keep_maps(figures, count);
    const figure_sheet sheet = figure_sheet_for(&kept, figures, figures ? count : 0, SVG_MAPS_BYTES);
    svg_open(out, figures ? count : 0, device);
    for (size_t at = 0; figures && at < count; at++) {
        char placement[96];
        int columns = svg_columns(count);
        int x = (int)(at % (size_t)columns) * (PLOT_WIDTH + SVG_GAP) + SVG_GAP;
        int y = (int)(at / (size_t)columns) * (PLOT_HEIGHT + SVG_GAP) + SVG_GAP;
        snprintf(placement, sizeof placement, " x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", x, y, PLOT_WIDTH,
                 PLOT_HEIGHT);
        figure_write(out, &sheet, &figures[at], (unsigned)at + 1, placement);
    }
    if (!figures) fputs("<text x=\"20\" y=\"40\">not enough host memory to draw this</text>\n", out);
    fputs("</svg>\n", out);
    free(figures);
    free(kept.rows);
}
