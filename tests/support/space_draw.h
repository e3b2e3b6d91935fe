/* Random programs of calls, each like some of the things that programs do.
   It must not know what they will meet. Included by test_space.c. */
#ifndef TESTS_SPACE_DRAW_H
#define TESTS_SPACE_DRAW_H

#include "space.h"

#define DRAW_DEVICE MIB(512)

static uint64_t draw_state;

static uint64_t draw(uint64_t bound) { return splitmix64_next(&draw_state) % bound; }

#include "space_text.h"

/* ---- programs */

/* What sequences are like; each has about half of it. */
enum { DRAW_FAULTS = 1, DRAW_LIMITS = 2, DRAW_ALIGNED = 4, DRAW_STREAMS = 8, DRAW_RIVAL = 16, DRAW_FLAGS = 32,
       DRAW_LARGE = 64, DRAW_RESIZE = 128, DRAW_CALM = 256, DRAW_TAGS = 512, DRAW_MARKS = 1024,
       DRAW_THREADS = 2048, DRAW_HEAPS = 4096, DRAW_LIKES = 8192 };

static uint64_t draw_bytes(uint64_t like)
{
    uint64_t edge;
    switch (draw(like & DRAW_LARGE ? 10 : 6)) {
    case 0: return 1 + draw(600);
    case 1: return 1 + draw(KIB(64));
    case 2: return 1 + draw(MIB(3));
    case 3: case 4:
        edge = (8 + draw(8)) << (5 + draw(16));
        return edge + draw(3) - 1;
    case 9: return draw(20) ? 1 + draw(MIB(70)) : UINT64_C(1) << draw(64);
    default: return 1 + draw(MIB(16));
    }
}

static space_op draw_rare(uint64_t like)
{
    space_op op = { SPACE_PASS, 0, (int)draw(SPACE_STREAMS), draw(200000), 0, 0 };
    switch (draw(12)) {
    case 0: op.kind = SPACE_TRIM; op.bytes = draw(MIB(100)); break;
    case 1:
        if (like & DRAW_LIMITS) op.kind = SPACE_LIMIT;
        op.bytes = draw(9) ? MIB(1) * draw(140) : UINT64_MAX;
        break;
    case 2: op.kind = SPACE_RESERVE; op.bytes = draw(MIB(120)); break;
    case 3: if (!draw(6)) op.kind = SPACE_RESET; break;
    case 4:
        if (like & DRAW_RIVAL) op.kind = SPACE_RIVAL;
        op.bytes = draw(MIB(520));
        break;
    case 5:
        if (!(like & DRAW_FAULTS)) break;
        op.kind = SPACE_FAULT;
        op.slot = (int)draw(SIM_CALL_KINDS);
        op.alignment = 1 + draw(3);
        op.flags = (uint32_t)draw(2);
        break;
    case 6: op.kind = draw(4) ? SPACE_WORK : SPACE_RENEW; break;
    case 7: op.kind = SPACE_PEAKS; break;
    case 8: case 9:
        if (!(like & DRAW_MARKS)) break;
        op.kind = draw(2) ? SPACE_MARK : SPACE_SINCE;
        op.slot = (int)draw(SPACE_MARKS);
        if (like & DRAW_STREAMS) op.stream = (int)draw(SPACE_OWN + 1);
        if (like & DRAW_TAGS && draw(2)) op.flags = SPACE_TAG * (uint32_t)draw(SPACE_TAGS);
        break;
    default: break;
    }
    if (op.kind != SPACE_PASS || op.bytes % 4) return op;
    op.kind = op.bytes % 64 ? SPACE_MISUSE : SPACE_ALLOC;    /* of nothing */
    op.slot = (int)(op.bytes / 4 % 5);
    op.bytes = op.kind == SPACE_MISUSE ? op.bytes * 12345 : 0;
    return op;
}

static space_op draw_op(uint64_t like)
{
    space_op op = { SPACE_ALLOC, (int)draw(like & DRAW_CALM ? 12 : SHADOW_SLOTS), 0, draw_bytes(like), 0, 0 };
    uint64_t what = draw(100);
    if (like & DRAW_STREAMS) op.stream = (int)draw(SPACE_STREAMS + 1);
    if (what < 45) {
        if (like & DRAW_ALIGNED && !draw(3)) op.alignment = UINT64_C(1) << draw(25);
        if (like & DRAW_FLAGS && !draw(4)) op.flags = (uint32_t)draw(8);
        if (like & DRAW_TAGS) op.flags |= SPACE_TAG * (uint32_t)draw(2 * SPACE_TAGS);
        if (like & DRAW_STREAMS && !draw(16)) op.flags |= SPACE_UNUSED;
        if (like & DRAW_THREADS && !draw(16)) op.flags |= SPACE_ELSEWHERE;
        return op;
    }
    if (what >= 92) return draw_rare(like);
    op.kind = SPACE_FREE;
    if (!draw(4)) op.stream = SPACE_OWN;
    if (like & DRAW_TAGS && !draw(4)) op.flags = SPACE_SCOPED;
    if (what >= 84 && like & DRAW_STREAMS) op.kind = draw(3) ? SPACE_WORK : SPACE_USE;
    else if (what >= 80 && like & DRAW_RESIZE) {
        op.kind = SPACE_RESIZE;
        op.stream = SPACE_OWN;
    }
    if (op.kind == SPACE_WORK) op.bytes = draw(300000);
    return op;
}

