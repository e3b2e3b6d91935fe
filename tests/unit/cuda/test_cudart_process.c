/* The libcudart substitute in its process: GPUARENA_SIM, findings at exit, unloading, fork, threads, machines
   that others own. Most cases run this program again. It must not know how the order is kept. */
#include "cuda_machine.h"

#ifdef GPUARENA_NO_CUDA
CUDA_TEST_MAIN(run)
#else
#include <cuda.h>
#include <pthread.h>
#include <sys/resource.h>

#include "stress/sim/engine.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

/* The function that <<< >>> calls first; the toolkit declares it for its own compiler alone. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream);

static const char *program;
static char said[8192];
static void *kept;                               /* device memory that is held when the process ends */
static int tells_at_the_end;

/* ---- cases of the process that is run again */

static int held(void)
{
    return cudaMalloc(&kept, MIB(2)) != cudaSuccess;
}

static int double_free(void)
{
    void *block = NULL;
    printf("no newline, not flushed:");
    cudaMalloc(&block, MIB(2));
    cudaFree(block);
    cudaFree(block);
    return 0;
}

static int many_findings(void)
{
    int host;
    for (int i = 0; i < 70; i++) cudaFree(&host);
    exit(1);
}

static int leave_at_once(void)
{
    int host;
    cudaFree(&host);
    _exit(5);
}

static void tell_before(void) { printf("registered before the first call: %d\n", (int)cudaFree(kept)); }
static void tell_after(void)  { printf("registered after it: %d\n", (int)cudaFree(NULL)); }

__attribute__((destructor)) static void tell_last(void)
{
    size_t free_bytes, total_bytes;
    if (!tells_at_the_end) return;
    printf("destructor: %d %d %d\n", (int)cudaMalloc(&kept, 1), (int)cudaMemGetInfo(&free_bytes, &total_bytes),
           (int)cudaGetLastError());
    printf("destructor: %s, no machine: %d\n", cudaGetErrorName(cudaErrorCudartUnloading), cudart_machine() == NULL);
}

static int unloading(void)
{
    tells_at_the_end = 1;
    atexit(tell_before);
    cudaMalloc(&kept, MIB(2));
    atexit(tell_after);
    return 0;
}

/* A child prints the results of its calls; its status, too, must be its own. */
static int forking(int call_first, int find_first)
{
    void *block = NULL;
    int status = -1, host;
    if (call_first) cudaMalloc(&block, MIB(2));
    if (find_first) cudaFree(&host);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        const dim3 one = { 1, 1, 1 };
        int device = -1;
        printf("push %u, ", __cudaPushCallConfiguration(one, one, 0, NULL));
        printf("child: %d %d %d %d %d\n", (int)cudaGetDevice(&device), (int)cudaFree(NULL), (int)cudaSetDevice(0),
               (int)cudaGetLastError(), cudart_machine() == NULL);
        exit(7);
    }
    waitpid(child, &status, 0);
    printf("parent: child ended with %d; %d\n", WEXITSTATUS(status), (int)cudaFree(block));
    return 0;
}

static int fork_after_a_call(void)   { return forking(1, 0); }
static int fork_before_any(void)     { return forking(0, 0); }
static int fork_with_a_finding(void) { return forking(1, 1); }

static int attached(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    int host;
    cudaFree(&host);
    printf("%d finding for the owner\n", (int)sim_finding_count(machine));
    return 0;
}

/* Calls until the process ends, and does not come back from there. */
static void *call_for_ever(void *unused)
{
    void *block;
    while (cudaMalloc(&block, 5000) == cudaSuccess && cudaMemset(block, 1, 5000) == cudaSuccess) cudaFree(block);
    while (pause() < 0) continue;
    return unused;
}

static int start_callers(void)
{
    enum { CALLERS = 3 };
    pthread_t thread;
    int failed = 0;
    cudaFree(NULL);
    for (int i = 0; i < CALLERS; i++) failed |= pthread_create(&thread, NULL, call_for_ever, NULL);
    return failed;
}

/* A child that hangs is ended by its alarm. */
static int fork_among_threads(void)
{
    enum { CHILDREN = 30 };
    int right = start_callers() ? -1 : 0;
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1, device;
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(cudaGetDevice(&device) == cudaErrorInitializationError ? 9 : 1);
        }
        waitpid(child, &status, 0);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 9;
    }
    printf("%d children were told\n", right);
    return 0;
}

