/* splitmix64, and unbiased numbers below a bound. */
#include "splitmix64.h"

uint64_t splitmix64_next(uint64_t *state)
{
    return splitmix64_mix(*state += SPLITMIX64_STEP);
}

uint64_t splitmix64_below(uint64_t *state, uint64_t bound)
{
    uint64_t whole = UINT64_MAX - UINT64_MAX % bound;    /* draws below it fall evenly on all remainders */
    uint64_t drawn = splitmix64_next(state);
    while (drawn >= whole) drawn = splitmix64_next(state);
    return drawn % bound;
}
