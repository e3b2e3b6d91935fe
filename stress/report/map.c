/* Areas are sums of differences along time: a rectangle is a step up where it begins and one down where it ends, so
   that its cost is its height. In units of 1/65536 of a cell each way. */
#include "map.h"

#include <stdlib.h>
#include <string.h>

enum { MAP_UNIT_LOG2 = 16, MAP_AREAS = MAP_HOLE + 1, MAP_AXIS_LOG2 = 38 };
#define MAP_UNIT ((int64_t)1 << MAP_UNIT_LOG2)

typedef struct map_area { int64_t sums[MAP_AREAS]; } map_area;

typedef struct map_sheet {
    const record *drawn;
    map          *made;
    map_area     *areas;                         /* a column more than the map has */
    uint64_t      ops, axis;                     /* axis: in units of 2^shift bytes */
    unsigned      shift;
} map_sheet;

static int64_t map_x(const map_sheet *sheet, uint64_t at)
{
    uint64_t most = sheet->drawn->map_ops < sheet->ops ? sheet->drawn->map_ops : sheet->ops;
    if (at > most) at = most;
    return (int64_t)((at * sheet->made->width << MAP_UNIT_LOG2) / sheet->ops);
}

static int64_t map_y(const map_sheet *sheet, uint64_t offset)
{
    uint64_t scaled = offset >> sheet->shift;
    if (scaled > sheet->axis) scaled = sheet->axis;
    return (int64_t)((scaled * sheet->made->height << MAP_UNIT_LOG2) / sheet->axis);
}

/* From x on there is so much more of it, in a line that it fills to `high`. */
static void map_step(const map_sheet *sheet, int area, int64_t line, int64_t x, int64_t high)
{
    size_t column = (size_t)(x >> MAP_UNIT_LOG2);
    int64_t within = x & (MAP_UNIT - 1);
    map_area *first = &sheet->areas[(size_t)line * (sheet->made->width + 1) + column];
    first[0].sums[area] += high * (MAP_UNIT - within);
    if (column < sheet->made->width) first[1].sums[area] += high * within;
}

/* sign: 1, or -1: it is taken away. */
static void map_rectangle(const map_sheet *sheet, int area, int sign, int64_t from_x, int64_t to_x, int64_t from_y,
                          int64_t to_y)
{
    if (from_x >= to_x) return;
    for (int64_t y = from_y; y < to_y;) {
        int64_t next = ((y >> MAP_UNIT_LOG2) + 1) << MAP_UNIT_LOG2, end = next < to_y ? next : to_y;
        map_step(sheet, area, y >> MAP_UNIT_LOG2, from_x, sign * (end - y));
        map_step(sheet, area, y >> MAP_UNIT_LOG2, to_x, sign * (y - end));
        y = end;
    }
}

unsigned map_batch(const record *drawn, const record_block *block)
{
    uint64_t ops = drawn->most_ops, born = block->birth_op;
    if (!drawn->step_count) return born < ops ? (unsigned)(born * MAP_BATCHES / ops) : 0;
    return block->step ? 1 + (block->step - 1) % (MAP_BATCHES - 1) : 0;
}

static void map_add_block(const map_sheet *sheet, const record_block *block)
{
    int64_t from_x = map_x(sheet, block->birth_op), to_x = map_x(sheet, block->death_op);
    int64_t from_y = map_y(sheet, block->offset), slack_y = map_y(sheet, block->offset + block->requested_bytes);
    int64_t to_y = map_y(sheet, block->offset + block->bytes);
    int is_small = (to_x - from_x) * (to_y - from_y) < MAP_UNIT * MAP_UNIT;
    int seen = is_small ? MAP_SMALL : (int)map_batch(sheet->drawn, block);
    map_rectangle(sheet, seen, 1, from_x, to_x, from_y, slack_y);
    map_rectangle(sheet, MAP_SLACK, 1, from_x, to_x, slack_y, to_y);
}

/* Everything is a hole until memory comes, and again when it has gone. */
static void map_add_change(const map_sheet *sheet, const record_change *change)
{
    int comes = change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_VM_MAP;
    int64_t from_x = map_x(sheet, change->op), end_x = map_x(sheet, RECORD_NEVER);
    int64_t from_y = map_y(sheet, change->offset), to_y = map_y(sheet, change->offset + change->bytes);
    map_rectangle(sheet, MAP_HOLE, comes ? -1 : 1, from_x, end_x, from_y, to_y);
}

