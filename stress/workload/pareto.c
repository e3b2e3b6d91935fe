/* `pareto`: blocks of heavy-tailed size in an array whose places are chosen by the 80/20 rule, six times over. */
#include "maker.h"

/* The rules of alloc-test (of node-dns, in mimalloc-bench): each step picks a place; an empty one gets a block, one
   that holds a block loses it. Of the picks 80 % fall on 20 % of the places, of these again 80 % on 20 %, and so on:
   each place is one of 5^6 kinds by six draws, hot or not. With k of six draws against the odds, C(6,k) x 4^(6-k)
   picks in 5^6 go to C(6,k) x 4^k places in 5^6. So a few blocks live for long, most for a moment.
   Sizes: each doubling is half as frequent as the one below it, and even within (Pareto, alpha = 1), so that all
   doublings carry the same share of the bytes. There 8 bytes to 1 KiB; here KiB, up to 256 MiB. */
enum { PARETO_LEVELS = 6, PARETO_KINDS = 15625 };            /* 5^6 */

typedef struct pareto {
    maker     words;
    uint64_t  count, place_count, doublings;
    family_range kib;                            /* of a block: LO x 2^k, up to HI */
    uint32_t *blocks;                            /* by place */
    uint8_t  *is_live;
} pareto;

static const family_option pareto_options[] = {
    OPTION(pareto, count, "n", 1, 10000000, 10000),
    OPTION(pareto, place_count, "places", 64, 10000000, 2048),
    OPTION_RANGE(pareto, kib, "size", 1, 1 << 24, 64, 262144),
    OPTION(pareto, words.random, "seed", 0, UINT64_MAX, 1),
};

/* Places below the first of level k, of PARETO_KINDS. */
static const uint64_t pareto_bounds[PARETO_LEVELS + 2] = { 0, 1, 25, 265, 1545, 5385, 11529, PARETO_KINDS };

static uint64_t pareto_pick(pareto *state)
{
    uint32_t level = 0;
    for (int draw = 0; draw < PARETO_LEVELS; draw++) level += (uint32_t)maker_draw_chance(state, 5);
    uint64_t first = state->place_count * pareto_bounds[level] / PARETO_KINDS;
    uint64_t end = state->place_count * pareto_bounds[level + 1] / PARETO_KINDS;
    return end > first ? maker_draw(state, first, end - 1) : first;
}

static uint64_t pareto_size(pareto *state)
{
    uint64_t lot = maker_draw(state, 1, ((uint64_t)1 << state->doublings) - 1), bytes = state->kib.low << 10;
    while (lot % 2 == 0) {
        lot /= 2;
        bytes *= 2;
    }
    return maker_draw(state, bytes, 2 * bytes - 1);
}

static void pareto_make(void *self)
{
    pareto *state = self;
    uint64_t times = state->kib.high / state->kib.low;
    if (times < 2) MAKER_REFUSE(state, "size spans less than a doubling, expected LO-HI with HI 2 x LO or more");
    while (times >= (uint64_t)2 << state->doublings) state->doublings++;
    state->blocks = maker_array(state, state->place_count, sizeof *state->blocks);
    state->is_live = maker_array(state, state->place_count, sizeof *state->is_live);
    MAKER_EACH(state, step, state->count) {
        uint64_t place = pareto_pick(state);
        if (state->is_live[place]) MAKER_FREE(state, state->blocks[place]);
        else state->blocks[place] = maker_new(state, pareto_size(state));
        state->is_live[place] = !state->is_live[place];
    }
    MAKER_EACH(state, place, state->place_count) {
        if (state->is_live[place]) MAKER_FREE(state, state->blocks[place]);
    }
}

FAMILY(pareto, "n steps over an array of places, 80 % on 20 % of it, six times over; sizes (KiB) of heavy tail",
       "random: few large blocks, each below HI, make most of it", 339588859);
