/* stress: commands and exit codes.
   It must not know how anything is done: every command is a call.
   Tested by tests/cli.t, which runs the program. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpuarena.h"
#include "base/cli.h"
#include "command/compare.h"
#include "command/costs.h"
#include "device/cuda_environment.h"
#include "command/help.h"
#include "command/holes.h"
#include "command/merge.h"
#include "base/nearest.h"
#include "base/program.h"
#include "report/output.h"
#include "command/run.h"
#include "command/shrink.h"

typedef struct command {
    const char *name;
    int       (*act)(const cli *asked, const char *const *argv, problem *why);       /* the exit code */
} command;

static int main_no_topic(const cli *asked, problem *why)
{
    if (!asked->topic) return 0;
    return problem_set(why, EXIT_USAGE, "unexpected argument '%s' after %s", asked->topic, asked->command);
}

static int main_one_topic(const cli *asked, problem *why)
{
    if (asked->words.item_count < 2) return 0;
    return problem_set(why, EXIT_USAGE, "unexpected argument '%s'", asked->words.items[1]);
}

static int main_compare(const cli *asked, const char *const *argv, problem *why)
{
    (void)argv;
    return compare_command(asked, why);
}

static int main_merge(const cli *asked, const char *const *argv, problem *why)
{
    (void)argv;
    return merge_command(asked, why);
}

static int main_run(const cli *asked, const char *const *argv, problem *why)
{
    return main_no_topic(asked, why) ? EXIT_USAGE : run_command(asked, argv, ROW_RUN, why);
}

static int main_capacity(const cli *asked, const char *const *argv, problem *why)
{
    return main_no_topic(asked, why) ? EXIT_USAGE : run_command(asked, argv, ROW_CAPACITY, why);
}

static int main_batch(const cli *asked, const char *const *argv, problem *why)
{
    return main_no_topic(asked, why) ? EXIT_USAGE : run_command(asked, argv, ROW_BATCH, why);
}

static int main_shrink(const cli *asked, const char *const *argv, problem *why)
{
    return shrink_command(asked, argv, why);
}

static int main_costs(const cli *asked, const char *const *argv, problem *why)
{
    return main_no_topic(asked, why) ? EXIT_USAGE : costs_command(asked, argv, why);
}

static int main_holes(const cli *asked, const char *const *argv, problem *why)
{
    return main_no_topic(asked, why) ? EXIT_USAGE : holes_command(asked, argv, why);
}

/* Pages are written as a whole, for they name the program. */
static int main_page(int (*write)(FILE *out, const char *topic, problem *why), const char *topic, problem *why)
{
    char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (!page) {
        problem_set(why, EXIT_HARNESS, "no host memory for a page");
        return why->exit_code;
    }
    int failed = write(page, topic, why);
    if (fclose(page) && !failed) failed = problem_set(why, EXIT_HARNESS, "no host memory for a page");
    if (!failed) program_page(stdout, text);
    free(text);
    return failed || output_finish_stdout(why) ? why->exit_code : EXIT_PASS;
}

static int main_list(const cli *asked, const char *const *argv, problem *why)
{
    (void)argv;
    return cli_expect(asked, NULL, 0, "list", why) || main_one_topic(asked, why)
        ? why->exit_code : main_page(help_list, asked->topic, why);
}

static int main_help(const cli *asked, const char *const *argv, problem *why)
{
    (void)argv;
    return cli_expect(asked, NULL, 0, "help", why) || main_one_topic(asked, why)
        ? why->exit_code : main_page(help_write, asked->topic, why);
}

static int main_version(const cli *asked, const char *const *argv, problem *why)
{
    (void)argv;
    int is_option = asked->values[CLI_VERSION].given;                        /* of any command, as --help is */
    if ((!is_option && cli_expect(asked, NULL, 0, "version", why)) || main_no_topic(asked, why)) return EXIT_USAGE;
    printf("gpuarena stress " GPUARENA_VERSION_TEXT " (simulated device; %s)\n", cuda_environment_build());
    return output_finish_stdout(why) ? why->exit_code : EXIT_PASS;
}

static const command main_commands[] = {
    { "run", main_run }, { "capacity", main_capacity }, { "batch", main_batch }, { "shrink", main_shrink },
    { "holes", main_holes },
    { "costs", main_costs }, { "compare", main_compare }, { "merge", main_merge },
    { "list", main_list }, { "help", main_help }, { "version", main_version },
};
#define MAIN_NAMES "run, capacity, holes, costs, list, help, version, compare, merge, batch, shrink"
#define MAIN_COMMANDS (sizeof main_commands / sizeof main_commands[0])

static int main_dispatch(const cli *asked, const char *const *argv, problem *why)
{
    char hint[96];
    nearest search = nearest_to(asked->command);
    const command *found = main_commands, *end = main_commands + MAIN_COMMANDS;
    for (; found < end && strcmp(asked->command, found->name); found++) nearest_offer(&search, found->name);
    int is_known = found < end || !*asked->command;
    if (is_known && asked->values[CLI_HELP].given) return main_page(help_command, asked->command, why);
    if (is_known && asked->values[CLI_VERSION].given) return main_version(asked, argv, why);
    if (found < end) return found->act(asked, argv, why);
    problem_set(why, EXIT_USAGE, *asked->command ? "unknown command '%s'%s; there are " MAIN_NAMES
                                                 : "no command%s%s; there are " MAIN_NAMES,
                asked->command, nearest_hint(&search, hint, sizeof hint));
    return why->exit_code;
}

int main(int argc, char **argv)
{
    problem why = { EXIT_PASS, "" };
    cli asked;
    program_begin(argv[0]);
    signal(SIGPIPE, SIG_IGN);                    /* a closed pipe is a write error, told as one .. */
    signal(SIGXFSZ, SIG_IGN);                    /* .. and so is a file that may not grow */
    int exit_code = cli_parse(&asked, argc, argv, &why) ? why.exit_code
                  : main_dispatch(&asked, (const char *const *)argv, &why);
    if (why.exit_code) program_say("%s\n", why.text);
    cli_free(&asked);
    return exit_code;
}
