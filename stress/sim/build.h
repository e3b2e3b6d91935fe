/* What two compilations must have in common to work on one machine.
   It must not be needed to build or use one.
   Tested by tests/test_rival.c. */
#ifndef STRESS_SIM_BUILD_H
#define STRESS_SIM_BUILD_H

/* The version, and how large the engine's structures are where this was compiled: a machine may be handed to code
   that answers the same. */
const char *sim_build(void);

#endif
