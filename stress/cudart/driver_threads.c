/* The functions of driver_stream.c under the names that they have in programs compiled with
   CUDA_API_PER_THREAD_DEFAULT_STREAM, where stream 0 is the calling thread's: the toolkit's headers name them and the
   runtime's calls in them so. Must not know their effects. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#define DRIVER_FORM 2
#define DRIVER_STREAM(stream) stream_of_thread(stream)
#include "driver_stream.c"
