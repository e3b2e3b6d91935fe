/* Handlers that only remember, or write a text made before. */
#include "interrupt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

static const struct { int number; const char *name; } interrupt_ends[] = {
    { SIGINT, "SIGINT" }, { SIGTERM, "SIGTERM" }, { SIGHUP, "SIGHUP" },
};
static const struct { int number; const char *name; } interrupt_crashes[] = {
    { SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" }, { SIGFPE, "SIGFPE" }, { SIGILL, "SIGILL" }, { SIGABRT, "SIGABRT" },
};
enum { INTERRUPT_ENDS = sizeof interrupt_ends / sizeof interrupt_ends[0],
       INTERRUPT_CRASHES = sizeof interrupt_crashes / sizeof interrupt_crashes[0] };

static volatile sig_atomic_t interrupt_seen;
static struct sigaction interrupt_before[INTERRUPT_CRASHES];
static char interrupt_line[8192];

static void interrupt_remember(int number)
{
    interrupt_seen = number;
}

static void interrupt_say(const char *text)
{
    size_t length = strlen(text);
    while (length) {
        ssize_t written = write(STDERR_FILENO, text, length);
        if (written <= 0) return;
        text += written;
        length -= (size_t)written;
    }
}

/* What raised it happens again on return, under the handler that was there before; what was sent is sent again. */
static void interrupt_crash(int number, siginfo_t *about, void *context)
{
    size_t at = 0;
    (void)context;
    while (interrupt_crashes[at].number != number) at++;
    sigaction(number, &interrupt_before[at], NULL);
    if (interrupt_line[0]) {
        interrupt_say("\n");
        interrupt_say(program_name());
        interrupt_say(": crashed by ");
        interrupt_say(interrupt_crashes[at].name);
        interrupt_say("\n");
        interrupt_say(interrupt_line);
    }
    if (about->si_code <= 0) raise(number);
}

void interrupt_catch(void)
{
    struct sigaction end, crash, found;
    memset(&end, 0, sizeof end);
    memset(&crash, 0, sizeof crash);
    sigemptyset(&end.sa_mask);
    sigemptyset(&crash.sa_mask);
    end.sa_handler = interrupt_remember;
    end.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    crash.sa_sigaction = interrupt_crash;
    crash.sa_flags = SA_SIGINFO;
    for (size_t at = 0; at < INTERRUPT_ENDS; at++) {
        sigaction(interrupt_ends[at].number, NULL, &found);
        if (found.sa_handler != SIG_IGN) sigaction(interrupt_ends[at].number, &end, NULL);
    }
    for (size_t at = 0; at < INTERRUPT_CRASHES; at++) {
        sigaction(interrupt_crashes[at].number, &crash, &interrupt_before[at]);
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

void interrupt_repro(const char *text)
{
    snprintf(interrupt_line, sizeof interrupt_line, "%s", text);
}
