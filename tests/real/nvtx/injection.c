/* A tool in the place of compute-sanitizer: NVTX loads it, as NVTX_INJECTION64_PATH names it, and hands it the calls
   of the memory extension. It judges them: pools do not overlap, regions lie in a living pool and do not overlap, and
   pools and regions that go were there. At exit it tells the counts on stderr; mistakes are told where they are made.
   It must not know gpuarena. */
#include <nvtx3/nvToolsExtMem.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096 };
typedef struct piece { uint64_t begin, end; size_t pool; } piece;    /* end 0: gone */
static piece pools[MOST], regions[MOST];
static unsigned long pool_count, pool_end_count, region_count, region_end_count, resize_count, mistake_count;

static void mistake(const char *what)
{
    mistake_count++;
    fprintf(stderr, "nvtx: %s\n", what);
}

static piece *overlapped(piece *list, uint64_t begin, uint64_t end)
{
    for (size_t at = 1; at < MOST; at++)
        if (begin < list[at].end && list[at].begin < end) return &list[at];
    return NULL;
}

static size_t entered(piece *list, const nvtxMemVirtualRangeDesc_t *range, const char *trouble)
{
    uint64_t begin = (uint64_t)(uintptr_t)range->ptr, end = begin + range->size;
    size_t at = 1;
    if (begin == end || overlapped(list, begin, end)) mistake(trouble);
    while (at < MOST - 1 && list[at].end) at++;
    list[at].begin = begin;
    list[at].end = end;
    return at;
}

static int is_inside(const piece *region)
{
    const piece *pool = &pools[region->pool];
    return region->pool && region->begin >= pool->begin && region->end <= pool->end;
}

static piece *region_at(const void *ptr)
{
    for (size_t at = 1; at < MOST; at++)
        if (regions[at].end && regions[at].begin == (uint64_t)(uintptr_t)ptr) return &regions[at];
    mistake("no such region");
    return &regions[0];
}

static nvtxMemHeapHandle_t NVTX_API heap_register(nvtxDomainHandle_t domain, nvtxMemHeapDesc_t const *desc)
{
    (void)domain;
    if (desc->extCompatID != NVTX_EXT_COMPATID_MEM || desc->structSize != sizeof *desc
        || desc->usage != NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR || desc->type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS)
        mistake("a pool is not described as one");
    pool_count++;
    return (nvtxMemHeapHandle_t)(uintptr_t)entered(pools, desc->typeSpecificDesc, "pools overlap");
}

static void NVTX_API heap_unregister(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
    piece *pool = &pools[(uintptr_t)heap];
    (void)domain;
    if (!pool->end) mistake("a pool ends twice");
    if (overlapped(regions, pool->begin, pool->end)) mistake("a pool ends before its regions");
    pool->end = 0;
    pool_end_count++;
}

static void NVTX_API regions_register(nvtxDomainHandle_t domain, nvtxMemRegionsRegisterBatch_t const *batch)
{
    size_t at = entered(regions, batch->regionDescElements, "regions overlap");
    (void)domain;
    regions[at].pool = (uintptr_t)batch->heap;
    if (!is_inside(&regions[at])) mistake("a region lies outside its pool");
    region_count++;
}

static void NVTX_API regions_resize(nvtxDomainHandle_t domain, nvtxMemRegionsResizeBatch_t const *batch)
{
    const nvtxMemVirtualRangeDesc_t *range = batch->regionDescElements;
    piece *region = region_at(range->ptr);
    (void)domain;
    region->end = 0;
    if (overlapped(regions, region->begin, region->begin + range->size)) mistake("regions overlap");
    region->end = region->begin + range->size;
    if (!is_inside(region)) mistake("a region outgrows its pool");
    resize_count++;
}

static void NVTX_API regions_unregister(nvtxDomainHandle_t domain, nvtxMemRegionsUnregisterBatch_t const *batch)
{
    (void)domain;
    if (batch->refType != NVTX_MEM_REGION_REF_TYPE_POINTER) mistake("a region is not named by its pointer");
    region_at(batch->refElements->pointer)->end = 0;
    region_end_count++;
}

static void tell(void)
{
    fprintf(stderr, "nvtx: %lu pools, %lu ended; %lu regions, %lu ended, %lu resized; %lu mistakes\n", pool_count,
            pool_end_count, region_count, region_end_count, resize_count, mistake_count);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info);

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info)
{
    intptr_t *slots = info->segments->functionSlots;
    if (info->moduleId != NVTX_EXT_MODULEID_MEM) return 0;
    slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = (intptr_t)heap_register;
    slots[NVTX3EXT_CBID_nvtxMemHeapUnregister] = (intptr_t)heap_unregister;
    slots[NVTX3EXT_CBID_nvtxMemRegionsRegister] = (intptr_t)regions_register;
    slots[NVTX3EXT_CBID_nvtxMemRegionsResize] = (intptr_t)regions_resize;
    slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister] = (intptr_t)regions_unregister;
    atexit(tell);
    return 1;
}
