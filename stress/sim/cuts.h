/* What is true of which bytes of a granule: parts from one cut to the next, cut at the ends of what changes, joined
   with neighbours that are the same. It must not know what is said of them. */
#ifndef STRESS_SIM_CUTS_H
#define STRESS_SIM_CUTS_H

#include "base.h"

typedef struct cuts_part { uint32_t from, mark; uint64_t value; } cuts_part;     /* up to the next part, or the end */

typedef struct cuts {                            /* zeroed: nothing has been said, which is of mark and value 0 */
    cuts_part *list;                             /* by from, the first's 0, neighbours differ */
    uint32_t   count, capacity;
} cuts;

/* What a part's value is, to whoever has it: replace answers what is true of a part, or some of it, from now on; its
   from does not count. keep, drop: one part more, or less, has this value; NULL: that is nothing to know. */
typedef struct cuts_kind {
    cuts_part (*replace)(void *user, const cuts_part *part);
    int       (*are_same)(const cuts_part *one, const cuts_part *other);
    void      (*keep)(const cuts_part *part);
    void      (*drop)(const cuts_part *part);
} cuts_kind;

/* Of bytes [from, to), part by part. O(log parts + parts in the range), moving what lies behind. */
void     cuts_change(cuts *self, uint32_t from, uint32_t to, const cuts_kind *kind, void *user);
uint32_t cuts_find(const cuts *self, uint32_t byte);         /* which part holds it: of those there are */
uint32_t cuts_end(const cuts *self, uint32_t index);
void     cuts_clear(cuts *self);                 /* zeroed; what parts have is the caller's */

#endif
