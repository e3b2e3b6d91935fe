/* splitmix64 (Sebastiano Vigna, public domain): the one source of randomness of op streams, the same on every
   machine. It must not know what is drawn. The state is the seed to begin with. */
#ifndef STRESS_BASE_SPLITMIX64_H
#define STRESS_BASE_SPLITMIX64_H

#include <stdint.h>

#define SPLITMIX64_STEP UINT64_C(0x9e3779b97f4a7c15)        /* from a state to the next */

/* What is drawn from a state; a hash of any number, too. */
static inline uint64_t splitmix64_mix(uint64_t state)
{
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

static inline uint64_t splitmix64_next(uint64_t *state)
{
    return splitmix64_mix(*state += SPLITMIX64_STEP);
}

/* 0 .. bound - 1, unbiased; bound > 0. */
static inline uint64_t splitmix64_below(uint64_t *state, uint64_t bound)
{
    uint64_t drawn;                              /* those below a multiple of it fall evenly on all remainders */
    do drawn = splitmix64_next(state);
    while (drawn > UINT64_MAX - bound && drawn >= UINT64_MAX - UINT64_MAX % bound);
    return drawn % bound;
}

#endif
