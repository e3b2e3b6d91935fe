/* The libcudart substitute: GPUARENA_SIM, good and bad, as a process sees it that starts with it.
   Must not know how the text is read. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include "test_cudart.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

static const char *program;
static char said[8192];

/* What the process that is run again does: says what it finds. */
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

/* What two mappings with access answer. */
static int map_twice(void)
{
    gpuarena_driver driver;
    void *at = NULL;
    uint64_t page = 0;
    sim_driver(cudart_machine(), 0, &driver);
    if (!driver.page_bytes) return -1;
    driver.vm.reserve(&driver, &at, MIB(4), 0);
    driver.vm.create(&driver, &page, MIB(2), 0);
    driver.vm.map(&driver, at, MIB(2), page);
    driver.vm.map(&driver, (char *)at + MIB(2), MIB(2), page);
    return driver.vm.access(&driver, at, MIB(4), 1);
}

/* The same of virtual memory, which the driver's own function tells. */
static int describe_vm(void)
{
    int (*ask)(int *value, int attribute, int device);
    int value = -1, code = -1;
    void *found = NULL;
#if CUDART_VERSION >= 12000
    cudaGetDriverEntryPoint("cuDeviceGetAttribute", &found, cudaEnableDefault, NULL);
#else
    cudaGetDriverEntryPoint("cuDeviceGetAttribute", &found, cudaEnableDefault);
#endif
    memcpy(&ask, &found, sizeof ask);
    if (found) code = ask(&value, 102, 0);
    printf("vm %d:%d %d\n", code, value, map_twice());
    return 0;
}

static void expect_of(const char *question, const char *text, const char *line)
{
    int status = cudart_run_again(program, question, text, said, sizeof said);
    if (!CHECK_MSG(status == 0 && strcmp(said, line) == 0, "%s", text ? text : "no GPUARENA_SIM"))
        printf("#   status %d, said: %s#   expected: %s", status, said, line);
}

static void expect(const char *text, const char *line) { expect_of("describe", text, line); }

static void test_good_texts(void)
{
    static const char plain[] = "count 0:1 info 0 free 81920M total 81920M malloc 0 0 at 150250 us\n";
    expect(NULL, plain);
    expect("", plain);
    expect("device=24G", "count 0:1 info 0 free 24576M total 24576M malloc 0 0 at 150250 us\n");
    expect("device=24G*2,context=500M", "count 0:2 info 0 free 24076M total 24576M malloc 0 0 at 150250 us\n");
    expect("context=1G,device=3G*16", "count 0:16 info 0 free 2048M total 3072M malloc 0 0 at 150250 us\n");
    expect("device=4T", "count 0:1 info 0 free 4194304M total 4194304M malloc 0 0 at 150250 us\n");
    expect("device=2097152", "count 0:1 info 0 free 2M total 2M malloc 0 2 at 150250 us\n");
    expect("device=80G*0", "count 100:-1 info 100 free 0M total 0M malloc 100 100 at 0 us\n");
    expect("fail=cudaMalloc:2", "count 0:1 info 0 free 81920M total 81920M malloc 0 2 at 150250 us\n");
    expect("fail=any:1=35;cudaMemGetInfo:1=46;obtain:1+=719",
           "count 35:-1 info 46 free 0M total 0M malloc 719 719 at 150250 us\n");
    expect("device=8G,fail=rival@3=8G", "count 0:1 info 0 free 8192M total 8192M malloc 2 2 at 150250 us\n");
}

static void test_virtual_memory(void)
{
    expect_of("vm", "", "vm 0:1 0\n");
    expect_of("vm", "vm=on,mappings=2", "vm 0:1 0\n");
    expect_of("vm", "mappings=1", "vm 0:1 2\n");
    expect_of("vm", "vm=off,device=1G", "vm 0:0 -1\n");
}

static void write_costs(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    if (!out || fputs(text, out) < 0 || fclose(out)) CHECK_MSG(0, "cannot write %s", path);
}

static void test_costs(void)
{
    char path[512], text[600];
    snprintf(path, sizeof path, "%s.costs", program);
    snprintf(text, sizeof text, "costs=%s,device=1G", path);
    write_costs(path, "context 1000000 0\ninfo 5000 0\nmalloc_block 2000 500\n");
    expect(text, "count 0:1 info 0 free 1024M total 1024M malloc 0 0 at 1011 us\n");
    write_costs(path, "context x\n");
    CHECK_INT(cudart_run_again(program, "describe", text, said, sizeof said), ==, 2);
    CHECK_MSG(strstr(said, ":1: found \"x\", expected fixed_ns") != NULL, "%s", said);
    remove(path);
    CHECK_INT(cudart_run_again(program, "describe", text, said, sizeof said), ==, 2);
    CHECK_MSG(strstr(said, "expected a file of costs") != NULL, "%s", said);
}

