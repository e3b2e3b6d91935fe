/* Where steps begin: a mark above the plot area, and the step's name where there is room for it.
   It must not draw within the plot area.
   Tested by tests/cli/pictures.t. */
#include <ctype.h>
#include <string.h>

#include "../result/record.h"
#include "figure.h"

enum { FIGURE_MOST_STEPS = 64, FIGURE_STEPS_HEIGHT = 14 };

static int figure_has_steps(const record *drawn)
{
    return drawn->step_count && drawn->step_count <= FIGURE_MOST_STEPS;
}

void figure_steps_room(plot *on, const record *drawn)
{
    if (figure_has_steps(drawn)) on->top += FIGURE_STEPS_HEIGHT;
}

static double figure_step_width(const char *name)
{
    return 6.4 * (double)strlen(name);           /* of a wide font */
}

/* "step12", or "12" where only that fits; NULL: nothing does. */
static const char *figure_step_name(const char *label, double room)
{
    const char *number = label + strlen(label);
    while (number > label && isdigit((unsigned char)number[-1])) number--;
    if (figure_step_width(label) <= room) return label;
    return *number && figure_step_width(number) <= room ? number : NULL;
}

void figure_steps(const plot *on, const record *drawn)
{
    if (!figure_has_steps(drawn)) return;
    fputs("<path class=\"edge\" d=\"", on->out);
    for (size_t at = 0; at < drawn->step_count; at++) {
        fprintf(on->out, "M%.10g %.10gv4", plot_x(on, (double)drawn->steps[at].op), on->top - 4.0);
    }
    fputs("\"/>\n", on->out);
    for (size_t at = 0; at < drawn->step_count; at++) {
        double x = plot_x(on, (double)drawn->steps[at].op);
        double end = at + 1 < drawn->step_count ? plot_x(on, (double)drawn->steps[at + 1].op) : on->right;
        const char *name = figure_step_name(drawn->stream->labels[drawn->steps[at].label], end - x - 4.0);
        if (name) plot_text(on, x, on->top - 6.0, "q", "start", name);
    }
}
