/* Runs a client program's capture_main, which captures a graph on two streams, on CUDA; then nothing may be left.
   It must not know the client's calls in between. Linked with it and run by clients.t. */
#define GPUARENA_IMPLEMENTATION
#include "../../../gpuarena.h"
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>

int capture_main(gpuarena *arena, cudaStream_t s, cudaStream_t side);

static int failed(const char *what)
{
    gpuarena_failure failure;
    char text[512];
    gpuarena_last_failure(NULL, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    printf("%s: %s\n", what, text);
    return 1;
}

int main(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_stats stats;
    gpuarena *arena;
    cudaStream_t streams[2];
    char message[160] = "";
    int round;
    config.limit_bytes = (uint64_t)16 << 20;
    if (gpuarena_create(&config, &arena)) return failed("create");
    if (cudaStreamCreate(&streams[0]) || cudaStreamCreate(&streams[1])) return failed("streams");
    for (round = 0; round < 100; round++)
        if (capture_main(arena, streams[0], streams[1])) return failed("capture_main");
    gpuarena_get_stats(arena, &stats);
    if (gpuarena_check(arena, message, sizeof message)) return failed(message);
    printf("live %" PRIu64 ", failures %" PRIu64 "\n", stats.live_bytes, stats.fail_count + stats.misuse_count);
    return gpuarena_destroy(arena) ? failed("destroy") : 0;
}
