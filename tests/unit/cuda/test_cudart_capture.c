/* The libcudart substitute: captures and graphs, from begin to launch, and what must not be done meanwhile.
   Must not know how graphs are kept. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include "test_cudart.h"

extern __typeof__(cudaStreamBeginCapture) cudaStreamBeginCapture_ptsz;
extern __typeof__(cudaStreamEndCapture) cudaStreamEndCapture_ptsz;
extern __typeof__(cudaGraphLaunch) cudaGraphLaunch_ptsz;

typedef struct capture_bench {
    sim *machine;
    cudaStream_t stream, side, loose;            /* loose: non-blocking */
    cudaEvent_t  fork, join;
    char *block;
} capture_bench;

static capture_bench capture_open(void)
{
    capture_bench made = { cudart_open(1, GIB(1), NULL), NULL, NULL, NULL, NULL, NULL, NULL };
    CHECK_DONE(cudaStreamCreate(&made.stream));
    CHECK_DONE(cudaStreamCreate(&made.side));
    CHECK_DONE(cudaStreamCreateWithFlags(&made.loose, cudaStreamNonBlocking));
    CHECK_DONE(cudaEventCreateWithFlags(&made.fork, cudaEventDisableTiming));
    CHECK_DONE(cudaEventCreateWithFlags(&made.join, cudaEventDisableTiming));
    CHECK_DONE(cudaMalloc((void **)&made.block, MIB(2)));
    CHECK_DONE(cudaMemset(made.block, 0, MIB(2)));
    CHECK_DONE(cudaDeviceSynchronize());
    return made;
}

static int byte_at(const capture_bench *self, size_t offset)
{
    unsigned char byte = 0;
    CHECK_DONE(cudaMemcpy(&byte, self->block + offset, 1, cudaMemcpyDeviceToHost));
    return byte;
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(exec, graph, 0);
#else
    return cudaGraphInstantiate(exec, graph, NULL, NULL, 0);
#endif
}

static void test_fork_join_launch(void)
{
    capture_bench self = capture_open();
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL, second = NULL;
    cudart_work_ns(1000000);
    CHECK_DONE(cudaStreamBeginCapture(self.stream, cudaStreamCaptureModeThreadLocal));
    CHECK_DONE(cudaMemsetAsync(self.block, 5, 100, self.stream));
    CHECK_DONE(cudaEventRecord(self.fork, self.stream));
    CHECK_DONE(cudaStreamWaitEvent(self.side, self.fork, 0));
    CHECK_DONE(cudaMemcpyAsync(self.block + 4096, self.block, 100, cudaMemcpyDeviceToDevice, self.side));
    CHECK_DONE(cudaMemsetAsync(self.block + 8192, 6, 100, self.stream));
    CHECK_DONE(cudaEventRecord(self.join, self.side));
    CHECK_DONE(cudaStreamWaitEvent(self.stream, self.join, 0));
    CHECK_DONE(cudaStreamEndCapture(self.stream, &graph));
    CHECK_MSG(byte_at(&self, 0) == 0 && byte_at(&self, 4096) == 0 && byte_at(&self, 8192) == 0, "not done yet");
    CHECK_DONE(instantiate(&exec, graph));
    CHECK_DONE(cudaGraphInstantiateWithFlags(&second, graph, 0));
    CHECK_DONE(cudaGraphDestroy(graph));
    CHECK_CODE(cudaGraphDestroy(graph), cudaErrorInvalidValue);
    uint64_t start_ns = sim_now_ns(self.machine);
    CHECK_DONE(cudaGraphLaunch(exec, self.loose));
    CHECK_CODE(cudaStreamQuery(self.loose), cudaErrorNotReady);
    CHECK_DONE(cudaStreamSynchronize(self.loose));
    uint64_t took_ns = sim_now_ns(self.machine) - start_ns;
    CHECK_MSG(took_ns >= 2000000 && took_ns < 2100000, "two of three one after the other: %d vns", (int)took_ns);
    CHECK(byte_at(&self, 99) == 5 && byte_at(&self, 4096) == 5 && byte_at(&self, 8192) == 6);
    CHECK_DONE(cudaMemset(self.block, 9, 1));
    CHECK_DONE(cudaGraphLaunch_ptsz(second, NULL));
    CHECK_DONE(cudaDeviceSynchronize());
    CHECK(byte_at(&self, 4096) == 5);
    CHECK_DONE(cudaGraphExecDestroy(exec));
    CHECK_CODE(cudaGraphExecDestroy(exec), cudaErrorInvalidValue);
    CHECK_CODE(cudaGraphLaunch(exec, self.stream), cudaErrorInvalidValue);
    CHECK_CODE(instantiate(&exec, graph), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(self.machine), ==, 0);
    cudart_close(self.machine);
}

