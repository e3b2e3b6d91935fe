/* "did you mean": the known name that a mistyped one is closest to.
   Knows nothing of options or policies: it sees names. */
#ifndef STRESS_BASE_NEAREST_H
#define STRESS_BASE_NEAREST_H

#include <stddef.h>

typedef struct nearest {
    const char *typed;                           /* what the user wrote */
    const char *name;                            /* the closest so far, or NULL: none is close */
    size_t      distance;                        /* of name: edits */
} nearest;

nearest nearest_to(const char *typed);                       /* no candidate yet */
void    nearest_offer(nearest *search, const char *name);    /* NULL is none. Must outlive the search */
/* ", did you mean 'NAME'?" into text, or "" where nothing is close. Returns text. */
const char *nearest_hint(const nearest *search, char *text, size_t size);

#endif
