/* The entries of a driver table, written once: the parameters of each, ENTRY_group_name, where `self` is the table;
   and lists of them, X(group, name, names), where names are the arguments of the call on a table `behind` it.
   It must not know the effects of any table. */
#ifndef STRESS_SIM_ENTRIES_H
#define STRESS_SIM_ENTRIES_H

#include "../../gpuarena.h"

#define ENTRY_SELF const gpuarena_driver *self
#define ENTRY_memory_info (ENTRY_SELF, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
#define ENTRY_memory_obtain (ENTRY_SELF, gpuarena_memory kind, void **ptr, uint64_t bytes, gpuarena_stream stream)
#define ENTRY_memory_give_back (ENTRY_SELF, gpuarena_memory kind, void *ptr, uint64_t bytes, gpuarena_stream stream)
#define ENTRIES_MEMORY(X) \
    X(memory, info, (behind, kind, free_bytes, total_bytes)) \
    X(memory, obtain, (behind, kind, ptr, bytes, stream)) \
    X(memory, give_back, (behind, kind, ptr, bytes, stream))

#define ENTRY_vm_reserve (ENTRY_SELF, void **address, uint64_t bytes, uint64_t alignment)
#define ENTRY_vm_release (ENTRY_SELF, void *address, uint64_t bytes)
#define ENTRY_vm_create (ENTRY_SELF, uint64_t *page, uint64_t bytes, uint32_t traits)
#define ENTRY_vm_destroy (ENTRY_SELF, uint64_t page, uint64_t bytes)
#define ENTRY_vm_map (ENTRY_SELF, void *address, uint64_t bytes, uint64_t page)
#define ENTRY_vm_access (ENTRY_SELF, void *address, uint64_t bytes, uint32_t mode)
#define ENTRY_vm_unmap (ENTRY_SELF, void *address, uint64_t bytes)
#define ENTRIES_VM(X) \
    X(vm, reserve, (behind, address, bytes, alignment)) X(vm, release, (behind, address, bytes)) \
    X(vm, create, (behind, page, bytes, traits)) X(vm, destroy, (behind, page, bytes)) \
    X(vm, map, (behind, address, bytes, page)) X(vm, access, (behind, address, bytes, mode)) \
    X(vm, unmap, (behind, address, bytes))

#define ENTRY_events_create (ENTRY_SELF, void **event)
#define ENTRY_events_destroy (ENTRY_SELF, void *event)
#define ENTRY_events_record (ENTRY_SELF, void *event, gpuarena_stream stream)
#define ENTRY_events_query (ENTRY_SELF, void *event)
#define ENTRY_events_host_wait (ENTRY_SELF, void *event)
#define ENTRY_events_stream_wait (ENTRY_SELF, gpuarena_stream stream, void *event)
#define ENTRY_events_device_wait (ENTRY_SELF)
#define ENTRIES_EVENTS(X) \
    X(events, create, (behind, event)) X(events, destroy, (behind, event)) \
    X(events, record, (behind, event, stream)) X(events, query, (behind, event)) \
    X(events, host_wait, (behind, event)) X(events, stream_wait, (behind, stream, event)) \
    X(events, device_wait, (behind))

#define ENTRY_capture_active (ENTRY_SELF, gpuarena_stream stream, int *active)
#define ENTRY_capture_exchange_mode (ENTRY_SELF, int *mode)
#define ENTRIES_CAPTURE(X) \
    X(capture, active, (behind, stream, active)) X(capture, exchange_mode, (behind, mode))

#define ENTRY_ipc_get_handle (ENTRY_SELF, void *ptr, unsigned char *handle)
#define ENTRY_ipc_open_handle (ENTRY_SELF, const unsigned char *handle, void **ptr)
#define ENTRY_ipc_close_handle (ENTRY_SELF, void *ptr)
#define ENTRIES_IPC(X) \
    X(ipc, get_handle, (behind, ptr, handle)) X(ipc, open_handle, (behind, handle, ptr)) \
    X(ipc, close_handle, (behind, ptr))

#define ENTRY_fd_from_page (ENTRY_SELF, uint64_t page, int *fd)
#define ENTRY_fd_to_page (ENTRY_SELF, int fd, uint64_t *page)
#define ENTRIES_FD(X) \
    X(fd, from_page, (behind, page, fd)) X(fd, to_page, (behind, fd, page))

/* Those of no group, as of one named device. */
#define ENTRY_device_clear (ENTRY_SELF, void *ptr, uint64_t bytes, gpuarena_stream stream)
#define ENTRY_device_peer (ENTRY_SELF, int32_t number)

#endif
