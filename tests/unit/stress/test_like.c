/* The models of other allocators against what is known of these: numbers of their own tests and papers, as programs
   of takes and frees, and for four of them a reference of their rules, which random operations must find alike.
   It must not know the implementation. Each program names the paragraph of allocators.md that it stands on.
   What the libraries reserve themselves: test_golden_peaks.c; CUB itself, call by call: test_like_cub_library.c */
#include "like.h"

/* Words of a program, on blocks that are numbered as they are taken:
     8x16M  so many blocks of this size     16M  one        0  nothing: no block      !16M  refused
     -      free all      -3  that block     -3..  it and all behind it      -3..5  from it to that one
     &3     the newest block lies where block 3 lay           after:1M  .. that far behind the one before it
     @1     from now on on this stream      use:3  block 3 is used on it     trim
     =140M  held from the driver            live: free: slack: pending:      of the model, in bytes
     calls:3  of the driver so far          largest:252M  free in one piece at the last refusal */
static const like_program programs[] = {
    /* ---- bfc: TensorFlow's and JAX's */
    { "bfc", 0, "", "A6.1: sizes 1 to 1,023", "1..1023 live:654336 - live:0 =2M" },
    { "bfc", 0, "", "A6.3: one region, everything freed in each round",
      "1G - 4K - 4K 8M 16K 40M live:50352128 - live:0 4K 8M 16K 40M live:50352128 - =1G 4K &1" },
    { "bfc:limit=512M", 0, "", "A1.10, A6.11: the wall between regions, where pages have none",
      "128x4M calls:8 =512M -0..126 !508M =512M free:508M largest:252M -127 508M" },
    { "bfc:limit=2046M", 0, "", "A1.7: growth while 1,100 blocks live", "1100x1M calls:10 =2046M" },
    { "bfc:limit=256M", 0, "", "A1.4: a hole of 255 MiB is given whole for 128 MiB, and cut for 127 MiB",
      "256M - 1M 127M slack:0 -2 128M live:256M slack:127M !1" },
    { "bfc:limit=2M", 0, "", "A6.4 to A6.6: nothing, 4 bytes, above the limit, and smaller ones again",
      "0 4 live:256 !8M 256 !18446744073709551615" },
    { "bfc", 0, "obtain>100M", "A1.8: a driver that refuses is asked for less, down to the request",
      "64M calls:1 60M calls:2 =128M 70M calls:6 =232062720 !101M" },
    /* ---- ort: ONNX Runtime's arena, BFC but for its regions */
    { "ort:limit=127M", 0, "", "nothing goes back before it fails; a trim gives back what is empty",
      "100x1M =127M -1.. !65M trim =1M 65M" },
    { "ort:limit=18446744073709551614", 0, "room:64G", "A6.7, [OT]: a limit next to what a size can be",
      "!18446744073709551614 3G =4G 1073741825 =6G" },
    { "ort", 0, "room:64G", "A4, arena_extend_strategy: kNextPowerOfTwo, of shapes that rise",
      "64M 32M - 71M 35M - 106M 53M - 204M 102M - 302M 151M - 407M 203M - =1G calls:5" },
    /* ---- pytorch: its native caching allocator */
    { "pytorch", 0, "", "B7, [G]: sizes that double", "8x16M - 4x32M =256M" },
    { "pytorch", 0, "", "B7, [G]: sizes that halve", "4x32M - 8x16M =128M" },
    { "pytorch", 0, "", "B6, test_graph_memory_stats: segments for three live blocks", "3x512 =2M" },
    { "pytorch", 0, "", "B6: 1 MiB", "3x1M =4M" },
    { "pytorch", 0, "", "B6: above 1 MiB", "3x1049088 =20M" },
    { "pytorch", 0, "", "B6: below 10 MiB", "3x10485248 =40M" },
    { "pytorch", 0, "", "B6: above 10 MiB", "3x10486272 =36M" },
    { "pytorch", 0, "", "B1, Split: 1 MiB and less stays with a large block; a small one keeps nothing",
      "2x9961472 =20M slack:1M - 1048575 slack:1 =22M" },
    { "pytorch:limit=120M", 0, "", "B1, Miss chain 7; B6, test_out_of_memory_retry: what is cached goes back first",
      "5x20M 2x1M !60M =102M - =102M 120M" },
    { "pytorch:limit=500M", 0, "", "B6, test_set_per_process_memory_fraction", "!502M 500M" },
    { "pytorch:limit=20M", 0, "", "B1, Streams: what another stream used comes back by an event, before a failure",
      "20M @1 use:0 -0 pending:20M 20M calls:3" },
    { "pytorch", 0, "", "B6, test_memory_stats, test_out_of_memory",
      "1000 live:1024 !1152921504606846976 1 live:1536 - live:0" },
    /* ---- pytorch-expandable */
    { "pytorch-expandable", 8, "", "B1, Expandable, and B7, [G]: pages of 20 MiB", "8x16M =140M - 4x32M =140M" },
    { "pytorch-expandable", 8, "", "the other order", "4x32M =140M - 8x16M =140M" },
    { "pytorch-expandable", 8, "", "B1, Expandable: two kinds of pages; a block may begin in what is free at the end",
      "1M =2M 18M =22M 1M =22M 22M =42M 17M =62M 2M =62M 100M =162M 1M =164M - =164M" },
    { "pytorch-expandable:limit=30M", 8, "", "B1, Weak spots (a): whole pages may pass the limit", "22M =40M 8M !1" },
    { "pytorch-expandable:limit=100M", 8, "", "B1, Miss chain 7: idle pages are unmapped before a request fails",
      "5x20M -2 -0 =100M 40M =100M - 100M =100M" },
    { "pytorch-expandable:limit=120M", 8, "", "B6, test_max_split_expandable", "6x19M !40M - 120M" },
    { "pytorch-expandable:limit=520M", 8, "", "no wall, as bfc has one", "128x4M -0..126 508M" },
    /* ---- plain ranges */
    { "best-fit:limit=512M", 8, "", "nor here", "128x4M -0..126 508M" },
    { "first-fit:limit=512M", 8, "", "nor here", "128x4M -0..126 508M" },
    { "best-fit:limit=64M", 8, "", "the tightest hole; growth at the end alone",
      "3M 1M 2M 1M =8M -2 -0 2M &2 !60M 56M =64M" },
    { "first-fit:limit=64M", 8, "", "the lowest hole", "3M 1M 2M 1M =8M -2 -0 2M &0 !60M 56M =64M" },
    /* ---- rmm's pool, and its arena */
    { "rmm:limit=64M", 0, "room:1G", "C1, Growth with a cap: half of what remains", "64x1M calls:7 =64M !1" },
    { "rmm:limit=64M", 0, "room:1G", "C1: a request above half of what remains", "40M 20M 4M calls:3 =64M" },
    { "rmm", 0, "room:6000", "C4, 5: the driver below has 6,000 bytes", "1000 4000 500 calls:6 !2000" },
    { "rmm:limit=8192", 0, "room:6000", "C4, 5: .. with a cap of 8,192", "1000 !4000 500 2000" },
    { "rmm:limit=64M", 0, "room:1G", "C1, Growth: under a cap what is idle and whole goes back before it fails",
      "2x30M - =62M calls:2 64M calls:5 !1" },
    { "rmm", 0, "room:1G", "C1, Alloc order: another stream's block, then what lists merged make, then the driver",
      "@1 4M @2 4M @1 -0 @2 4M &0 calls:2 @1 8M calls:3 2M =32M" },
    { "rmm", 0, "room:2G", "C4, 1, 2 and 4: nothing, a petabyte, and sizes", "0 !1125899906842624 4 1K 1M 1G -" },
    { "rmm", 0, "room:1G", "C4: two buffers of a quarter of the device", "2x250M" },
    { "rmm-arena", 0, "room:67108864", "C1, arena: half of the device; superblocks of a stream's own to 1 MiB",
      "=32M 1000 @1 1000 after:1M live:2048 @0 !31457281 30M -2 -0 @1 -1 @0 32M" },
    /* ---- cub */
    { "cub", 0, "", "C1, CUB: bins of 512 B, 4 KiB, 32 KiB, 256 KiB and 2 MiB",
      "1 live:512 - 512 live:512 - 513 live:4K - 4K live:4K - 4097 live:32K - 32K live:32K - 32769 live:256K - "
      "256K live:256K - 262145 live:2M - 2097151 live:2M - 2M live:2M -" },
    { "cub", 0, "", "C1, CUB: above the largest bin every call is one of the driver's",
      "2097153 - =0 2097153 - =0 calls:4 2M - 2M - calls:5" },
    { "cub", 0, "", "C1, CUB: 6 MiB - 1 stay cached, so of blocks of 2 MiB two",
      "8x2M -7 free:2M -6 free:4M -5 free:4M" },
    { "cub", 0, "room:8388608", "C1, CUB: out of memory frees what is cached, and tries once more",
      "4x2M - free:4M 8M !8M" }
};