/* ---- steps that come again, more or less: of the same calls, for which the arena makes plans */

enum { STEP_KINDS = 2, STEP_LEAST = 20, STEP_MOST = 120, STEPS = 20 };

/* With another stream a free follows the block's own. Slots are taken and empty in turn, whatever went before. */
static space_op draw_step_op(uint64_t slots)
{
    space_op op = { SPACE_ALLOC, (int)draw(slots), draw(3) == 0, 0, 0, 0 };
    uint64_t what = draw(24);
    if (what >= 12) {
        op.kind = what < 21 ? SPACE_FREE : what < 23 ? SPACE_WORK : SPACE_USE;
        if (op.kind == SPACE_FREE) op.stream = SPACE_OWN;
        op.bytes = draw(30000);
        return op;
    }
    op.bytes = draw(4) ? 1 + draw(draw(2) ? KIB(300) : MIB(5)) : KIB(256) << draw(4);
    if (draw(9) == 0) op.flags = SPACE_TAG;
    return op;
}

/* Instead of an op: another or none, or one that ends all plans. */
static space_op draw_odd_op(uint64_t slots)
{
    space_op op = draw_step_op(slots);
    switch (draw(16)) {
    case 0: op.kind = SPACE_TRIM; op.bytes = draw(MIB(64)); break;
    case 1: op.kind = SPACE_RENEW; op.stream = 1; break;
    case 2: case 3: case 4: op.kind = SPACE_PASS; break;
    case 5: case 6: case 7: op.kind = SPACE_FREE; op.stream = (int)draw(2); break;
    default: break;
    }
    return op;
}

/* Draws ops, at most `most`; how many. Of each eight steps four are the same, the others as orderly as it comes. */
static size_t draw_steps(space_op *ops, size_t most)
{
    static const uint64_t disorders[] = { 0, 0, 3, 20, 100 };
    static space_op steps[STEP_KINDS][STEP_MOST];
    size_t counts[STEP_KINDS], count = 0;
    uint64_t slots = 12 + draw(SHADOW_SLOTS - 12), disorder = disorders[draw(COUNT(disorders))];
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        counts[kind] = STEP_LEAST + draw(STEP_MOST - STEP_LEAST);
        for (size_t at = 0; at < counts[kind]; at++) {
            steps[kind][at] = draw_step_op(slots);
            if (at && draw(4) == 0) steps[kind][at].bytes = steps[kind][draw(at)].bytes;
        }
    }
    if (draw(2)) ops[count++] = (space_op){ SPACE_HEAPS, 0, 0, 0, 0, 0 };
    for (int step = 0; step < STEPS; step++) {
        int kind = step % 8 < 4 ? step / 8 % STEP_KINDS : draw(4) == 0;
        if (count + counts[kind] >= most) break;
        ops[count++] = (space_op){ SPACE_STEP, 1 + kind, 0, 0, 0, 0 };
        for (size_t at = 0; at < counts[kind]; at++)
            ops[count++] = step % 8 >= 4 && draw(1000) < disorder ? draw_odd_op(slots) : steps[kind][at];
    }
    return count;
}

static const char *const draw_step_texts = "backing=paged|backing=paged,limit=24M|backing=segments"
                                           "|backing=paged,idle=0|backing=paged,streams=events";

/* ---- small devices: large handles, and driver calls that fail, at any of them */

static const char *const draw_small_texts = "limit=90M||limit=80M,idle=0|page=4M,limit=80M,large=1M|idle=100%"
                                            "|large=1,limit=70M|headroom=10M|release=idle,release_at=8M";

static void draw_small_text(char text[DRAW_TEXT])
{
    char more[64];
    draw_value(draw_small_texts, more, sizeof more);
    snprintf(text, DRAW_TEXT, "backing=paged%s%s", more[0] ? "," : "", more);
}

