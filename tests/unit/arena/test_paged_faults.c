/* Faults in paged ranges: each call on the driver, and each for host memory, fails once and for good, with every kind
   of answer, in everything that makes, moves or gives back pages. It must not know how these are done: the state
   before is the state after. */
#include "paged_pages.h"

typedef struct scene {
    const char *name, *config;
    void (*prepare)(paged_bench *bench);
    gpuarena_result (*act)(paged_bench *bench);
    int gives_back;                              /* it may be done in part */
} scene;

/* ---- scenes: what is there, and the call that is made */

static void nothing(paged_bench *bench)
{
    (void)bench;
}

static void a_block(paged_bench *bench)
{
    paged_alloc(bench, MIB(3));
}

/* Eight blocks of a page each, every other one free: four idle pages, scattered, and the limit reached. */
static void scattered(paged_bench *bench)
{
    for (int at = 0; at < 8; at++) paged_alloc(bench, MIB(2));
    for (int at = 0; at < 4; at++) paged_free(bench, at);
}

static void behind_a_hole(paged_bench *bench)
{
    scattered(bench);
    paged_alloc(bench, MIB(5));
    paged_free(bench, 1);
}

static void with_room(paged_bench *bench)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = MIB(1);
    request.room_bytes = MIB(8);
    paged_ask(bench, &request);
    paged_alloc(bench, MIB(2));
}

static void over_the_limit(paged_bench *bench)
{
    for (int at = 0; at < 4; at++) paged_alloc(bench, MIB(3));
    gpuarena_set_limit(bench->arena, MIB(4));
}

static gpuarena_result large(paged_bench *bench) { return paged_alloc(bench, MIB(5) + KIB(700)); }
static gpuarena_result larger(paged_bench *bench) { return paged_alloc(bench, MIB(7) + KIB(700)); }
static gpuarena_result reserve(paged_bench *bench) { return gpuarena_reserve(bench->arena, MIB(14)); }
static gpuarena_result trim(paged_bench *bench) { return gpuarena_trim(bench->arena, MIB(4), NULL); }
static gpuarena_result lower(paged_bench *bench) { return gpuarena_set_limit(bench->arena, MIB(8)); }
static gpuarena_result free_one(paged_bench *bench) { return paged_free(bench, 0); }

static gpuarena_result room(paged_bench *bench)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = MIB(3);
    request.room_bytes = MIB(20);
    return paged_ask(bench, &request);
}

static gpuarena_result own(paged_bench *bench)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = MIB(5);
    request.flags = GPUARENA_ALLOC_DEDICATED;
    return paged_ask(bench, &request);
}

static gpuarena_result grow_block(paged_bench *bench)
{
    paged_block *block = &bench->blocks[0];
    gpuarena_result result = gpuarena_resize(bench->arena, block->ptr, MIB(7), NULL);
    if (result) return result;
    block->bytes = MIB(7);
    if (!sim_verify(bench->machine, 0, block->ptr, MIB(1), block->pattern, &(uint64_t){ 0 })) return GPUARENA_CORRUPT;
    sim_fill(bench->machine, 0, block->ptr, MIB(7), block->pattern);
    return result;
}

static gpuarena_result shrink_block(paged_bench *bench)
{
    gpuarena_result result = gpuarena_resize(bench->arena, bench->blocks[0].ptr, KIB(1), NULL);
    if (result == GPUARENA_OK) bench->blocks[0].bytes = KIB(1);
    return result;
}

static const scene scenes[] = {
    { "the first allocation", "limit=32M", nothing, large, 0 },
    { "growth by new pages", "limit=32M", a_block, large, 0 },
    { "growth by moving pages", "limit=16M,idle=0", scattered, large, 0 },
    { "growth by both", "limit=18M,idle=0,large=1M", scattered, larger, 0 },
    { "growth, the lowest place", "limit=16M,large=1", scattered, large, 0 },
    { "a block with room", "limit=16M,idle=0", scattered, room, 0 },
    { "a segment of its own", "limit=16M", scattered, own, 1 },
    { "reserve", "limit=16M", a_block, reserve, 0 },
    { "trim", "limit=16M", scattered, trim, 1 },
    { "trim of what moved", "limit=16M,idle=0", behind_a_hole, trim, 1 },
    { "a lowered limit", "limit=16M", scattered, lower, 1 },
    { "a free above the limit", "limit=16M", over_the_limit, free_one, 1 },
    { "growing in place", "limit=16M", with_room, grow_block, 0 },
    { "shrinking in place", "limit=16M", with_room, shrink_block, 0 },
};

