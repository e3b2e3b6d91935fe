/* The scenarios, by the file that has them. Each is told, with when it passes, in test_needs.c.
   Knows nothing of the table. Tested by tests/scenario/test_needs.c. */
#ifndef TESTS_SCENARIO_SCENARIOS_H
#define TESTS_SCENARIO_SCENARIOS_H

#include "scene.h"

typedef void needs_scenario(scene *self);

/* sharing.c: a device that others use too */
needs_scenario sharing_shares, sharing_grabbed;

/* growth.c: what is taken, and when */
needs_scenario growth_limit, growth_overshoot, growth_modes, growth_walls, growth_shapes, growth_jump;

/* held.c: what stays, comes back, and is used again */
needs_scenario held_trim, held_again, held_bound, held_repeat, held_lifetimes;

/* waits.c: streams */
needs_scenario waits_overlap, waits_late;

/* small.c: small programs, and what must fit */
needs_scenario small_model, small_sizes, small_batches, small_ring;

#endif