/* A bad text: status 2, one line that begins like this and has that. */
static void test_bad_texts(void)
{
    static const struct { const char *text, *key, *allowed; } rows[] = {
        { "device", "device", "device=SIZE[*COUNT]" }, { "device=", "device", "SIZE[*COUNT] up to 4T" },
        { "device=x", "device", "SIZE" }, { "device=0", "device", "SIZE" }, { "device=5T", "device", "up to 4T" },
        { "device=24x", "device", "SIZE" }, { "device=24G*33", "device", "COUNT from 0 to 32" },
        { "device=24G*", "device", "COUNT" }, { "device=24G*2*2", "device", "COUNT" },
        { "device=*2", "device", "SIZE" },
        { "device=24G*4294967297", "device", "COUNT from 0 to 32" }, { "device=1G,device=1G", "device", "once" },
        { "context=", "context", "context=SIZE" }, { "context=-1", "context", "SIZE" },
        { "context=2G,device=1G", "context", "at most the device's" }, { "fail=", "fail", "fail=faults" },
        { "fail=cudaNothing:1", "faults: part \"cudaNothing:1\"", "cudaSetDevice:N" },
        { "fail=obtain:0", "faults: part \"obtain:0\"", "N from 1" },
        { "fail=any:1+=10000", "faults", "CODE to 9999" },
        { "device=1G*0,fail=x", "faults: part \"x\"", "expected" }, { "costs=", "costs", "the name of a file" },
        { "vm=1", "vm", "vm=on or off" }, { "vm=off,vm=off", "vm", "once" },
        { "mappings=0", "mappings", "such as 523000" }, { "mappings=4294967296", "mappings", "such as 523000" },
        { "rival=1", "\"rival\"",
          "expected device=SIZE[*COUNT], context=SIZE, fail=FAULTS, costs=FILE, work=NS, vm=off, "
                                  "mappings=N, kernels=skip, findings=pass or report=FILE" },
        { "kernels=run", "kernels", "refuse or skip" }, { "findings=", "findings", "fail or pass" },
        { "report=", "report", "the name of a file" },
        { "work=", "work", "work=virtual nanoseconds" }, { "work=5us", "work", "up to 1000 s" },
        { "work=1000000000001", "work", "up to 1000 s" },
        { ",", "\"\"", "expected device=" }, { "device=1G,", "\"\"", "expected device=" },
        { "device=1G;fail=any:1", "device", "SIZE" }, { "\n\x01", "\"\\x0a\\x01\"", "expected" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char start[128];
        int status = cudart_run_again(program, "describe", rows[i].text, said, sizeof said);
        snprintf(start, sizeof start, "gpuarena sim: GPUARENA_SIM: %s", rows[i].key);
        const char *newline = strchr(said, '\n'), *name = i + 1 < COUNT(rows) ? rows[i].text : "control characters";
        int one_line = newline && newline[1] == '\0';
        if (!CHECK_MSG(status == 2 && strstr(said, start) == said && strstr(said, rows[i].allowed) && one_line,
                       "refused: %s", name))
            printf("#   status %d, said: %s\n", status, said);
    }
    static char longest[6000] = "fail=";
    memset(longest + 5, '1', sizeof longest - 6);
    CHECK_INT(cudart_run_again(program, "describe", longest, said, sizeof said), ==, 2);
    CHECK_MSG(strstr(said, "GPUARENA_SIM: fail: expected fail=") != NULL, "a text that is too long");
}

/* What the program had printed before is not lost. */
static void test_output_before_the_refusal(void)
{
    CHECK_INT(cudart_run_again(program, "print first", "x", said, sizeof said), ==, 2);
    CHECK_MSG(strstr(said, "before the call\n") == said, "%s", said);
}

int main(int count, char **arguments)
{
    program = arguments[0];
    if (count > 1 && strcmp(arguments[1], "print first") == 0) printf("before the call\n");
    if (count > 1) return strcmp(arguments[1], "vm") == 0 ? describe_vm() : describe();
    test_good_texts();
    test_virtual_memory();
    test_costs();
    test_bad_texts();
    test_output_before_the_refusal();
    return tap_done();
}
#endif
