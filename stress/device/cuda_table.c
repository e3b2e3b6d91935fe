/* The counting table: memory calls go into the books, the rest as it is. */
#include "cuda_table.h"

#include "../sim/entries.h"

/* ---- The books, and the device memory behind their entries */

typedef struct cuda_held { treap_node place; uint64_t bytes; } cuda_held;    /* ties: the later comes last */

/* One piece more lies in the granule, or one less. */
static void cuda_table_count_piece(device_table *granules, uint64_t granule, int goes)
{
    uint64_t count = device_table_take(granules, granule);
    if (!goes || count > 1) device_table_add(granules, granule, goes ? count - 1 : count + 1);
}

static void cuda_table_weigh(cuda_table *self, cuda_book book, const cuda_held *held, int goes)
{
    uint64_t whole_bytes = memory_round_up(held->bytes, SIM_GRANULE), address = held->place.key;
    if (book == CUDA_MAPPED || book == CUDA_RESERVED) return;            /* addresses */
    int is_packed = held->bytes < SIM_GRANULE || (int)book == CUDA_OBTAINED + GPUARENA_MEMORY_ASYNC;
    if (book == CUDA_CREATED || !is_packed) {
        self->whole_bytes += goes ? 0 - whole_bytes : whole_bytes;
        return;
    }
    for (uint64_t at = address / SIM_GRANULE; at <= (address + held->bytes - 1) / SIM_GRANULE; at++) {
        cuda_table_count_piece(&self->granules, at, goes);
    }
}

void cuda_table_enter(cuda_table *self, cuda_book in, uint64_t key, uint64_t bytes)
{
    cuda_held *made = program_need(1, sizeof *made);
    made->bytes = bytes;
    treap_add(&self->books[in], &made->place, made, key, ++self->entered, 0);
    cuda_table_weigh(self, in, made, 0);
    memory_raise(&self->held_peak_bytes, cuda_table_held_bytes(self));
}

void cuda_table_drop(cuda_table *self, cuda_book from, uint64_t key)
{
    cuda_held *gone = treap_until(&self->books[from], key);
    if (!gone || gone->place.key != key) return;
    cuda_table_weigh(self, from, gone, 1);
    treap_remove(&self->books[from], &gone->place);
    free(gone);
}

uint64_t cuda_table_held_bytes(const cuda_table *self)
{
    return self->whole_bytes + self->granules.count * SIM_GRANULE;
}

int cuda_table_holds(const cuda_table *self, const void *ptr, uint64_t bytes)
{
    for (int book = 0; book <= CUDA_MAPPED; book++) {
        uint64_t at = (uint64_t)(uintptr_t)ptr, left = bytes;
        const cuda_held *held;
        while ((held = treap_until(&self->books[book], at)) != NULL && at - held->place.key < held->bytes) {
            uint64_t here = held->bytes - (at - held->place.key);
            if (left <= here) return 1;
            if (book != CUDA_MAPPED) break;
            left -= here;
            at += here;
        }
    }
    return bytes == 0;
}

/* ---- The counting table */

