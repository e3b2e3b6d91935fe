/* The libcudart substitute: streams and events, what each thread has of its own, handles that are none, or no more.
   Must not know how handles are made. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include "test_cudart.h"

#include <pthread.h>

extern __typeof__(cudaStreamQuery) cudaStreamQuery_ptsz;
extern __typeof__(cudaMemsetAsync) cudaMemsetAsync_ptsz;
extern __typeof__(cudaStreamSynchronize) cudaStreamSynchronize_ptsz;
extern __typeof__(cudaStreamWaitEvent) cudaStreamWaitEvent_ptsz;
extern __typeof__(cudaStreamIsCapturing) cudaStreamIsCapturing_ptsz;
extern __typeof__(cudaEventRecord) cudaEventRecord_ptsz;

static void test_streams(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    cudaStream_t stream = NULL, other = NULL, all[] = { NULL, cudaStreamLegacy, cudaStreamPerThread, NULL, NULL };
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    int least = 9, greatest = 9;
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -99));
    CHECK(stream && other && stream != other && stream != cudaStreamPerThread);
    all[3] = stream;
    all[4] = other;
    for (size_t i = 0; i < COUNT(all); i++) {
        CHECK_DONE(cudaStreamQuery(all[i]));
        CHECK_DONE(cudaStreamSynchronize_ptsz(all[i]));
        CHECK_DONE(cudaStreamIsCapturing_ptsz(all[i], &status));
        CHECK_INT(status, ==, cudaStreamCaptureStatusNone);
    }
    CHECK_CODE(cudaStreamIsCapturing(stream, NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaStreamCreate(NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaStreamCreateWithFlags(&stream, 0x20), cudaErrorInvalidValue);
    CHECK_DONE(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest < least);
    CHECK_DONE(cudaDeviceGetStreamPriorityRange(NULL, NULL));
    for (size_t i = 0; i < 3; i++) CHECK_CODE(cudaStreamDestroy(all[i]), cudaErrorInvalidResourceHandle);
    CHECK_DONE(cudaStreamDestroy(stream));
    CHECK_CODE(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    cudart_close(machine);
}

/* Of a destroyed stream, even when its place was taken again; of an event; of nothing. */
static void test_handles_that_are_no_streams(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    cudaStream_t gone, stream;
    cudaEvent_t event;
    void *block;
    CHECK_DONE(cudaMalloc(&block, 64));
    CHECK_DONE(cudaStreamCreate(&gone));
    CHECK_DONE(cudaStreamDestroy(gone));
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaEventCreate(&event));
    CHECK(gone != stream);
    const cudaStream_t bad[] = { gone, (cudaStream_t)(void *)event, (cudaStream_t)(void *)machine,
                                 (cudaStream_t)(uintptr_t)3, (cudaStream_t)UINTPTR_MAX };
    for (size_t i = 0; i < COUNT(bad); i++) {
        enum cudaStreamCaptureStatus status;
        int refused = 0;
        refused += cudaStreamQuery(bad[i]) == cudaErrorInvalidResourceHandle;
        refused += cudaStreamSynchronize(bad[i]) == cudaErrorInvalidResourceHandle;
        refused += cudaStreamDestroy(bad[i]) == cudaErrorInvalidResourceHandle;
        refused += cudaStreamIsCapturing(bad[i], &status) == cudaErrorInvalidResourceHandle;
        refused += cudaStreamWaitEvent(bad[i], event, 0) == cudaErrorInvalidResourceHandle;
        refused += cudaEventRecord(event, bad[i]) == cudaErrorInvalidResourceHandle;
        refused += cudaMemsetAsync(block, 0, 64, bad[i]) == cudaErrorInvalidResourceHandle;
        refused += cudaMemcpyAsync(block, &refused, 4, cudaMemcpyDefault, bad[i]) == cudaErrorInvalidResourceHandle;
        refused += cudaMemcpyPeerAsync(block, 0, block, 0, 0, bad[i]) == cudaErrorInvalidResourceHandle;
        CHECK_INT(refused, ==, 9);
    }
    CHECK_CODE(cudaEventQuery((cudaEvent_t)(void *)stream), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventDestroy(NULL), cudaErrorInvalidResourceHandle);
    cudart_close(machine);
    CHECK_MSG(cudaStreamQuery(stream) != cudaSuccess, "another machine does not know the streams of this one");
}

