/* The table of commands, and what all of them check before they begin.
   It must not know how anything is done: every command is a call. */
#include "command.h"

#include <signal.h>

#include "../../gpuarena.h"
#include "../device/cuda_environment.h"

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
    return failed || output_finish(stdout, why) ? why->exit_code : EXIT_PASS;
}

static const char *command_word(const cli *asked)
{
    return asked->words.item_count ? asked->words.items[0] : NULL;
}

static int list_act(const cli *asked, problem *why)
{
    return command_page(help_list, command_word(asked), why);
}

static int help_act(const cli *asked, problem *why)
{
    return command_page(help_write, command_word(asked), why);
}

static int version_act(const cli *asked, problem *why)
{
    (void)asked;
    printf("gpuarena stress " GPUARENA_VERSION_TEXT " (simulated device; %s)\n", cuda_environment_build());
    return output_finish(stdout, why) ? why->exit_code : EXIT_PASS;
}

const command command_list = { "list", "[workloads|policies|devices]", 1, list_act };
const command command_help = { "help", NULL, 1, help_act };
const command command_version = { "version", "", 0, version_act };

static const command *const command_table[] = {
#define X(name) &command_##name,
    COMMANDS(X)
#undef X
    NULL
};

const command *command_find(const char *name)
{
    const command *const *each = command_table;
    while (*each && strcmp((*each)->name, name)) each++;
    return *each;
}

/* The line of help names its topics, in two. */
void command_usage(FILE *out)
{
    char names[256];
    help_names(names, sizeof names, "|");
    int cut = 92;
    while (cut < (int)strlen(names) && names[cut - 1] != '|') cut--;
    for (const command *const *each = command_table; *each; each++) {
        const char *usage = (*each)->usage, *before = each == command_table ? "Usage:" : "      ";
        if (usage) fprintf(out, "%s stress %s%s%s\n", before, (*each)->name, *usage ? " " : "", usage);
        else fprintf(out, "%s stress %s [%.*s\n                    %s]\n"
                     "       stress help NAME    of a workload, policy, option, column or kind of --out\n", before,
                     (*each)->name, cut, names, names + cut);
    }
}

int command_check(const char *name, size_t most_words, const cli *asked, problem *why)
{
    char takers[120] = "";
    for (size_t index = 0; cli_option_at(index); index++) {
        const cli_option *option = cli_option_at(index);
        if (!asked->values[index].given || slice_has(slice_of(option->commands), name)) continue;
        for (const command *const *each = command_table; *each; each++) {
            if (!slice_has(slice_of(option->commands), (*each)->name)) continue;
            text_add(takers, sizeof takers, "%s%s", *takers ? ", " : ", only to ", (*each)->name);
        }
        return problem_set(why, EXIT_USAGE, "--%s means nothing to %s%s", option->name, name, takers);
    }
    if (asked->words.item_count <= most_words) return 0;
    return problem_set(why, EXIT_USAGE, "unexpected argument '%s' after %s", asked->words.items[most_words], name);
}

static void command_unknown(const char *name, problem *why)
{
    char hint[96], names[160] = "";
    nearest search = nearest_to(name);
    for (const command *const *each = command_table; *each; each++) {
        nearest_offer(&search, (*each)->name);
        text_add(names, sizeof names, "%s%s", *names ? ", " : "", (*each)->name);
    }
    if (!*name) problem_set(why, EXIT_USAGE, "no command; there are %s", names);
    else problem_set(why, EXIT_USAGE, "unknown command '%s'%s; there are %s", name,
                     nearest_hint(&search, hint, sizeof hint), names);
}

int commands_run(const cli *asked, problem *why)
{
    const command *found = command_find(asked->command);
    int is_known = found || !*asked->command;
    if (is_known && asked->values[CLI_HELP].given) return command_page(help_write, found ? found->name : NULL, why);
    if (is_known && asked->values[CLI_VERSION].given && !command_word(asked)) return version_act(asked, why);
    if (!found) command_unknown(asked->command, why);
    int failed = !found || command_check(found->name, found->most_words, asked, why);
    return failed ? why->exit_code : found->act(asked, why);
}
