/* Driver functions of modules and kernels, with kernels=skip: modules load unread, every kernel is found in them, and
   a launch is a command of its stream that touches nothing. Without it all answer CUDA_ERROR_NOT_SUPPORTED.
   Must not know what kernels do. */
#include "driver.h"

static char kernel_stand_in;                     /* its address stands for all modules, libraries and kernels */

static CUresult kernel_find(const void *source, void *handle)
{
    struct cudaFuncAttributes any;
    CUresult code = DRIVER_DOES(cudaFuncGetAttributes(&any, &kernel_stand_in));
    if (code == CUDA_SUCCESS) code = source && handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *(void **)handle = &kernel_stand_in;
    return code;
}

DRIVER_EXPORT cuModuleLoadData(CUmodule *module, const void *image)
{
    return kernel_find(image, module);
}

DRIVER_EXPORT cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                                 void **values)
{
    (void)count, (void)options, (void)values;
    return kernel_find(image, module);
}

DRIVER_EXPORT cuModuleUnload(CUmodule module)
{
    return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_EXPORT cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    return module ? kernel_find(name, function) : CUDA_ERROR_INVALID_HANDLE;
}

#if CUDA_VERSION >= 12000
DRIVER_EXPORT cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options, void **values,
                                unsigned int count, CUlibraryOption *library_options, void **library_values,
                                unsigned int library_count)
{
    (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
    return kernel_find(image, library);
}

DRIVER_EXPORT cuLibraryUnload(CUlibrary library)
{
    return library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_EXPORT cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    return library ? kernel_find(name, kernel) : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_EXPORT cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    return kernel_find(kernel, function);
}
#endif

/* The numbers of those attributes that have an answer here. */
DRIVER_EXPORT cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    struct cudaFuncAttributes found;
    CUresult code = value && function ? DRIVER_DOES(cudaFuncGetAttributes(&found, function))
                                      : CUDA_ERROR_INVALID_VALUE;
    if (code != CUDA_SUCCESS) return code;
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? found.maxThreadsPerBlock
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS              ? found.numRegs
           : attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION           ? found.ptxVersion
           : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION        ? found.binaryVersion
                                                                  : 0;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)attribute;
    return DRIVER_DOES(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, value));
}

DRIVER_EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_size,
                                                          size_t shared_bytes)
{
    return DRIVER_DOES(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_bytes));
}

/* With a stream, yet among these: skipped kernels are the same on either default stream. */
DRIVER_EXPORT cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                             unsigned int block_x, unsigned int block_y, unsigned int block_z,
                             unsigned int shared_bytes, CUstream stream, void **arguments, void **extra)
{
    dim3 grid = { grid_x, grid_y, grid_z }, block = { block_x, block_y, block_z };
    (void)extra;
    return DRIVER_DOES(cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream));
}

#if CUDA_VERSION >= 12000
DRIVER_EXPORT cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, arguments,
                          extra);
}
#endif

const driver_row driver_kernel_rows[] = {
    DRIVER_ROW(cuModuleLoadData, 2000),
    DRIVER_ROW(cuModuleLoadDataEx, 2010),
    DRIVER_ROW(cuModuleUnload, 2000),
    DRIVER_ROW(cuModuleGetFunction, 2000),
    DRIVER_ROW(cuFuncGetAttribute, 2020),
    DRIVER_ROW(cuFuncSetAttribute, 9000),
    DRIVER_ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050),
    DRIVER_ROW(cuLaunchKernel, 4000),
#if CUDA_VERSION >= 12000
    DRIVER_ROW(cuLibraryLoadData, 12000),
    DRIVER_ROW(cuLibraryUnload, 12000),
    DRIVER_ROW(cuLibraryGetKernel, 12000),
    DRIVER_ROW(cuKernelGetFunction, 12000),
    DRIVER_ROW(cuLaunchKernelEx, 11060),
#endif
    { NULL, 0, NULL },
};
