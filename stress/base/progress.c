/* Progress lines; real time is read here to pace them, and decides nothing else. */
#include "progress.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_REDRAW_NS UINT64_C(100000000)
#define PROGRESS_LINE_NS   UINT64_C(30000000000)

uint64_t progress_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static progress_mode progress_choose(const char *choice, int quiet)
{
    const char *terminal = getenv("TERM");
    int redraws = isatty(STDERR_FILENO) && !program_environment("CI") && !(terminal && !strcmp(terminal, "dumb"));
    if (!strcmp(choice, "never") || quiet) return PROGRESS_OFF;
    if (redraws) return PROGRESS_REDRAW;
    return !strcmp(choice, "always") || program_environment("CI") ? PROGRESS_LINES : PROGRESS_OFF;
}

progress progress_start(const char *choice, int quiet, size_t row_count)
{
    progress started = { PROGRESS_OFF, "", 0, 0, 0, 0 };
    started.mode = progress_choose(choice, quiet);
    started.row_count = row_count;
    started.shown_ns = progress_clock_ns();
    return started;
}

void progress_row(progress *self, const char *label)
{
    self->label = label;
    self->row++;
}

static void progress_show(progress *self, unsigned percent)
{
    if (self->mode == PROGRESS_REDRAW) {
        fprintf(stderr, "\r\033[K[%zu/%zu] %.60s %u%%", self->row, self->row_count, self->label, percent);
        self->on_line = 1;
    } else {
        program_say("[%zu/%zu] %s %u%%\n", self->row, self->row_count, self->label, percent);
    }
    fflush(stderr);
}

void progress_update(progress *self, uint64_t done, uint64_t total)
{
    if (self->mode == PROGRESS_OFF) return;
    uint64_t now_ns = progress_clock_ns();
    if (now_ns - self->shown_ns < (self->mode == PROGRESS_REDRAW ? PROGRESS_REDRAW_NS : PROGRESS_LINE_NS)) return;
    self->shown_ns = now_ns;
    progress_show(self, total ? (unsigned)((double)done * 100.0 / (double)total) : 100);
}

void progress_clear(progress *self)
{
    if (!self->on_line) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    self->on_line = 0;
}
