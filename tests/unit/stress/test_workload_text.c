/* Tests of what op streams are read and drawn with: slices, the map of ids, splitmix64.
   Knows nothing of families and formats. */
#include "stress/base/hash.h"
#include "stress/base/slice.h"
#include "stress/base/splitmix64.h"
#include "tap.h"

static slice part(const char *bytes, size_t length)
{
    slice whole = { bytes, length };
    return whole;
}

static void test_taking(void)
{
    slice rest = slice_of("a,,b,"), field;
    CHECK(slice_take(&rest, ',', &field) && slice_is(field, "a"));
    CHECK(slice_take(&rest, ',', &field) && slice_is(field, ""));
    CHECK(slice_take(&rest, ',', &field) && slice_is(field, "b"));
    CHECK(slice_take(&rest, ',', &field) && slice_is(field, ""));
    CHECK_MSG(!slice_take(&rest, ',', &field), "behind the last field there is nothing");
    rest = slice_of("");
    CHECK_MSG(slice_take(&rest, ',', &field) && field.length == 0 && !rest.bytes, "an empty text is one empty field");
}

static void test_decimal(void)
{
    static const char *const refused[] = {
        "", "-1", "+1", " 1", "1 ", "1.0", "0x1", "00", "01", "1e3", "18446744073709551616",
        "99999999999999999999", "x"
    };
    uint64_t number = 7;
    CHECK(slice_decimal(slice_of("0"), &number) && number == 0);
    CHECK(slice_decimal(slice_of("4294967296"), &number) && number == 4294967296u);
    CHECK(slice_decimal(slice_of("18446744073709551615"), &number) && number == UINT64_MAX);
    number = 7;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CHECK_MSG(!slice_decimal(slice_of(refused[i]), &number) && number == 7, "\"%s\" is no decimal number",
                  refused[i]);
    }
    CHECK_MSG(!slice_decimal(part("1\0", 2), &number), "nor is one with a NUL");
}

static void test_hexadecimal(void)
{
    static const char *const refused[] = { "", "0", "0x", "0X1", "x1", "0x1g", "0x-1", "0x10000000000000000" };
    uint64_t number = 7;
    CHECK(slice_hexadecimal(slice_of("0x0"), &number) && number == 0);
    CHECK(slice_hexadecimal(slice_of("0x7fAb000000c0"), &number) && number == 0x7fab000000c0u);
    CHECK(slice_hexadecimal(slice_of("0xffffffffffffffff"), &number) && number == UINT64_MAX);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CHECK_MSG(!slice_hexadecimal(slice_of(refused[i]), &number), "\"%s\" is no hexadecimal number", refused[i]);
    }
}

static void test_showing(void)
{
    char longest[200];
    memset(longest, 'y', sizeof longest);
    CHECK_STR(slice_show(slice_of("plain text")).text, "\"plain text\"");
    CHECK_STR(slice_show(slice_of("")).text, "\"\"");
    CHECK_STR(slice_show(part("a\0\n\"\\\x7f\xff", 7)).text, "\"a\\x00\\x0a\\x22\\x5c\\x7f\\xff\"");
    CHECK_INT(strlen(slice_show(part(longest, SLICE_SHOWN)).text), ==, SLICE_SHOWN + 2);
    CHECK_INT(strlen(slice_show(part(longest, sizeof longest)).text), ==, SLICE_SHOWN + 5);
    memset(longest, '\x01', sizeof longest);
    CHECK_INT(strlen(slice_show(part(longest, sizeof longest)).text), ==, SLICE_SHOWN + 5);
    memset(longest, 'y', 3);
    CHECK_MSG(strlen(slice_show(part(longest, sizeof longest)).text) < sizeof(slice_shown), "cut before an escape");
}

static void test_words(void)
{
    CHECK(slice_is_word(slice_of("step0")) && slice_is_word(slice_of("\xc3\xa4/b=c")));
    CHECK(!slice_is_word(slice_of("")) && !slice_is_word(slice_of("a b")) && !slice_is_word(slice_of("a\t")));
    CHECK(!slice_is_word(part("a\0", 2)) && !slice_is_word(slice_of("a\r")) && !slice_is_word(slice_of("\x7f")));
}

/* Ids far apart, ids in a row, and the two ends. */
static uint64_t id_number(uint64_t index)
{
    return index == 0 ? 0 : index == 1 ? UINT64_MAX : index % 2 ? index : index << 40;
}

static void test_map(void)
{
    enum { COUNT = 20000 };
    id_map map = { NULL, 0, 0 };
    int wrong = 0;
    CHECK_MSG(!id_map_find(&map, 0), "an empty map finds nothing");
    for (uint32_t i = 0; i < COUNT; i++) {
        id_entry *entry = id_map_add(&map, id_number(i));
        wrong += !entry || entry->state != ID_UNKNOWN;
        if (entry) {
            entry->state = i % 3 ? ID_LIVE : ID_FREED;
            entry->value = i;
        }
        wrong += map.count > map.capacity / 4 * 3;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const id_entry *entry = id_map_find(&map, id_number(i));
        wrong += !entry || entry->id != id_number(i) || entry->value != i;
        wrong += !entry || entry->state != (i % 3 ? ID_LIVE : ID_FREED);
        wrong += id_map_add(&map, id_number(i)) != entry;
        wrong += id_map_find(&map, id_number(i) + 2 * COUNT + 1) != NULL;
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_INT(map.count, ==, COUNT);
    id_map_free(&map);
    CHECK(!map.entries && map.count == 0);
}

/* From seed 1234567, as published with the generator and used in its ports. */
static void test_random(void)
{
    static const uint64_t expected[] = {
        6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u
    };
    uint64_t state = 1234567, counts[3] = { 0, 0, 0 }, low_count = 0, bound = UINT64_C(3) << 62;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CHECK_U64(splitmix64_next(&state), ==, expected[i]);
    }
    for (int i = 0; i < 30000; i++) {
        counts[splitmix64_below(&state, 3)]++;
    }
    CHECK_MSG(counts[0] > 9600 && counts[1] > 9600 && counts[2] > 9600, "below 3: all as often, within 4 sigma");
    for (int i = 0; i < 3000; i++) {
        low_count += splitmix64_below(&state, bound) < bound / 3 ? 1 : 0;
    }
    CHECK_MSG(low_count > 890 && low_count < 1110, "below 3 x 2^62: a third is in the lowest third, within 4 sigma");
    CHECK_U64(splitmix64_below(&state, 1), ==, 0);
}

int main(void)
{
    test_taking();
    test_decimal();
    test_hexadecimal();
    test_showing();
    test_words();
    test_map();
    test_random();
    return tap_done();
}