static space_op draw_small_fault(void)
{
    static const int kinds[] = { SIM_CALL_VM_RESERVE, SIM_CALL_VM_RELEASE, SIM_CALL_VM_CREATE, SIM_CALL_VM_DESTROY,
                                 SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS, SIM_CALL_VM_UNMAP, SIM_CALL_INFO,
                                 SIM_CALL_OBTAIN, SIM_CALL_GIVE_BACK, SIM_CALL_KINDS };
    space_op op = { SPACE_FAULT, 0, 0, 0, 0, SPACE_BRIEF };
    op.slot = kinds[draw(COUNT(kinds))];
    if (!draw(3)) op.flags |= SPACE_LASTING;
    op.alignment = 1 + draw(draw(2) ? 3 : 24);
    if (draw(2)) op.flags |= SPACE_UNKNOWN;
    return op;
}

static space_op draw_small_alloc(int slot)
{
    static const uint64_t alignments[] = { 0, 0, 0, MIB(1), MIB(8) };
    space_op op = { SPACE_ALLOC, slot, SPACE_ANY, 0, 0, SPACE_NEXT };    /* nothing is pending, nor becomes quiet */
    op.bytes = draw(4) ? 1 + draw(KIB(3000)) : 1 + draw(MIB(40));
    if (draw(60) == 0) op.bytes = GIB(1) << draw(14);
    if (draw(6) == 0) op.flags |= SPACE_ROOM;
    else if (draw(12) == 0) op.flags |= GPUARENA_ALLOC_DEDICATED;
    if (!(op.flags & GPUARENA_ALLOC_DEDICATED)) op.alignment = alignments[draw(COUNT(alignments))];
    return op;
}

/* after: the op before; two calls in three meet a fault. */
static space_op draw_small_op(const space_op *after)
{
    space_op op = { SPACE_FREE, (int)draw(SHADOW_SLOTS), SPACE_ANY, 0, 0, SPACE_NEXT };
    uint64_t what = draw(24);
    if ((!after || after->kind != SPACE_FAULT) && draw(3)) return draw_small_fault();
    if (draw(20) == 0) {
        op.kind = SPACE_RIVAL;
        op.bytes = draw(MIB(100));
    } else if (what < 10) return draw_small_alloc(op.slot);
    else if (what >= 17 && what < 20) {
        op.kind = SPACE_RESIZE;
        op.bytes = draw(2) ? 1 + draw(MIB(20)) : 1 + draw(MIB(2));
    } else if (what >= 20) {
        op.kind = what == 20 ? SPACE_RESERVE : what == 21 ? SPACE_TRIM : SPACE_LIMIT;
        op.bytes = what > 21 ? MIB(20) + draw(MIB(70)) : draw(MIB(90));
    }
    return op;
}

/* ---- quiet programs: small blocks, of which heaps count long for themselves, around peaks */

static const char *const draw_quiet_texts = "segments|paged|segments,initial=64M|paged,initial=64M";

static void draw_quiet_text(char text[DRAW_TEXT])
{
    char backing[64];
    draw_value(draw_quiet_texts, backing, sizeof backing);
    snprintf(text, DRAW_TEXT, "backing=%s", backing);
}

/* Blocks of slack alone or with none, so that live bytes rise while requested ones fall; or of any small size. */
static uint64_t draw_quiet_bytes(uint64_t like)
{
    return like < 2 ? 1 : like < 4 ? 256 : 1 + draw((uint64_t)256 << draw(12));
}

static size_t draw_quiet(space_op *ops, size_t most)
{
    size_t count = 0;
    uint64_t streams = 2 + draw(SPACE_STREAMS - 1);
    ops[count++] = (space_op){ SPACE_QUIET, 0, 0, 0, 0, 0 };
    ops[count++] = (space_op){ SPACE_HEAPS, 0, 0, 0, 0, 0 };
    while (count + 128 < most) {
        uint64_t like = draw(6), length = draw(100);
        space_kind kind = draw(2) ? SPACE_ALLOC : SPACE_FREE;
        for (uint64_t at = 0; at < length; at++) {
            int slot = (int)draw(SHADOW_MOST);
            ops[count++] = (space_op){ kind, slot, (int)((uint64_t)slot % streams), draw_quiet_bytes(like), 0, 0 };
        }
        if (draw(6) == 0) ops[count++] = (space_op){ SPACE_PEAKS, 0, 0, 0, 0, 0 };
        if (draw(20) == 0) {
            ops[count++] = (space_op){ SPACE_LIMIT, 0, 0, 0, 0, 0 };
            for (int at = 0; at < SPACE_STREAMS; at++)
                ops[count++] = (space_op){ SPACE_ALLOC, at, at, 1, 0, SPACE_NEXT };
            ops[count++] = (space_op){ SPACE_LIMIT, 0, 0, UINT64_MAX, 0, 0 };
        }
        if (draw(3) == 0) ops[count++] = (space_op){ SPACE_SEE, 0, 0, 0, 0, 0 };
    }
    return count;
}

