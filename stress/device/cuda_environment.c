/* Questions to the CUDA runtime, and one to nvidia-smi before our own process shows up there.
   It must not obtain memory. */
#include "cuda_environment.h"

#include <unistd.h>

#include "../base/text.h"

/* ---- Questions to the CUDA runtime, and one to nvidia-smi before our own process shows up there */

#ifdef GPUARENA_NO_CUDA

const char *cuda_environment_build(void)
{
    return "no CUDA";
}

int cuda_environment_count(problem *why)
{
    return problem_set(why, EXIT_NO_DEVICE, "this build is without CUDA: the toolkit's headers were not found");
}

int cuda_environment_describe(int ordinal, cuda_environment *made, problem *why)
{
    (void)ordinal; (void)made;
    return cuda_environment_count(why);
}

int cuda_environment_record(int ordinal, cuda_environment *made, problem *why)
{
    return cuda_environment_describe(ordinal, made, why);
}

#else

#include <cuda_runtime_api.h>

const char *cuda_environment_build(void)
{
    static char text[32];
    snprintf(text, sizeof text, "CUDA %d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return text;
}

static int environment_failed(const char *call, int ordinal, cudaError_t code, problem *why)
{
    (void)cudaGetLastError();
    return problem_set(why, EXIT_HARNESS, "CUDA device %d: %s: %s (%d)", ordinal, call, cudaGetErrorName(code),
                       (int)code);
}

int cuda_environment_count(problem *why)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    (void)cudaGetLastError();
    if (!code && count > 0) return count;
    const char *meaning = cudaGetErrorString(code);
    if (code == cudaErrorInsufficientDriver) meaning = "the CUDA driver is missing, or too old for this runtime";
    if (code == cudaErrorNoDevice || !code) meaning = "the CUDA driver sees no device";
    if (!code) code = cudaErrorNoDevice;
    return problem_set(why, EXIT_NO_DEVICE, "%s (%s, %d)", meaning, cudaGetErrorName(code), (int)code);
}

/* Hexadecimal digits and dashes: a shell command gets it as it is. */
static void environment_uuid(const cudaUUID_t *uuid, char *text, size_t size)
{
    snprintf(text, size, "GPU");
    for (size_t index = 0; index < sizeof uuid->bytes; index++) {
        const char *dash = index == 0 || index == 4 || index == 6 || index == 8 || index == 10 ? "-" : "";
        text_add(text, size, "%s%02x", dash, (unsigned)(unsigned char)uuid->bytes[index]);
    }
}

int cuda_environment_describe(int ordinal, cuda_environment *made, problem *why)
{
    struct cudaDeviceProp properties;
    memset(made, 0, sizeof *made);
    made->ordinal = ordinal;
    cudaError_t code = cudaGetDeviceProperties(&properties, ordinal);
    if (code) return environment_failed("cudaGetDeviceProperties", ordinal, code, why);
    snprintf(made->name, sizeof made->name, "%.*s", (int)sizeof properties.name, properties.name);
    environment_uuid(&properties.uuid, made->uuid, sizeof made->uuid);
    made->total_bytes = properties.totalGlobalMem;
    made->capability = 10 * properties.major + properties.minor;
    made->multiprocessors = properties.multiProcessorCount;
    made->corrects = properties.ECCEnabled != 0;
    snprintf(made->pci, sizeof made->pci, "%04x:%02x:%02x.0", (unsigned)properties.pciDomainID,
             (unsigned)properties.pciBusID, (unsigned)properties.pciDeviceID);
    return 0;
}

/* The first call that needs the context makes it, and a context counts as memory in use. */
static int environment_memory(cuda_environment *made, problem *why)
{
    size_t free_bytes = 0, total_bytes = 0;
    cudaError_t code = cudaSetDevice(made->ordinal);
    if (code) return environment_failed("cudaSetDevice", made->ordinal, code, why);
    code = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (code) return environment_failed("cudaMemGetInfo", made->ordinal, code, why);
    made->total_bytes = total_bytes;
    made->other_bytes = total_bytes - free_bytes;
    return 0;
}

/* The answer of nvidia-smi about the device. "?": there is no such program, it failed, or it took more than 5
   seconds, as on a GPU that hangs. */
static void environment_ask(const char *uuid, const char *query, char *answer, size_t size)
{
    char command[256];
    snprintf(command, sizeof command,
             "timeout -k 1 5 nvidia-smi --id=%s --query-%s --format=csv,noheader 2>/dev/null", uuid, query);
    FILE *pipe = popen(command, "r");
    answer[pipe ? fread(answer, 1, size - 1, pipe) : 0] = '\0';
    if (!pipe || pclose(pipe)) snprintf(answer, size, "?");
}

enum { ENVIRONMENT_NO_ANSWER = -2 };

/* Compute processes on the device other than this one, from a line each; -1, or NO_ANSWER: not known. */
static int environment_processes(const char *uuid)
{
    char answer[8192], *end;
    int others = 0;
    environment_ask(uuid, "compute-apps=pid", answer, sizeof answer);
    if (strcmp(answer, "?") == 0) return ENVIRONMENT_NO_ANSWER;
    for (const char *at = answer; *at; at = end + 1) {
        long process = strtol(at, &end, 10);
        if (end == at || *end != '\n') return -1;           /* "[Insufficient Permissions]" and the like */
        others += process != (long)getpid();
    }
    return others;
}

int cuda_environment_record(int ordinal, cuda_environment *made, problem *why)
{
    if (cuda_environment_find(ordinal, why) || cuda_environment_describe(ordinal, made, why)) return -1;
    made->process_count = environment_processes(made->uuid);
    if (made->process_count != ENVIRONMENT_NO_ANSWER) {      /* one that hangs is asked once */
        environment_ask(made->uuid, "gpu=driver_version", made->driver, sizeof made->driver);
        made->driver[strspn(made->driver, "0123456789.")] = '\0';
    } else made->process_count = -1;
    (void)cudaDriverGetVersion(&made->driver_version);
    (void)cudaRuntimeGetVersion(&made->runtime_version);
    return environment_memory(made, why);
}

#endif

int cuda_environment_find(int ordinal, problem *why)
{
    int count = cuda_environment_count(why);
    if (count < 0) return -1;
    if (ordinal >= 0 && ordinal < count) return 0;
    return problem_set(why, EXIT_NO_DEVICE, "there is no CUDA device %d: %d answer%s, numbered from 0", ordinal,
                       count, count == 1 ? "s" : "");
}

/* ---- for people */

static void cuda_environment_others(const cuda_environment *self, char *text, size_t size)
{
    if (self->process_count < 0) snprintf(text, size, "other processes: unknown");
    else if (!self->process_count) snprintf(text, size, "no other process");
    else snprintf(text, size, "%d other process%s", self->process_count, self->process_count == 1 ? "" : "es");
}

const char *cuda_environment_line(const cuda_environment *self, char *text, size_t size)
{
    char others[48], total[16], in_use[16];
    cuda_environment_others(self, others, sizeof others);
    snprintf(text, size, "%s, %s, %s of it in use before the first op, driver %s%sCUDA %d.%d, runtime %d.%d, %s",
             self->name, text_bytes(self->total_bytes, total, sizeof total),
             text_bytes(self->other_bytes, in_use, sizeof in_use), self->driver,
             self->driver[0] ? ", up to " : "for ", self->driver_version / 1000, self->driver_version % 1000 / 10,
             self->runtime_version / 1000, self->runtime_version % 1000 / 10, others);
    return text;
}
