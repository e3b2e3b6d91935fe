/* What copies and fills do: where each side lies, whether it is held, and the bytes.
   It must not know of streams or of the calls' names but for findings.
   Tested by tests/test_cudart_contents.c. */
#ifndef STRESS_SIM_CUDART_COPY_H
#define STRESS_SIM_CUDART_COPY_H

#include "call.h"

typedef struct copy_area {                       /* rows of equal width, pitch bytes from one to the next */
    void  *ptr;
    size_t pitch;
} copy_area;

/* Both answer with a code. Findings: a side that is no memory of the kind's, or not held by one obtain, or leaves its
   pinned memory; sides that overlap. Rows are at most as wide as each pitch, and a pitch of many rows is at most
   cudaDevAttrMaxPitch, else cudaErrorInvalidPitchValue. Nothing to do is always fine. One row: any pitch from its
   width on will do. */
int copy_bytes(call *self, const char *name, copy_area to, copy_area from, size_t width, size_t height,
               enum cudaMemcpyKind kind);
int copy_fill(call *self, const char *name, copy_area to, int value, size_t width, size_t height);

#endif
