/* Sections >>bits and >>bins of the header, from inside: roundings at every edge, every size class at both edges, and
   the promise of digests. It must not know allocation: bins are fed nodes that lie in no segment. */
#include "section.h"

static fake_device device;

static gpuarena *open_arena(void)
{
    gpuarena *arena = NULL;
    fake_open(&device, (uint64_t)1 << 40);
    gpuarena_config config = fake_config(&device);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    return arena;
}

static void test_rounding(void)
{
    uint64_t rounded = 77;
    int wrong = 0;
    for (int power = 0; power < 64; power++) {
        uint64_t unit = (uint64_t)1 << power;
        wrong += !gpuarena__round_up(0, unit, &rounded) || rounded != 0;
        wrong += !gpuarena__round_up(1, unit, &rounded) || rounded != unit;
        wrong += !gpuarena__round_up(unit, unit, &rounded) || rounded != unit;
        uint64_t last = UINT64_MAX - (unit - 1);             /* the largest multiple */
        wrong += !gpuarena__round_up(last, unit, &rounded) || rounded != last;
        rounded = 77;
        if (power) wrong += gpuarena__round_up(last + 1, unit, &rounded) || rounded != 77;
        wrong += gpuarena__round_down(unit + unit / 2, unit) != (power ? unit : 1);
        wrong += gpuarena__highest_bit(unit) != (uint32_t)power || gpuarena__lowest_bit(unit) != (uint32_t)power;
        wrong += gpuarena__highest_bit(unit | 1) != (uint32_t)power || gpuarena__lowest_bit(UINT64_MAX - (unit - 1))
            != (uint32_t)power;
        wrong += !gpuarena__is_power_of_two(unit) || (power > 1 && gpuarena__is_power_of_two(unit + 1));
    }
    CHECK_MSG(wrong == 0, "round up, round down, bits, for all 64 powers of two: %d wrong", wrong);
    CHECK(!gpuarena__is_power_of_two(0));
}

static const char *bytes_text(uint64_t bytes)
{
    static char text[64];
    gpuarena__text out = gpuarena__text_begin(text, sizeof text);
    gpuarena__put_bytes(&out, bytes);
    return text;
}

static void test_text(void)
{
    char text[8];
    gpuarena__text out = gpuarena__text_begin(text, sizeof text);
    CHECK_STR(bytes_text(0), "0 bytes");
    CHECK_STR(bytes_text(1023), "1023 bytes");
    CHECK_STR(bytes_text(1024), "1024 bytes (1.00 KiB)");
    CHECK_STR(bytes_text(1610612736), "1610612736 bytes (1.50 GiB)");
    CHECK_STR(bytes_text(UINT64_MAX), "18446744073709551615 bytes (15.99 EiB)");
    gpuarena__put(&out, "%s", "twelve bytes");
    CHECK_STR(text, "twelve ");
    gpuarena__put(&out, "%d", 12);
    CHECK_INT(out.length, ==, 14);
    CHECK_STR(text, "twelve ");
}

/* The smallest size of a class, by the definition: a leading one, three bits, zeros. 0: below one unit of 256. */
static uint64_t class_bytes(uint32_t number)
{
    uint64_t units = 8 + number % 8;
    uint32_t octave = number / 8;
    units = octave >= 3 ? units << (octave - 3) : units % ((uint64_t)1 << (3 - octave)) ? 0 : units >> (3 - octave);
    return units * 256;
}

static void test_classes(void)
{
    int wrong = 0, used = 0;
    uint32_t before = 0;
    for (uint32_t number = 0; number < SECTION_CLASSES; number++) {
        uint64_t bytes = class_bytes(number);
        if (!bytes) continue;                    /* sizes below 8 units leave classes unused */
        wrong += gpuarena__bin_of(bytes).number != number || gpuarena__bin_of(bytes).digest != 1;
        if (used++) wrong += gpuarena__bin_of(bytes - 256).number != before;
        before = number;
    }
    CHECK_MSG(wrong == 0, "%d classes, both edges: %d wrong", used, wrong);
    CHECK_INT(gpuarena__bin_of(SECTION_MAX_BYTES * 2 - 256).number, ==, SECTION_CLASSES - 1);
}

/* What the search relies on: in one class, a digest that is as large means a size that is as large. */
static void test_digests(void)
{
    int wrong = 0, lost = 0;
    for (int round = 0; round < 1000000; round++) {
        uint64_t bytes = (section_draw() >> (15 + section_draw() % 40)) / 256 * 256 + 256;
        gpuarena__bin class = gpuarena__bin_of(bytes);
        uint64_t low = class_bytes(class.number), block = low + section_draw() % (low / 8 + 256) / 256 * 256;
        if (gpuarena__bin_of(block).number != class.number) continue;
        gpuarena__bin request = gpuarena__bin_of_request(bytes), held = gpuarena__bin_of(block);
        wrong += request.number != class.number || request.digest < 1 || request.digest > 65 || held.digest > 64;
        wrong += held.digest >= request.digest && block < bytes;
        lost += held.digest < request.digest && block >= bytes + low / 256;  /* missed though clearly larger */
    }
    CHECK_MSG(wrong == 0, "digests never promise too much: %d wrong", wrong);
    CHECK_MSG(lost == 0, "and miss by at most 1/256 of a size: %d wrong", lost);
}

