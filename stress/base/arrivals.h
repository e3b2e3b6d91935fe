/* Operations that come at fixed times, whether or not the ones before are done: of each the time from when it was due
   to its end, as whoever waits sees it, and from when it could begin, as the allocator does. Virtual nanoseconds.
   Knows nothing of clocks. Filled by pass_clock.c. */
#ifndef STRESS_BASE_ARRIVALS_H
#define STRESS_BASE_ARRIVALS_H

#include "histogram.h"

typedef struct arrivals { histogram waited, served; } arrivals;

#endif