static uint64_t cuda_table_address(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

static void cuda_table_tell(const cuda_table *self, sim_call kind, const void *address, uint64_t bytes)
{
    if (self->watch) self->watch(self->watch_user, kind, cuda_table_address(address), bytes);
}

static void cuda_table_drop_mappings(cuda_table *self, uint64_t address, uint64_t bytes)
{
    const cuda_held *at;
    while ((at = treap_from(&self->books[CUDA_MAPPED], address, 0, 0)) != NULL && at->place.key - address < bytes) {
        cuda_table_drop(self, CUDA_MAPPED, at->place.key);
    }
}

/* A counted call of the table. booked: the change of the books if it succeeds, in words of its parameters
   (sim/entries.h). */
#define CUDA_TABLE_ENTRY(group, name, names, booked) \
    static int cuda_table_##group##_##name ENTRY_##group##_##name \
    { \
        cuda_table *own = self->user; \
        const gpuarena_driver *behind = &own->inner; \
        pthread_mutex_lock(&own->mutex); \
        own->calls++; \
        sim_thread_called++; \
        int code = behind->group.name names; \
        if (!code) booked \
        pthread_mutex_unlock(&own->mutex); \
        return code; \
    }

CUDA_TABLE_ENTRY(memory, obtain, (behind, kind, ptr, bytes, stream), {
    if (*ptr && bytes) {
        cuda_table_enter(own, (cuda_book)kind, cuda_table_address(*ptr), bytes);
        cuda_table_tell(own, SIM_CALL_OBTAIN, *ptr, bytes);
    }
})
CUDA_TABLE_ENTRY(memory, give_back, (behind, kind, ptr, bytes, stream), {
    cuda_table_drop(own, (cuda_book)kind, cuda_table_address(ptr));
    cuda_table_tell(own, SIM_CALL_GIVE_BACK, ptr, bytes);
})
CUDA_TABLE_ENTRY(vm, reserve, (behind, address, bytes, alignment), {
    if (*address && bytes) cuda_table_enter(own, CUDA_RESERVED, cuda_table_address(*address), bytes);
})
CUDA_TABLE_ENTRY(vm, release, (behind, address, bytes), {
    cuda_table_drop(own, CUDA_RESERVED, cuda_table_address(address));
})
CUDA_TABLE_ENTRY(vm, create, (behind, page, bytes, traits), { cuda_table_enter(own, CUDA_CREATED, *page, bytes); })
CUDA_TABLE_ENTRY(vm, destroy, (behind, page, bytes), { cuda_table_drop(own, CUDA_CREATED, page); })
CUDA_TABLE_ENTRY(vm, map, (behind, address, bytes, page), {
    cuda_table_enter(own, CUDA_MAPPED, cuda_table_address(address), bytes);
    cuda_table_tell(own, SIM_CALL_VM_MAP, address, bytes);
})
CUDA_TABLE_ENTRY(vm, access, (behind, address, bytes, mode), { })
CUDA_TABLE_ENTRY(vm, unmap, (behind, address, bytes), {
    cuda_table_drop_mappings(own, cuda_table_address(address), bytes);
    cuda_table_tell(own, SIM_CALL_VM_UNMAP, address, bytes);
})

void cuda_table_fill(cuda_table *self, gpuarena_driver *driver)
{
    *driver = self->inner;                       /* whose entries look at device and peers alone, not at the user */
    driver->user = self;
    driver->memory.obtain = cuda_table_memory_obtain;
    driver->memory.give_back = cuda_table_memory_give_back;
#define X(group, name, names) driver->group.name = cuda_table_##group##_##name;
    if (driver->vm.reserve) {
        ENTRIES_VM(X)
    }
#undef X
    driver->fd.from_page = NULL;                 /* imported memory would be in no book */
    driver->fd.to_page = NULL;
}

/* Gives back the memory or the addresses of one entry. */
static int cuda_table_undo(const gpuarena_driver *inner, int book, uint64_t key, uint64_t bytes)
{
    void *ptr = (void *)(uintptr_t)key;
    switch (book) {
    case CUDA_MAPPED:   return inner->vm.unmap(inner, ptr, bytes);
    case CUDA_RESERVED: return inner->vm.release(inner, ptr, bytes);
    case CUDA_CREATED:  return inner->vm.destroy(inner, key, bytes);
    default:            return inner->memory.give_back(inner, (gpuarena_memory)book, ptr, bytes, NULL);
    }
}

static int cuda_table_maps(const cuda_table *self, const cuda_held *range)
{
    const cuda_held *first = treap_from(&self->books[CUDA_MAPPED], range->place.key, 0, 0);
    return first && first->place.key - range->place.key < range->bytes;
}

/* Addresses are of no weight: those stay where a mapping does, and else only the code is told. */
uint64_t cuda_table_clear(cuda_table *self, int *failed)
{
    uint64_t kept_bytes = 0;
    for (int book = 0; book < CUDA_BOOKS; book++) {
        const cuda_held *at;
        for (uint64_t from = 0; (at = treap_from(&self->books[book], from, 0, 0)) != NULL;) {
            int is_left = book == CUDA_RESERVED && cuda_table_maps(self, at);
            int code = is_left ? 0 : cuda_table_undo(&self->inner, book, at->place.key, at->bytes);
            if (code) *failed = code;
            if (code && book != CUDA_RESERVED) kept_bytes += at->bytes;
            if (code && book == CUDA_MAPPED) from = at->place.key + 1;   /* until its addresses have been looked at */
            else cuda_table_drop(self, (cuda_book)book, at->place.key);
        }
    }
    cuda_table_drop_mappings(self, 0, UINT64_MAX);
    device_table_clear(&self->granules);
    return kept_bytes;
}
