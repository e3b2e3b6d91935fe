/* Shared parts of tests of passes: an op stream made by hand, and policies that it goes through on a simulated
   device. It must not know the subjects of tests. Included by test_runner.c and test_pass_*.c. */
#ifndef TESTS_PASS_BENCH_H
#define TESTS_PASS_BENCH_H

#include "stress/run/runner.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)
#define LONG_NS ((uint64_t)1000000000)           /* work that outlasts everything else here */

enum { OPS = 4000 };

typedef struct bench {
    pass_settings settings;
    progress      quiet;
    op            ops[OPS];
    uint32_t      touches[OPS];                  /* kernel n touches block touches[n] */
    op_stream     stream;
    pass_result   result;
} bench;

static problem why;

static inline void bench_open(bench *bed)
{
    memset(bed, 0, sizeof *bed);
    bed->stream.ops = bed->ops;
    bed->stream.touches = bed->touches;
    bed->quiet = progress_start("never", 1, 1);
    bed->settings.device.op_ns = 2000;
    bed->settings.verify = VERIFY_FULL;
    bed->settings.progress = &bed->quiet;
}

static inline void add(bench *bed, op_kind kind, uint64_t value, uint64_t stream, uint32_t first, uint32_t count)
{
    const op next = { value, stream, first, count, kind };
    bed->ops[bed->stream.op_count++] = next;
}

static inline void add_alloc(bench *bed, uint64_t bytes, uint64_t stream)
{
    add(bed, OP_ALLOC, bytes, stream, (uint32_t)bed->stream.block_count++, 0);
}

static inline void add_free(bench *bed, uint32_t block, uint64_t stream)
{
    add(bed, OP_FREE, 0, stream, block, 1);
}

static inline void add_kernel(bench *bed, uint64_t work_ns, uint64_t stream, uint32_t block)
{
    bed->touches[bed->stream.touch_count] = block;
    add(bed, OP_KERNEL, work_ns, stream, (uint32_t)bed->stream.touch_count++, 1);
}

static inline void add_wait(bench *bed, uint64_t stream, uint64_t other)
{
    add(bed, OP_WAIT, other, stream, 0, 0);
}

static inline pass_result *run(bench *bed, const char *text, latencies *timing)
{
    policy chosen;
    CHECK_INT(policy_parse(text, 0, &chosen, &why), ==, 0);
    pass_run(&bed->settings, &bed->stream, &chosen, timing, &bed->result);
    return &bed->result;
}

#endif
