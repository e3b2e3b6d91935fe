/* The libcudart substitute in its process: findings at exit, unloading, fork, threads, machines that others own.
   Must not know how the order is kept. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include <pthread.h>
#include <sys/resource.h>

#include "test_cudart.h"

/* Sanitizers take address space without end. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* What <<< >>> calls first; the toolkit declares it for its own compiler alone. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream);

static const char *program;
static char said[8192];
static void *kept;                               /* device memory that is held when the process ends */
static int tells_at_the_end;

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

/* The child says what it is told; its status, too, must be its own. */
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
    enum { CHILDREN = 100 };
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

/* Address space for a hundred granules; a gigabyte is written. What fails is told, and the rest goes on. */
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

static const struct { const char *name; int (*run)(void); } cases[] = {
    { "held", held }, { "double_free", double_free }, { "many_findings", many_findings },
    { "leave_at_once", leave_at_once }, { "unloading", unloading }, { "fork_after_a_call", fork_after_a_call },
    { "fork_before_any", fork_before_any }, { "fork_with_a_finding", fork_with_a_finding }, { "attached", attached },
    { "fork_among_threads", fork_among_threads }, { "end_among_threads", end_among_threads },
    { "no_host_memory", no_host_memory },
};

static void expect(const char *name, int status, const char *text)
{
    int ended = cudart_run_again(program, name, "device=1G", said, sizeof said);
    if (!CHECK_MSG(ended == status && strcmp(said, text) == 0, "%s ends with %d", name, status))
        printf("#   ended with %d, said: %s\n#   expected: %s\n", ended, said, text);
}

static void test_ends(void)
{
    expect("held", 0, "");
    expect("double_free", 3, "gpuarena sim: 1 finding:\n"
           "  op 3: device 0: cudaFree of +0x200000, which is not held now: given back already?\n"
           "no newline, not flushed:");
    expect("leave_at_once", 5, "");
    expect("attached", 0, "1 finding for the owner\n");
    CHECK_INT(cudart_run_again(program, "many_findings", "device=1G", said, sizeof said), ==, 3);
    CHECK(strstr(said, "gpuarena sim: 70 findings:\n  op 1: ") == said && strstr(said, "\n  op 64: ") != NULL);
    CHECK_MSG(strstr(said, "\n  and 6 more\n") != NULL, "those without a text are counted");
    expect("unloading", 0, "registered after it: 0\nregistered before the first call: 4\ndestructor: 4 4 4\n"
           "destructor: cudaErrorCudartUnloading, no machine: 1\n");
}

static void test_forks(void)
{
    expect("fork_after_a_call", 0, "push 1, child: 3 3 3 3 1\nparent: child ended with 7; 0\n");
    expect("fork_before_any", 0, "push 0, child: 0 0 0 0 0\nparent: child ended with 7; 0\n");
    CHECK_INT(cudart_run_again(program, "fork_with_a_finding", "device=1G", said, sizeof said), ==, 3);
    CHECK_MSG(strstr(said, "child ended with 7; 0\n") && strstr(said, "1 finding:") == strstr(said, "1 f")
              && !strstr(strstr(said, "1 f") + 1, "1 f"), "the parent's finding is the parent's to report");
}

static void test_other_threads_are_at_work(void)
{
    expect("fork_among_threads", 0, "100 children were told\n");
    for (int i = 0; i < 20; i++) expect("end_among_threads", 6, "");
}

static void test_no_host_memory(void)
{
    if (SANITIZED) {
        SKIP("no limit of address space under a sanitizer");
        return;
    }
    CHECK_INT(cudart_run_again(program, "no_host_memory", "device=4G", said, sizeof said), ==, 3);
    CHECK_MSG(strstr(said, "some: 999 999 999 0; then 0\n") != NULL, "%s", said);
    CHECK_MSG(strstr(said, "no host memory left to simulate cudaMemcpy2D\n") != NULL, "each is a finding");
}

/* Blocks of one thread are written and read back by it alone; all share one machine. */
static void *work_in_a_thread(void *number)
{
    enum { ROUNDS = 300 };
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
    sim *machine = cudart_open(2, GIB(1), NULL);
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
        CHECK(counters.held_bytes == 0 && counters.calls[SIM_CALL_OBTAIN] == THREADS / 2 * 300);
    }
    CHECK_U64(sim_finding_count(machine), ==, 0);
    cudart_close(machine);
}

int main(int count, char **arguments)
{
    program = arguments[0];
    for (size_t i = 0; count > 1 && i < COUNT(cases); i++) {
        if (strcmp(arguments[1], cases[i].name) == 0) return cases[i].run();
    }
    test_ends();
    test_forks();
    test_other_threads_are_at_work();
    test_no_host_memory();
    test_threads();
    return tap_done();
}
#endif
