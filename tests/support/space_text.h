/* Points of the configuration space as texts: every key and its values. Who includes it has draw(bound), for chance.
   It must not know the effect of values: a text that is refused loses a key that the refusal names, until one is
   taken. Included by space_draw.h and test_threads_torture.c. */
#ifndef TESTS_SPACE_TEXT_H
#define TESTS_SPACE_TEXT_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAW_TEXT = 1024 };
#define DRAW_KEYS (sizeof draw_keys / sizeof draw_keys[0])

/* Every key, one in so many texts, the text it needs beside it, and values. */
typedef struct draw_key { const char *name; int one_in; const char *needs, *values; } draw_key;
static const draw_key draw_keys[] = {
    { "backing", 2, "", "auto|segments|segments|paged|pinned|managed|async" },
    { "growth", 2, "", "auto|fixed|exact|step|double" },
    { "share", 8, "", "none|ipc|rdma|pages" },
    { "peers", 12, "", "0" },
    { "page", 5, "backing=paged", "2M|4M|16M" },
    { "idle", 4, "backing=paged", "0|5%|50%|100%" },
    { "large", 5, "backing=paged", "1|1M|64M" },
    { "initial", 6, "", "1|2M|10M|64M" },
    { "step", 5, "growth=double", "1|2M|6M|20M|100M" },
    { "step_max", 6, "growth=double", "2M|32M|512T" },
    { "alignment", 5, "", "256|512|4K|2M" },
    { "limit", 1, "", "none|40M|50M|64M|100M|128M|50%|60%free|total-100M|free-300M" },
    { "headroom", 6, "", "1|10M|50M" },
    { "release", 2, "", "on_demand|idle|age|pressure" },
    { "release_at", 2, "release=idle", "1|4M|20M|100M|500M" },
    { "release_keep", 3, "release=idle", "0|1%|50%|100%" },
    { "release_age", 2, "release=age", "1|5|20|200" },
    { "streams", 3, "", "auto|same|events|steal" },
    { "wait_ms", 12, "", "1" },
    { "scrub", 8, "", "off|free|alloc|both" },
    { "plan", 12, "", "auto|off" },
    { "debug", 8, "", "off|passthrough|guard" },
    { "oversubscribe", 12, "", "0|1" }
};

/* One of the values between the bars, each as often as its weight tells: 3xVALUE. */
static const char *draw_choice(const char *values)
{
    const char *chosen = values;
    uint64_t sum = 0;
    for (const char *at = values; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        size_t digits = strspn(at, "0123456789");
        uint64_t weight = digits && at[digits] == 'x' ? strtoull(at, NULL, 10) : 1;
        if (digits && at[digits] == 'x') at += digits + 1;
        sum += weight;
        if (draw(sum) < weight) chosen = at;
    }
    return chosen;
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

/* Takes one of the keys out that the sentence names, but none of the first `kept`. 0: it names no other. */
static int draw_mend(char *text, int kept, const char *sentence)
{
    int named[64], count = 0, at = 0;
    for (const char *item = text; item && *item && at < 64; at++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(item, "="), item);
        if (at >= kept && strstr(sentence, name)) named[count++] = at;
        item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL;
    }
    return count && draw_drop(text, named[draw((uint64_t)count)]);
}

/* Tells whether a text has a key. */
static int draw_has(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (; text && *text; text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL)
        if (strncmp(text, name, length) == 0 && text[length] == '=') return 1;
    return 0;
}

/* Adds keys to a text that it has not, with values. */
static void draw_text(char text[DRAW_TEXT])
{
    for (size_t at = 0; at < DRAW_KEYS; at++) {
        size_t length = strlen(text);
        if (draw((uint64_t)draw_keys[at].one_in) || draw_has(text, draw_keys[at].name)) continue;
        const char *value = draw_choice(draw_keys[at].values);
        snprintf(text + length, DRAW_TEXT - length, "%s%s=%.*s", length ? "," : "", draw_keys[at].name,
                 (int)strcspn(value, "|"), value);
    }
}

#endif
