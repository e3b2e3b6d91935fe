/* A program that frees and allocates memory of a device that is not the current one, and whose child ends by exit;
   with the argument `lingers`, after the program. Prints its findings. Used by preload.t; on the libcudart
   substitute, with two devices and work that takes long. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int free_elsewhere(void)
{
    cudaStream_t stream;
    void *block;
    int current;
    if (cudaSetDevice(1) || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) || cudaMalloc(&block, 1 << 20)
        || cudaMemsetAsync(block, 1, 1 << 20, stream) || cudaStreamQuery(stream) != cudaErrorNotReady) return 1;
    if (cudaSetDevice(0) || cudaFree(block) || cudaGetDevice(&current) || current != 0) return 1;
    printf("after the free: %s\n", cudaGetErrorName(cudaStreamQuery(stream)));
    return cudaMallocAsync(&block, 2 << 20, stream) || cudaFreeAsync(block, stream);
}

static int fork_once(int lingers)
{
    int status;
    pid_t child = fork();
    if (!child && lingers) {
        close(1);                                /* nobody waits for its output */
        close(2);
        sleep(10);
    }
    if (!child) exit(0);
    return !lingers && (waitpid(child, &status, 0) != child || status);
}

int main(int argc, char **argv)
{
    void *block;
    int lingers = argc > 1 && !strcmp(argv[1], "lingers");
    if (cudaMalloc(&block, 1 << 20) || fork_once(lingers) || free_elsewhere()) return 1;
    return cudaFree(block) != cudaSuccess;
}
