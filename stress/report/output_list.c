/* Files one by one, then the table.
   It must not know the formats.
   Tested by tests/cli.t and tests/run.t. */
#include "output_list.h"

#include <stdlib.h>

#include "table.h"

int output_list_parse(output_list *self, char *const *texts, size_t count, const char *command, problem *why)
{
    self->items = calloc(count + 1, sizeof *self->items);
    if (!self->items) return problem_set(why, EXIT_HARNESS, "no host memory for the outputs");
    for (; self->count < count; self->count++) {
        output *made = &self->items[self->count];
        if (output_parse(texts[self->count], command, made, why)) return -1;
        if (output_is_stdout(made) && self->takes_stdout++) {
            return problem_set(why, EXIT_USAGE, "--out: two outputs to stdout; give one of them a file");
        }
    }
    return 0;
}

void output_list_free(output_list *self)
{
    free(self->items);
}

static int output_list_try_one(const output_list *self, output *made, const cli *asked, problem *why)
{
    if (output_try(made, why) || output_apart(made, asked, why)) return -1;
    for (const output *other = self->items; other < made; other++) {
        if (!output_is_file(made, other->path)) continue;
        return problem_set(why, EXIT_USAGE, "--out: %s is written twice; give each output a file of its own",
                           made->path);
    }
    return 0;
}

int output_list_try(const output_list *self, const cli *asked, problem *why)
{
    int failed = 0;
    for (size_t index = 0; index < self->count && !failed; index++) {
        failed = output_list_try_one(self, &self->items[index], asked, why);
    }
    for (size_t index = 0; index < self->count; index++) output_tried(&self->items[index]);
    return failed;
}

int output_list_write(const output_list *self, const output_material *material, int is_quiet, const char *color,
                      problem *why)
{
    FILE *shown = self->takes_stdout ? stderr : stdout;
    int failed = 0;
    for (size_t index = 0; index < self->count; index++) failed |= output_write(&self->items[index], material, why);
    failed |= output_summary(material, why);
    if (!is_quiet) {
        const table_style style = table_style_for(shown, color);
        table_write(shown, material->list, material->environment, &style);
        if (material->gates) gate_write(shown, material->gates);
    }
    return output_finish_stdout(why) || failed ? -1 : 0;
}
