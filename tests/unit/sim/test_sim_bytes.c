/* Real bytes of simulated memory, granule by granule and across them, against a shadow kept here; and their costs. It
   must not know how bytes are kept, but that patterns are kept beside them. */
#include "sim_device.h"

#include "stress/sim/devmem.h"

enum { SPACE = 5 << 20, POISON = GRANULE_POISON };

static unsigned char shadow[SPACE], buffer[SPACE];
static devmem memory;                            /* must not move */

/* Writes, fills, copies and reads of random ranges of one block of 5 MiB; all bytes are compared now and then. */
static void test_block_equals_a_shadow(void)
{
    enum { ROUNDS = 400 };
    uint64_t state = 3, wrong = 0;
    devmem_work work;
    devmem_init(&memory, 0, GIB(1), 0, GIB(8192), GIB(8192));
    uint64_t offset = devmem_obtain(&memory, SPACE, &work);
    CHECK(offset != 0);
    memset(shadow, POISON, sizeof shadow);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t choice = splitmix64_next(&state) % 6, from = splitmix64_next(&state) % SPACE;
        uint64_t bytes = 1 + (splitmix64_next(&state) >> (41 + splitmix64_next(&state) % 20)) % (SPACE - from);
        if (splitmix64_next(&state) % 4 == 0) from = from / MIB(2) * MIB(2);
        if (choice <= 1) {
            unsigned char value = (unsigned char)(splitmix64_next(&state) % 3 ? splitmix64_next(&state) : POISON);
            wrong += devmem_set(&memory, offset + from, bytes, value) != 0;
            memset(shadow + from, value, bytes);
        } else if (choice <= 3) {
            for (uint64_t i = 0; i < bytes; i++) buffer[i] = (unsigned char)(i * 31 + (uint64_t)round);
            wrong += devmem_write(&memory, offset + from, bytes, buffer) != 0;
            memcpy(shadow + from, buffer, bytes);
        } else if (choice == 4) {
            uint64_t to = splitmix64_next(&state) % SPACE;
            uint64_t apart = to > from ? to - from : from - to, room = SPACE - (to > from ? to : from);
            bytes = bytes < apart ? bytes : apart;
            bytes = bytes < room ? bytes : room;
            wrong += devmem_copy(&memory, offset + to, &memory, offset + from, bytes) != 0;
            memcpy(shadow + to, shadow + from, bytes);
        } else {
            devmem_read(&memory, offset + from, bytes, buffer);
            wrong += memcmp(buffer, shadow + from, bytes) != 0;
        }
        if (round % 20 == 0) {
            devmem_read(&memory, offset, SPACE, buffer);
            wrong += memcmp(buffer, shadow, SPACE) != 0;
        }
    }
    CHECK_U64(wrong, ==, 0);
    devmem_clear(&memory);
    CHECK_U64(memory.held_bytes, ==, 0);
    offset = devmem_obtain(&memory, SPACE, &work);
    CHECK(offset != 0);
    devmem_read(&memory, offset, SPACE, buffer);
    memset(shadow, POISON, sizeof shadow);
    CHECK_MSG(memcmp(buffer, shadow, SPACE) == 0, "what was given back comes again as poison");
    devmem_destroy(&memory);
}