static int end_among_threads(void)
{
    alarm(60);
    if (start_callers()) return 1;
    for (int i = 0; i < 1000; i++) cudaFree(NULL);
    return 6;
}

/* Address space for a hundred granules; a gigabyte is written. Writes that fail return an error, and other calls go
   on. */
static int no_host_memory(void)
{
    static char text[8192];
    const struct rlimit limit = { MIB(256), MIB(256) };
    char *block = NULL, *other = NULL;
    size_t done = 0;
    int codes[4];
    if (cudaMalloc((void **)&block, GIB(1)) || cudaMalloc((void **)&other, GIB(1))) return 1;
    if (setrlimit(RLIMIT_AS, &limit)) return 1;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i % 251);
    while (done < GIB(1) && cudaMemcpy(block + done, text, sizeof text, cudaMemcpyHostToDevice) == cudaSuccess)
        done += MIB(2);
    codes[0] = (int)cudaGetLastError();
    codes[1] = (int)cudaMemset(block + done, 1, 2);
    codes[2] = (int)cudaMemcpy2D(other, 100, block, 100, 64, 10, cudaMemcpyDeviceToDevice);
    codes[3] = (int)cudaMemset(block, 0, GIB(1));
    printf("%s: %d ", done > MIB(20) && done < MIB(300) ? "some" : "all or none", codes[0]);
    printf("%d %d %d; ", codes[1], codes[2], codes[3]);
    printf("then %d\n", (int)cudaMemcpy(other, text, sizeof text, cudaMemcpyHostToDevice));
    return 0;
}

/* A case of the process that is run again: it prints its view of the device. */
static int describe(void)
{
    int count = -1;
    size_t free_bytes = 0, total_bytes = 0;
    void *first = NULL, *second = NULL;
    cudaError_t counted = cudaGetDeviceCount(&count), codes[3];
    codes[0] = cudaMemGetInfo(&free_bytes, &total_bytes);
    codes[1] = cudaMalloc(&first, MIB(2));
    codes[2] = cudaMalloc(&second, MIB(2));
    printf("count %d:%d info %d free %zuM total %zuM malloc %d %d at %llu us\n", (int)counted, count, (int)codes[0],
           free_bytes >> 20, total_bytes >> 20, (int)codes[1], (int)codes[2],
           cudart_machine() ? (unsigned long long)sim_now_ns(cudart_machine()) / 1000 : 0);
    return 0;
}

/* Functions of libcuda before cuInit, in each way in which they are written, and after it. */
static void ask_libcuda(const char *when)
{
    CUcontext context = NULL;
    CUdevice device;
    CUdeviceptr memory = 0;
    unsigned version = 0;
    int count = 0, number = 0;
    printf("%s: %d %d", when, (int)cuDeviceGetCount(&count), (int)cuDeviceGet(&device, 0));
    printf(" %d", (int)cuDevicePrimaryCtxRetain(&context, 0));
    printf(" %d", (int)cuCtxSetCurrent(context));
    printf(" %d", (int)cuCtxPushCurrent(context));
    printf(" %d", (int)cuCtxPopCurrent(&context));
    printf(" %d %d", (int)cuCtxGetCurrent(&context), (int)cuCtxGetApiVersion(context, &version));
    printf(" %d", (int)cuMemAlloc(&memory, MIB(2)));
    printf(" %d %d", (int)cuMemFree(memory), (int)cuModuleUnload((CUmodule)&number));
    printf("; version %d\n", (int)cuDriverGetVersion(&number));
}

static int libcuda_first(void)
{
    ask_libcuda("before");
    printf("cuInit: %d %d\n", (int)cuInit(1), (int)cuInit(0));
    ask_libcuda("after");
    return 0;
}

static int libcuda_in_child(void)
{
    (void)cuInit(0);
    fflush(stdout);
    pid_t child = fork();
    if (child > 0) return waitpid(child, NULL, 0) != child;
    printf("child: %d\n", (int)cuInit(0));
    fflush(stdout);
    _exit(0);
}