/* ---- campaigns */

static const char *trouble;
static char trouble_text[400];
static int stuck_count, refused_count;

static void blame(const scene *of, const char *text, sim_call kind, uint64_t nth, int lasting, int code)
{
    if (trouble) return;
    snprintf(trouble_text, sizeof trouble_text, "%s, call kind %d, number %d%s, answers %d: %s", of->name, (int)kind,
             (int)nth, lasting ? " and all later" : "", code, text);
    trouble = trouble_text;
}

/* After a fault that is no lost device: what is said, what has changed, and that all can be had again. */
static const char *judge(const scene *of, paged_bench *bench, const paged_state *before, gpuarena_result result,
                         int undo_fails)
{
    paged_state after = paged_look(bench);
    const char *text = paged_audit_pages(bench);
    int stuck = bench->arena->paged.unmap_failed_count != 0;
    stuck_count += stuck;
    refused_count += result != GPUARENA_OK;
    if (text[0]) return text;
    if (result && result != GPUARENA_OUT_OF_MEMORY && result != GPUARENA_DRIVER_ERROR
        && result != GPUARENA_HOST_MEMORY) return gpuarena_result_name(result);
    if (result && !of->gives_back && !stuck && !(undo_fails && bench->arena->paged.spare_count)
        && paged_differs(before, &after)[0]) return paged_differs(before, &after);
    if (result && !of->gives_back && stuck && before->stats.live_bytes != after.stats.live_bytes)
        return "live bytes are others";
    bench->host_fail_at = 0;
    sim_fail_call(bench->machine, SIM_CALL_KINDS, 0, 0, 0);
    if (stuck && gpuarena_trim(bench->arena, 0, NULL)) return "a trim afterwards";
    if (bench->arena->paged.unmap_failed_count) return "what was stuck is so for ever";
    if (result && of->act(bench)) return "it fails again, without a fault";
    return paged_audit_pages(bench);
}

/* The device is gone: calls say so, frees and destroy keep the books. */
static const char *judge_lost(paged_bench *bench)
{
    void *ptr;
    gpuarena_device device;
    gpuarena_result first = gpuarena_get_device(bench->arena, &device);      /* asks the driver: now it is known */
    sim_counters before = paged_counters(bench);
    if (first != GPUARENA_DEVICE_LOST || gpuarena_alloc(bench->arena, &ptr, MIB(30), NULL) != first
        || gpuarena_alloc(bench->arena, &ptr, 1, NULL) != first)
        return "alloc does not tell";
    for (; bench->block_count; bench->block_count--)
        if (gpuarena_free(bench->arena, bench->blocks[bench->block_count - 1].ptr, NULL)) return "a free, lost";
    if (gpuarena_destroy(bench->arena)) return "destroy, lost";
    sim_counters after = paged_counters(bench);
    if (memcmp(before.calls, after.calls, sizeof before.calls)) return "a call on a lost device";
    return bench->host_bytes ? "host memory is left" : "";
}

/* One fault. 0: the call that it was meant for was never made. */
static int run_fault(const scene *of, sim_call kind, uint64_t nth, int lasting, int code)
{
    paged_bench bench;
    paged_open(&bench, MIB(64), of->config);
    of->prepare(&bench);
    paged_state before = paged_look(&bench);
    sim_fail_call(bench.machine, kind, nth, lasting, code);
    gpuarena_result result = of->act(&bench);
    int fired = sim_fail_fired(bench.machine);
    const char *text = "";
    if (bench.arena->lost || (fired && code == SIM_ILLEGAL_ADDRESS)) {
        text = judge_lost(&bench);
        sim_destroy(bench.machine);
    } else {
        sim_fail_call(bench.machine, SIM_CALL_KINDS, 0, 0, 0);
        text = judge(of, &bench, &before, result, kind == SIM_CALL_KINDS && lasting);
        if (!text[0]) text = paged_close(&bench);
    }
    if (text[0]) blame(of, text, kind, nth, lasting, code);
    return fired;
}

static void run_kinds(const scene *of, int lasting, int code)
{
    for (int kind = SIM_CALL_VM_RESERVE; kind <= SIM_CALL_VM_UNMAP; kind++)
        for (uint64_t nth = 1; nth < 60 && !trouble; nth++)
            if (!run_fault(of, (sim_call)kind, nth, lasting, code)) break;
    for (uint64_t nth = 1; nth < 200 && !trouble; nth++)
        if (!run_fault(of, SIM_CALL_KINDS, nth, lasting, code)) break;
}