/* A fill makes a pattern, a write makes bytes; a write makes the pattern of its range unknown. */
static void test_writes_forget_patterns(void)
{
    uint64_t bad_offset;
    devmem_work work;
    devmem_init(&memory, 0, GIB(1), 0, GIB(8192), GIB(8192));
    const uint64_t offset = devmem_obtain(&memory, MIB(6), &work);
    devmem_fill(&memory, offset, MIB(6), 77);
    CHECK_INT(devmem_write(&memory, offset + MIB(2) - 1, 2, "ab"), ==, 0);
    CHECK_INT(devmem_verify(&memory, offset, MIB(6), 77, &bad_offset), ==, 0);
    CHECK_U64(bad_offset, ==, MIB(2) - 1);
    CHECK_INT(devmem_verify(&memory, offset + MIB(2) + 1, MIB(4) - 1, 77, &bad_offset), ==, 1);
    CHECK_INT(devmem_set(&memory, offset + MIB(4), MIB(2), 0), ==, 0);
    CHECK_INT(devmem_verify(&memory, offset + MIB(2) + 1, MIB(4) - 1, 77, &bad_offset), ==, 0);
    CHECK_U64(bad_offset, ==, MIB(2) - 1);
    devmem_fill(&memory, offset, MIB(6), 78);
    CHECK_INT(devmem_verify(&memory, offset, MIB(6), 78, &bad_offset), ==, 1);
    devmem_read(&memory, offset + MIB(2) - 1, 2, buffer);
    CHECK_MSG(memcmp(buffer, "ab", 2) == 0, "a pattern leaves the bytes alone");
    devmem_destroy(&memory);
}

/* Eight bytes at a time, and the rest: every length, at every distance from a border, over a value that is not 0. */
static void test_every_length(void)
{
    uint64_t wrong = 0;
    devmem_work work;
    devmem_init(&memory, 0, GIB(1), 0, GIB(8192), GIB(8192));
    const uint64_t offset = devmem_obtain(&memory, MIB(2), &work);
    CHECK(offset != 0);
    for (uint64_t bytes = 1; bytes < 40; bytes++) {
        for (uint64_t at = 0; at < 9; at++) {
            for (uint64_t i = 0; i < bytes; i++) buffer[i] = (unsigned char)(i * 5 + bytes + at);
            wrong += devmem_set(&memory, offset, MIB(2), 0x5A) != 0;
            wrong += devmem_write(&memory, offset + at, bytes, buffer) != 0;
            memset(shadow, 0x5A, 64);
            memcpy(shadow + at, buffer, bytes);
            devmem_read(&memory, offset, 64, buffer);
            wrong += memcmp(buffer, shadow, 64) != 0;
        }
    }
    CHECK_U64(wrong, ==, 0);
    devmem_destroy(&memory);
}

static void test_even_granules_take_no_host_memory(void)
{
    devmem_work work;
    devmem_init(&memory, 0, GIB(4096), 0, GIB(8192), GIB(8192));
    const uint64_t offset = devmem_obtain(&memory, GIB(512), &work);
    CHECK(offset != 0);
    CHECK_INT(devmem_set(&memory, offset, GIB(512), 0), ==, 0);
    CHECK_INT(devmem_copy(&memory, offset, &memory, offset + GIB(256), GIB(256)), ==, 0);
    unsigned char value;
    uint64_t uneven = 0;
    const granule *all = memory.pages->granules;
    for (uint64_t i = 0; i < GIB(512) / MIB(2); i++) uneven += !granule_is_even(&all[i], &value) || value;
    CHECK_U64(uneven, ==, 0);
    memset(buffer, 7, sizeof buffer);
    CHECK_INT(devmem_write(&memory, offset + 1, MIB(2), buffer), ==, 0);
    CHECK_MSG(!granule_is_even(&all[0], &value) && !granule_is_even(&all[1], &value), "parts do");
    CHECK_INT(devmem_write(&memory, offset, MIB(4), buffer), ==, 0);
    CHECK_MSG(granule_is_even(&all[0], &value) && value == 7 && granule_is_even(&all[1], &value),
              "a write of one value all over gives it back");
    buffer[MIB(2) - 1] = 8;
    CHECK_INT(devmem_write(&memory, offset, MIB(2), buffer), ==, 0);
    CHECK_MSG(!granule_is_even(&all[0], &value), "the last byte counts");
    devmem_read(&memory, offset, MIB(2), shadow);
    CHECK(memcmp(shadow, buffer, MIB(2)) == 0);
    devmem_destroy(&memory);
}

int main(void)
{
    test_block_equals_a_shadow();
    test_writes_forget_patterns();
    test_every_length();
    test_even_granules_take_no_host_memory();
    return tap_done();
}
