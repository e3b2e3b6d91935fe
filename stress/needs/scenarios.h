/* The scenarios, by the file that has them. Each is told, with when it passes, in needs.c.
   Knows nothing of the table. Tested by tests/needs.t. */
#ifndef STRESS_NEEDS_SCENARIOS_H
#define STRESS_NEEDS_SCENARIOS_H

#include "scene.h"

/* figures.c: what is said of memory, against what is so */
void figures_sums(scene *self);
void figures_other(scene *self);
void figures_predict(scene *self);

/* limits.c */
void limits_kept(scene *self);
void limits_reasons(scene *self);

/* growth.c */
void growth_first_touch(scene *self);
void growth_overshoot(scene *self);

/* held.c: what stays, comes back, and is used again */
void held_trim(scene *self);
void held_again(scene *self);
void held_bound(scene *self);

#endif
