/* Random programs on paged arenas whose driver fails now and then, once or from some call on, at any of its calls: a
   call that is refused has changed nothing, all adds up after each, and nothing is left in the end.
   It must not know how pages are had. (GPUARENA_PAGED_SEED, GPUARENA_PAGED_OPS). */
#define GPUARENA__HANDLE_PART 2                  /* large handles, though the device is small */
#include "paged_pages.h"

enum { SEQUENCE_OPS = 200 };

typedef struct fault { int armed, code, kind, lasting; uint64_t nth; } fault;

static paged_bench bench;
static uint64_t random_state;
static uint64_t refused_count, fired_count, stuck_count, compared_count;
static char trouble[400];
static int gives_back;                           /* a refusal may: idle memory, for a segment */

static uint64_t draw(uint64_t bound) { return splitmix64_next(&random_state) % bound; }

static void blame(const char *text)
{
    if (!trouble[0]) snprintf(trouble, sizeof trouble, "%s", text);
}

static fault arm(void)
{
    static const int kinds[] = { SIM_CALL_VM_RESERVE, SIM_CALL_VM_RELEASE, SIM_CALL_VM_CREATE, SIM_CALL_VM_DESTROY,
                                 SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS, SIM_CALL_VM_UNMAP, SIM_CALL_INFO,
                                 SIM_CALL_OBTAIN, SIM_CALL_GIVE_BACK, SIM_CALL_KINDS };
    fault made = { 0, 0, 0, 0, 0 };
    if (draw(3) == 0) return made;
    made.armed = 1;
    made.kind = kinds[draw(COUNT(kinds))];
    made.lasting = draw(3) == 0;
    made.nth = 1 + draw(draw(2) ? 3 : 24);
    made.code = draw(2) ? SIM_OUT_OF_MEMORY : SIM_UNKNOWN;
    sim_fail_call(bench.machine, (sim_call)made.kind, made.nth, made.lasting, made.code);
    return made;
}

/* ---- the calls; what each answers */

static gpuarena_result do_alloc(void)
{
    static const uint64_t alignments[] = { 0, 0, 0, MIB(1), MIB(8) };
    gpuarena_request request = GPUARENA_INIT;
    request.stream = GPUARENA_ANY_STREAM;        /* nothing is pending, nor becomes quiet */
    request.bytes = draw(4) ? 1 + draw(KIB(3000)) : 1 + draw(MIB(40));
    if (draw(60) == 0) request.bytes = GIB(1) << draw(14);
    if (draw(6) == 0) request.room_bytes = draw(MIB(12));
    else if (draw(12) == 0) request.flags = GPUARENA_ALLOC_DEDICATED;
    if (!request.flags) request.alignment_bytes = alignments[draw(COUNT(alignments))];
    gives_back |= request.flags != 0;
    return paged_ask(&bench, &request);
}

static gpuarena_result do_resize(void)
{
    paged_block *block;
    uint64_t bytes = draw(2) ? 1 + draw(MIB(20)) : 1 + draw(MIB(2)), bad;
    if (!bench.block_count) return GPUARENA_OK;
    block = &bench.blocks[draw((uint64_t)bench.block_count)];
    gpuarena_result result = gpuarena_resize(bench.arena, block->ptr, bytes, GPUARENA_ANY_STREAM);
    if (result) return result;
    if (!sim_verify(bench.machine, 0, block->ptr, bytes < block->bytes ? bytes : block->bytes, block->pattern, &bad))
        blame("a resize spoils contents");
    block->bytes = bytes;
    sim_fill(bench.machine, 0, block->ptr, bytes, block->pattern);
    return result;
}

static gpuarena_result do_op(uint64_t what)
{
    if (what < 10) return do_alloc();
    if (what < 17 && bench.block_count) return paged_free(&bench, (int)draw((uint64_t)bench.block_count));
    if (what < 17) return GPUARENA_OK;
    if (what < 20) return do_resize();
    if (what == 20) return gpuarena_reserve(bench.arena, draw(MIB(90)));
    if (what == 21) return gpuarena_trim(bench.arena, draw(MIB(90)), NULL);
    return gpuarena_set_limit(bench.arena, MIB(20) + draw(MIB(70)));
}

/* ---- what must hold after each */

