/* All figures of a report in one SVG file, which needs nothing else: no script, no font, no address. Two figures
   stand in a line; each set begins a line. */
#include "figure.h"
#include "output.h"

enum { SVG_GAP = 8, SVG_NOTE_HEIGHT = 20, SVG_MAPS_BYTES = 800000 };

/* The place of a figure: behind the last, or, if it begins a set, the first of the next line. */
static size_t svg_place(const figure_sheet *sheet, size_t at, size_t last)
{
    size_t place = at ? last + 1 : 0;
    return figure_begins(sheet, at) ? (place + 1) / 2 * 2 : place;
}

/* is_maps: only the figures of time and addresses. */
static void svg_document(FILE *out, const report *material, int is_maps)
{
    const row_list *list = &material->list;
    const figure_sheet sheet = figure_sheet_of(list, is_maps, SVG_MAPS_BYTES);
    const char *const notes[][2] = { { "", list->shard }, { "partial: ", list->partial } };
    char note[ROW_NOTE_ROOM];
    size_t place = 0;                            /* at first of the last figure, for the size of the page */
    for (size_t at = 0; at < sheet.count; at++) place = svg_place(&sheet, at, place);
    const int columns = place ? 2 : 1, lines = (int)place / 2 + 1, note_count = !!list->shard + !!list->partial;
    int width = columns * (PLOT_WIDTH + SVG_GAP) + SVG_GAP, used = 0;
    int height = note_count * SVG_NOTE_HEIGHT + lines * (PLOT_HEIGHT + SVG_GAP) + SVG_GAP;
    int has_note = *row_list_note(list, note, sizeof note) != '\0';
    text_print(out, xml_text, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
               "height=\"%d\" role=\"img\" aria-labelledby=\"t0%s\">\n<title id=\"t0\">gpuarena stress on %s"
               "</title>\n", width, height, width, height, has_note ? " d0" : "", material->device);
    if (has_note) text_print(out, xml_text, "<desc id=\"d0\">%s</desc>\n", note);
    fprintf(out, "<style>%s</style>\n", plot_style);
    fprintf(out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height);
    for (size_t at = 0; at < sizeof notes / sizeof notes[0]; at++) {
        if (!notes[at][1]) continue;
        used += SVG_NOTE_HEIGHT;
        text_print(out, xml_text, "<text class=\"bad\" x=\"%d\" y=\"%d\">%s%s</text>\n", SVG_GAP, used, notes[at][0],
                   notes[at][1]);
    }
    for (size_t at = 0; at < sheet.count; at++) {
        char placement[96];
        place = svg_place(&sheet, at, place);
        int x = (int)(place % 2) * (PLOT_WIDTH + SVG_GAP) + SVG_GAP;
        int y = used + (int)(place / 2) * (PLOT_HEIGHT + SVG_GAP) + SVG_GAP;
        snprintf(placement, sizeof placement, " x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", x, y, PLOT_WIDTH,
                 PLOT_HEIGHT);
        figure_write(out, &sheet, at, placement);
    }
    fputs("</svg>\n", out);
    free(sheet.figures);
}

static void svg_write(FILE *out, const report *material)
{
    svg_document(out, material, 0);
}

const output_kind output_svg = {
    "svg", "run|capacity|batch|holes", 0, RECORD_SERIES | RECORD_MAP, svg_write,
    "the figures alone: overhead by policy; time x addresses; requested, live and reserved memory over time; "
    "fragmentation and idle memory; latency percentiles; of capacity, batch and holes their own",
};

static void map_write(FILE *out, const report *material)
{
    svg_document(out, material, 1);
}

const output_kind output_map = {
    "map", "run", 0, RECORD_MAP, map_write,
    "of run: time x addresses alone. Live blocks have the colour of their step, or of their age; red: slack; black:"
    " too small to draw; white: free; grey: addresses without memory; red lines: where memory ran out",
};