/* Each call by itself: what it answers while a stream captures globally in this thread, and what the capture's end
   answers then. */
static void expect(const char *name, cudaError_t (*make)(const capture_bench *self), int is_blocking,
                   cudaError_t expected, cudaError_t end)
{
    capture_bench self = capture_open();
    cudaStream_t stream = is_blocking ? self.stream : self.loose;
    cudaGraph_t graph;
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_DONE(cudaEventRecord(self.fork, stream));
    cudaError_t code = make(&self), ended = cudaStreamEndCapture(stream, &graph);
    CHECK_MSG(code == expected && ended == end && (graph != NULL) == (end == cudaSuccess)
              && sim_finding_count(self.machine) == (end != cudaSuccess), "%s while a %s stream captures: %s, %s",
              name, is_blocking ? "blocking" : "non-blocking", cudaGetErrorName(code), cudaGetErrorName(ended));
    cudart_close(self.machine);
}

#define MAKE(name, call) \
    static cudaError_t make_##name(const capture_bench *self) \
    { \
        (void)self; \
        return call; \
    }
static void *made_ptr;
static size_t made_size;
static char made_host[16];
MAKE(malloc, cudaMalloc(&made_ptr, 100))
MAKE(free, cudaFree(self->block))
MAKE(malloc_host, cudaMallocHost(&made_ptr, 100))
MAKE(host_alloc, cudaHostAlloc(&made_ptr, 100, 0))
MAKE(pitch, cudaMallocPitch(&made_ptr, &made_size, 10, 10))
MAKE(info, cudaMemGetInfo(&made_size, &made_size))
MAKE(device_wait, cudaDeviceSynchronize())
MAKE(query, cudaEventQuery(self->join))
MAKE(captured_query, cudaEventQuery(self->fork))
MAKE(captured_wait, cudaEventSynchronize(self->fork))
MAKE(stream_query, cudaStreamQuery(self->side))
MAKE(memset, cudaMemset(self->block, 0, 1))
MAKE(memset_legacy, cudaMemsetAsync(self->block, 0, 1, NULL))
MAKE(memcpy, cudaMemcpy(made_host, self->block, 1, cudaMemcpyDeviceToHost))
MAKE(memset_side, cudaMemsetAsync(self->block, 0, 1, self->side))
MAKE(record_legacy, cudaEventRecord(self->join, NULL))
MAKE(wait_legacy, cudaStreamWaitEvent(NULL, self->fork, 0))
MAKE(query_legacy, cudaStreamQuery(NULL))

static void test_what_is_prohibited(void)
{
    const cudaError_t no = cudaErrorStreamCaptureUnsupported, gone = cudaErrorStreamCaptureInvalidated;
    const cudaError_t implicit = cudaErrorStreamCaptureImplicit, captured = cudaErrorCapturedEvent;
    for (int is_blocking = 0; is_blocking < 2; is_blocking++) {
        expect("cudaMalloc", make_malloc, is_blocking, no, gone);
        expect("cudaFree", make_free, is_blocking, no, gone);
        expect("cudaMallocHost", make_malloc_host, is_blocking, no, gone);
        expect("cudaHostAlloc", make_host_alloc, is_blocking, no, gone);
        expect("cudaMallocPitch", make_pitch, is_blocking, no, gone);
        expect("cudaDeviceSynchronize", make_device_wait, is_blocking, no, gone);
        expect("cudaEventQuery", make_query, is_blocking, no, gone);
        expect("cudaEventQuery of a captured event", make_captured_query, is_blocking, captured, gone);
        expect("cudaEventSynchronize of a captured event", make_captured_wait, is_blocking, captured, gone);
        expect("cudaStreamQuery of another stream", make_stream_query, is_blocking, no, gone);
        expect("cudaMemGetInfo", make_info, is_blocking, cudaSuccess, cudaSuccess);
        expect("cudaMemsetAsync on another stream", make_memset_side, is_blocking, cudaSuccess, cudaSuccess);
    }
    expect("cudaMemset", make_memset, 1, implicit, cudaSuccess);
    expect("cudaMemset", make_memset, 0, cudaSuccess, cudaSuccess);
    expect("cudaMemsetAsync on stream 0", make_memset_legacy, 1, implicit, cudaSuccess);
    expect("cudaMemcpy", make_memcpy, 1, implicit, cudaSuccess);
    expect("cudaMemcpy", make_memcpy, 0, no, gone);
    expect("cudaEventRecord on stream 0", make_record_legacy, 1, implicit, cudaSuccess);
    expect("cudaStreamWaitEvent of stream 0", make_wait_legacy, 1, implicit, cudaSuccess);
    expect("cudaStreamQuery of stream 0", make_query_legacy, 1, implicit, cudaSuccess);
}

