/* One number for what happened: FNV-1a, 64 bit, over words, lowest byte first on every host.
   Knows nothing of ops: it is handed words. Tested by tests/test_measure.c. */
#ifndef STRESS_BASE_DIGEST_H
#define STRESS_BASE_DIGEST_H

#include <stdint.h>

#define DIGEST_START UINT64_C(0xcbf29ce484222325)

uint64_t digest_word(uint64_t digest, uint64_t word);

#endif