/* ---- references of rules */

/* A1.2: up to 256 bytes; C1, RMM pool: the same. One pool. */
static uint64_t round_256(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

static int one_pool(uint64_t rounded) { return rounded == 0; }

/* A1.4: a chunk is cut if the rest is as much as the request, or 128 MiB. */
static int bfc_splits(uint64_t chunk, uint64_t rounded)
{
    return chunk >= 2 * rounded || chunk - rounded >= MIB(128);
}

/* A1.7: the step doubles until it covers the request, or after the region, if it did. */
static uint64_t bfc_region(like_model *self, uint64_t rounded)
{
    uint64_t region = self->step_bytes;
    while (region < rounded) region *= 2;
    self->step_bytes = region > self->step_bytes ? region : 2 * region;
    return region;
}

/* A4, ORT knobs: 1 MiB first; the step is 1 GiB at most for the next region. */
static uint64_t ort_region(like_model *self, uint64_t rounded)
{
    uint64_t region = bfc_region(self, rounded);
    if (self->step_bytes > GIB(1)) self->step_bytes = GIB(1);
    return region;
}

/* B1, Sizes: blocks of 512 bytes; up to 1 MiB from the small pool. */
static uint64_t pytorch_round(uint64_t bytes) { return bytes < 512 ? 512 : (bytes + 511) / 512 * 512; }

static int pytorch_pool(uint64_t rounded) { return rounded > MIB(1); }

/* B1, Split. */
static int pytorch_splits(uint64_t chunk, uint64_t rounded)
{
    return rounded > MIB(1) ? chunk - rounded > MIB(1) : chunk - rounded >= 512;
}

/* B1, Sizes: segments of 2 MiB, 20 MiB, or whole multiples of 2 MiB. */
static uint64_t pytorch_region(like_model *self, uint64_t rounded)
{
    (void)self;
    if (rounded <= MIB(1)) return MIB(2);
    return rounded < MIB(10) ? MIB(20) : (rounded + MIB(2) - 1) / MIB(2) * MIB(2);
}

/* C1, Free list: the rest is always kept. Growth without a cap: the request, or as much as there is. */
static int rmm_splits(uint64_t chunk, uint64_t rounded) { return chunk > rounded; }

static uint64_t rmm_region(like_model *self, uint64_t rounded)
{
    return rounded > self->reserved_bytes ? rounded : self->reserved_bytes;
}

static const struct { const char *text; like_rules rules; uint64_t step_bytes; } references[] = {
    { "bfc", { round_256, one_pool, bfc_splits, bfc_region }, MIB(2) },
    { "ort", { round_256, one_pool, bfc_splits, ort_region }, MIB(1) },
    { "pytorch", { pytorch_round, pytorch_pool, pytorch_splits, pytorch_region }, 0 },
    { "rmm", { round_256, one_pool, rmm_splits, rmm_region }, 0 }
};

/* C4, 8 to 10: whatever was done before, all of it can be had in one piece. */
static void test_arena(void)
{
    static like_bench bench;
    uint64_t state = 5;
    int wrong = 0;
    like_open(&bench, "rmm-arena", MIB(64), NULL);
    for (int op = 0; op < 20000; op++) {
        if (bench.count && (bench.count == 60 || splitmix64_next(&state) % 2)) {
            wrong += !like_drop(&bench, (size_t)(splitmix64_next(&state) % bench.count));
        } else (void)like_take(&bench, like_draw_size(&state, 22));
    }
    while (bench.count) wrong += !like_drop(&bench, 0);
    CHECK_MSG(!wrong && like_take(&bench, MIB(32)) == GPUARENA_OK && bench.device.calls == 1,
              "after 20,000 operations");
    like_close(&bench, "rmm-arena");
}

int main(void)
{
    static like_bench bench;
    static like_model reference;
    for (size_t at = 0; at < sizeof programs / sizeof programs[0]; at++) like_run(&bench, &programs[at]);
    for (size_t at = 0; at < sizeof references / sizeof references[0]; at++) {
        like_mixes(&bench, &reference, references[at].text, &references[at].rules, references[at].step_bytes);
    }
    test_arena();
    return tap_done();
}
