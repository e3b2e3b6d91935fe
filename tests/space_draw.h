/* Random points of the configuration space as texts, and random programs of calls.
   It must not know what the values do: a text that is refused loses a key that the refusal names, until one is taken.
   Included by tests/test_space.c. */
#ifndef TESTS_SPACE_DRAW_H
#define TESTS_SPACE_DRAW_H

#include "space.h"

enum { DRAW_TEXT = 1024 };
#define DRAW_DEVICE MIB(512)

/* Every key, one in so many texts, and values. */
typedef struct draw_key { const char *name; int one_in; const char *values; } draw_key;
static const draw_key draw_keys[] = {
    { "backing", 2, "auto|segments|segments|paged" },
    { "growth", 2, "auto|fixed|exact|step|double|half" },
    { "placement", 2, "good|best|first|buddy|bins" },
    { "bin_growth", 4, "2|4|8|64" },
    { "bin_min", 4, "512|4K|64K" },
    { "bin_max", 4, "32K|256K|2M|16M" },
    { "round_divisions", 4, "1|2|4|8|1/2M:4/8M:2|4/4M:1" },
    { "split", 3, "always|ratio|remainder" },
    { "split_least", 3, "256|64K|1M|128M" },
    { "split_max", 4, "4M|8M|20M|64M" },
    { "split_over", 3, "1|1M|20M" },
    { "small", 3, "512|64K|1M" },
    { "small_step", 2, "1|2M|6M" },
    { "share", 8, "none|ipc|rdma" },
    { "page", 5, "2M|4M|16M" },
    { "idle", 4, "0|5%|50%|100%" },
    { "large", 5, "1|1M|64M" },
    { "initial", 6, "1|2M|10M|64M" },
    { "step", 5, "1|2M|6M|20M|100M" },
    { "step_max", 6, "2M|32M|512T" },
    { "exact", 5, "1|1M|10M" },
    { "backoff", 4, "surplus|tenth|half" },
    { "alignment", 5, "256|512|4K|2M" },
    { "limit", 1, "none|40M|50M|64M|100M|128M|50%|60%free|total-100M|free-300M" },
    { "headroom", 6, "1|10M|50M" },
    { "release", 2, "on_demand|idle|age|pressure" },
    { "release_at", 2, "1|4M|20M|100M|500M" },
    { "release_keep", 3, "0|1%|50%|100%" },
    { "release_age", 2, "1|5|20|200" },
    { "streams", 3, "auto|same|events|steal" },
    { "wait_ms", 12, "1" }
};

static uint64_t draw_state;

static uint64_t draw(uint64_t bound) { return bench_random(&draw_state) % bound; }

/* One of the values between the bars. */
static void draw_value(const char *values, char *text, size_t size)
{
    uint64_t count = 1, which;
    const char *end;
    for (end = values; *end; end++) count += *end == '|';
    for (which = draw(count); which; which--) values = strchr(values, '|') + 1;
    end = strchr(values, '|');
    snprintf(text, size, "%.*s", (int)(end ? end - values : (ptrdiff_t)strlen(values)), values);
}

/* Takes key number `which` out of a text; 0: there is no such. */
static int draw_drop(char *text, int which)
{
    char *begin = text, *end;
    for (; which && begin; which--) begin = strchr(begin, ',') ? strchr(begin, ',') + 1 : NULL;
    if (!begin || !*text) return 0;
    end = strchr(begin, ',');
    if (end) memmove(begin, end + 1, strlen(end + 1) + 1);
    else begin[begin > text ? -1 : 0] = '\0';
    return 1;
}

/* Takes one of the keys out that the sentence names, the first or a later one. 0: it names none of the text's. */
static int draw_mend(char *text, const char *sentence)
{
    int named[64], count = 0, at = 0;
    for (const char *item = text; item && *item && at < 64; at++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(item, "="), item);
        if (strstr(sentence, name)) named[count++] = at;
        item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL;
    }
    return count && draw_drop(text, named[draw((uint64_t)count)]);
}

static void draw_text(char text[DRAW_TEXT])
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t at = 0; at < COUNT(draw_keys); at++) {
        char value[40];
        if (draw((uint64_t)draw_keys[at].one_in)) continue;
        draw_value(draw_keys[at].values, value, sizeof value);
        length += (size_t)snprintf(text + length, DRAW_TEXT - length, "%s%s=%s", length ? "," : "", draw_keys[at].name,
                                   value);
    }
}

/* ---- programs */

/* What sequences are like; each has about half of it. */
enum { DRAW_FAULTS = 1, DRAW_LIMITS = 2, DRAW_ALIGNED = 4, DRAW_STREAMS = 8, DRAW_RIVAL = 16, DRAW_FLAGS = 32,
       DRAW_LARGE = 64, DRAW_RESIZE = 128, DRAW_CALM = 256 };

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
    switch (draw(9)) {
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
        return op;
    }
    if (what >= 92) return draw_rare(like);
    op.kind = SPACE_FREE;
    if (!draw(4)) op.stream = SPACE_OWN;
    if (what >= 84 && like & DRAW_STREAMS) op.kind = draw(3) ? SPACE_WORK : SPACE_USE;
    else if (what >= 80 && like & DRAW_RESIZE) op.kind = SPACE_RESIZE;
    if (op.kind == SPACE_WORK) op.bytes = draw(300000);
    return op;
}

#endif