/* Host memory is refused from the nth call on. */
static void run_host(const scene *of)
{
    for (uint64_t nth = 1; nth < 100 && !trouble; nth++) {
        paged_bench bench;
        paged_open(&bench, MIB(64), of->config);
        of->prepare(&bench);
        paged_state before = paged_look(&bench);
        uint64_t last = bench.host_calls + nth;
        bench.host_fail_at = last;
        gpuarena_result result = of->act(&bench);
        int fired = bench.host_calls >= last;
        const char *text = judge(of, &bench, &before, result, 0);
        if (!text[0]) text = paged_close(&bench);
        if (text[0]) blame(of, text, SIM_CALL_KINDS, nth, 1, -1);
        if (!fired) break;
    }
}

static void test_scene(const scene *of)
{
    static const int codes[] = { SIM_OUT_OF_MEMORY, SIM_UNKNOWN, SIM_ILLEGAL_ADDRESS };
    trouble = NULL;
    stuck_count = refused_count = 0;
    for (size_t at = 0; at < COUNT(codes); at++)
        for (int lasting = 0; lasting < 2; lasting++) run_kinds(of, lasting, codes[at]);
    run_host(of);
    CHECK_MSG(!trouble, "%s: %d refused, %d with addresses stuck%s%s", of->name, refused_count, stuck_count,
              trouble ? ": " : "", trouble ? trouble : "");
}

/* ---- the end: destroy */

static const char *destroy_again(paged_bench *bench)
{
    gpuarena_result result = gpuarena_destroy(bench->arena);
    if (bench->host_fail_at && result) return "destroy needs host memory";
    if (result && result != GPUARENA_DRIVER_ERROR && result != GPUARENA_DEVICE_LOST)
        return gpuarena_result_name(result);
    sim_fail_call(bench->machine, SIM_CALL_KINDS, 0, 0, 0);
    if (result && gpuarena_check(bench->arena, NULL, 0)) return "check, after a destroy that failed";
    if (result && paged_stats(bench).reserved_bytes != paged_counters(bench).held_bytes)
        return "reserved is not held";
    if (result && gpuarena_destroy(bench->arena)) return "the second destroy fails, too";
    return "";
}

static void test_destroy(void)
{
    static const int codes[] = { SIM_UNKNOWN, SIM_ILLEGAL_ADDRESS };
    const char *text = "";
    for (size_t at = 0; at < 2 * COUNT(codes); at++)
        for (uint64_t nth = 0; nth < 40 && !text[0]; nth++) {
            paged_bench bench;
            paged_open(&bench, MIB(64), "limit=16M,idle=0");
            behind_a_hole(&bench);
            while (bench.block_count) paged_free(&bench, 0);
            if (nth) sim_fail_call(bench.machine, SIM_CALL_KINDS, nth, at % 2 != 0, codes[at / 2]);
            else bench.host_fail_at = 1;
            text = destroy_again(&bench);
            sim_counters counters = paged_counters(&bench);
            int lost = at / 2 == 1 && nth;
            if (!text[0] && !lost && (counters.handle_count || counters.mapping_count || counters.held_bytes
                                      || counters.reserved_address_bytes)) text = "something is left";
            if (!text[0] && bench.host_bytes) text = "host memory is left";
            if (text[0]) printf("# call %d, answers %d\n", (int)nth, codes[at / 2]);
            sim_destroy(bench.machine);
        }
    CHECK_MSG(!text[0], "destroy, whatever fails%s%s", text[0] ? ": " : "", text);
}

/* What was never given back, nor moved, in more pieces than there is room to list: without host memory. */
static void test_release_without_host(void)
{
    paged_bench bench;
    uint64_t released = 0;
    paged_open(&bench, MIB(128), "idle=100%");
    for (int at = 0; at < 40; at++) paged_alloc(&bench, MIB(2));
    for (int at = 0; at < 20; at++) paged_free(&bench, at);
    bench.host_fail_at = 1;
    CHECK_INT(gpuarena_trim(bench.arena, 0, &released), ==, GPUARENA_OK);
    CHECK_INT(released, ==, MIB(40));
    CHECK_INT(gpuarena_check(bench.arena, NULL, 0), ==, GPUARENA_OK);
    while (bench.block_count) paged_free(&bench, 0);
    CHECK_INT(gpuarena_destroy(bench.arena), ==, GPUARENA_OK);
    CHECK_INT(bench.host_bytes, ==, 0);
    sim_destroy(bench.machine);
}

int main(void)
{
    for (size_t at = 0; at < COUNT(scenes); at++) test_scene(&scenes[at]);
    test_destroy();
    test_release_without_host();
    return tap_done();
}