static void test_events(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    cudaEvent_t start, end, untimed, unrecorded, gone;
    cudaStream_t there;
    float milliseconds = -1;
    CHECK_DONE(cudaEventCreate(&start));
    CHECK_DONE(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
    CHECK_DONE(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CHECK_DONE(cudaEventCreate(&unrecorded));
    CHECK_DONE(cudaEventRecord(start, NULL));
    sim_advance(machine, 2500000);
    CHECK_DONE(cudaEventRecord_ptsz(end, cudaStreamPerThread));
    CHECK_DONE(cudaEventRecord(untimed, NULL));
    CHECK_DONE(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK_MSG(milliseconds > 2.4999f && milliseconds < 2.51f, "the virtual clock's: %f ms", (double)milliseconds);
    CHECK_DONE(cudaEventElapsedTime(&milliseconds, end, start));
    CHECK(milliseconds < -2.4999f);
    CHECK_CODE(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventElapsedTime(&milliseconds, unrecorded, end), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventElapsedTime(NULL, start, end), cudaErrorInvalidValue);
    CHECK_DONE(cudaEventQuery(end));
    CHECK_DONE(cudaEventQuery(unrecorded));
    CHECK_DONE(cudaEventSynchronize(end));
    CHECK_DONE(cudaStreamWaitEvent_ptsz(NULL, end, 0));
    CHECK_CODE(cudaStreamWaitEvent(NULL, end, 0x10), cudaErrorInvalidValue);
    CHECK_CODE(cudaEventCreate(NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaEventCreateWithFlags(&gone, 0x100), cudaErrorInvalidValue);
    CHECK_CODE(cudaEventCreateWithFlags(&gone, cudaEventInterprocess), cudaErrorInvalidValue);
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaStreamCreate(&there));
    CHECK_CODE(cudaEventRecord(start, there), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventRecord(start, NULL), cudaErrorInvalidResourceHandle);
    CHECK_MSG(cudaStreamWaitEvent(there, start, 0) == cudaSuccess, "a stream may wait for another device's event");
    CHECK_DONE(cudaEventDestroy(start));
    CHECK_CODE(cudaEventDestroy(start), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventQuery(start), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventSynchronize(start), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaStreamWaitEvent(there, start, 0), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
    cudart_close(machine);
}

static const char *last_finding(const sim *machine)
{
    uint64_t count = sim_finding_count(machine);
    return count > 0 ? sim_finding(machine, count - 1) : "(none)";
}

/* With work=NS copies and fills take their time; the host waits for what meets its own memory. */
static void test_work_takes_its_time(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    cudaStream_t stream;
    cudaEvent_t start, end;
    char *block, host[64] = "";
    float milliseconds = 0;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaEventCreate(&start));
    CHECK_DONE(cudaEventCreate(&end));
    cudart_work_ns(1000000);
    CHECK_DONE(cudaEventRecord(start, stream));
    CHECK_DONE(cudaMemsetAsync(block, 7, 64, stream));
    CHECK_DONE(cudaEventRecord(end, stream));
    CHECK_CODE(cudaStreamQuery(stream), cudaErrorNotReady);
    CHECK_CODE(cudaEventQuery(end), cudaErrorNotReady);
    CHECK_CODE(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
    CHECK_CODE(cudaGetLastError(), cudaErrorNotReady);
    CHECK_CODE(cudaStreamQuery(stream), cudaErrorNotReady);
    CHECK_DONE(cudaEventSynchronize(end));
    CHECK_DONE(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK_MSG(milliseconds > 0.99f && milliseconds < 1.01f, "the fill took %f ms", (double)milliseconds);
    CHECK_DONE(cudaStreamQuery(stream));
    uint64_t before_ns = sim_now_ns(machine);
    CHECK_DONE(cudaMemcpy(host, block, 64, cudaMemcpyDeviceToHost));
    CHECK(sim_now_ns(machine) >= before_ns + 1000000 && host[0] == 7);
    before_ns = sim_now_ns(machine);
    CHECK_DONE(cudaMemset(block, 7, 64));
    CHECK_DONE(cudaMemcpy(block + 4096, block, 64, cudaMemcpyDeviceToDevice));
    CHECK_MSG(sim_now_ns(machine) < before_ns + 1000000, "the host does not wait for what stays on the device,");
    CHECK_DONE(cudaFree(block));
    CHECK_MSG(sim_now_ns(machine) >= before_ns + 2000000, "but to free memory");
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

/* Two owners of one block: an allocator above handed it on too early. Here the owners are told to the machine. */
static void test_uses_are_judged(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    cudaStream_t first, second;
    char *block;
    const void *ptr;
    const uint64_t bytes = 4096;
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    CHECK_DONE(cudaStreamCreate(&first));
    CHECK_DONE(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK_DONE(cudaMemsetAsync(block, 1, 64, first));
    CHECK_DONE(cudaMemsetAsync(block, 1, 64, second));
    CHECK_MSG(sim_finding_count(machine) == 0, "what a program does to its own memory is its own affair");
    CHECK_INT(sim_access(machine, 0, first, block, 64, 5, 3), ==, 0);
    CHECK_MSG(strstr(last_finding(machine), "op 3 on stream 1 uses 64 bytes at +0x200000: not ordered after op 0 on "
              "stream 2") != NULL, "%s", last_finding(machine));
    ptr = block;
    CHECK_INT(cudart_kernel(second, 1000, &ptr, &bytes, 1), ==, 0);
    CHECK_MSG(sim_finding_count(machine) == 2, "%s", last_finding(machine));
    CHECK_INT(cudart_kernel((void *)block, 1000, &ptr, &bytes, 1), ==, cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaStreamQuery(second), cudaErrorNotReady);
    CHECK_DONE(cudaMemcpy2DAsync(block + 8192, 64, block + 4096, 64, 8, 2, cudaMemcpyDefault, first));
    CHECK_INT(sim_access(machine, 0, second, block + 8192 + 64, 8, 6, 4), ==, 0);
    CHECK_MSG(sim_finding_count(machine) == 3, "rows are uses, too");
    cudart_close(machine);
}

static void *thread_ids(void *ids)
{
    unsigned long long *found = ids;
#if CUDART_VERSION >= 12000
    cudaStreamGetId(cudaStreamPerThread, &found[0]);
#endif
    found[1] = (unsigned long long)cudaStreamQuery_ptsz(NULL);
    return NULL;
}

static void test_streams_of_threads(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    unsigned long long own = 0, legacy = 0, created = 0, other[2] = { 0, 99 };
    cudaStream_t stream;
    unsigned flags = 9;
    void *block;
    pthread_t thread;
    CHECK_DONE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_DONE(cudaStreamGetFlags(stream, &flags));
    CHECK_INT(flags, ==, cudaStreamNonBlocking);
    CHECK_DONE(cudaStreamGetFlags(NULL, &flags));
    CHECK_INT(flags, ==, cudaStreamDefault);
    CHECK_CODE(cudaStreamGetFlags(NULL, NULL), cudaErrorInvalidValue);
    CHECK_DONE(cudaMalloc(&block, 64));
    cudart_work_ns(1000000000);
    CHECK_DONE(cudaMemsetAsync_ptsz(block, 0, 64, NULL));
    CHECK_CODE(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    if (pthread_create(&thread, NULL, thread_ids, other) == 0) pthread_join(thread, NULL);
    CHECK_MSG(other[1] == cudaSuccess, "another thread's stream has no work");
#if CUDART_VERSION >= 12000
    CHECK_DONE(cudaStreamGetId(cudaStreamPerThread, &own));
    CHECK_DONE(cudaStreamGetId(NULL, &legacy));
    CHECK_DONE(cudaStreamGetId(stream, &created));
    CHECK_CODE(cudaStreamGetId(NULL, NULL), cudaErrorInvalidValue);
    CHECK(own != legacy && own != created && legacy != created && own != other[0]);
#endif
    CHECK_DONE(cudaStreamSynchronize_ptsz(NULL));
    CHECK_DONE(cudaStreamQuery(cudaStreamPerThread));
    (void)machine, (void)own, (void)legacy, (void)created;
    cudart_close(machine);
}

static void test_reset(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    cudaStream_t stream, there;
    cudaEvent_t event;
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaEventCreate(&event));
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaStreamCreate(&there));
    CHECK_DONE(cudaSetDevice(0));
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK_DONE(cudaDeviceReset());
    CHECK_CODE(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
    CHECK_CODE(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
    CHECK_DONE(cudaStreamQuery(there));
    CHECK_DONE(cudaStreamQuery(NULL));
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

static void test_many_handles(void)
{
    enum { MOST = 1000 };
    static cudaEvent_t events[MOST];
    sim *machine = cudart_open(1, GIB(1), NULL);
    int wrong = 0;
    for (int i = 0; i < MOST; i++) wrong += cudaEventCreate(&events[i]) != cudaSuccess;
    for (int i = 0; i < MOST; i += 2) wrong += cudaEventDestroy(events[i]) != cudaSuccess;
    for (int i = 0; i < MOST; i++)
        wrong += cudaEventQuery(events[i]) != (i % 2 ? cudaSuccess : cudaErrorInvalidResourceHandle);
    for (int i = 0; i < MOST; i += 2) wrong += cudaEventCreate(&events[i]) != cudaSuccess;
    for (int i = 0; i < MOST; i++) wrong += cudaEventDestroy(events[i]) != cudaSuccess;
    CHECK_INT(wrong, ==, 0);
    cudart_close(machine);
}

static void test_capture_mode(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed, bad = (enum cudaStreamCaptureMode)9;
    CHECK_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK_INT(mode, ==, cudaStreamCaptureModeGlobal);
    CHECK_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK_INT(mode, ==, cudaStreamCaptureModeRelaxed);
    CHECK_CODE(cudaThreadExchangeStreamCaptureMode(&bad), cudaErrorInvalidValue);
    CHECK_CODE(cudaThreadExchangeStreamCaptureMode(NULL), cudaErrorInvalidValue);
    cudart_close(machine);
}

int main(void)
{
    test_streams();
    test_handles_that_are_no_streams();
    test_events();
    test_work_takes_its_time();
    test_uses_are_judged();
    test_streams_of_threads();
    test_reset();
    test_many_handles();
    test_capture_mode();
    return tap_done();
}
#endif
