/* A program that makes an event for each of its steps. */
#include <cuda_runtime_api.h>
#include <sys/resource.h>

int main(void)
{
    const struct rlimit most = { 10, 10 };       /* seconds of the processor's time */
    cudaStream_t first, second;
    int wrong = setrlimit(RLIMIT_CPU, &most) || cudaStreamCreate(&first) || cudaStreamCreate(&second);
    for (int i = 0; i < 200000; i++) {
        cudaEvent_t event;
        wrong |= cudaEventCreateWithFlags(&event, cudaEventDisableTiming) || cudaEventRecord(event, first)
            || cudaStreamWaitEvent(second, event, 0) || cudaEventDestroy(event);
    }
    return wrong;
}