/* ---- busy devices: little memory, streams of all kinds, captures, and calls that fail */

enum { BUSY_LARGE = 1, BUSY_ALIGNED = 2, BUSY_TRY = 4, BUSY_FAULTS = 8, BUSY_HOST_FAULTS = 16, BUSY_CAPTURES = 32,
       BUSY_RELEASE = 64, BUSY_ANY = 128, BUSY_HEAPS = 256, BUSY_ALIKE = 512, BUSY_ENDS = 1024, BUSY_LONG = 2048,
       BUSY_CALM = 4096, BUSY_STREAMS = 8192 };  /* the first of as many bits as there are streams */

static const char *const draw_busy_backings = "paged|paged|paged,page=4M|paged,idle=0|paged,idle=20%,large=1M"
    "|paged,idle=100%|paged,large=3M|segments|segments,growth=fixed|segments,growth=exact"
    "|segments,growth=step,step=4M|segments,growth=double";
static const char *const draw_busy_orders = "|||||,streams=same|,streams=events|,streams=steal|,wait_ms=1"
                                            "|,streams=steal,wait_ms=1";

static void draw_busy_text(char text[DRAW_TEXT], uint64_t device_bytes)
{
    char backing[64], order[64];
    draw_value(draw_busy_backings, backing, sizeof backing);
    draw_value(draw_busy_orders, order, sizeof order);
    snprintf(text, DRAW_TEXT, "backing=%s%s,limit=%" PRIu64 "M", backing, order,
             4 + 2 * draw((device_bytes - MIB(4)) / MIB(2)));
}

static int draw_busy_stream(uint64_t like)
{
    for (;;) {
        int stream = (int)draw(SPACE_ALL_STREAMS);
        if (like / BUSY_STREAMS >> stream & 1) return stream;
    }
}

static int draw_busy_slot(uint64_t like)
{
    return (int)draw(like & BUSY_ALIKE ? SHADOW_MOST : like & BUSY_CALM ? 12 : SHADOW_SLOTS);
}

static uint64_t draw_busy_like(void)
{
    uint64_t streams = (draw((uint64_t)1 << SPACE_ALL_STREAMS) & ~(UINT64_C(3) << SPACE_ANY)) | 2;
    return draw(BUSY_STREAMS) | BUSY_STREAMS * streams;
}

static uint64_t draw_busy_bytes(uint64_t like)
{
    static const uint64_t few[] = { KIB(1), KIB(64), KIB(64), KIB(64) + 256, KIB(700) };
    if (like & BUSY_ALIKE && draw(8)) return few[draw(COUNT(few))];
    switch (draw(like & BUSY_LARGE ? 8 : 6)) {
    case 0: case 1: case 2: return 1 + draw(KIB(64));
    case 3: case 4: return 1 + draw(KIB(700));
    case 5: return KIB(256) << draw(3);
    default: return 1 + draw(MIB(6));
    }
}

static space_op draw_busy_fault(uint64_t like)
{
    static const int kinds[] = { SIM_CALL_EVENT_WITH_FLAGS, SIM_CALL_EVENT_RECORD, SIM_CALL_EVENT_QUERY,
                                 SIM_CALL_STREAM_WAIT_EVENT, SIM_CALL_DEVICE_SYNCHRONIZE, SIM_CALL_OBTAIN,
                                 SIM_CALL_EVENT_RECORD, SIM_CALL_EVENT_QUERY, SIM_CALL_STREAM_WAIT_EVENT,
                                 SIM_CALL_STREAM_IS_CAPTURING, SIM_CALL_STREAM_WAIT_EVENT,
                                 SIM_CALL_STREAM_WAIT_EVENT, SIM_CALL_VM_RESERVE, SIM_CALL_VM_CREATE,
                                 SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS, SIM_CALL_VM_UNMAP, SIM_CALL_VM_DESTROY,
                                 SIM_CALL_VM_RELEASE };
    space_op op = { SPACE_FAULT, kinds[draw(COUNT(kinds))], 0, 0, 1 + (draw(2) ? 0 : draw(3)), SPACE_BRIEF };
    if (draw(2)) op.flags |= SPACE_LASTING;
    if (op.slot != SIM_CALL_OBTAIN && op.slot != SIM_CALL_VM_RESERVE && op.slot != SIM_CALL_VM_CREATE)
        op.flags |= SPACE_UNKNOWN;
    if (like & BUSY_HOST_FAULTS && (!(like & BUSY_FAULTS) || draw(4) == 0)) op.slot = SPACE_HOST;
    return op;
}