/* Nodes by hand: in the bins alone. */
static uint32_t node_make(gpuarena *arena, uint64_t bytes)
{
    CHECK(gpuarena__nodes_reserve(arena, 1));
    uint32_t index = arena->nodes.unused.first;
    (void)gpuarena__node_take(arena, &arena->nodes.unused);
    gpuarena__node_at(arena, index)->size = bytes;
    return index;
}

static int bins_sound(const gpuarena *arena, uint64_t count)
{
    gpuarena__audit audit = GPUARENA_INIT;
    char message[100];
    gpuarena__text out = gpuarena__text_begin(message, sizeof message);
    audit.arena = arena;
    audit.out = &out;
    audit.node_count = (uint64_t)arena->nodes.chunk_count * SECTION_CHUNK;
    audit.free_count = count;
    if (gpuarena__check_bins(&audit) && gpuarena__check_streams(&audit) && gpuarena__check_known(&audit)) return 1;
    printf("# %s\n", message);
    return 0;
}

/* 100 blocks of one class: 8 in slots, the others listed; removed in a drawn order, each found until it is gone. */
static void test_overflow(void)
{
    gpuarena *arena = open_arena();
    uint32_t nodes[100];
    int wrong = 0;
    for (uint32_t made = 0; made < 100; made++) {
        nodes[made] = node_make(arena, 65536 + 256 * (made % 8));
        gpuarena__bins_insert(arena, &arena->bins, nodes[made]);
        wrong += !bins_sound(arena, made + 1);
    }
    for (uint32_t left = 100; left > 0; left--) {
        uint32_t chosen = (uint32_t)(section_draw() % left);
        wrong += gpuarena__bin_search(&arena->bins, 65536) == 0;
        gpuarena__bins_remove(arena, &arena->bins, nodes[chosen]);
        gpuarena__node_drop(&arena->nodes.unused, nodes[chosen], gpuarena__node_at(arena, nodes[chosen]));
        nodes[chosen] = nodes[left - 1];
        wrong += !bins_sound(arena, left - 1);
    }
    CHECK_MSG(wrong == 0, "100 blocks of one class in and out: %d wrong", wrong);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 256), ==, 0);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* The longest block may be in a class's list: it counts too. */
static void test_largest(void)
{
    gpuarena *arena = open_arena();
    uint32_t nodes[12];
    int wrong = 0;
    for (uint32_t made = 0; made < 12; made++) {
        nodes[made] = node_make(arena, 65536 + 256 * (uint64_t)made);
        gpuarena__bins_insert(arena, &arena->bins, nodes[made]);
        wrong += gpuarena__largest_free(arena) != 65536 + 256 * (uint64_t)made;
    }
    for (uint32_t left = 12; left > 0; left--) {
        wrong += gpuarena__largest_free(arena) != 65536 + 256 * (uint64_t)(left - 1);
        gpuarena__bins_remove(arena, &arena->bins, nodes[left - 1]);
        gpuarena__node_drop(&arena->nodes.unused, nodes[left - 1], gpuarena__node_at(arena, nodes[left - 1]));
    }
    CHECK_MSG(wrong == 0 && gpuarena__largest_free(arena) == 0, "the longest of 12 in one class: %d wrong", wrong);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

static void test_search(void)
{
    gpuarena *arena = open_arena();
    uint32_t large = node_make(arena, 1 << 20), tight = node_make(arena, 70144), loose = node_make(arena, 73216);
    gpuarena__bins_insert(arena, &arena->bins, large);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 69888), ==, large);
    gpuarena__bins_insert(arena, &arena->bins, loose);
    gpuarena__bins_insert(arena, &arena->bins, tight);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 69888), ==, tight);         /* of its own class the tightest */
    CHECK_INT(gpuarena__bin_search(&arena->bins, 71168), ==, loose);
    CHECK_INT(gpuarena__bin_search(&arena->bins, 1 << 20), ==, large);       /* an exact fit */
    CHECK_INT(gpuarena__bin_search(&arena->bins, (1 << 20) + 256), ==, 0);
    CHECK_INT(gpuarena__bin_search(&arena->bins, SECTION_MAX_BYTES), ==, 0);
    for (uint32_t which = 0; which < 3; which++) {
        uint32_t index = which == 0 ? large : which == 1 ? tight : loose;
        gpuarena__bins_remove(arena, &arena->bins, index);
        gpuarena__node_drop(&arena->nodes.unused, index, gpuarena__node_at(arena, index));
    }
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

int main(void)
{
    test_rounding();
    test_text();
    test_classes();
    test_digests();
    test_overflow();
    test_largest();
    test_search();
    return tap_done();
}
