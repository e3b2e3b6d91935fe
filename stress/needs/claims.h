/* Claims: what people say or ask about GPU memory, and which scenario, test or example answers each.
   Knows nothing of how. Tested by tests/needs.t. */
#ifndef STRESS_NEEDS_CLAIMS_H
#define STRESS_NEEDS_CLAIMS_H

#include <stddef.h>

typedef struct claim {
    const char *id;                              /* text and paragraph: S0.2, S0.Ex1; a question of users': U7 */
    const char *truth;                           /* T true, F false, ~ half true; need: asked for, ask: of users */
    const char *said;
    const char *scenario;                        /* a need's name; NULL: .. */
    const char *elsewhere;                       /* .. where it is answered, and why there */
} claim;
const claim *claim_at(size_t index);             /* NULL past the last */

enum { CLAIM_IDS_ROOM = 96 };
/* The ids of the claims that this scenario answers, each once, separated by spaces. Returns text. */
const char *claim_ids(const char *scenario, char *text, size_t size);

#endif