static space_op draw_busy_rare(space_op op, uint64_t like)
{
    switch (draw(8)) {
    case 0:
        if (like & BUSY_RELEASE) op.kind = SPACE_TRIM;
        op.bytes = draw(MIB(30));
        break;
    case 1:
        if (like & BUSY_RELEASE) op.kind = SPACE_LIMIT;
        op.bytes = draw(4) ? MIB(4) + MIB(2) * draw(16) : MIB(2) * draw(4);
        break;
    case 2: if (draw(8) == 0) op.kind = SPACE_RESET; break;
    case 3: if (draw(16) == 0) op.kind = SPACE_HEAPS; break;
    case 4: op.kind = SPACE_PASS; op.bytes = draw(100000); break;
    default: op.kind = SPACE_LONGEST;
    }
    return op;
}

static space_op draw_busy_graph(space_op op)
{
    uint64_t what = draw(16);
    op.kind = what < 6 ? SPACE_CAPTURE : what < 15 ? SPACE_GRAPH : SPACE_LETGO;
    op.flags = op.kind == SPACE_CAPTURE ? (draw(2) ? SPACE_FORK : 0)
                                        : (draw(4) ? SPACE_LAUNCH : 0) | (draw(4) ? 0 : SPACE_DROP);
    return op;
}

static space_op draw_busy_op(uint64_t like)
{
    space_op op = { SPACE_ALLOC, draw_busy_slot(like), 0, 0, 0, 0 };
    uint64_t what = draw(100);
    op.stream = draw_busy_stream(like);
    op.bytes = draw_busy_bytes(like);
    if (what < 45) {
        if (like & BUSY_ANY && draw(8) == 0) op.stream = SPACE_ANY;
        if (like & BUSY_ALIGNED && draw(4) == 0) op.alignment = (uint64_t)256 << draw(14);
        if (like & BUSY_TRY && draw(4) == 0) op.flags = GPUARENA_ALLOC_TRY;
        if (draw(12) == 0) op.flags |= GPUARENA_ALLOC_DEDICATED;
        else if (draw(12) == 0) op.flags |= SPACE_ROOM;
    } else if (what < 65) {
        op.kind = SPACE_FREE;
        if (like & BUSY_ANY && draw(16) == 0) op.stream = SPACE_ANY;
        else if (draw(2)) op.stream = SPACE_OWN;
    } else if (what < 72) {
        op.kind = SPACE_USE;
        op.flags = SPACE_NEXT;
    } else if (what < 80) {
        op.kind = SPACE_WORK;
        op.bytes = draw(like & BUSY_LONG ? 100000 : 20000);
    } else if (what < 82) {
        op.kind = SPACE_RESIZE;
        if (draw(3)) op.stream = SPACE_OWN;
    } else if (what < 86) {
        if (like & BUSY_ENDS) op.kind = SPACE_RENEW;
        op.flags = SPACE_KEEP | (draw(2) ? SPACE_STAY : 0);
    } else if (what < 97) return like & BUSY_CAPTURES ? draw_busy_graph(op) : op;
    else return draw_busy_rare(op, like);
    return op;
}

/* A stream ends whose last use of a block the arena alone knows of, and the block is freed on its own stream. */
static size_t draw_busy_last_use(space_op *ops, uint64_t like)
{
    int slot = draw_busy_slot(like), stream = draw_busy_stream(like);
    ops[0] = (space_op){ SPACE_USE, slot, stream, 0, 0, SPACE_NEXT };
    ops[1] = (space_op){ SPACE_WORK, 0, stream, draw(40000), 0, 0 };
    ops[2] = (space_op){ SPACE_RENEW, slot, stream, 0, 0, SPACE_KEEP | (draw(2) ? SPACE_STAY : 0) };
    ops[3] = (space_op){ SPACE_FREE, slot, SPACE_OWN, 0, 0, SPACE_NEXT };
    return draw(2) ? 4 : 3;
}

