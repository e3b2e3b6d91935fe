/* Which block is taken, and how much of it, by the published figures of allocators that do so; and buddies by hand.
   It must not know the implementation. "Source" names what those allocators document or test of themselves.
   Run: make test, or prove build/tests/test_shape. */
#include "arena_state.h"

enum { SLOTS = 1200 };

static fake_device device;
static gpuarena *arena;
static void *slots[SLOTS];

/* An arena by its text, on a device of its own. */
static void open_arena(const char *text)
{
    char message[256] = "";
    fake_open(&device, GIB(4));
    gpuarena_config config = fake_config(&device);
    if (gpuarena_config_parse(text, &config, message, sizeof message) || gpuarena_create(&config, &arena)) {
        printf("Bail out! %s: %s\n", text, message);
        exit(1);
    }
}

static void close_arena(void)
{
    char message[128];
    CHECK_MSG(gpuarena_check(arena, message, sizeof message) == GPUARENA_OK, "checked: %s", message);
    CHECK_INT(gpuarena_reset(arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_MSG(fake_close(&device), "nothing is left");
}

/* Into a slot. Returns what the block occupies; 0: refused. */
static uint64_t take(int slot, uint64_t bytes)
{
    gpuarena_block block;
    if (gpuarena_alloc(arena, &slots[slot], bytes, NULL) != GPUARENA_OK
        || gpuarena_lookup(arena, slots[slot], &block) != GPUARENA_OK) return 0;
    return block.bytes;
}

static void drop(int slot)
{
    if (gpuarena_free(arena, slots[slot], NULL) != GPUARENA_OK) CHECK_MSG(0, "free of slot %d", slot);
}

static gpuarena_stats stats_now(void)
{
    gpuarena_stats stats;
    gpuarena_walk_stats(arena, &stats);
    return stats;
}

/* ---- PyTorch */

#define PYTORCH "alignment=512,placement=best,small=1M,split=remainder,split_least=1049088,growth="

/* Source: PyTorch, round_size and test_allocator_settings: 1,200 B with 4 divisions is 1,536; 4 MiB + 1 is 5 MiB. */
static void test_divisions(void)
{
    static const struct { const char *divisions; uint64_t bytes, taken; } rows[] = {
        { "0", 1, 512 }, { "0", 513, 1024 }, { "0", 1200, 1536 }, { "0", 4194305, 4194816 },
        { "4", 1200, 1536 }, { "4", 2048, 2048 }, { "4", 2049, 2560 }, { "4", 5000, 5120 }, { "4", 6000, 6144 },
        { "4", 4194304, 4194304 }, { "4", 4194305, 5242880 }, { "4", 5242881, 6291456 }, { "4", 7340033, 8388608 },
        { "8", 4194305, 4718592 }, { "8", 4097, 4608 }, { "2", 4194305, 6291456 }, { "1", 4194305, 4194816 },
        { "1/2M:4/8M:2", 1048577, 1049088 }, { "1/2M:4/8M:2", 2097153, 2621440 }, { "1/2M:4/8M:2", 8388607, 8388608 },
        { "1/2M:4/8M:2", 8388609, 12582912 }, { "1/2M:4/8M:2", 33554433, 50331648 }, { "4/4M:1", 4194305, 4194816 },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        char text[96];
        snprintf(text, sizeof text, "alignment=512,placement=best,growth=exact,round_divisions=%s",
                 rows[row].divisions);
        open_arena(text);
        CHECK_MSG(take(0, rows[row].bytes) == rows[row].taken, "%s: %" PRIu64 " B take %" PRIu64, rows[row].divisions,
                  rows[row].bytes, rows[row].taken);
        close_arena();
    }
}

/* Source: PyTorch, test_graph_memory_stats_and_use_result_after_destroy_graph: three live blocks of a size. */
static void test_segments_of_small(void)
{
    static const struct { uint64_t bytes, segments, reserved; } rows[] = {
        { 512, 1, MIB(2) }, { MIB(1), 2, MIB(4) }, { MIB(1) + 512, 1, MIB(20) }, { MIB(10) - 512, 2, MIB(40) },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        open_arena(PYTORCH "step,step=20M");
        for (int slot = 0; slot < 3; slot++) CHECK_U64(take(slot, rows[row].bytes), >=, rows[row].bytes);
        CHECK_U64(stats_now().slack_bytes, ==, row == 3 ? 1024 : 0);     /* the rest behind two of 10 MiB - 512 */
        CHECK_U64(device.range_count, ==, rows[row].segments);
        CHECK_U64(device.held_bytes, ==, rows[row].reserved);
        close_arena();
    }
}

/* Kinds never mix, though there is room: neither way. */
static void test_kinds(void)
{
    open_arena(PYTORCH "step,step=20M");
    CHECK_U64(take(0, MIB(4)), ==, MIB(4));
    CHECK_U64(device.held_bytes, ==, MIB(20));
    CHECK_U64(take(1, MIB(1)), ==, MIB(1));
    CHECK_U64(device.held_bytes, ==, MIB(22));
    CHECK_U64(take(2, 512 * 1024 + 1), ==, 512 * 1024 + 512);
    CHECK_U64(device.held_bytes, ==, MIB(22));
    drop(1);
    drop(2);
    CHECK_U64(stats_now().largest_free_bytes, ==, MIB(16));
    CHECK_U64(take(3, MIB(1) + 1), ==, MIB(1) + 512);
    CHECK_U64(device.held_bytes, ==, MIB(22));
    CHECK_U64(take(4, MIB(14) - 512), ==, MIB(15) - 512);    /* what remains, 1 MiB, is not split off */
    CHECK_U64(stats_now().largest_free_bytes, ==, MIB(1));   /* a small one's */
    CHECK_U64(take(5, MIB(2)), ==, MIB(2));
    CHECK_U64(device.held_bytes, ==, MIB(42));
    close_arena();
}

/* Source: PyTorch: 8 x 16 MiB, all freed, then 4 x 32 MiB: 256 MiB reserved; the other order: 128. */
static void test_order(void)
{
    static const uint64_t sizes[2][2] = { { MIB(16), MIB(32) }, { MIB(32), MIB(16) } };
    for (int row = 0; row < 2; row++) {
        open_arena(PYTORCH "exact");
        for (int phase = 0; phase < 2; phase++) {
            int count = (int)(MIB(128) / sizes[row][phase]);
            for (int slot = 0; slot < count; slot++) CHECK_U64(take(slot, sizes[row][phase]), ==, sizes[row][phase]);
            for (int slot = 0; slot < count; slot++) drop(slot);
        }
        CHECK_U64(device.held_bytes, ==, row ? MIB(128) : MIB(256));
        close_arena();
    }
}

/* Source: PyTorch: a large block is split if more than 1 MiB would remain; a small one's always. */
static void test_remainder(void)
{
    open_arena(PYTORCH "step,step=20M");
    CHECK_U64(take(0, MIB(19)), ==, MIB(20));
    drop(0);
    CHECK_U64(take(0, MIB(19) - 512), ==, MIB(19) - 512);
    CHECK_U64(stats_now().slack_bytes, ==, 0);
    CHECK_U64(take(1, MIB(1) - 512), ==, MIB(1) - 512);
    CHECK_U64(take(2, MIB(1)), ==, MIB(1));
    CHECK_U64(take(3, 512), ==, 512);
    CHECK_U64(device.held_bytes, ==, MIB(22));
    close_arena();
}

/* Source: PyTorch, max_split_size: requests below do not take blocks of it, which serve those within
   20 MiB, whole. */
static void test_split_max(void)
{
    open_arena("placement=best,growth=exact,split_max=20M");
    CHECK_U64(take(0, MIB(64)), ==, MIB(64));
    drop(0);
    CHECK_U64(take(1, MIB(10)), ==, MIB(10));
    CHECK_U64(device.held_bytes, ==, MIB(74));
    CHECK_U64(take(2, MIB(44)), ==, MIB(44));                /* 20 MiB smaller: no */
    CHECK_U64(device.held_bytes, ==, MIB(118));
    CHECK_U64(take(3, MIB(44) + 256), ==, MIB(64));
    CHECK_U64(device.held_bytes, ==, MIB(118));
    CHECK_U64(stats_now().slack_bytes, ==, MIB(20) - 256);
    close_arena();
}

/* ---- BFC and its kin */

#define BFC "placement=best,split=ratio,"

/* Source: BFC: split iff the chunk is twice the request, or the rest 128 MiB: a hole of 255 MiB keeps 127 dead. */
static void test_ratio(void)
{
    open_arena(BFC "growth=exact");
    CHECK_U64(take(0, MIB(1) + 256), ==, MIB(2));            /* a granule: not twice as large */
    drop(0);
    CHECK_U64(take(0, MIB(1)), ==, MIB(1));
    CHECK_U64(take(1, MIB(256)), ==, MIB(256));
    drop(1);
    CHECK_U64(take(1, MIB(128) + 256), ==, MIB(256));
    drop(1);
    CHECK_U64(take(1, MIB(128)), ==, MIB(128));
    CHECK_U64(take(2, MIB(300)), ==, MIB(300));
    drop(2);
    CHECK_U64(take(2, MIB(172)), ==, MIB(172));              /* 128 MiB remain: cut */
    CHECK_U64(take(3, MIB(65)), ==, MIB(128));
    CHECK_U64(device.held_bytes, ==, MIB(558));
    close_arena();
    open_arena(BFC "growth=fixed,limit=256M");
    CHECK_U64(take(0, MIB(1)), ==, MIB(1));
    CHECK_U64(take(1, MIB(128)), ==, MIB(255));
    CHECK_U64(stats_now().slack_bytes, ==, MIB(127));
    close_arena();
}

/* Source: BFC, its test NoDups: sizes 1 to 1,023: 654,336 bytes in use; then none, the peak kept. */
static void test_no_dups(void)
{
    open_arena(BFC "growth=double");
    for (int slot = 0; slot < 1023; slot++) (void)take(slot, (uint64_t)slot + 1);
    CHECK_U64(stats_now().live_bytes, ==, 654336);
    CHECK_U64(stats_now().live_count, ==, 1023);
    for (int slot = 0; slot < 1023; slot++) drop(slot);
    CHECK_U64(stats_now().live_bytes, ==, 0);
    CHECK_U64(stats_now().live_peak_bytes, ==, 654336);
    CHECK_U64(device.held_bytes, ==, MIB(2));
    close_arena();
}

/* Source: BFC, its test of coalescing: a fixed region, rounds of four sizes, all freed: 50,352,128 at most, and 4 KiB
   lie where the very first did. */
static void test_coalescing(void)
{
    static const uint64_t sizes[] = { KIB(4), MIB(8), KIB(16), MIB(40) };
    open_arena(BFC "growth=fixed,limit=1G");
    CHECK_U64(take(0, KIB(4)), ==, KIB(4));
    const void *first = slots[0];
    drop(0);
    for (int round = 0; round < 1024; round++) {
        for (int slot = 0; slot < 4; slot++) (void)take(slot, sizes[slot]);
        for (int slot = 0; slot < 4; slot++) drop(slot);
    }
    CHECK_U64(stats_now().alloc_count, ==, 4097);
    CHECK_U64(stats_now().live_peak_bytes, ==, 50352128);
    CHECK_U64(take(0, KIB(4)), ==, KIB(4));
    CHECK_MSG(slots[0] == first, "at the very first address");
    close_arena();
}

/* Source: ORT, max_dead_bytes_per_chunk: the same rule, with the cap of the configuration. Source: RMM: always. */
static void test_caps(void)
{
    open_arena(BFC "split_least=64K,growth=step,step=2M");
    CHECK_U64(take(0, MIB(2) - KIB(64)), ==, MIB(2) - KIB(64));
    CHECK_U64(take(1, MIB(2) - KIB(64) + 256), ==, MIB(2));
    close_arena();
    open_arena("placement=best,growth=step,step=2M");
    CHECK_U64(take(0, MIB(2) - 256), ==, MIB(2) - 256);
    CHECK_U64(take(1, 256), ==, 256);
    CHECK_U64(device.held_bytes, ==, MIB(2));
    close_arena();
}

/* ---- CUB */

/* Source: CUB: bins of 8^3 to 8^7 bytes: 32 KiB + 1 takes 256 KiB; above the largest nothing is kept. */
static void test_bins(void)
{
    static const uint64_t rows[][2] = { { 1, 512 }, { 512, 512 }, { 513, KIB(4) }, { KIB(4) + 1, KIB(32) },
        { KIB(32) + 1, KIB(256) }, { KIB(256) + 1, MIB(2) }, { MIB(2), MIB(2) }, { MIB(2) + 1, MIB(4) } };
    open_arena("placement=bins,growth=exact");
    for (int row = 0; row < 8; row++) CHECK_U64(take(row, rows[row][0]), ==, rows[row][1]);
    CHECK_U64(device.held_bytes, ==, MIB(10));
    drop(7);
    CHECK_U64(device.held_bytes, ==, MIB(6));
    for (int row = 0; row < 7; row++) drop(row);
    CHECK_U64(device.held_bytes, ==, MIB(6));
    for (int row = 0; row < 7; row++) CHECK_U64(take(row, rows[row][0]), ==, rows[row][1]);
    CHECK_U64(device.held_bytes, ==, MIB(6));
    CHECK_U64(take(8, MIB(1)), ==, MIB(2));
    CHECK_U64(device.held_bytes, ==, MIB(8));
    drop(6);
    CHECK_U64(take(9, MIB(4)), ==, MIB(4));                  /* not of a bin's, though it is free */
    CHECK_U64(take(10, 300), ==, 512);                       /* of what was no block yet, not of the 2 MiB */
    CHECK_U64(device.held_bytes, ==, MIB(12));
    close_arena();
    open_arena("placement=bins,bin_growth=2,bin_min=4K,bin_max=16K");
    CHECK_U64(take(0, 1), ==, KIB(4));
    CHECK_U64(take(1, KIB(8) + 1), ==, KIB(16));
    CHECK_U64(take(2, KIB(16) + 1), ==, MIB(2));
    close_arena();
}

/* Blocks of a bin serve no other: neither split, nor joined, though the limit is near; whole segments go back. */
static void test_bins_apart(void)
{
    gpuarena_failure failure;
    open_arena("placement=bins,growth=exact,limit=2M");
    for (int slot = 0; slot < 8; slot++) CHECK_U64(take(slot, KIB(256)), ==, KIB(256));
    for (int slot = 1; slot < 8; slot++) drop(slot);
    CHECK_U64(stats_now().largest_free_bytes, ==, KIB(256));
    CHECK_U64(take(8, MIB(2)), ==, 0);
    CHECK_U64(take(8, 512), ==, 0);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_FRAGMENTED);
    CHECK_U64(failure.missing_bytes, ==, 512);
    drop(0);
    CHECK_U64(take(8, MIB(2)), ==, MIB(2));
    CHECK_U64(stats_now().release_count, ==, 1);
    close_arena();
}

/* ---- buddies */

static void test_buddies(void)
{
    open_arena("placement=buddy,growth=exact");
    CHECK_U64(take(0, KIB(512) - 1), ==, KIB(512));
    for (int slot = 1; slot < 4; slot++) CHECK_U64(take(slot, KIB(512)), ==, KIB(512));
    CHECK_U64(device.held_bytes, ==, MIB(2));
    drop(1);
    drop(2);                                     /* neighbours, and no buddies */
    CHECK_U64(stats_now().largest_free_bytes, ==, KIB(512));
    drop(0);
    CHECK_U64(stats_now().largest_free_bytes, ==, MIB(1));
    drop(3);
    CHECK_U64(stats_now().largest_free_bytes, ==, MIB(2));
    CHECK_U64(take(0, 257), ==, 512);
    CHECK_U64(stats_now().largest_free_bytes, ==, MIB(1));
    CHECK_U64(take(1, MIB(3)), ==, MIB(4));
    CHECK_U64(device.held_bytes, ==, MIB(6));
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = 256;
    request.alignment_bytes = KIB(64);
    CHECK_INT(gpuarena_alloc_ex(arena, &slots[2], &request), ==, GPUARENA_OK);
    CHECK_MSG(fake_address(slots[2]) % KIB(64) == 0, "aligned above its size");
    CHECK_U64(device.held_bytes, ==, MIB(6));
    close_arena();
    open_arena("placement=buddy,limit=14M,initial=14M");     /* segments are powers of two, too */
    CHECK_U64(device.range_count, ==, 3);
    CHECK_U64(stats_now().largest_free_bytes, ==, MIB(8));
    close_arena();
}

/* Many halves at once, of blocks that have no smaller ones beside them: records for all are made in time. */
static void test_halving(void)
{
    int slot = 0;
    open_arena("placement=buddy,growth=step,step=64M");
    for (int segment = 1; segment <= 60; segment++) {
        for (int half = 0; half < 19; half++, slot++) (void)take(slot, half ? (uint64_t)128 << half : 256);
        CHECK_U64(device.held_bytes, ==, MIB(64) * (uint64_t)segment);
    }
    CHECK_U64(stats_now().cached_bytes, ==, 0);
    while (slot) drop(--slot);
    CHECK_U64(stats_now().largest_free_bytes, ==, MIB(64));
    close_arena();
}

/* In place: what is rounded up is there to grow into, and nothing else; a small one stays small. */
static void test_resize(void)
{
    open_arena("placement=buddy");
    CHECK_U64(take(0, 5000), ==, 8192);
    CHECK_INT(gpuarena_resize(arena, slots[0], 8192, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(arena, slots[0], 8193, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_resize(arena, slots[0], 1, NULL), ==, GPUARENA_OK);
    CHECK_U64(stats_now().slack_bytes, ==, 8191);
    close_arena();
    open_arena("placement=best,small=64K");
    CHECK_U64(take(0, KIB(32)), ==, KIB(32));
    CHECK_INT(gpuarena_resize(arena, slots[0], KIB(64), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(arena, slots[0], KIB(64) + 1, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(stats_now().live_bytes, ==, KIB(64));
    close_arena();
    open_arena(BFC "growth=exact");
    CHECK_U64(take(0, MIB(2)), ==, MIB(2));
    CHECK_INT(gpuarena_resize(arena, slots[0], MIB(1) + 256, NULL), ==, GPUARENA_OK);
    CHECK_U64(stats_now().live_bytes, ==, MIB(2));
    CHECK_INT(gpuarena_resize(arena, slots[0], MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_U64(stats_now().live_bytes, ==, MIB(1));
    close_arena();
}

int main(void)
{
    test_divisions();
    test_segments_of_small();
    test_kinds();
    test_order();
    test_remainder();
    test_split_max();
    test_ratio();
    test_no_dups();
    test_coalescing();
    test_caps();
    test_bins();
    test_bins_apart();
    test_buddies();
    test_halving();
    test_resize();
    return tap_done();
}
