/* Memory between processes: cudaIpc, and handles of virtual memory as file descriptors. Must not know how memory is
   found again: sim/share.h does. */
#include "../sim/share.h"

#include "../sim/work.h"
#include "driver.h"

/* 1: the call may be made while whatever captures does; else 0 and the code. */
static int share_may(call *self, const char *name)
{
    self->code = work_check_unsafe(self->device, name);
    return self->code == SIM_SUCCESS;
}

CUDART_EXPORT cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *ptr)
{
    CALL_DOES(call_begin_at(&self, SIM_CALL_IPC_GET, ptr),
              share_get(self.device, SHARE_OTHERS, (uint64_t)(uintptr_t)ptr,
                        handle ? (unsigned char *)handle->reserved : NULL));
}

CUDART_EXPORT cudaError_t cudaIpcOpenMemHandle(void **ptr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    CALL_DOES(call_begin(&self, SIM_CALL_IPC_OPEN, 0) && share_may(&self, "cudaIpcOpenMemHandle"),
              flags > cudaIpcMemLazyEnablePeerAccess
                  ? SIM_INVALID_VALUE
                  : share_open_memory(self.device, SHARE_OTHERS, (const unsigned char *)handle.reserved, ptr));
}

CUDART_EXPORT cudaError_t cudaIpcCloseMemHandle(void *ptr)
{
    CALL_DOES(call_begin(&self, SIM_CALL_IPC_CLOSE, 0) && share_may(&self, "cudaIpcCloseMemHandle"),
              share_close(self.device, (uint64_t)(uintptr_t)ptr, &self.cost_ns));
}

/* Virtual memory makes no context: whatever device is current serves. */
static int share_begin(call *self, sim_call kind)
{
    if (!call_open(self, kind) || !call_serve(self, self->device, 0)) return 0;
    self->code = self->machine->without_vm ? SIM_NOT_SUPPORTED : SIM_SUCCESS;
    return self->code == SIM_SUCCESS;
}

static int share_type_fits(CUmemAllocationHandleType type)
{
    return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

DRIVER_EXPORT cuMemExportToShareableHandle(void *exported, CUmemGenericAllocationHandle handle,
                                           CUmemAllocationHandleType type, unsigned long long flags)
{
    CALL_DRIVER_DOES(share_begin(&self, SIM_CALL_VM_EXPORT),
                     !share_type_fits(type) ? SIM_NOT_SUPPORTED
                     : flags                ? SIM_INVALID_VALUE
                                            : share_export(self.device, SHARE_OTHERS, handle, exported));
}

DRIVER_EXPORT cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *exported,
                                             CUmemAllocationHandleType type)
{
    call self;
    uint64_t made;
    if (share_begin(&self, SIM_CALL_VM_IMPORT) && share_may(&self, "cuMemImportFromShareableHandle")) {
        self.code = !share_type_fits(type) ? SIM_NOT_SUPPORTED
                  : !handle                ? SIM_INVALID_VALUE
                                           : share_import(self.device, SHARE_OTHERS, (int)(intptr_t)exported, &made);
        if (self.code == SIM_SUCCESS) *handle = made;
    }
    return (CUresult)call_end_driver(&self);
}

const driver_row driver_share_rows[] = {
    DRIVER_ROW(cuMemExportToShareableHandle, 10020),
    DRIVER_ROW(cuMemImportFromShareableHandle, 10020),
    { NULL, 0, NULL },
};
