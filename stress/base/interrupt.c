/* A handler that only remembers. */
#include "interrupt.h"

#include <signal.h>
#include "program.h"

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
