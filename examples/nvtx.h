/* An observer, for you to copy: tells compute-sanitizer, by NVTX's memory extension, which memory an arena holds from
   the driver and which parts of it are blocks. An access to any other part is then an error of memcheck.
   It must not know the program's purpose. Used by 15_nvtx.c; tested by tests/real/nvtx.t, with a library in the
   tool's place. Needs the headers of the CUDA Toolkit, and dlopen (-ldl before glibc 2.34), by which NVTX finds the
   tool. Include gpuarena.h before.
     - A pool of NVTX is one allocation of the driver. The backing must therefore not be paged: a paged block lies in
       many allocations.
     - A free is told when the program calls it. Work that the GPU still does with the block then counts as an error:
       run the program with CUDA_LAUNCH_BLOCKING=1. */
#ifndef EXAMPLES_NVTX_H
#define EXAMPLES_NVTX_H

#include <nvtx3/nvToolsExtMem.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvtx_pool {                       /* a segment of the arena */
    const char         *begin;
    uint64_t            bytes;
    nvtxMemHeapHandle_t heap;
    struct nvtx_pool   *next;
} nvtx_pool;
typedef struct nvtx_observer { nvtxDomainHandle_t domain; nvtx_pool *pools; } nvtx_observer;

static nvtxMemVirtualRangeDesc_t nvtx_range(const void *ptr, uint64_t bytes)
{
    nvtxMemVirtualRangeDesc_t range;
    range.size = (size_t)bytes;
    range.ptr = ptr;
    return range;
}

/* Without host memory the tool does not learn of the segment, and accesses to it are not judged. */
static void nvtx_pool_begin(nvtx_observer *self, const gpuarena_block *segment)
{
    nvtxMemVirtualRangeDesc_t range = nvtx_range(segment->ptr, segment->bytes);
    nvtxMemHeapDesc_t desc;
    nvtx_pool *pool = (nvtx_pool *)malloc(sizeof *pool);
    if (!pool) return;
    memset(&desc, 0, sizeof desc);
    desc.extCompatID = NVTX_EXT_COMPATID_MEM;
    desc.structSize = sizeof desc;
    desc.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
    desc.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    desc.typeSpecificDescSize = sizeof range;
    desc.typeSpecificDesc = &range;
    pool->begin = (const char *)segment->ptr;
    pool->bytes = segment->bytes;
    pool->heap = nvtxMemHeapRegister(self->domain, &desc);
    pool->next = self->pools;
    self->pools = pool;
}

static nvtx_pool **nvtx_pool_of(nvtx_observer *self, const void *inside)
{
    nvtx_pool **at = &self->pools;
    while (*at && (uint64_t)(uintptr_t)inside - (uint64_t)(uintptr_t)(*at)->begin >= (*at)->bytes) at = &(*at)->next;
    return at;
}

static void nvtx_pool_end(nvtx_observer *self, const gpuarena_block *segment)
{
    nvtx_pool **at = nvtx_pool_of(self, segment->ptr), *pool = *at;
    if (!pool) return;
    *at = pool->next;
    nvtxMemHeapUnregister(self->domain, pool->heap);
    free(pool);
}

/* A region has the requested bytes alone, so that an access to the bytes of rounding up is an error. */
static void nvtx_alloc(nvtx_observer *self, const gpuarena_block *block)
{
    nvtxMemVirtualRangeDesc_t range = nvtx_range(block->ptr, block->requested_bytes);
    nvtxMemRegionsRegisterBatch_t batch;
    const nvtx_pool *pool = *nvtx_pool_of(self, block->ptr);
    if (!pool) return;
    memset(&batch, 0, sizeof batch);
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof batch;
    batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.heap = pool->heap;
    batch.regionCount = 1;
    batch.regionDescElementSize = sizeof range;
    batch.regionDescElements = &range;
    nvtxMemRegionsRegister(self->domain, &batch);
}

static void nvtx_resize(nvtx_observer *self, const gpuarena_block *block)
{
    nvtxMemVirtualRangeDesc_t range = nvtx_range(block->ptr, block->requested_bytes);
    nvtxMemRegionsResizeBatch_t batch;
    memset(&batch, 0, sizeof batch);
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof batch;
    batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.regionDescCount = 1;
    batch.regionDescElementSize = sizeof range;
    batch.regionDescElements = &range;
    if (*nvtx_pool_of(self, block->ptr)) nvtxMemRegionsResize(self->domain, &batch);
}

static void nvtx_free(nvtx_observer *self, const gpuarena_block *block)
{
    nvtxMemRegionRef_t region;
    nvtxMemRegionsUnregisterBatch_t batch;
    region.pointer = block->ptr;
    memset(&batch, 0, sizeof batch);
    batch.extCompatID = NVTX_EXT_COMPATID_MEM;
    batch.structSize = sizeof batch;
    batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
    batch.refCount = 1;
    batch.refElementSize = sizeof region;
    batch.refElements = &region;
    if (*nvtx_pool_of(self, block->ptr)) nvtxMemRegionsUnregister(self->domain, &batch);
}

static void nvtx_observe(gpuarena *arena, const gpuarena_action *action, void *user)
{
    nvtx_observer *self = (nvtx_observer *)user;
    (void)arena;
    switch (action->kind) {
    case GPUARENA_ACTION_GROW: nvtx_pool_begin(self, &action->block); break;
    case GPUARENA_ACTION_RELEASE: nvtx_pool_end(self, &action->block); break;
    case GPUARENA_ACTION_ALLOC: nvtx_alloc(self, &action->block); break;
    case GPUARENA_ACTION_RESIZE: nvtx_resize(self, &action->block); break;
    case GPUARENA_ACTION_FREE: nvtx_free(self, &action->block); break;
    default: break;
    }
}

/* Call this before gpuarena_create, with its configuration. The observer must outlive the arena, and is empty again
   when the arena has ended. 0: the backing is paged; nothing has changed. */
static int nvtx_begin(nvtx_observer *self, gpuarena_config *config)
{
    if (config->backing == GPUARENA_BACKING_PAGED) return 0;
    if (config->backing == GPUARENA_BACKING_AUTO) config->backing = GPUARENA_BACKING_SEGMENTS;
    memset(self, 0, sizeof *self);
    self->domain = nvtxDomainCreateA("gpuarena");
    config->observe = nvtx_observe;
    config->observe_user = self;
    return 1;
}

#endif
