/* Log-uniform sizes.
   It must not know what is done with them.
   Tested by tests/test_bench.c. */
#include "sizes.h"

#include <math.h>

#include "../base/splitmix64.h"

void sizes_draw(uint64_t *sizes, size_t count, uint64_t seed)
{
    uint64_t random = seed;
    for (size_t index = 0; index < count; index++) {
        double part = (double)(splitmix64_next(&random) >> 11) / 9007199254740992.0;         /* 2^53: below 1 */
        sizes[index] = (uint64_t)exp2(8.0 + 12.0 * part);
    }
}
