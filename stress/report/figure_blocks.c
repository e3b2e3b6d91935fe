/* Blocks of a map that say what they are: size, tag, step and lifetime, with no script.
   It must not know how cells are made.
   Tested by tests/cli/html.t. */
#include <stdlib.h>
#include <string.h>

#include "../result/record.h"
#include "figure.h"
#include "../base/text.h"

static double figure_block_area(const record *drawn, const record_block *block)
{
    uint64_t end = block->death_op < drawn->map_ops ? block->death_op : drawn->map_ops;
    return end > block->birth_op ? (double)(end - block->birth_op) * (double)block->bytes : 0.0;
}

/* The blocks of the largest areas, the largest first; how many. */
static size_t figure_largest(const record *drawn, size_t most, const record_block **found)
{
    size_t count = 0;
    for (size_t at = 0; at < drawn->block_count; at++) {
        double area = figure_block_area(drawn, &drawn->blocks[at]);
        size_t place = count < most ? count++ : most;
        for (; place && figure_block_area(drawn, found[place - 1]) < area; place--) {
            if (place < most) found[place] = found[place - 1];
        }
        if (place < most) found[place] = &drawn->blocks[at];
    }
    return count;
}

static void figure_block_words(const record *drawn, const record_block *block, char *text, size_t size)
{
    const op_stream *stream = drawn->stream;
    char bytes[32], born[32], died[32], tag[32] = "";
    const char *step = block->step ? stream->labels[drawn->steps[block->step - 1].label] : "";
    if (stream->tags[block->number]) {
        snprintf(tag, sizeof tag, ", %s", stream->labels[stream->tags[block->number] - 1]);
        figure_cut(tag, 24);
    }
    text_bytes(block->requested_bytes, bytes, sizeof bytes);
    plot_count(block->birth_op, born, sizeof born);
    if (block->death_op == RECORD_NEVER) snprintf(died, sizeof died, "the end");
    else plot_count(block->death_op, died, sizeof died);
    snprintf(text, size, "%s%s%s%.16s, op %s to %s", bytes, tag, *step ? ", " : "", step, born, died);
}

void figure_blocks(const plot *on, const record *drawn, size_t most)
{
    const record_block **found = calloc(most + 1, sizeof *found);
    size_t count = found ? figure_largest(drawn, most, found) : 0;
    char text[160];
    for (size_t at = 0; at < count; at++) {
        const record_block *block = found[at];
        uint64_t end = block->death_op < drawn->map_ops ? block->death_op : drawn->map_ops;
        double x = plot_x(on, (double)block->birth_op), y = plot_y(on, (double)(block->offset + block->bytes));
        fputs("<g class=\"block\">", on->out);
        plot_box(on, "hit", x, y, plot_x(on, (double)end) - x, plot_y(on, (double)block->offset) - y);
        figure_block_words(drawn, block, text, sizeof text);
        plot_text(on, on->right, on->name_y, "q", "end", text);
        fputs("</g>\n", on->out);
    }
    free(found);
}