static int runtime_first(void)
{
    int count = 0;
    (void)cudaHostRegister(&count, sizeof count, 0);         /* which is not served */
    ask_libcuda("after the runtime");
    return 0;
}

static CUdeviceptr kept_range;

static void tell_after_all(void)
{
    CUdeviceptr at;
    printf("at the end: %d %d\n", (int)cuMemAddressFree(kept_range, MIB(2)),
           (int)cuMemAddressReserve(&at, MIB(2), 0, 0, 0));
}

/* Virtual memory in a child, and once more when the runtime has shut down. */
static int ask_late(void)
{
    CUdeviceptr at;
    int status = -1;
    atexit(tell_after_all);
    (void)cuInit(0);
    printf("in time: %d\n", (int)cuMemAddressReserve(&kept_range, MIB(2), 0, 0, 0));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit((int)cuMemAddressReserve(&at, MIB(2), 0, 0, 0));
    waitpid(child, &status, 0);
    printf("in a child: %d\n", WEXITSTATUS(status));
    return 0;
}

/* Stream 0 of programs that are compiled with per-thread default streams: as their calls name it. */
extern __typeof__(cudaLaunchKernel) cudaLaunchKernel_ptsz;
extern __typeof__(cudaLaunchKernelExC) cudaLaunchKernelExC_ptsz;

static int skip_kernels_of_threads(void)
{
    static char kernel;
    const dim3 one = { 1, 1, 1 };
    cudaLaunchConfig_t config;
    cudaGraph_t captured;
    size_t nodes = 0;
    memset(&config, 0, sizeof config);
    int wrong = cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeGlobal) != cudaSuccess;
    wrong += cudaLaunchKernel_ptsz(&kernel, one, one, NULL, 0, NULL) != cudaSuccess;
    wrong += cudaLaunchKernelExC_ptsz(&config, &kernel, NULL) != cudaSuccess;
    wrong += cudaStreamEndCapture(cudaStreamPerThread, &captured) != cudaSuccess;
    wrong += cudaGraphGetNodes(captured, NULL, &nodes) != cudaSuccess || nodes != 2;
    return wrong;
}

static int skip_kernels(void)
{
    static char kernel;
    const dim3 one = { 1, 1, 1 };
    struct cudaFuncAttributes attributes;
    cudaStream_t stream;
    cudaGraph_t captured;
    size_t nodes = 0;
    int blocks = 0, wrong = cudaStreamCreate(&stream) != cudaSuccess;
    wrong += cudaLaunchKernel(&kernel, one, one, NULL, 0, stream) != cudaSuccess;
    wrong += cudaStreamQuery(stream) != cudaErrorNotReady;
    wrong += cudaStreamSynchronize(stream) != cudaSuccess;
    wrong += cudaFuncGetAttributes(&attributes, &kernel) != cudaSuccess || attributes.maxThreadsPerBlock != 1024;
    wrong += cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 512, 0) != cudaSuccess || blocks != 4;
    wrong += cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaSuccess;
    wrong += cudaLaunchKernel(&kernel, one, one, NULL, 0, stream) != cudaSuccess;
    wrong += cudaStreamEndCapture(stream, &captured) != cudaSuccess;
    wrong += cudaGraphGetNodes(captured, NULL, &nodes) != cudaSuccess || nodes != 1;
    CUmodule module;
    CUfunction function;
    wrong += cuModuleLoadData(&module, "any") != CUDA_SUCCESS;
    wrong += cuModuleGetFunction(&function, module, "name") != CUDA_SUCCESS;
    wrong += cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS;
    wrong += cudaIpcGetEventHandle(NULL, NULL) != cudaErrorNotSupported;
    return wrong;
}

static int print_first(void)
{
    printf("before the call\n");
    return describe();
}

static const struct { const char *name; int (*run)(void); } cases[] = {
#define CASE(name) { #name, name }
    CASE(held), CASE(double_free), CASE(many_findings), CASE(leave_at_once), CASE(unloading),
    CASE(fork_after_a_call), CASE(fork_before_any), CASE(fork_with_a_finding), CASE(attached),
    CASE(fork_among_threads), CASE(end_among_threads), CASE(no_host_memory), CASE(describe), CASE(ask_late),
    CASE(skip_kernels), CASE(skip_kernels_of_threads), CASE(print_first), CASE(libcuda_first), CASE(runtime_first),
    CASE(libcuda_in_child)
#undef CASE
};

