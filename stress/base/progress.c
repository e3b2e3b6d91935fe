/* Progress lines; real time is read here to pace them, and decides nothing else. */
#include "progress.h"

#include <signal.h>
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

progress progress_start(const char *choice, int quiet, size_t row_count)
{
    const char *terminal = getenv("TERM"), *ci = program_environment("CI");
    int redraws = isatty(STDERR_FILENO) && !ci && !(terminal && !strcmp(terminal, "dumb"));
    progress_mode mode = !strcmp(choice, "never") || quiet ? PROGRESS_OFF : redraws ? PROGRESS_REDRAW
                       : !strcmp(choice, "always") || ci ? PROGRESS_LINES : PROGRESS_OFF;
    return (progress){ mode, "", 0, row_count, progress_clock_ns(), 0 };
}

void progress_row(progress *self, const char *label)
{
    self->label = label;
    self->row++;
}

void progress_update(progress *self, uint64_t done, uint64_t total)
{
    if (self->mode == PROGRESS_OFF) return;
    uint64_t now_ns = progress_clock_ns();
    if (now_ns - self->shown_ns < (self->mode == PROGRESS_REDRAW ? PROGRESS_REDRAW_NS : PROGRESS_LINE_NS)) return;
    self->shown_ns = now_ns;
    unsigned percent = total ? (unsigned)((double)done * 100.0 / (double)total) : 100;
    self->on_line = self->mode == PROGRESS_REDRAW;
    if (self->on_line) {
        fprintf(stderr, "\r\033[K[%zu/%zu] %.60s %u%%", self->row, self->row_count, self->label, percent);
    } else {
        program_say("[%zu/%zu] %s %u%%\n", self->row, self->row_count, self->label, percent);
    }
    fflush(stderr);
}

void progress_clear(progress *self)
{
    if (!self->on_line) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    self->on_line = 0;
}

/* ---- Signals: a handler that only remembers */

static const struct { int number; const char *name; } interrupt_ends[] = {
    { SIGINT, "SIGINT" }, { SIGTERM, "SIGTERM" }, { SIGHUP, "SIGHUP" },
};
enum { INTERRUPT_ENDS = sizeof interrupt_ends / sizeof interrupt_ends[0] };

static volatile sig_atomic_t interrupt_seen;

static void interrupt_remember(int number)
{
    interrupt_seen = number;
}

void interrupt_catch(void)
{
    struct sigaction end, found;
    memset(&end, 0, sizeof end);
    sigemptyset(&end.sa_mask);
    end.sa_handler = interrupt_remember;
    end.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    for (size_t at = 0; at < INTERRUPT_ENDS; at++) {
        sigaction(interrupt_ends[at].number, NULL, &found);
        if (found.sa_handler != SIG_IGN) sigaction(interrupt_ends[at].number, &end, NULL);
    }
}

int interrupt_signal(void)
{
    return interrupt_seen;
}

void interrupt_clear(void)
{
    interrupt_seen = 0;
}

const char *interrupt_name(void)
{
    for (size_t at = 0; at < INTERRUPT_ENDS; at++) {
        if (interrupt_ends[at].number == interrupt_seen) return interrupt_ends[at].name;
    }
    return "";
}

int interrupt_exit(void)
{
    return 128 + interrupt_seen;
}
