/* Streams: which handles are streams, and of which device.
   It must not know what is issued to them: nothing ever waits in one.
   Tested by tests/test_cudart_streams.c. */
#ifndef STRESS_SIM_CUDART_STREAM_H
#define STRESS_SIM_CUDART_STREAM_H

#include "call.h"
#include "handles.h"

int stream_check(call *self, cudaStream_t stream);           /* 1, or 0 and the code: not a stream now */
int stream_device(const call *self, cudaStream_t stream);    /* of a stream; default ones are the current device's */

#endif