/* ---- the end of each case, with this GPUARENA_SIM (NULL: none): its status, and all that it prints; or, where there
        is a `|`, the beginning of that, and other parts of it */

static const struct { const char *name, *text; int status; const char *said; } ends[] = {
    { "held", "device=1G", 0, "" },
    { "double_free", "device=1G", 3, "gpuarena sim: 1 finding:\n"
      "  op 3: device 0: cudaFree of +0x200000, which is not held now: given back already?\n"
      "no newline, not flushed:" },
    { "double_free", "findings=pass", 0, "gpuarena sim: 1 finding:|" },
    { "many_findings", "device=1G", 3, "gpuarena sim: 70 findings:\n  op 1: |\n  op 64: |\n  and 6 more\n" },
    { "leave_at_once", "device=1G", 5, "" },
    { "ask_late", "", 0, "in time: 0\nin a child: 3\nat the end: 4 4\n" },
    { "libcuda_first", "device=1G", 0, "before: 3 3 3 3 3 3 3 3 3 3 3; version 0\ncuInit: 1 0\n"
      "after: 0 0 0 0 0 0 0 0 0 0 0; version 0\n" },
    { "libcuda_first", "device=1G*0", 0, "before: 3 3 3 3 3 3 3 3 3 3 3; version 0\ncuInit: 1 100\n"
      "after: 3 3 3 3 3 3 3 3 3 3 3; version 0\n" },
    { "libcuda_in_child", "device=1G", 0, "child: 3\n" },
    { "runtime_first", "device=1G", 0, "after the runtime: 0 0 0 0 0 0 0 0 0 0 0; version 0\n" },
    { "attached", "device=1G", 0, "1 finding for the owner\n" },
    { "unloading", "device=1G", 0, "registered after it: 0\nregistered before the first call: 4\ndestructor: 4 4 4\n"
      "destructor: cudaErrorCudartUnloading, no machine: 1\n" },
    { "fork_after_a_call", "device=1G", 0, "push 1, child: 3 3 3 3 1\nparent: child ended with 7; 0\n" },
    { "fork_before_any", "device=1G", 0, "push 0, child: 0 0 0 0 0\nparent: child ended with 7; 0\n" },
    { "fork_among_threads", "device=1G", 0, "30 children were told\n" },
    { "end_among_threads", "device=1G", 6, "" }, { "end_among_threads", "device=1G", 6, "" },
    { "end_among_threads", "device=1G", 6, "" }, { "end_among_threads", "device=1G", 6, "" },
    { "print_first", "x", 2, "before the call\n|" },
    { "describe", NULL, 0, "count 0:1 info 0 free 81920M total 81920M malloc 0 0 at 150250 us\n" },
    { "describe", "", 0, "count 0:1 info 0 free 81920M total 81920M malloc 0 0 at 150250 us\n" },
    { "describe", "device=24G", 0, "count 0:1 info 0 free 24576M total 24576M malloc 0 0 at 150250 us\n" },
    { "describe", "device=24G*2,context=500M", 0,
      "count 0:2 info 0 free 24076M total 24576M malloc 0 0 at 150250 us\n" },
    { "describe", "context=1G,device=3G*16", 0,
      "count 0:16 info 0 free 2048M total 3072M malloc 0 0 at 150250 us\n" },
    { "describe", "device=4T", 0, "count 0:1 info 0 free 4194304M total 4194304M malloc 0 0 at 150250 us\n" },
    { "describe", "device=2097152", 0, "count 0:1 info 0 free 2M total 2M malloc 0 2 at 150250 us\n" },
    { "describe", "device=80G*0", 0, "count 100:-1 info 100 free 0M total 0M malloc 100 100 at 0 us\n" },
    { "describe", "fail=cudaMalloc:2", 0, "count 0:1 info 0 free 81920M total 81920M malloc 0 2 at 150250 us\n" },
    { "describe", "fail=any:1=35;cudaMemGetInfo:1=46;obtain:1+=719", 0,
      "count 35:-1 info 46 free 0M total 0M malloc 719 719 at 150250 us\n" },
    { "describe", "device=8G,fail=rival@3=8G", 0,
      "count 0:1 info 0 free 8192M total 8192M malloc 2 2 at 150250 us\n" },
    { "skip_kernels", "work=50000,kernels=skip,report=-", 0, "gpuarena sim: 3 kernels were skipped: |"
      "\ncall cudaLaunchKernel 3 |\nskipped 3\n|\nrefused cudaIpcGetEventHandle 1\n" },
    { "skip_kernels_of_threads", "kernels=skip", 0, "gpuarena sim: 2 kernels were skipped: |" },
};

