/* Drawing in the <svg> element of a figure: axes, lines, areas and texts. All colours are classes of plot_style.
   Knows nothing of rows or records. */
#ifndef STRESS_REPORT_PLOT_H
#define STRESS_REPORT_PLOT_H

#include "../base/program.h"

enum {
    PLOT_WIDTH = 420, PLOT_HEIGHT = 280,         /* of a figure, in units of its own */
    PLOT_LINES = 8                               /* classes l0.. of lines and bars: colour and dash */
};

typedef enum plot_unit { PLOT_COUNT, PLOT_BYTES, PLOT_SHARE, PLOT_NS, PLOT_RATIO } plot_unit;

typedef struct plot_axis {
    double      least, most;                     /* plot_open rounds the y axis's most up to a tick, unless is_log */
    int         is_log;                          /* least > 0 */
    plot_unit   unit;
    const char *label;                           /* without the unit; NULL: no axis */
    unsigned    steps;                           /* the most steps between ticks; 0: 6 */
} plot_axis;

typedef struct plot {
    FILE     *out;                               /* set before plot_open */
    double    left, top, right, bottom;          /* of the plot area */
    double    name_y;                            /* height at which the vertical axis has its name */
    plot_axis x, y;
} plot;

typedef struct plot_point { double x, y; } plot_point;

/* The style of figures, for a <style> element: light and dark, screen and paper. */
extern const char plot_style[];

/* Takes the axes, which plot_axes draws. legend_lines: room for so many above the plot area. */
void plot_open(plot *self, const plot_axis *x, const plot_axis *y, unsigned legend_lines);
/* Draws the axes in an element whose attributes tell their scale: data-x and data-y: least, most, lin or log;
   data-area: left, top, right, bottom. */
void plot_axes(const plot *self);

double plot_x(const plot *self, double value);   /* in units of the figure */
double plot_y(const plot *self, double value);

/* Draws a line through values. Of neighbouring points at one place only the first is drawn. class: its classes. data:
   further attributes, which name the source of the points. */
void plot_line(const plot *self, const char *class, const char *data, const plot_point *values, size_t count);
/* anchor: "start", "middle" or "end". */
void plot_text(const plot *self, double x, double y, const char *class, const char *anchor, const char *text);
void plot_box(const plot *self, const char *class, double x, double y, double width, double height);

/* Adds an entry to a legend: a mark of the class, and a name. It goes to the next line if this one has no room. on
   NULL: the legend is not drawn, and `line` counts its lines. */
typedef struct plot_legend { const plot *on; double x; unsigned line; } plot_legend;
void plot_legend_add(plot_legend *self, const char *class, const char *name);

/* Ticks: at most PLOT_TICKS round values from least to most, and the text of one. */
enum { PLOT_TICKS = 16 };
size_t      plot_ticks(const plot_axis *axis, double ticks[PLOT_TICKS]);
const char *plot_tick_text(const plot_axis *axis, double tick, char *text, size_t size);
const char *plot_unit_name(const plot_axis *axis);          /* of the ticks: "GiB"; "": they need none */
double      plot_round_up(const plot_axis *axis);           /* the first round value that is not below most */

/* Writes 1234567 as 1,234,567. Returns text. */
const char *plot_count(uint64_t count, char *text, size_t size);

#endif
