/* What copies and fills do: where each side lies, whether it is held, the bytes; device sides are used by the stream.
   It must not know of calls' names but for findings, nor whether they were captured. */
#ifndef STRESS_CUDART_COPY_H
#define STRESS_CUDART_COPY_H

#include <cuda_runtime_api.h>

#include "../sim/work.h"

typedef struct copy_area {                       /* rows of equal width, pitch bytes from one to the next */
    void  *ptr;
    size_t pitch;
} copy_area;

typedef struct copy_request {
    const char *name;                            /* of the call */
    copy_area   to, from;                        /* from: not of fills */
    size_t      width, height;
    enum cudaMemcpyKind kind;                    /* of copies */
    int         value;                           /* of fills */
} copy_request;

/* Both answer with a code, as graph_act does; payload: a copy_request. Findings: a side that is no memory of the
   kind's, or not held by one obtain, or leaves its pinned memory; sides that overlap. Rows are at most as wide as
   each pitch, and a pitch of many rows is at most cudaDevAttrMaxPitch, else cudaErrorInvalidPitchValue. Nothing to do
   is always fine. One row: any pitch from its width on will do. */
int copy_bytes(void *now, const void *payload);
int copy_fill(void *now, const void *payload);

/* 1: some side is the host's, so that a call that is not asynchronous waits. */
int copy_meets_host(const sim *machine, const copy_request *request);

#endif
