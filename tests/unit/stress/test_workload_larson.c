/* Tests of `larson`: what each thread does, arrays that are passed on, order, and who frees whose blocks.
   Knows nothing of how sizes and turns are drawn. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "larson", UINT64_C(198211206740875965) },
    { "larson:threads=1,blocks=10,rounds=3", UINT64_C(12325411982687044247) },
    { "larson:threads=64,blocks=3,rounds=2,seed=18446744073709551615", UINT64_C(17894688905856141722) },
    { "larson:threads=3,blocks=50,rounds=7,size=1-1048576,seed=0", UINT64_C(5118105064730058130) },
    { "larson:threads=2,blocks=5,rounds=0", UINT64_C(2818157804502173416) }
};

/* As the definition says it, thread by thread: a full array, rounds of replacements, an empty array. */
static void test_threads(void)
{
    enum { THREADS = 3, BLOCKS = 40, ROUNDS = 6 };
    op_stream stream;
    uint64_t steps[THREADS] = { 0 }, live = 0, most = 0, wrong = 0;
    make_surely("larson:threads=3,blocks=40,rounds=6,size=8-1000", &stream);
    CHECK_U64(op_stream_threads(&stream), ==, THREADS);
    CHECK_U64(stream.alloc_count, ==, THREADS * BLOCKS * (1 + ROUNDS));
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        uint32_t thread = op_stream_thread(&stream, i);
        if (thread >= THREADS) {
            give_up("a thread that there is not");
        }
        wrong += at->stream != thread + 1;
        if (at->kind != OP_ALLOC && at->kind != OP_FREE) {
            continue;
        }
        uint64_t step = steps[thread]++, in_rounds = step - BLOCKS;
        int is_drained = step >= BLOCKS + 2 * BLOCKS * ROUNDS;
        wrong += (at->kind == OP_FREE) != (is_drained || (step >= BLOCKS && in_rounds % 2 == 0));
        wrong += at->kind == OP_ALLOC && (at->value < 8 << 10 || at->value > 1000 << 10);
        live += at->kind == OP_ALLOC ? 1 : (uint64_t)-1;
        most = live > most ? live : most;
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_U64(live, ==, 0);
    CHECK_U64(most, ==, THREADS * BLOCKS);
    CHECK_MSG(steps[0] == steps[1] && steps[1] == steps[2], "all threads do as much");
    op_stream_free(&stream);
}

/* In round r > 1 the thread before it frees only what its array has; every array is with one thread at a time. */
static void test_arrays(void)
{
    enum { THREADS = 4, BLOCKS = 25, ROUNDS = 9 };
    op_stream stream;
    uint64_t frees[THREADS] = { 0 }, wrong = 0, own = 0, other = 0;
    make_surely("larson:threads=4,blocks=25,rounds=9", &stream);
    uint64_t *array_of = calloc(stream.block_count, sizeof *array_of), allocs[THREADS] = { 0 };
    uint64_t *made_by = calloc(stream.block_count, sizeof *made_by);
    if (!array_of || !made_by) {
        give_up("no memory");
    }
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        uint64_t thread = op_stream_thread(&stream, i);
        if (at->kind == OP_ALLOC) {
            uint64_t count = allocs[thread]++, round = count < BLOCKS ? 0 : (count - BLOCKS) / BLOCKS;
            array_of[at->first] = (thread + THREADS - round % THREADS) % THREADS;
            made_by[at->first] = thread;
        } else if (at->kind == OP_FREE) {
            uint64_t count = frees[thread]++, round = count / BLOCKS < ROUNDS ? count / BLOCKS : ROUNDS - 1;
            wrong += array_of[at->first] != (thread + THREADS - round % THREADS) % THREADS;
            *(made_by[at->first] == thread ? &own : &other) += 1;
        }
    }
    CHECK_MSG(wrong == 0, "blocks stay in their array, which goes to the next thread after each round");
    CHECK_MSG(other > own, "most blocks are freed by another thread: %d of %d", (int)other, (int)(own + other));
    free(array_of);
    free(made_by);
    op_stream_free(&stream);
}

static void test_order(const char *spec, uint64_t waits)
{
    op_stream stream;
    make_surely(spec, &stream);
    order_count count = order_check(&stream);
    check_ordered(spec, &count);
    CHECK_U64(count.waits, ==, waits);
    CHECK_U64(count.crossing_uses, ==, 0);
    CHECK_MSG((count.crossing_frees > 0) == (waits > 0), "frees on other streams where there are others");
    op_stream_free(&stream);
}

/* The first thread does what it would do alone until its first array goes: turns do not change a thread's program. */
static void test_turns(void)
{
    op_stream one, other;
    size_t same = 0, first = 0, turns_differ = 0;
    make_surely("larson:threads=2,blocks=30,rounds=1,seed=5", &one);
    make_surely("larson:threads=5,blocks=30,rounds=1,seed=5", &other);
    for (size_t i = 0; i < one.op_count; i++) {
        if (op_stream_thread(&one, i) > 0) {
            continue;
        }
        while (first < other.op_count && op_stream_thread(&other, first) > 0) {
            first++;
        }
        turns_differ += first != i;
        same += first < other.op_count && one.ops[i].kind == other.ops[first].kind &&
                one.ops[i].value == other.ops[first].value;
        first++;
    }
    CHECK_U64(same, ==, 30 + 60 + 30 + 60);      /* calls, and a kernel with each allocation */
    CHECK_MSG(turns_differ > 0, "though its turns come at other times");
    op_stream_free(&one);
    op_stream_free(&other);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_threads();
    test_arrays();
    test_turns();
    test_order("larson", 4 * 9);
    test_order("larson:threads=3,blocks=20,rounds=30,seed=9", 3 * 29);
    test_order("larson:threads=1,blocks=20,rounds=5", 0);
    op_stream stream;
    make_surely("larson:threads=2,blocks=30,rounds=3", &stream);
    CHECK_MSG(order_idle_waits(&stream) == 0, "no wait is one too many");
    op_stream_free(&stream);
    return tap_done();
}