/* What graphs left is used up outside. Before that is done the set ends, or its next capture begins and may run. */
static size_t draw_busy_recycle(space_op *ops, uint64_t like)
{
    size_t count = 0;
    int set = (int)draw(SPACE_SETS), stream = draw_busy_stream(like), user = draw_busy_stream(like);
    for (int at = 0; at < SPACE_GRAPHS; at++) ops[count++] = (space_op){ SPACE_GRAPH, at, stream, 0, 0, SPACE_DROP };
    for (int at = 0; at < 6; at++) {
        int slot = draw_busy_slot(like);
        ops[count++] = (space_op){ SPACE_USE, slot, user, 0, 0, SPACE_NEXT };
        ops[count++] = (space_op){ SPACE_WORK, slot, user, draw(40000), 0, 0 };
        ops[count++] = (space_op){ SPACE_FREE, slot, user, 0, 0, SPACE_NEXT };
    }
    int ends = draw(2) == 0;
    ops[count++] = (space_op){ ends ? SPACE_LETGO : SPACE_CAPTURE, set, ends ? user : stream, draw(3), 0, 0 };
    for (int at = 0; at < 6; at++) {
        int slot = draw_busy_slot(like);
        ops[count++] = (space_op){ SPACE_ALLOC, slot, stream, draw_busy_bytes(like), 0, SPACE_NEXT };
    }
    if (ends) return count;
    ops[count++] = (space_op){ SPACE_CAPTURE, set, stream, 0, 0, 0 };
    for (int at = 0; at < SPACE_GRAPHS; at++)
        ops[count++] = (space_op){ SPACE_GRAPH, at, draw_busy_stream(like), 0, 0, SPACE_LAUNCH };
    return count;
}

static size_t draw_busy(space_op *ops, size_t most)
{
    uint64_t like = draw_busy_like();
    size_t count = 0;
    uint64_t heaps_at = like & BUSY_HEAPS ? 0 : draw(2 * most);
    while (count + 48 < most) {
        if (count >= heaps_at) {
            ops[count++] = (space_op){ SPACE_HEAPS, 0, 0, 0, 0, 0 };
            heaps_at = UINT64_MAX;
        }
        if (like & BUSY_CAPTURES && draw(100) == 0) count += draw_busy_recycle(&ops[count], like);
        else if (like & BUSY_ENDS && draw(50) == 0) count += draw_busy_last_use(&ops[count], like);
        else {
            if (like & (BUSY_FAULTS | BUSY_HOST_FAULTS) && draw(3) == 0) ops[count++] = draw_busy_fault(like);
            ops[count++] = draw_busy_op(like);
        }
    }
    return count;
}

/* ---- crossed programs: steps that come again on busy devices, while all that busy programs do goes on */

enum { CROSS_KINDS = 3, CROSS_MOST = 24, CROSS_STREAMS = 8,
       CROSS_SLOTS = 10 };                       /* the first slots are the steps' */

/* A step on these streams. */
static size_t draw_cross_step(space_op *ops, const int streams[CROSS_STREAMS])
{
    size_t count = 6 + draw(CROSS_MOST - 6);
    for (size_t at = 0; at < count; at++) {
        ops[at] = (space_op){ SPACE_ALLOC, (int)draw(CROSS_SLOTS), streams[draw(CROSS_STREAMS)], 0, 0, 0 };
        ops[at].bytes = draw(3) ? 1 + draw(KIB(700)) : MIB(1) + draw(MIB(5));
        if (draw(2)) continue;
        ops[at].kind = SPACE_FREE;
        ops[at].stream = SPACE_OWN;
    }
    return count;
}

/* What a busy program does beside: mostly captures, and what takes memory from plans. */
static space_op draw_cross_op(uint64_t like)
{
    const space_op pass = { SPACE_PASS, draw_busy_slot(like), draw_busy_stream(like), draw(MIB(1)), 0, 0 };
    uint64_t what = draw(32);
    space_op op = what < 5 ? pass : what < 12 ? draw_busy_graph(pass)
        : what < 13 ? draw_busy_rare(pass, like | BUSY_RELEASE) : draw_busy_op(like);
    if (op.kind == SPACE_ALLOC || op.kind == SPACE_FREE || op.kind == SPACE_USE || op.kind == SPACE_RESIZE)
        op.slot = CROSS_SLOTS + op.slot % (SHADOW_SLOTS - CROSS_SLOTS);
    if (op.kind == SPACE_ALLOC && draw(4) == 0) op.bytes = MIB(1) << draw(5);
    return op;
}

/* The streams of a step have nothing any more, and its plan gives up its memory, which a capture set has when the
   step comes again, in a capture. */