/* Runs this program again, with an argument and GPUARENA_SIM, and keeps all that it prints, on stderr too. Returns
   its exit status, or -1 if it did not end by itself. */
static int run_again(const char *argument, const char *sim_text)
{
    char command[600];
    if (sim_text) setenv("GPUARENA_SIM", sim_text, 1);
    else unsetenv("GPUARENA_SIM");
    snprintf(command, sizeof command, "exec '%s' %s 2>&1", program, argument);
    fflush(stdout);
    FILE *child = popen(command, "r");
    said[child ? fread(said, 1, sizeof said - 1, child) : 0] = '\0';
    int status = child ? pclose(child) : -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *name, const char *text, int status, const char *expected)
{
    char parts[400];
    int ended = run_again(name, text), is_said = !strcmp(said, expected);
    snprintf(parts, sizeof parts, "%s", expected);
    if (strchr(parts, '|')) {
        size_t first = strcspn(parts, "|");
        is_said = !strncmp(said, expected, first);
        for (char *part = strtok(parts + first, "|"); part; part = strtok(NULL, "|")) is_said &= !!strstr(said, part);
    }
    if (!CHECK_MSG(ended == status && is_said, "%s with %.80s ends with %d", name, text ? text : "nothing", status))
        printf("#   ended with %d, said: %s\n#   expected: %s\n", ended, said, expected);
}

static void test_ends(void)
{
    for (size_t i = 0; i < COUNT(ends); i++) expect(ends[i].name, ends[i].text, ends[i].status, ends[i].said);
    CHECK_INT(run_again("fork_with_a_finding", "device=1G"), ==, 3);
    CHECK_MSG(strstr(said, "child ended with 7; 0\n") && strstr(said, "1 finding:") == strstr(said, "1 f")
              && !strstr(strstr(said, "1 f") + 1, "1 f"), "the parent's finding is the parent's to report");
    CHECK_INT(run_again("skip_kernels", "work=50000"), !=, 0);
    CHECK_MSG(strstr(said, "skipped") == NULL, "by default no kernel is skipped");
    if (TAP_SANITIZED) SKIP("no limit of address space under a sanitizer");
    else expect("no_host_memory", "device=4G", 3,
                "|some: 999 999 999 0; then 0\n|no host memory left to simulate cudaMemcpy2D\n");
}

/* ---- threads and machines of this process */

/* Blocks of one thread are written and read back by it alone; all share one machine. */
static void *work_in_a_thread(void *number)
{
    enum { ROUNDS = 100 };
    static char marks[8];
    char *mark = &marks[*(int *)number], *block, byte = 0;
    cudaSetDevice(*(int *)number % 2);
    for (int i = 0; i < ROUNDS; i++) {
        int device = -1;
        *mark = (char)(*mark | (cudaMalloc((void **)&block, 1000 + 10000 * (size_t)(i % 300)) != cudaSuccess));
        *mark = (char)(*mark | (cudaMemset(block, *(int *)number, 1000) != cudaSuccess));
        *mark = (char)(*mark | (cudaMemcpy(&byte, block + 999, 1, cudaMemcpyDeviceToHost) != cudaSuccess));
        *mark = (char)(*mark | (cudaGetDevice(&device) != cudaSuccess || device != *(int *)number % 2));
        *mark = (char)(*mark | (byte != (char)*(int *)number || cudaFree(block) != cudaSuccess));
        *mark = (char)(*mark | (cudaSetDevice(9) != cudaErrorInvalidDevice || cudaGetLastError() == cudaSuccess));
    }
    return mark;
}

