/* The products of cuBLAS that PyTorch calls in training, as launches that the simulated device skips. For LD_PRELOAD,
   before PyTorch loads its own: cuBLAS has a libcudart linked in, which asks libcuda for undocumented tables. Handles
   are taken as they come, and only a stream is kept; no argument but that is looked at. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

enum { BLAS_SUCCESS = 0 };

typedef struct blas_handle { cudaStream_t stream; int math, pointers; } blas_handle;

static int blas_launch(cudaStream_t stream)
{
    static char kernel;
    dim3 one = { 1, 1, 1 };
    return cudaLaunchKernel(&kernel, one, one, NULL, 0, stream) == cudaSuccess ? BLAS_SUCCESS : 13;
}

int cublasCreate_v2(blas_handle **handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle ? BLAS_SUCCESS : 3;
}

int cublasDestroy_v2(blas_handle *handle)
{
    free(handle);
    return BLAS_SUCCESS;
}

int cublasSetStream_v2(blas_handle *handle, cudaStream_t stream)
{
    handle->stream = stream;
    return BLAS_SUCCESS;
}

int cublasSetWorkspace_v2(blas_handle *handle, void *memory, size_t bytes)
{
    (void)handle, (void)memory, (void)bytes;
    return BLAS_SUCCESS;
}

int cublasSetMathMode(blas_handle *handle, int math)
{
    handle->math = math;
    return BLAS_SUCCESS;
}

int cublasGetMathMode(const blas_handle *handle, int *math)
{
    *math = handle->math;
    return BLAS_SUCCESS;
}

int cublasSetPointerMode_v2(blas_handle *handle, int pointers)
{
    handle->pointers = pointers;
    return BLAS_SUCCESS;
}

int cublasGetPointerMode_v2(const blas_handle *handle, int *pointers)
{
    *pointers = handle->pointers;
    return BLAS_SUCCESS;
}

/* Whatever follows the handle. */
int cublasSgemm_v2(const blas_handle *handle, ...) { return blas_launch(handle->stream); }
int cublasSgemmEx(const blas_handle *handle, ...) { return blas_launch(handle->stream); }
int cublasGemmEx(const blas_handle *handle, ...) { return blas_launch(handle->stream); }
int cublasGemmStridedBatchedEx(const blas_handle *handle, ...) { return blas_launch(handle->stream); }
int cublasSgemmStridedBatched(const blas_handle *handle, ...) { return blas_launch(handle->stream); }
