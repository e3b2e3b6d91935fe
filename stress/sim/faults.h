/* Faults: which calls fail, which answers lie, when another process takes memory. One text grammar:

     faults = [part {(";" | ",") part}]
     part   = KIND ":" N ["+"] ["=" CODE]   the Nth call of this kind (from 1) fails, with "+" every one from it on
            | SIZED ">" SIZE ["=" CODE]     every such call of more than SIZE fails
            | "null:" N                     the Nth obtain answers success with NULL,
            | "misaligned:" N               .. with an address that no alignment of 256 or more allows,
            | "overlap:" N                  .. with the address of memory that is held already
            | "rival@" OP "=" ["-"] SIZE ["/" DEVICE]
                                            before operation OP another process takes SIZE of the device's memory,
                                            or gives it back with "-"; DEVICE 0 if left out
            | "stall:" N ["=" US]           of 1,000 calls of access and unmap N, scattered but always the same ones,
                                            take US microseconds more; 2,000 if left out
     KIND   = "any", or a name in base.h's list of calls, ours or CUDA's: many only libcudart's substitute serves
     SIZED  = "obtain" | "reserve" | "create" | "map" | "access", or CUDA's name of these
     CODE   = 1 .. 9999                     default: 2 where memory is asked for (base.h), 999 for the others
     SIZE   = decimal bytes ["K" | "M" | "G" | "T"]

   Calls are counted over all devices, those that fail or are lied to included. Of several parts that concern one call
   the first in the text acts. A rival takes at most the free memory, and gives back at most its own. Lying answers
   take no memory: the range is no one's until it is given back, which succeeds; an overlap with nothing held answers
   truly, and so does a request for 0 bytes or above the capacity. A call that fails changes nothing but clock and
   counters. Codes that the CUDA runtime calls sticky (codes.c has them: a lost device) make every later call on that
   device fail with them; 4 (unloading) is not sticky by itself: `any:9+=4`.
   It must not know of memory or of the effects of calls. */
#ifndef STRESS_SIM_FAULTS_H
#define STRESS_SIM_FAULTS_H

#include "../base/text.h"
#include "base.h"

enum { FAULTS_MOST = 64 };

typedef enum fault_type {
    FAULT_CALL, FAULT_ABOVE, FAULT_NULL, FAULT_MISALIGNED, FAULT_OVERLAP, FAULT_RIVAL, FAULT_STALL
} fault_type;

typedef struct fault {
    fault_type type;
    sim_call   kind;                             /* CALL, ABOVE; SIM_CALL_KINDS: any */
    uint64_t   nth;                              /* CALL and lies: which call, from 1. RIVAL: the operation.
                                                    STALL: how many of 1,000 */
    int        lasting;                          /* CALL: from the nth on */
    int        code;                             /* CALL, ABOVE */
    uint64_t   bytes;                            /* ABOVE, RIVAL. STALL: nanoseconds */
    int        gives_back, device;               /* RIVAL */
    int        fired;                            /* has acted at least once */
} fault;

typedef struct faults {                          /* zeroed: none */
    fault    parts[FAULTS_MOST];
    int      count;
    fault    campaign;                           /* sim_fail_call's; nth 0: none */
    uint64_t calls[SIM_CALL_KINDS + 1];          /* the last: of any kind */
} faults;

/* Replaces all parts. NULL or "": none. -1 and a problem that names the part and the expected form, EXIT_USAGE.
   device_count: how many devices rivals may name. */
int faults_parse(const char *text, int device_count, faults *set, problem *why);

/* Counts a call, and finds the part that acts on it: the call fails with the part's code, or is lied to by a part
   without one. NULL: there is none, or the device is lost. bytes: of SIZED calls, else 0. */
const fault *faults_call(faults *set, sim_call kind, uint64_t bytes, int is_lost);

/* How much longer the latest call of the kind takes. */
uint64_t faults_stall_ns(const faults *set, sim_call kind);

/* The rival that acts next before operation op: earliest first, then as in the text; each once. NULL: no more. */
const fault *faults_next_rival(faults *set, uint64_t op);

#endif
