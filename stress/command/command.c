/* The table of commands, and the checks that all of them begin with.
   It must not know how a command works: every command is a call. */
#include "command.h"

#include "../base/text.h"

const command *const command_table[] = {
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

int command_check(const char *name, size_t most_words, const cli *asked, problem *why)
{
    char takers[120] = "";
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const cli_option *option = &cli_options[index];
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
    if (is_known && asked->values[CLI_HELP].given) return help_page(found ? found->name : NULL, why);
    if (is_known && asked->values[CLI_VERSION].given && !asked->words.item_count) {
        return command_version.act(asked, why);
    }
    if (!found) command_unknown(asked->command, why);
    int failed = !found || command_check(found->name, found->most_words, asked, why);
    return failed ? -1 : found->act(asked, why);
}