static size_t draw_cross_adopt(space_op *ops, int kind)
{
    int stream = 1 + (int)draw(SPACE_STREAMS - 1), slot = CROSS_SLOTS + (int)draw(SHADOW_SLOTS - CROSS_SLOTS);
    const space_op capture = { SPACE_CAPTURE, slot, stream, draw(3), 0, 0 };
    size_t count = 0;
    for (int at = 0; at < CROSS_SLOTS; at++) ops[count++] = (space_op){ SPACE_FREE, at, SPACE_OWN, 0, 0, 0 };
    for (int at = 0; at < 2; at++) {
        ops[count++] = (space_op){ SPACE_PASS, 0, 0, MIB(100), 0, 0 };
        ops[count++] = (space_op){ SPACE_ALLOC, slot, stream, MIB(1) * (1 + draw(24)), 0, 0 };
        ops[count++] = (space_op){ SPACE_FREE, slot, stream, 0, 0, 0 };
    }
    ops[count++] = capture;
    for (int at = 0; at < 3; at++) {
        ops[count++] = (space_op){ SPACE_ALLOC, slot, stream, MIB(1) * (1 + draw(12)), 0, 0 };
        ops[count++] = (space_op){ SPACE_FREE, slot, stream, 0, 0, 0 };
    }
    ops[count++] = capture;
    ops[count++] = capture;
    ops[count++] = (space_op){ SPACE_STEP, 1 + kind, 0, 0, 0, 0 };
    ops[count++] = capture;
    return count;
}

/* Each phase has its own disorder: how many of a hundred ops of a step another goes before. */
static size_t draw_crossed(space_op *ops, size_t most)
{
    static const uint64_t disorders[] = { 0, 0, 3, 30 };
    static space_op steps[CROSS_KINDS][CROSS_MOST];
    uint64_t like = draw_busy_like() & ~(uint64_t)BUSY_ALIKE, disorder = 0;
    size_t counts[CROSS_KINDS], count = 0;
    int kind = 0, streams[CROSS_STREAMS];
    int few = draw(2) == 0;
    for (int at = 0; at < CROSS_STREAMS; at++)
        streams[at] = few && at > 1 ? streams[at % 2] : draw_busy_stream(like);
    for (int at = 0; at < CROSS_KINDS; at++) counts[at] = draw_cross_step(steps[at], streams);
    for (int step = 0; count + 5 * CROSS_MOST < most; step++) {
        if (step % 4 == 0) {
            disorder = disorders[draw(COUNT(disorders))];
            for (uint64_t more = draw(12); more; more--) ops[count++] = draw_cross_op(like);
            if (draw(4) == 0) count += draw_cross_adopt(&ops[count], kind);
        }
        if (step % 2 == 0) kind = (int)draw(CROSS_KINDS);
        ops[count++] = (space_op){ SPACE_STEP, 1 + kind, 0, 0, 0, 0 };
        for (size_t at = 0; at < counts[kind]; at++) {
            if (draw(100) < disorder) ops[count++] = draw_cross_op(like);
            if (like & BUSY_FAULTS && draw(100) < disorder) ops[count++] = draw_busy_fault(like);
            ops[count++] = steps[kind][at];
        }
    }
    return count;
}

/* ---- plain devices: segments whose books are known, sizes near the edges, whatever is refused */

enum { PLAIN_ALIGNED = 1, PLAIN_MISUSE = 2, PLAIN_TRIM = 4, PLAIN_RESERVE = 8, PLAIN_LIMIT = 16, PLAIN_RESET = 32,
       PLAIN_FAULTS = 64, PLAIN_HOST_FAULTS = 128, PLAIN_TRY = 256, PLAIN_RIVAL = 512, PLAIN_HUGE = 1024,
       PLAIN_LARGEST = 2048, PLAIN_ALIKE = 4096, PLAIN_LIKES = 8192 };

/* limit: the arena's, which the text tells. Sets what the device has. */
static void draw_plain_text(char text[DRAW_TEXT], uint64_t *device_bytes, uint64_t *limit)
{
    static const char *const growths[] = { "fixed", "exact", "step", "double", "auto" };
    const char *growth = growths[draw(COUNT(growths))];
    size_t length = (size_t)snprintf(text, DRAW_TEXT, "backing=segments,growth=%s", growth);
    *device_bytes = SPACE_SMALL + MIB(2) * (1 + draw(200));
    *limit = draw(3) ? MIB(2) + draw(*device_bytes - MIB(2)) : UINT64_MAX;
    if (*limit < UINT64_MAX)
        length += (size_t)snprintf(text + length, DRAW_TEXT - length, ",limit=%" PRIu64, *limit);
    if (growth[0] != 'f' && growth[0] != 'e' && growth[0] != 'a' && draw(2))
        length += (size_t)snprintf(text + length, DRAW_TEXT - length, ",step=%" PRIu64, 1 + draw(MIB(20)));
    if (draw(2))
        length += (size_t)snprintf(text + length, DRAW_TEXT - length, ",alignment=%d", 256 << draw(14));
    if (draw(2)) snprintf(text + length, DRAW_TEXT - length, ",headroom=%" PRIu64, 1 + draw(MIB(30)));
}