/* What allocators do: relaxed mode around a cudaMalloc. */
static void test_relaxed_around_malloc(void)
{
    capture_bench self = capture_open();
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    void *block;
    CHECK_DONE(cudaStreamBeginCapture_ptsz(NULL, cudaStreamCaptureModeGlobal));
    CHECK_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK_DONE(cudaMalloc(&block, MIB(2)));
    CHECK_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK_DONE(cudaStreamIsCapturing(cudaStreamPerThread, &status));
    CHECK_INT(status, ==, cudaStreamCaptureStatusActive);
    CHECK_CODE(cudaStreamIsCapturing(NULL, &status), cudaErrorStreamCaptureImplicit);
    CHECK_DONE(cudaMemsetAsync(block, 1, 64, cudaStreamPerThread));
    CHECK_DONE(cudaStreamEndCapture_ptsz(NULL, &graph));
    CHECK(graph != NULL && sim_finding_count(self.machine) == 0);
    CHECK_CODE(cudaStreamEndCapture(self.stream, &graph), cudaErrorIllegalState);
    CHECK_CODE(cudaStreamEndCapture(self.stream, NULL), cudaErrorInvalidValue);
    CHECK_CODE(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    cudart_close(self.machine);
}

static void test_kernels_in_graphs(void)
{
    capture_bench self = capture_open();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    const void *ptr = self.block;
    const uint64_t bytes = 64;
    CHECK_DONE(cudaStreamBeginCapture(self.stream, cudaStreamCaptureModeGlobal));
    CHECK_INT(cudart_kernel(self.stream, 3000000, &ptr, &bytes, 1), ==, 0);
    CHECK_DONE(cudaStreamEndCapture(self.stream, &graph));
    CHECK_DONE(instantiate(&exec, graph));
    CHECK_INT(sim_access(self.machine, 0, self.side, self.block, 64, 5, 1), ==, 0);
    uint64_t start_ns = sim_now_ns(self.machine);
    CHECK_DONE(cudaGraphLaunch(exec, self.stream));
    CHECK_U64(sim_finding_count(self.machine), ==, 1);
    CHECK_DONE(cudaStreamSynchronize(self.stream));
    CHECK_U64(sim_now_ns(self.machine), >=, start_ns + 3000000);
    CHECK_DONE(cudaFree(self.block));
    CHECK_DONE(cudaGraphLaunch(exec, self.stream));
    CHECK_MSG(strstr(sim_finding(self.machine, 1), "which are not held by one obtain") != NULL, "%s",
              sim_finding(self.machine, 1));
    cudart_close(self.machine);
}

/* What is wrong with a copy is found when the graph is launched, as its bytes move; to which devices a peer copy goes
   is said when it is captured. */
static void test_rows_and_refusals_in_graphs(void)
{
    capture_bench self = capture_open();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_DONE(cudaStreamBeginCapture(self.stream, cudaStreamCaptureModeGlobal));
    CHECK_DONE(cudaMemset2DAsync(self.block, 100, 7, 10, 3, self.stream));
    CHECK_DONE(cudaMemcpy2DAsync(self.block + 4096, 50, self.block, 100, 10, 3, cudaMemcpyDeviceToDevice,
                                 self.stream));
    CHECK_CODE(cudaMemcpyPeerAsync(self.block, 0, &self, 0, 8, self.stream), cudaErrorInvalidValue);
    CHECK_DONE(cudaMemcpyAsync(self.block + 4, self.block, 10, cudaMemcpyDeviceToDevice, self.stream));
    CHECK_DONE(cudaStreamEndCapture(self.stream, &graph));
    CHECK_MSG(byte_at(&self, 200) == 0 && byte_at(&self, 4096) == 0, "not done yet");
    CHECK_DONE(instantiate(&exec, graph));
    CHECK_U64(sim_finding_count(self.machine), ==, 1);
    CHECK_CODE(cudaGraphLaunch(exec, self.stream), cudaErrorInvalidValue);
    CHECK_U64(sim_finding_count(self.machine), ==, 2);
    CHECK_MSG(strstr(sim_finding(self.machine, 1), "cudaMemcpyAsync of 10 bytes between areas that overlap") != NULL,
              "%s", sim_finding(self.machine, 1));
    CHECK(byte_at(&self, 209) == 7 && byte_at(&self, 210) == 0 && byte_at(&self, 4096 + 109) == 7
          && byte_at(&self, 4096 + 110) == 0);
    cudart_close(self.machine);
}

int main(void)
{
    test_fork_join_launch();
    test_rows_and_refusals_in_graphs();
    test_what_is_prohibited();
    test_relaxed_around_malloc();
    test_kernels_in_graphs();
    return tap_done();
}
#endif
