/* Signals that ask for an end are remembered, so that what is finished can be written.
   It must not know what is run. */
#ifndef STRESS_BASE_INTERRUPT_H
#define STRESS_BASE_INTERRUPT_H

/* From now on SIGINT, SIGTERM and SIGHUP are remembered, once: the second ends the process, as if this had not been
   called. One that is ignored already (nohup) stays ignored. */
void        interrupt_catch(void);

int         interrupt_signal(void);              /* the one remembered, or 0; cheap */
void        interrupt_clear(void);               /* it is forgotten; the next one ends the process all the same */
const char *interrupt_name(void);                /* "SIGINT"; "" without one */
int         interrupt_exit(void);                /* 128 + signal, as shells have it */

#endif
