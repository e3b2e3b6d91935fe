/* Measures the pool against CUB, a mutex and itself, over a device that costs nothing: a table, and CSV.
   It must not know how anything is measured: stress/bench does.
   Run by `make bench`; that it runs is tested by tests/bench.t. What it measures is never a test. */
#include <signal.h>
#include <stdio.h>

#include "../stress/bench/bench.h"

static int bench_help(void)
{
    puts("Usage: bench [--seed N] [--quick] [--no-timing] [--instructions] [--out csv=PATH] [--color WHEN] [-q]");
    return EXIT_PASS;
}

int main(int argc, char **argv)
{
    problem why = { EXIT_PASS, "" };
    cli asked;
    signal(SIGPIPE, SIG_IGN);
    int exit_code = cli_parse(&asked, argc, argv, &why) ? why.exit_code
                  : asked.values[CLI_HELP].given ? bench_help() : bench_command(&asked, argv[0], &why);
    if (why.exit_code) fprintf(stderr, "bench: %s\n", why.text);
    cli_free(&asked);
    return exit_code;
}
