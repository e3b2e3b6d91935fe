/* FNV-1a over the eight bytes of a word.
   It must not see addresses: callers hand it what is the same on every host.
   Tested by tests/test_measure.c. */
#include "digest.h"

uint64_t digest_word(uint64_t digest, uint64_t word)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        digest ^= (word >> shift) & 0xff;
        digest *= UINT64_C(0x100000001b3);
    }
    return digest;
}
