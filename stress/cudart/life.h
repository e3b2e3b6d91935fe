/* The life of the substitute in its process: the machine that serves, first call, fork, exit.
   It must not know what calls do. Everything here but life_lock is called with the lock held. */
#ifndef STRESS_CUDART_LIFE_H
#define STRESS_CUDART_LIFE_H

#include "cudart.h"

void life_lock(void);                            /* one call at a time is inside the engine */
void life_unlock(void);

/* Begins the life, the first time. Then 0, or the code that every call answers: a child of fork, the end of the
   process. */
int life_begin(void);

/* After life_begin said 0: the machine that serves calls, made now if need be; NULL: no device. */
sim *life_machine(void);
int  life_is_own(const sim *machine);            /* 1: GPUARENA_SIM's, so that nobody else counts its operations */
uint64_t life_epoch(void);                       /* changes with the machine */

#endif
