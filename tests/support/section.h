/* For tests that look at a section of the header from inside: a private copy of the implementation, the constants
   that the header takes back at its end, said again, and a generator. It must not test anything itself.
   Included by test_section_*.c. */
#ifndef TESTS_SECTION_H
#define TESTS_SECTION_H

#define GPUARENA_STATIC
#include "stress/base/splitmix64.h"
#include "fake_driver.h"
#include "tap.h"

#define SECTION_GRANULE   ((uint64_t)2 << 20)
#define SECTION_MAX_BYTES ((uint64_t)1 << 49)
#define SECTION_LIVE      ((uint64_t)1)          /* state bits of a node's size */
#define SECTION_OVERFLOW  ((uint64_t)2)
enum { SECTION_CLASSES = 42 * 8, SECTION_CHUNK = 512, SECTION_LINE = 64 };

/* From a fixed seed: every run draws the same. */
static inline uint64_t section_draw(void)
{
    static uint64_t state = 1;
    return splitmix64_next(&state);
}

#endif