/* What is in use comes before what is free, where there is as much of it; and what is seen of it is what most of it
   is, small blocks first. */
static map_cell map_choose(const map_area *area)
{
    int64_t used = 0, hole = area->sums[MAP_HOLE];
    int most = MAP_SMALL;
    for (int at = 0; at < MAP_HOLE; at++) used += area->sums[at];
    int64_t idle = MAP_UNIT * MAP_UNIT - used - hole;
    if (used > 0 && used >= hole && used >= idle) {
        for (int at = 0; at < MAP_SMALL; at++) {
            if (area->sums[at] > area->sums[most]) most = at;
        }
        return (map_cell)most;
    }
    return hole >= idle ? MAP_HOLE : MAP_FREE;
}

/* Sums up the steps of a line, and says what is seen in it. */
static void map_finish_line(const map_sheet *sheet, unsigned line, unsigned columns)
{
    map_area sum;
    const map *made = sheet->made;
    memset(&sum, 0, sizeof sum);
    for (unsigned column = 0; column < made->width; column++) {
        const map_area *steps = &sheet->areas[(size_t)line * (made->width + 1) + column];
        for (int at = 0; at < MAP_AREAS; at++) sum.sums[at] += steps->sums[at];
        made->cells[(size_t)line * made->width + column] =
            (unsigned char)(column < columns ? map_choose(&sum) : MAP_NOTHING);
    }
}

static void map_fill(const map_sheet *sheet)
{
    const record *drawn = sheet->drawn;
    int64_t end_x = map_x(sheet, RECORD_NEVER), end_y = map_y(sheet, drawn->axis_bytes);
    unsigned columns = (unsigned)((end_x + MAP_UNIT - 1) >> MAP_UNIT_LOG2);
    unsigned lines = (unsigned)((end_y + MAP_UNIT - 1) >> MAP_UNIT_LOG2);
    map_rectangle(sheet, MAP_HOLE, 1, 0, end_x, 0, end_y);
    for (size_t at = 0; at < drawn->change_count; at++) map_add_change(sheet, &drawn->changes[at]);
    for (size_t at = 0; at < drawn->block_count; at++) map_add_block(sheet, &drawn->blocks[at]);
    memset(sheet->made->cells, MAP_NOTHING, (size_t)sheet->made->width * sheet->made->height);
    for (unsigned line = 0; line < lines; line++) map_finish_line(sheet, line, columns);
}

int map_make(map *self, const record *drawn, unsigned width, unsigned height, uint64_t ops, uint64_t axis_bytes)
{
    map_sheet sheet = { drawn, self, NULL, ops ? ops : 1, axis_bytes, 0 };
    while (sheet.axis >> MAP_AXIS_LOG2) {
        sheet.axis >>= 1;
        sheet.shift++;
    }
    if (!sheet.axis) sheet.axis = 1;
    self->width = width;
    self->height = height;
    self->cells = calloc((size_t)width * height, 1);
    sheet.areas = calloc((size_t)(width + 1) * height, sizeof *sheet.areas);
    if (self->cells && sheet.areas) map_fill(&sheet);
    free(sheet.areas);
    if (self->cells && sheet.areas) return 0;
    map_free(self);
    return -1;
}

void map_free(map *self)
{
    free(self->cells);
    self->cells = NULL;
}

static unsigned map_run(const map *self, unsigned x, unsigned y)
{
    const unsigned char *line = self->cells + (size_t)y * self->width;
    unsigned end = x;
    while (end < self->width && line[end] == line[x]) end++;
    return end - x;
}

/* 1: the same run stands in this line, begins and ends there. */
static int map_same_run(const map *self, unsigned x, unsigned y, unsigned width, unsigned char cell)
{
    const unsigned char *line = self->cells + (size_t)y * self->width;
    return line[x] == cell && (!x || line[x - 1] != cell) && map_run(self, x, y) == width;
}

void map_walk(const map *self, map_see_fn *see, void *user)
{
    for (unsigned y = 0; y < self->height; y++) {
        for (unsigned x = 0, width; x < self->width; x += width) {
            unsigned char cell = self->cells[(size_t)y * self->width + x];
            unsigned height = 1;
            width = map_run(self, x, y);
            if (cell == MAP_NOTHING || (y && map_same_run(self, x, y - 1, width, cell))) continue;
            while (y + height < self->height && map_same_run(self, x, y + height, width, cell)) height++;
            see(user, (map_cell)cell, x, y, width, height);
        }
    }
}
