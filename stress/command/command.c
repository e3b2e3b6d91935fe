/* The table of commands, and what all of them check before they begin.
   It must not know how anything is done: every command is a call. */
#include "command.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../gpuarena.h"
#include "../base/text.h"
#include "../base/program.h"
#include "../device/cuda_environment.h"
#include "../report/output.h"

/* `stress help [a|b|..]`, in two lines. */
static void command_usage_topics(FILE *out)
{
    char names[256];
    help_names(names, sizeof names, "|");
    int cut = 92;
    while (cut < (int)strlen(names) && names[cut - 1] != '|') cut--;
    fprintf(out, "       stress help [%.*s\n                    %s]\n", cut, names, names + cut);
    fputs("       stress help NAME    of a workload, policy, option, column or kind of --out\n", out);
}

void command_usage(FILE *out)
{
    for (size_t index = 0; command_at(index); index++) {
        const command *each = command_at(index);
        if (each->usage) fprintf(out, "%s stress %s%s%s\n", index ? "      " : "Usage:", each->name,
                                 *each->usage ? " " : "", each->usage);
        else command_usage_topics(out);
    }
}

typedef int command_write(FILE *out, const char *topic, problem *why);

/* Pages are written as a whole, for they name the program. Who reads no further, as head does, is told nothing. */
static int command_page(command_write *write, const char *topic, problem *why)
{
    char *text;
    size_t length;
    FILE *page = program_stream(&text, &length);
    int failed = write(page, topic, why);
    fclose(page);
    signal(SIGPIPE, SIG_DFL);
    if (!failed) program_page(stdout, text);
    free(text);
    return failed || output_finish_stdout(why) ? why->exit_code : EXIT_PASS;
}

/* Of `list` and `help`. */
static int command_topic(const cli *asked, const char *const *argv, problem *why)
{
    (void)argv;
    return command_page(strcmp(asked->command, "list") ? help_write : help_list, asked->topic, why);
}

static int command_version(const cli *asked, const char *const *argv, problem *why)
{
    (void)asked;
    (void)argv;
    printf("gpuarena stress " GPUARENA_VERSION_TEXT " (simulated device; %s)\n", cuda_environment_build());
    return output_finish_stdout(why) ? why->exit_code : EXIT_PASS;
}

#define T(option) CLI_TAKES(CLI_##option)
#define OF_WORK   (T(WORKLOAD) | T(POLICY) | T(DEVICE) | T(SEED) | T(STEPS) | T(OPS) | T(THREADS) | T(QUICK) \
                   | T(FAULTS) | T(COSTS) | T(CONTEXT) | T(OP_NS) | T(RATE) | T(VERIFY) | T(OUT) | T(QUIET) \
                   | T(PROGRESS))
#define OF_GATES  (T(FAIL_IF) | T(BASE) | T(STRICT))
#define OF_ROWS   (OF_WORK | OF_GATES | T(FILTER) | T(ON_OOM) | T(NO_TIMING) | T(SHARD) | T(VERBOSE) | T(COLOR))
#define OF_TIMES  (T(PRECISION) | T(BUDGET))
static const command command_table[] = {
    { "run", "-w WORKLOAD[,..] -p POLICY[,..] [options]", 0,
      OF_ROWS | OF_TIMES | T(LIMIT) | T(ROUNDS) | T(TIMES) | T(WARMUP), run_command },
    { "capacity", "-w WORKLOAD[,..] -p POLICY[,..] [options]", 0, OF_ROWS | T(ROUNDS), run_command },
    { "batch", "-w WORKLOAD[,..] -p POLICY[,..] [--vary KEY] [--repeat N] [options]", 0,
      OF_ROWS | T(LIMIT) | T(VARY) | T(TIMES), run_command },
    { "shrink", "-w WORKLOAD -p POLICY --out trace=FILE [options]", 0, OF_WORK | T(LIMIT), shrink_command },
    { "holes", "-p POLICY[,..] [--instructions]", 0,
      OF_GATES | OF_TIMES | T(POLICY) | T(DEVICE) | T(SEED) | T(LIMIT) | T(QUICK) | T(CONTEXT) | T(NO_TIMING)
      | T(INSTRUCTIONS) | T(OUT) | T(QUIET) | T(COLOR), holes_command },
    { "costs", "[--device sim|cuda:N] [--out costs=FILE]", 0,
      T(DEVICE) | T(FAULTS) | T(COSTS) | T(CONTEXT) | T(OUT) | T(QUIET) | T(VERBOSE), costs_command },
    { "compare", "A.csv B.csv [--fail-if RULE]", SIZE_MAX, T(FAIL_IF) | T(STRICT) | T(OUT) | T(QUIET),
      compare_command },
    { "merge", "SHARD.. [--out csv=FILE] [--fail-if RULE]", SIZE_MAX, OF_GATES | T(OUT) | T(QUIET), merge_command },
    { "list", "[workloads|policies|devices]", 1, 0, command_topic },
    { "help", NULL, 1, 0, command_topic },
    { "version", "", 0, 0, command_version },
};

const command *command_at(size_t index)
{
    return index < sizeof command_table / sizeof command_table[0] ? &command_table[index] : NULL;
}

static const command *command_find(const char *name)
{
    size_t index = 0;
    while (command_at(index) && strcmp(command_at(index)->name, name)) index++;
    return command_at(index);
}

/* Which commands take the option: ", only to run, batch". */
static const char *command_takers(size_t option, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t index = 0; command_at(index); index++) {
        if (!(command_at(index)->takes & CLI_TAKES(option))) continue;
        text_add(text, size, "%s%s", *text ? ", " : ", only to ", command_at(index)->name);
    }
    return text;
}

int command_check(const command *self, const cli *asked, problem *why)
{
    char takers[120];
    for (size_t index = 0; cli_option_at(index); index++) {
        if (!asked->values[index].given || self->takes & CLI_TAKES(index)) continue;
        return problem_set(why, EXIT_USAGE, "--%s means nothing to %s%s", cli_option_at(index)->name, self->name,
                           command_takers(index, takers, sizeof takers));
    }
    if (asked->words.item_count <= self->most_words) return 0;
    return problem_set(why, EXIT_USAGE, "unexpected argument '%s' after %s", asked->words.items[self->most_words],
                       self->name);
}

static void command_unknown(const char *name, problem *why)
{
    char hint[96], names[160] = "";
    nearest search = nearest_to(name);
    for (size_t index = 0; command_at(index); index++) {
        nearest_offer(&search, command_at(index)->name);
        text_add(names, sizeof names, "%s%s", index ? ", " : "", command_at(index)->name);
    }
    if (!*name) problem_set(why, EXIT_USAGE, "no command; there are %s", names);
    else problem_set(why, EXIT_USAGE, "unknown command '%s'%s; there are %s", name,
                     nearest_hint(&search, hint, sizeof hint), names);
}

int command_run(const cli *asked, const char *const *argv, problem *why)
{
    const command *found = command_find(asked->command);
    int is_known = found || !*asked->command;
    if (is_known && asked->values[CLI_HELP].given) return command_page(help_command, asked->command, why);
    if (is_known && asked->values[CLI_VERSION].given && !asked->topic) return command_version(asked, argv, why);
    if (!found) command_unknown(asked->command, why);
    return !found || command_check(found, asked, why) ? why->exit_code : found->act(asked, argv, why);
}
