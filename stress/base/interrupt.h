/* Signals: those that ask for an end are remembered, so that what is finished can be written; of those that a crash
   raises the line that shows it again is told first.
   It must not know what is run. */
#ifndef STRESS_BASE_INTERRUPT_H
#define STRESS_BASE_INTERRUPT_H

/* From now on SIGINT, SIGTERM and SIGHUP are remembered, once: the second ends the process, as if this had not been
   called. One that is ignored already (nohup) stays ignored. SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT write the
   line of interrupt_repro to stderr and are then what they were. */
void        interrupt_catch(void);

int         interrupt_signal(void);              /* the one remembered, or 0; cheap */
void        interrupt_clear(void);               /* it is forgotten; the next one ends the process all the same */
const char *interrupt_name(void);                /* "SIGINT"; "" without one */
int         interrupt_exit(void);                /* 128 + signal, as shells have it */

/* What is told in a crash: text, which is copied and may be cut; "" nothing. Call it while no other thread runs. */
void        interrupt_repro(const char *text);

#endif
