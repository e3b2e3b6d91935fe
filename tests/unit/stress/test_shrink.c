/* Delta debugging on made-up units, and parts of op streams.
   It must not run any policy: shrink.t does. */
#include <stdlib.h>

#include "stress/base/search.h"
#include "stress/base/splitmix64.h"
#include "stress/workload/workload.h"
#include "tap.h"

enum { UNITS = 300 };

typedef struct culprits {                        /* it is true where all of these are kept */
    unsigned char needed[UNITS];
    size_t        end;                           /* what is behind the last of them is never needed */
    int           count, broken_at, wrong;
} culprits;

static int culprits_try(void *user, const unsigned char *keep, size_t *needed)
{
    culprits *self = user;
    if (++self->count == self->broken_at) return -1;
    for (size_t unit = 0; unit < UNITS; unit++) {
        if (self->needed[unit] && !keep[unit]) return 0;
    }
    *needed = self->end;
    return 1;
}

static void plant(culprits *self, uint64_t *state, size_t count)
{
    memset(self, 0, sizeof *self);
    for (size_t planted = 0; planted < count;) {
        size_t unit = (size_t)(splitmix64_next(state) % UNITS);
        planted += !self->needed[unit];
        self->needed[unit] = 1;
        if (unit >= self->end) self->end = unit + 1;
    }
}

static void test_search(void)
{
    uint64_t state = 1;
    int wrong = 0, most = 0;
    for (size_t count = 0; count <= 12; count++) {
        for (int round = 0; round < 20; round++) {
            culprits planted;
            unsigned char keep[UNITS];
            memset(keep, 1, sizeof keep);
            plant(&planted, &state, count);
            wrong += shrink_search(keep, UNITS, culprits_try, &planted) != 0
                  || memcmp(keep, planted.needed, UNITS) != 0;
            if (planted.count > most) most = planted.count;
        }
    }
    CHECK_MSG(!wrong, "of 300 units those that are needed are left, and no others");
    CHECK_MSG(most < 400, "in fewer tries than one by one takes, twice over (%d)", most);
}

static void test_ends(void)
{
    uint64_t state = 7;
    int wrong = 0;
    unsigned char keep[UNITS];
    for (int at = 1; at <= 30; at++) {
        culprits planted;
        memset(keep, 1, sizeof keep);
        plant(&planted, &state, 5);
        planted.broken_at = at;
        int answer = shrink_search(keep, UNITS, culprits_try, &planted);
        planted.broken_at = 0;
        size_t needed;
        wrong += answer != -1 || culprits_try(&planted, keep, &needed) != 1;
    }
    CHECK_MSG(!wrong, "where a try cannot be made it ends, with units of which it is true");
    culprits none;
    memset(&none, 0, sizeof none);
    CHECK_MSG(shrink_search(keep, 0, culprits_try, &none) == 0 && none.count == 0, "no units: nothing is tried");
}

static const char *subset_text(const char *spec, const unsigned char *keep, size_t op_count, char *text, size_t size)
{
    const workload_options plain = { 0 };
    problem why = { 0, "" };
    op_stream from, made;
    FILE *out = fmemopen(text, size, "w");
    text[0] = '\0';
    if (!out) return text;
    if (!workload_make(spec, &plain, &from, &why)) {
        if (!op_stream_subset(&from, keep, op_count, &made, &why)) op_stream_write(&made, out);
        op_stream_free(&made);
        op_stream_free(&from);
    }
    fclose(out);
    return text;
}

static void test_subset(void)
{
    static const char whole[] = "gpuarena-trace 1\na 5 100 0 weights\na 6 200 7\ns one\nk 7 300 5 6\nf 5 7\nw 0 7\n"
                                "a 5 300 0\nf 6\nf 5\n";
    char path[] = "/tmp/gpuarena_subset_XXXXXX", spec[64], text[256];
    const unsigned char all[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, some[9] = { 0, 1, 0, 1, 1, 0, 1, 1, 0 };
    int file = mkstemp(path);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out) {
        SKIP("no file in /tmp");
        return;
    }
    fputs(whole, out);
    fclose(out);
    snprintf(spec, sizeof spec, "replay:%s", path);
    CHECK_STR(subset_text(spec, all, 9, text, sizeof text), whole);
    CHECK_STR(subset_text(spec, all, 4, text, sizeof text),
              "gpuarena-trace 1\na 5 100 0 weights\na 6 200 7\ns one\nk 7 300 5 6\n");
    CHECK_STR(subset_text(spec, some, 9, text, sizeof text),
              "gpuarena-trace 1\na 6 200 7\nk 7 300 6\na 5 300 0\nf 6\n");
    remove(path);
}

int main(void)
{
    test_search();
    test_ends();
    test_subset();
    return tap_done();
}
