/* Maps: what is seen in each cell of time x addresses, from records made by hand.
   It must not know of files. */
#include <stdlib.h>

#include "stress/report/map.h"
#include "tap.h"

enum { WIDTH = 8, HEIGHT = 4 };

typedef struct sheet {
    record        drawn;
    record_block  blocks[8];
    record_change changes[8];
} sheet;

/* 8 ops x 4,000 bytes, all of which is there from op 0 on. */
static void sheet_open(sheet *self)
{
    memset(self, 0, sizeof *self);
    self->drawn.op_count = self->drawn.map_ops = WIDTH;
    self->drawn.axis_bytes = 1000 * HEIGHT;
    self->drawn.blocks = self->blocks;
    self->drawn.changes = self->changes;
    self->drawn.most_ops = WIDTH;
    self->changes[0].kind = SIM_CALL_OBTAIN;
    self->changes[0].bytes = 1000 * HEIGHT;
    self->drawn.change_count = 1;
}

static void sheet_block(sheet *self, uint64_t offset, uint64_t requested, uint64_t bytes, uint64_t birth,
                        uint64_t death)
{
    record_block *made = &self->blocks[self->drawn.block_count++];
    made->offset = offset;
    made->requested_bytes = requested;
    made->bytes = bytes;
    made->birth_op = birth;
    made->death_op = death;
}

static void sheet_change(sheet *self, sim_call kind, uint64_t at, uint64_t offset, uint64_t bytes)
{
    record_change *made = &self->changes[self->drawn.change_count++];
    made->kind = kind;
    made->op = at;
    made->offset = offset;
    made->bytes = bytes;
}

/* Lines of the map, the highest address first; 0-5 batches, s slack, x small, - hole, . free, space nothing. */
static void sheet_check(const sheet *self, uint64_t ops, uint64_t axis_bytes, const char *expected, const char *name)
{
    static const char letters[] = "012345sx-. ";
    char text[(WIDTH + 1) * HEIGHT + 1], *at = text;
    map made;
    if (map_make(&made, &self->drawn, WIDTH, HEIGHT, ops, axis_bytes)) exit(1);
    for (int line = HEIGHT - 1; line >= 0; line--) {
        for (int column = 0; column < WIDTH; column++) *at++ = letters[made.cells[line * WIDTH + column]];
        *at++ = line ? '|' : '\0';
    }
    CHECK_MSG(!strcmp(text, expected), "%s: %s", name, text);
    map_free(&made);
}

static void test_cells(void)
{
    sheet bed;
    sheet_open(&bed);
    sheet_check(&bed, 8, 4000, "........|........|........|........", "all is free");
    sheet_block(&bed, 0, 1000, 1000, 0, RECORD_NEVER);
    sheet_block(&bed, 1000, 1000, 2000, 2, 5);
    sheet_check(&bed, 8, 4000, "........|..sss...|..111...|00000000", "two blocks, one with slack");
    sheet_block(&bed, 3000, 500, 500, 0, 1);
    sheet_block(&bed, 3500, 400, 400, 0, 1);
    sheet_check(&bed, 8, 4000, "x.......|..sss...|..111...|00000000", "two that are smaller than a cell fill one");
    bed.drawn.step_count = 3;
    bed.blocks[1].step = 3;
    sheet_check(&bed, 8, 4000, "x.......|..sss...|..333...|00000000", "with steps, colours are theirs");
    bed.blocks[1].step = 7;
    CHECK_INT(map_batch(&bed.drawn, &bed.blocks[1]), ==, 2);
    bed.blocks[1].step = 0;
    CHECK_INT(map_batch(&bed.drawn, &bed.blocks[1]), ==, 0);
}

static void test_holes(void)
{
    sheet bed;
    sheet_open(&bed);
    bed.drawn.change_count = 0;
    sheet_check(&bed, 8, 4000, "--------|--------|--------|--------", "nothing came");
    sheet_change(&bed, SIM_CALL_VM_MAP, 2, 1000, 2000);
    sheet_check(&bed, 8, 4000, "--------|--......|--......|--------", "two lines came");
    sheet_change(&bed, SIM_CALL_VM_UNMAP, 4, 1000, 1000);
    sheet_change(&bed, SIM_CALL_VM_MAP, 6, 1000, 1000);
    sheet_check(&bed, 8, 4000, "--------|--......|--..--..|--------", "one went, and came again");
    sheet_block(&bed, 0, 2000, 2000, 0, 1);
    sheet_check(&bed, 8, 4000, "--------|--......|0-..--..|0-------", "what is in use goes before");
}

static void test_scales(void)
{
    sheet bed;
    sheet_open(&bed);
    sheet_block(&bed, 0, 2000, 2000, 0, 4);
    sheet_check(&bed, 16, 8000, "        |        |....    |00..    ", "half as wide and high: the rest is nothing");
    bed.drawn.map_ops = 2;
    sheet_check(&bed, 8, 4000, "..      |..      |00      |00      ", "what was not recorded is nothing");
    bed.drawn.map_ops = 8;
    bed.drawn.axis_bytes = UINT64_C(4000) << 40;
    bed.changes[0].bytes = bed.drawn.axis_bytes;
    bed.blocks[0].bytes = bed.blocks[0].requested_bytes = UINT64_C(2000) << 40;
    sheet_check(&bed, 8, UINT64_C(4000) << 40, "........|........|0000....|0000....", "petabytes");
    bed.drawn.op_count = bed.drawn.map_ops = bed.drawn.most_ops = (uint64_t)1 << 25;
    bed.blocks[0].death_op = (uint64_t)1 << 24;
    sheet_check(&bed, (uint64_t)1 << 25, UINT64_C(4000) << 40, "........|........|0000....|0000....",
                "many operations");
    memset(&bed.drawn, 0, sizeof bed.drawn);
    sheet_check(&bed, 0, 0, "        |        |        |        ", "nothing at all");
}

static void count_cells(void *user, map_cell seen, unsigned x, unsigned y, unsigned width, unsigned height)
{
    unsigned *counts = user;
    counts[seen] += width * height;
    counts[MAP_NOTHING] += x + y > 1000;
    counts[MAP_NOTHING + 1]++;
}

/* Rectangles cover each cell once. */
static void test_walk(void)
{
    unsigned counts[MAP_NOTHING + 2] = { 0 }, cells[MAP_NOTHING + 1] = { 0 };
    unsigned char drawn[64 * 32];
    const map made = { 64, 32, drawn };
    uint64_t state = 1;
    for (size_t at = 0; at < sizeof drawn; at++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        drawn[at] = (unsigned char)((state >> 60) % 3 == 0 ? (state >> 40) % MAP_NOTHING : at % 64 / 16);
        cells[drawn[at]]++;
    }
    map_walk(&made, count_cells, counts);
    CHECK_MSG(!memcmp(counts, cells, MAP_NOTHING * sizeof *counts), "each cell in one rectangle of its kind");
    CHECK_MSG(counts[MAP_NOTHING + 1] < sizeof drawn, "%u rectangles for %zu cells", counts[MAP_NOTHING + 1],
              sizeof drawn);
}

int main(void)
{
    test_cells();
    test_holes();
    test_scales();
    test_walk();
    return tap_done();
}
