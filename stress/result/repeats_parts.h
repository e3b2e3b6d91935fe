/* What groups are filled by, one part after the other.
   For repeats.c and repeats_read.c alone. Tested by tests/test_repeats.c. */
#ifndef STRESS_RESULT_REPEATS_PARTS_H
#define STRESS_RESULT_REPEATS_PARTS_H

#include "repeats.h"

extern const char *const repeats_names[REPEATS_PARTS];       /* as JSON has them */

/* The group that one more row of this name belongs to; NULL, -1: no host memory. found NULL: the row has none. */
repeats_group *repeats_group_of(repeats *self, slice name);
int            repeats_take_ns(repeats_group *of, double ns);
int            repeats_take(repeats_group *of, repeats_part part, const histogram *found);

#endif