static void test_threads(void)
{
    enum { THREADS = 8 };
    sim *machine = cudart_machine();
    pthread_t threads[THREADS];
    int numbers[THREADS], wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work_in_a_thread, &numbers[i])) return;
    }
    for (int i = 0; i < THREADS; i++) {
        void *mark = NULL;
        pthread_join(threads[i], &mark);
        wrong += *(char *)mark != 0;
    }
    CHECK_INT(wrong, ==, 0);
    for (int i = 0; i < 2; i++) {
        sim_counters counters;
        sim_get_counters(machine, i, &counters);
        CHECK(counters.held_bytes == 0 && counters.calls[SIM_CALL_OBTAIN] == THREADS / 2 * 100);
    }
    CHECK_U64(sim_finding_count(machine), ==, 0);
}

/* Each thread has a current device, a last error and a context of its own. */
static void *ask_in_a_thread(void *unused)
{
    static int told[6];
    void *ptr;
    CUcontext current = (CUcontext)(void *)told;
    (void)unused;
    told[0] = (int)cudaGetLastError();
    told[1] = cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == NULL;
    cudaGetDevice(&told[2]);
    cudaSetDevice(2);
    cudaGetDevice(&told[3]);
    told[4] = (int)cudaMalloc(&ptr, GIB(2));
    told[5] = (int)cudaPeekAtLastError();
    return told;
}

static void test_what_each_thread_has(void)
{
    pthread_t thread;
    void *told = NULL;
    int device = -1;
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaFree(NULL));
    CHECK_CODE(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_INT(pthread_create(&thread, NULL, ask_in_a_thread, NULL), ==, 0);
    pthread_join(thread, &told);
    const int *found = told;
    CHECK(found[0] == cudaSuccess && found[1] && found[2] == 0 && found[3] == 2);
    CHECK(found[4] == cudaErrorMemoryAllocation && found[5] == cudaErrorMemoryAllocation);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
    CHECK(cudaGetDevice(&device) == cudaSuccess && device == 1);
}

/* Runs in a real thread. A thread that sim_thread names has streams alone. */
static void *query_own_stream(void *code)
{
    *(int *)code = (int)cudaStreamQuery(cudaStreamPerThread);
    return NULL;
}

static void test_streams_of_threads(void)
{
    int code = -1;
    void *block;
    pthread_t thread;
    cudart_machine()->runtime_work_ns = 1000000000;
    CHECK_DONE(cudaMalloc(&block, 64));
    CHECK_DONE(cudaMemsetAsync(block, 0, 64, cudaStreamPerThread));
    CHECK_CODE(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    if (pthread_create(&thread, NULL, query_own_stream, &code) == 0) pthread_join(thread, NULL);
    CHECK_MSG(code == cudaSuccess, "another thread's stream has no work");
}

/* A new machine: no thread has an error or a current device left from the last one. */
static void test_another_machine_starts_afresh(void)
{
    sim *first = cudart_open(2, GIB(1), NULL), *second;
    int device = -1;
    CHECK_DONE(cudaSetDevice(1));
    CHECK_CODE(cudaSetDevice(2), cudaErrorInvalidDevice);
    second = cudart_open(1, GIB(2), NULL);
    CHECK(cudart_machine() == second);
    CHECK_DONE(cudaGetLastError());
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_INT(device, ==, 0);
    cudart_attach(first);
    cudart_attach(first);
    CHECK_DONE(cudaSetDevice(1));
    cudart_attach(first);
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_MSG(device == 1, "attaching the same machine again changes nothing");
    cudaStream_t stream;
    CHECK_DONE(cudaStreamCreate(&stream));
    cudart_close(first);
    cudart_attach(second);
    CHECK_MSG(cudaStreamQuery(stream) != cudaSuccess, "another machine does not know the streams of this one");
    cudart_attach(NULL);
    sim_destroy(second);
}

int main(int count, char **arguments)
{
    static const machine_test tests[] = { { test_threads, 2, NULL }, { test_what_each_thread_has, 3, NULL },
                                          { test_streams_of_threads, 1, NULL } };
    program = arguments[0];
    for (size_t i = 0; count > 1 && i < COUNT(cases); i++)
        if (strcmp(arguments[1], cases[i].name) == 0) return cases[i].run();
    test_ends();
    machine_tests(tests, COUNT(tests));
    test_another_machine_starts_afresh();
    return tap_done();
}
#endif
