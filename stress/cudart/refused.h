/* Which functions that are not served were called.
   It must not know of those that are. */
#ifndef STRESS_CUDART_REFUSED_H
#define STRESS_CUDART_REFUSED_H

#include <stdio.h>

void refused_print(FILE *out);                   /* a line for each that was: "refused NAME COUNT" */

#endif
