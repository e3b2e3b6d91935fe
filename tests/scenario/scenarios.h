/* The scenarios, by the file that has them. Each is told, with when it passes, in needs.c.
   Knows nothing of the table. Tested by tests/needs.t. */
#ifndef TESTS_SCENARIO_SCENARIOS_H
#define TESTS_SCENARIO_SCENARIOS_H

#include "scene.h"

typedef void needs_scenario(scene *self);

/* figures.c: what is said of memory, against what is so */
needs_scenario figures_sums, figures_other, figures_predict;

/* inspect.c: reports, events, peaks, addresses, blocks that grow where they are */
needs_scenario inspect_report, inspect_hook, inspect_peaks, inspect_resize, inspect_virtual;

/* limits.c, configs.c: limits, refusals, settings */
needs_scenario limits_kept, limits_threads, limits_reasons;
needs_scenario configs_late, configs_validate, configs_environment, configs_marks, configs_headroom;

/* sharing.c: a device that others use too */
needs_scenario sharing_shares, sharing_grabbed, sharing_manners_kept;

/* growth.c: what is taken, and when */
needs_scenario growth_first_touch, growth_overshoot, growth_modes, growth_walls, growth_shapes, growth_jump,
               growth_steps;

/* held.c: what stays, comes back, and is used again */
needs_scenario held_trim, held_again, held_bound, held_repeat, held_retention, held_lifetimes;

/* waits.c: streams, captures, pressure */
needs_scenario waits_overlap, waits_captured, waits_pressure, waits_late;

/* owners.c, kinds.c: whose memory it is, and memory of other kinds */
needs_scenario owners_tags, owners_scope, owners_leaks, owners_tenants, owners_devices;
needs_scenario kinds_pinned, kinds_async;

/* small.c: small programs, and what must fit */
needs_scenario small_model, small_sizes, small_batches, small_scratch, small_ring;

#endif
