/* Threads that allocate and free at once. Used by preload.t, with the recorder linked in and ThreadSanitizer; on the
   libcudart substitute. */
#include <cuda_runtime_api.h>
#include <pthread.h>

static void *work(void *wrong)
{
    void *block;
    for (int at = 0; at < 100; at++) if (cudaMalloc(&block, 1000) || cudaFree(block)) *(int *)wrong = 1;
    return NULL;
}

int main(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int wrong[THREADS] = { 0 }, any = 0;
    for (int at = 0; at < THREADS; at++) if (pthread_create(&threads[at], NULL, work, &wrong[at])) return 2;
    for (int at = 0; at < THREADS; at++) any |= pthread_join(threads[at], NULL) || wrong[at];
    return any;
}
