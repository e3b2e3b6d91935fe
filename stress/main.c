/* stress: commands and exit codes. */
#include <signal.h>

#include "base/cli.h"
#include "command/command.h"

int main(int argc, char **argv)
{
    problem why = { EXIT_PASS, "" };
    cli asked;
    program_begin(argv[0]);
    signal(SIGPIPE, SIG_IGN);                    /* a closed pipe is a write error, told as one .. */
    signal(SIGXFSZ, SIG_IGN);                    /* .. and so is a file that may not grow */
    int exit_code = cli_parse(&asked, argc, argv, &why) ? -1 : commands_run(&asked, &why);
    if (why.exit_code) program_say("%s\n", why.text);
    cli_free(&asked);
    return exit_code < 0 ? why.exit_code : exit_code;
}
