/* Streams: which handles are streams, and of which device.
   It must not know what is issued to them: nothing ever waits in one.
   Tested by tests/test_cudart_streams.c. */
#ifndef STRESS_SIM_CUDART_STREAM_H
#define STRESS_SIM_CUDART_STREAM_H

#include "call.h"
#include "handles.h"

/* The record of a stream or an event; NULL and the code: it is none now, or its device is lost. */
handle *stream_find(call *self, const void *value, handle_kind kind);
int stream_check(call *self, cudaStream_t stream);           /* 1, or 0 and the code; default ones are fine */
int stream_device(const call *self, cudaStream_t stream);    /* of a stream; default ones are the current device's */

#endif