/* Where what was had could not be given back it is there still, as cache. */
static int may_leave(const fault *of)
{
    return of->kind == SIM_CALL_VM_DESTROY || of->kind == SIM_CALL_VM_UNMAP || of->kind == SIM_CALL_KINDS
        || of->kind == SIM_CALL_GIVE_BACK;
}

static void judge(const fault *of, gpuarena_result result, const paged_state *before)
{
    paged_state after = paged_look(&bench);
    int stuck = bench.arena->paged.unmap_failed_count != 0;
    stuck_count += stuck != 0;
    if (paged_audit_pages(&bench)[0]) blame(paged_audit_pages(&bench));
    if (!result) return;
    refused_count++;
    if (result != GPUARENA_OUT_OF_MEMORY && result != GPUARENA_DRIVER_ERROR && result != GPUARENA_NOT_SUPPORTED)
        blame(gpuarena_result_name(result));
    if (before->stats.live_bytes != after.stats.live_bytes || before->stats.live_count != after.stats.live_count
        || before->stats.requested_bytes != after.stats.requested_bytes) blame("a refusal changes what is live");
    if (!stuck && !(of->armed && may_leave(of)) && paged_has_new_spare(before, &after))
        blame("a refusal leaves spare handles");
    gpuarena_failure failure;
    gpuarena_last_failure(bench.arena, &failure);
    /* large handles went back, and then the driver failed */
    if (after.stats.release_count > before->stats.release_count && (of->armed || failure.driver_code)) return;
    if (gives_back || stuck || (of->armed && may_leave(of))
        || before->stats.reserved_bytes > before->stats.limit_bytes) return;
    compared_count++;
    blame(paged_differs(before, &after)[0] ? paged_differs(before, &after) : "");
}

static void run_sequence(uint64_t seed, const char *text)
{
    random_state = seed << 20;
    paged_open(&bench, MIB(100), text);
    for (int op = 0; op < SEQUENCE_OPS && !trouble[0]; op++) {
        sim_reset_counters(bench.machine, 0);    /* what was had for an instant may be above a limit to come */
        paged_state before = paged_look(&bench);
        uint64_t what = draw(24);
        gives_back = what >= 20 || bench.arena->paged.segment_count
            || bench.arena->paged.spare_pages > bench.arena->paged.spare_count;      /* a large handle to give back */
        if (draw(20) == 0) {                     /* one draw a statement: compilers order arguments differently */
            int returns = draw(2) != 0;
            sim_rival(bench.machine, 0, draw(MIB(60)), returns);
        }
        fault of = arm();
        gpuarena_result result = do_op(what);
        fired_count += of.armed && sim_fail_fired(bench.machine);
        sim_fail_call(bench.machine, SIM_CALL_KINDS, 0, 0, 0);
        judge(&of, result, &before);
        if (!trouble[0]) continue;
        printf("# seed %d, op %d: call %d answers %d; fault: kind %d, number %d%s, code %d\n", (int)seed, op,
               (int)what, result, of.armed ? of.kind : -1, (int)of.nth, of.lasting ? "+" : "", of.code);
    }
    if (!trouble[0]) blame(paged_close(&bench));
    else sim_destroy(bench.machine);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(void)
{
    static const char *const texts[] = { "limit=90M", "", "limit=80M,idle=0", "page=4M,limit=80M,large=1M",
                                         "idle=100%", "large=1,limit=70M",
                                         "headroom=10M", "release=idle,release_at=8M" };
    uint64_t first = number_of("GPUARENA_PAGED_SEED", 1), seed = first;
    uint64_t count = number_of("GPUARENA_PAGED_OPS", 60000) / SEQUENCE_OPS;
    for (; seed < first + count && !trouble[0]; seed++) run_sequence(seed, texts[seed % COUNT(texts)]);
    CHECK_MSG(!trouble[0], "%d programs%s%s", (int)(seed - first), trouble[0] ? ": " : "", trouble);
    if (trouble[0])
        printf("# repro: GPUARENA_PAGED_SEED=%d GPUARENA_PAGED_OPS=%d build/tests/test_paged_random (%s)\n",
               (int)seed - 1, SEQUENCE_OPS, texts[(seed - 1) % COUNT(texts)]);
    printf("# %d refused, of which %d are compared; %d faults; stuck %d times\n", (int)refused_count,
           (int)compared_count, (int)fired_count, (int)stuck_count);
    CHECK_MSG(count < 100 || (compared_count > 500 && fired_count > 1000 && stuck_count > 20), "enough of all");
    return tap_done();
}