/* Edges of classes, of granules, of the limit, of the type; and plain ones. */
static uint64_t draw_plain_bytes(uint64_t like, uint64_t limit)
{
    uint64_t edge;
    if (like & PLAIN_ALIKE && draw(16)) return KIB(60) + draw(KIB(1));     /* many free blocks of one class */
    switch (draw(like & PLAIN_HUGE ? 16 : 14)) {
    case 0:  return draw(4);
    case 1:  return draw(2) + (limit < GIB(4) ? limit : GIB(1)) - 1;
    case 2:  return MIB(2) * (1 + draw(8)) + draw(3) - 1;
    case 3: case 4: case 5:
        edge = (8 + draw(8)) << draw(19);
        return edge + draw(3) - 1;
    case 6:  return draw(MIB(24));
    case 7: case 8: return draw(MIB(3));
    case 14: return UINT64_MAX - draw(601);
    case 15:
        edge = UINT64_C(1) << (20 + draw(44));
        return edge + draw(513) - 256;
    default:
        edge = UINT64_C(256) << draw(13);
        return 1 + draw(edge);
    }
}

static space_op draw_plain_rare(uint64_t like, uint64_t *limit, uint64_t device_bytes)
{
    static const uint64_t limits[] = { 0, 1, GPUARENA_NO_LIMIT, UINT64_MAX - 1, MIB(2) };
    space_op op = { SPACE_PASS, 0, 0, 1, 0, 0 };
    switch (draw(6)) {
    case 0:
        if (like & PLAIN_TRIM) op.kind = SPACE_TRIM;
        op.bytes = draw(MIB(100));
        break;
    case 1:
        if (like & PLAIN_RESERVE) op.kind = SPACE_RESERVE;
        op.bytes = !draw(4) ? draw_plain_bytes(like, *limit) : draw(*limit < GIB(1) ? *limit + MIB(4) : MIB(300));
        break;
    case 2:
        if (!(like & PLAIN_LIMIT)) break;
        op.kind = SPACE_LIMIT;
        *limit = op.bytes = draw(12) ? MIB(2) + draw(MIB(250)) : limits[draw(COUNT(limits))];
        break;
    case 3: if (like & PLAIN_RESET && !draw(8)) op.kind = SPACE_RESET; break;
    case 4:
        if (like & PLAIN_RIVAL) op.kind = SPACE_RIVAL;
        op.bytes = draw(device_bytes);
        break;
    default:
        if (like & PLAIN_LARGEST) op.kind = SPACE_LARGEST;
        op.bytes = draw(3) ? UINT64_MAX : MIB(2) * (1 + draw(20));
    }
    return op;
}

/* A fault that the next op alone meets. */
static space_op draw_plain_fault(uint64_t like)
{
    static const uint32_t codes[] = { 0, SPACE_UNKNOWN, SPACE_CAPTURING };
    space_op op = { SPACE_FAULT, SIM_CALL_OBTAIN, 0, 1, 1, SPACE_BRIEF };
    if (!(like & PLAIN_FAULTS) || (like & PLAIN_HOST_FAULTS && draw(2))) op.slot = SPACE_HOST;
    else op.flags |= codes[draw(COUNT(codes))] | (draw(2) ? SPACE_LASTING : 0);
    return op;
}

/* frees: so many of 100; limit: in force, which the op may change. */
static space_op draw_plain_op(const space_op *after, uint64_t like, uint64_t frees, uint64_t *limit,
                              uint64_t device_bytes)
{
    space_op op = { SPACE_ALLOC, (int)draw(SHADOW_SLOTS), (int)draw(SPACE_STREAMS), 0, 0, SPACE_NEXT };
    uint64_t what = draw(100);
    if (what < 4) return draw_plain_rare(like, limit, device_bytes);
    if (what < 8 && like & PLAIN_MISUSE) {
        op.kind = SPACE_MISUSE;
        op.slot = (int)draw(5);
        op.bytes = draw(UINT64_MAX);
        return op;
    }
    if (like & (PLAIN_FAULTS | PLAIN_HOST_FAULTS) && draw(6) == 0 && after && after->kind != SPACE_FAULT)
        return draw_plain_fault(like);
    if (draw(100) < frees) {
        op.kind = SPACE_FREE;
        return op;
    }
    op.bytes = draw_plain_bytes(like, *limit);
    if (like & PLAIN_ALIGNED && !draw(3)) op.alignment = UINT64_C(1) << draw(25);
    if (like & PLAIN_ALIGNED && like & PLAIN_HUGE && !draw(40)) op.alignment = UINT64_C(1) << draw(64);
    if (like & PLAIN_TRY && !draw(4)) op.flags |= GPUARENA_ALLOC_TRY;
    op.flags |= SPACE_TAG * (uint32_t)draw(SPACE_TAGS);
    return op;
}

#endif
