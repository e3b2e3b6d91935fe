/* Measures the pool against CUB, a mutex and itself, over a device that costs nothing: a table, and CSV. It must not
   know the ways of measuring: stress/measure does. Run by `make bench`; that it runs is tested by bench.t. Measured
   values are never a test. */
#include <signal.h>
#include <stdio.h>

#include "stress/command/command.h"

static int bench_help(void)
{
    puts("Usage: bench [--seed N] [--quick] [--no-timing] [--instructions] [--precision SHARE] [--budget SECONDS]\n"
         "             [--out csv=PATH] [--color WHEN] [-q]\n"
         "Rounds end when every ratio of a case is known to SHARE (2%): half of its 95 % confidence interval "
         "over it;\nelse after 201 (cold caches 101, threads 31), or after SECONDS (60). --quick: three short ones.");
    return EXIT_PASS;
}

int main(int argc, char **argv)
{
    problem why = { EXIT_PASS, "" };
    cli asked;
    signal(SIGPIPE, SIG_IGN);
    int exit_code = cli_parse(&asked, argc, argv, &why) ? -1
                  : asked.values[CLI_HELP].given ? bench_help() : bench_command(&asked, &why);
    if (why.exit_code) fprintf(stderr, "bench: %s\n", why.text);
    cli_free(&asked);
    return exit_code < 0 ? why.exit_code : exit_code;
}
