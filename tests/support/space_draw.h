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
       DRAW_THREADS = 2048, DRAW_LIKES = 4096 };

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
    case 6: op.kind = SPACE_WORK; break;
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
    else if (what >= 80 && like & DRAW_RESIZE) op.kind = SPACE_RESIZE;
    if (op.kind == SPACE_WORK) op.bytes = draw(300000);
    return op;
}

#endif
