/* Vector clocks, each an array as long as it had to be.
   Must not know what a line is, nor of virtual time.
   Tested by tests/test_sim_order.c. */
#include "vclock.h"

#include <stdlib.h>
#include <string.h>

int vclock_reserve(vclock *clock, uint32_t count)
{
    if (count <= clock->count) {
        return 0;
    }
    uint64_t *at = realloc(clock->at, count * sizeof *at);
    if (!at) {
        return -1;
    }
    memset(at + clock->count, 0, (count - clock->count) * sizeof *at);
    clock->at = at;
    clock->count = count;
    return 0;
}

uint64_t vclock_get(const vclock *clock, uint32_t line)
{
    return line < clock->count ? clock->at[line] : 0;
}

void vclock_raise(vclock *clock, uint32_t line, uint64_t position)
{
    if (clock->at[line] < position) {
        clock->at[line] = position;
    }
}

void vclock_join(vclock *clock, const vclock *other)
{
    for (uint32_t i = 0; i < other->count; i++) {
        vclock_raise(clock, i, other->at[i]);
    }
}

void vclock_copy(vclock *clock, const vclock *other)
{
    if (clock->count > 0) {
        memset(clock->at, 0, clock->count * sizeof *clock->at);
    }
    vclock_join(clock, other);
}

void vclock_destroy(vclock *clock)
{
    free(clock->at);
    memset(clock, 0, sizeof *clock);
}
