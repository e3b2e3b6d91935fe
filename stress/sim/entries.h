/* The entries of a driver table, once, for tables that do the same at each: X(group, name, parameters, names), where
   `self` is the table, and names are what a table `behind` it is called with.
   It must not know what any table does. */
#ifndef STRESS_SIM_ENTRIES_H
#define STRESS_SIM_ENTRIES_H

#include "../../gpuarena.h"

#define ENTRIES_MEMORY(X) \
    X(memory, info, (const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, \
                     uint64_t *total_bytes), (behind, kind, free_bytes, total_bytes)) \
    X(memory, obtain, (const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes, \
                       gpuarena_stream stream), (behind, kind, ptr, bytes, stream)) \
    X(memory, give_back, (const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes, \
                          gpuarena_stream stream), (behind, kind, ptr, bytes, stream))
#define ENTRIES_VM(X) \
    X(vm, reserve, (const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment), \
      (behind, address, bytes, alignment)) \
    X(vm, release, (const gpuarena_driver *self, void *address, uint64_t bytes), (behind, address, bytes)) \
    X(vm, create, (const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits), \
      (behind, page, bytes, traits)) \
    X(vm, destroy, (const gpuarena_driver *self, uint64_t page, uint64_t bytes), (behind, page, bytes)) \
    X(vm, map, (const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page), \
      (behind, address, bytes, page)) \
    X(vm, access, (const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode), \
      (behind, address, bytes, mode)) \
    X(vm, unmap, (const gpuarena_driver *self, void *address, uint64_t bytes), (behind, address, bytes))
#define ENTRIES_EVENTS(X) \
    X(events, create, (const gpuarena_driver *self, void **event), (behind, event)) \
    X(events, destroy, (const gpuarena_driver *self, void *event), (behind, event)) \
    X(events, record, (const gpuarena_driver *self, void *event, gpuarena_stream stream), (behind, event, stream)) \
    X(events, query, (const gpuarena_driver *self, void *event), (behind, event)) \
    X(events, host_wait, (const gpuarena_driver *self, void *event), (behind, event)) \
    X(events, stream_wait, (const gpuarena_driver *self, gpuarena_stream stream, void *event), \
      (behind, stream, event)) \
    X(events, device_wait, (const gpuarena_driver *self), (behind))
#define ENTRIES_CAPTURE(X) \
    X(capture, active, (const gpuarena_driver *self, gpuarena_stream stream, int *active), (behind, stream, active)) \
    X(capture, exchange_mode, (const gpuarena_driver *self, int *mode), (behind, mode))
#define ENTRIES_IPC(X) \
    X(ipc, get_handle, (const gpuarena_driver *self, void *ptr, unsigned char *handle), (behind, ptr, handle)) \
    X(ipc, open_handle, (const gpuarena_driver *self, const unsigned char *handle, void **ptr), \
      (behind, handle, ptr)) \
    X(ipc, close_handle, (const gpuarena_driver *self, void *ptr), (behind, ptr))
#define ENTRIES_FD(X) \
    X(fd, from_page, (const gpuarena_driver *self, uint64_t page, int *fd), (behind, page, fd)) \
    X(fd, to_page, (const gpuarena_driver *self, int fd, uint64_t *page), (behind, fd, page))

#endif
