/* Streams by the runtime's handles, and the names of calls in programs compiled with per-thread default streams.
   It must not know what is issued to them. */
#ifndef STRESS_CUDART_STREAM_H
#define STRESS_CUDART_STREAM_H

#include "../sim/work.h"
#include "call.h"

/* CUDART_THREAD_FORM(cudaX, cudaX_ptsz)(..) { .. }: the same call where stream 0 is the calling thread's. */
#define CUDART_THREAD_FORM(name, form) CUDART_EXPORT __typeof__(name) form; cudaError_t form
/* The form that the suffix _ptsz names, of a call that has such arguments there. */
#define CUDART_PER_THREAD(name, parameters, arguments) \
    CUDART_THREAD_FORM(name, name##_ptsz) parameters { return name arguments; }

int stream_check(call *self, cudaStream_t stream);           /* 1, or 0 and work_find_stream's code */
cudaStream_t stream_of_thread(cudaStream_t stream);          /* 0 becomes the thread's, all others stay */

/* Work of one command: as long as the machine says that work of the runtime takes. act, payload: launch.h */
int stream_command(call *self, cudaStream_t stream, graph_act act, const void *payload, size_t bytes,
                   const char *action);

#endif
