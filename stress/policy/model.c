/* Common to all models. Memory is counted when the driver gives it, and the limit is checked before. */
#include "model.h"

/* ---- Pieces of device memory: neighbours in a chain, and ordered sets of them */

void pieces_give(pieces *self, piece *unused)
{
    unused->next = self->spare;
    self->spare = unused;
}

piece *pieces_take(pieces *self)
{
    piece *taken = self->spare;
    const piece unused = { .made = taken ? taken->made : self->made };
    if (taken) self->spare = taken->next;
    else self->made = taken = program_need(1, sizeof *taken);
    *taken = unused;
    return taken;
}

piece *piece_split(pieces *self, piece *from, uint64_t bytes)
{
    piece *rest = pieces_take(self);
    rest->address = from->address + bytes;
    rest->bytes = from->bytes - bytes;
    rest->state = from->state;
    rest->owner = from->owner;
    rest->stream = from->stream;
    rest->previous = from;
    rest->next = from->next;
    if (rest->next) rest->next->previous = rest;
    from->next = rest;
    from->bytes = bytes;
    return rest;
}

/* Makes the next piece part of this one. */
static void piece_join(pieces *self, piece *left)
{
    piece *gone = left->next;
    left->bytes += gone->bytes;
    left->next = gone->next;
    if (left->next) left->next->previous = left;
    pieces_give(self, gone);
}

void piece_set_add(piece_set *self, piece *added)
{
    treap_add(&self->order, &added->place, added, self->by_address ? 0 : added->bytes, added->address, added->bytes);
}

/* ---- Common to all models */

static const uint64_t model_most_bytes = UINT64_C(1) << 60;      /* no device has as much; sums do not overflow */

void *model_heap_of(model *self, gpuarena_stream stream, int kind, size_t size)
{
    model_heap **end = &self->heaps;
    for (; *end; end = &(*end)->next) {
        if ((*end)->stream == stream && (*end)->kind == kind) return *end;
    }
    model_heap *made = program_need(1, size);
    made->stream = stream;
    made->kind = kind;
    return *end = made;
}

/* ---- failures */

static void model_refuse(model *self, gpuarena_result result, gpuarena_reason reason, const char *call, int code)
{
    self->failed = result;
    self->refused.reason = reason;
    self->refused.call = call;
    self->refused.code = code;
}

gpuarena_result model_code_result(const gpuarena_driver *driver, int code)
{
    switch (driver->classify(driver, code)) {
    case GPUARENA_STATUS_NO_MEMORY:     return GPUARENA_OUT_OF_MEMORY;
    case GPUARENA_STATUS_CAPTURING:     return GPUARENA_CAPTURE;
    case GPUARENA_STATUS_NOT_SUPPORTED: return GPUARENA_NOT_SUPPORTED;
    case GPUARENA_STATUS_LOST:          return GPUARENA_DEVICE_LOST;
    case GPUARENA_STATUS_DONE:
    case GPUARENA_STATUS_NOT_READY:
    case GPUARENA_STATUS_UNLOADING:
    case GPUARENA_STATUS_FAILED:        break;
    }
    return GPUARENA_DRIVER_ERROR;
}

void model_check(model *self, const char *call, int code)
{
    gpuarena_result result = code ? model_code_result(&self->driver, code) : GPUARENA_OK;
    if (result) model_refuse(self, result, GPUARENA_REASON_DRIVER_REFUSED, call, code);
}

void model_over_limit(model *self)
{
    model_refuse(self, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_OVER_LIMIT, NULL, 0);
}

int model_is_over(const model *self, uint64_t bytes)
{
    return self->limit_bytes != GPUARENA_NO_LIMIT
        && (self->reserved_bytes > self->limit_bytes || bytes > self->limit_bytes - self->reserved_bytes);
}

/* The driver gave memory that it had given before: no block may have it. */
static void model_twice(model *self)
{
    model_refuse(self, GPUARENA_CORRUPT, GPUARENA_REASON_NONE, "memory given twice", 0);
}

/* ---- memory */

piece *model_obtain(model *self, uint64_t bytes)
{
    const gpuarena_driver *driver = &self->driver;
    void *ptr = NULL;
    if (self->failed) return NULL;
    if (model_is_over(self, bytes)) model_over_limit(self);
    else model_check(self, NULL, driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, &ptr, bytes, NULL));
    if (!self->failed && device_table_find(&self->obtained, (uint64_t)(uintptr_t)ptr)) model_twice(self);
    if (self->failed) return NULL;
    piece *made = pieces_take(&self->pieces);
    made->address = (uint64_t)(uintptr_t)ptr;
    made->bytes = bytes;
    device_table_add(&self->obtained, made->address, bytes);
    self->reserved_bytes += bytes;
    return made;
}

void model_give_back(model *self, piece *whole)
{
    const gpuarena_driver *driver = &self->driver;
    void *ptr = (void *)(uintptr_t)whole->address;
    uint64_t bytes = whole->bytes;
    if (self->failed) return;
    (void)device_table_take(&self->obtained, whole->address);
    pieces_give(&self->pieces, whole);
    self->reserved_bytes -= bytes;
    model_check(self, "cudaFree", driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL));
}

static int model_are_alike(const piece *one, const piece *other)
{
    return one && other && one->state == other->state && one->owner == other->owner;
}

void model_join_into(model *self, piece_set *set, piece *joined)
{
    if (model_are_alike(joined, joined->next)) {
        piece_set_remove(set, joined->next);
        piece_join(&self->pieces, joined);
    }
    if (model_are_alike(joined->previous, joined)) {
        joined = joined->previous;
        piece_set_remove(set, joined);
        piece_join(&self->pieces, joined);
    }
    piece_set_add(set, joined);
}

void model_put(model *self, piece_set *set, piece *freed)
{
    freed->state = PIECE_FREE;
    model_join_into(self, set, freed);
}

piece *model_cut(model *self, piece_set *set, piece *from, uint64_t bytes, int splits)
{
    piece_set_remove(set, from);
    if (splits && from->bytes > bytes) piece_set_add(set, piece_split(&self->pieces, from, bytes));
    from->state = PIECE_LIVE;
    return from;
}

void model_release(model *self, piece_set *set)
{
    for (piece *at = piece_set_first(set), *next; at && !self->failed; at = next) {
        next = piece_set_after(set, at);
        if (at->previous || at->next) continue;
        piece_set_remove(set, at);
        model_give_back(self, at);
    }
}

void model_info(model *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const gpuarena_driver *driver = &self->driver;
    MODEL_DO(self, "cudaMemGetInfo", driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, free_bytes, total_bytes));
}

/* ---- ranges of pages */

model_range *model_range_open(model *self, uint64_t bytes, uint64_t page_bytes)
{
    const gpuarena_driver *driver = &self->driver;
    void *address = NULL;
    MODEL_DO(self, "cuMemAddressReserve", driver->vm.reserve(driver, &address, bytes, driver->page_bytes));
    if (self->failed) return NULL;
    model_range *made = program_need(1, sizeof *made);
    made->pages = program_need((size_t)(bytes / page_bytes), sizeof *made->pages);
    made->address = (uint64_t)(uintptr_t)address;
    made->bytes = bytes;
    made->page_bytes = page_bytes;
    made->next = self->ranges;
    return self->ranges = made;
}

static void *model_range_at(const model_range *range, uint64_t page)
{
    return (void *)(uintptr_t)(range->address + page * range->page_bytes);
}

/* Undoes the pages from begin to end, of which those before `mapped` are mapped: none of them is left. */
static void model_range_undo(const model *self, model_range *range, uint64_t begin, uint64_t mapped, uint64_t end)
{
    const gpuarena_driver *driver = &self->driver;
    for (uint64_t at = begin; at < end; at++) {
        if (at < mapped) (void)driver->vm.unmap(driver, model_range_at(range, at), range->page_bytes);
        (void)driver->vm.destroy(driver, range->pages[at], range->page_bytes);
        range->pages[at] = 0;
    }
}

void model_range_map(model *self, model_range *range, uint64_t begin, uint64_t end)
{
    const gpuarena_driver *driver = &self->driver;
    const uint64_t bytes = range->page_bytes;
    uint64_t made = begin, mapped = begin;
    int code = 0;
    if (self->failed) return;
    for (; made < end && !code; made += !code) code = driver->vm.create(driver, &range->pages[made], bytes, 0);
    const char *call = code ? NULL : "cuMemMap";
    for (; mapped < end && !code; mapped += !code) {
        code = driver->vm.map(driver, model_range_at(range, mapped), bytes, range->pages[mapped]);
    }
    if (!code) code = driver->vm.access(driver, model_range_at(range, begin), (end - begin) * bytes, 1);
    if (code) model_range_undo(self, range, begin, mapped, made);
    else self->reserved_bytes += (end - begin) * bytes;
    model_check(self, call, code);
}

void model_range_unmap(model *self, model_range *range, uint64_t begin, uint64_t end)
{
    const gpuarena_driver *driver = &self->driver;
    int code = 0;
    for (uint64_t at = begin; at < end && !code && !self->failed; at++) {
        code = driver->vm.unmap(driver, model_range_at(range, at), range->page_bytes);
        if (code) break;
        code = driver->vm.destroy(driver, range->pages[at], range->page_bytes);
        range->pages[at] = 0;
        self->reserved_bytes -= range->page_bytes;
    }
    model_check(self, "cuMemUnmap", code);
}

/* Mapped pages go back with the addresses. */
static void model_range_close(const model *self, model_range *range)
{
    const gpuarena_driver *driver = &self->driver;
    for (uint64_t at = 0; at < range->bytes / range->page_bytes; at++) {
        if (range->pages[at]) model_range_undo(self, range, at, at + 1, at + 1);
    }
    (void)driver->vm.release(driver, model_range_at(range, 0), range->bytes);
    free(range->pages);
    free(range);
}

/* ---- streams */

static model_stream *model_stream_of(model *self, gpuarena_stream stream)
{
    for (size_t at = 0; at < self->stream_count; at++) {
        if (self->streams[at].stream == stream && !self->streams[at].is_gone) return &self->streams[at];
    }
    const model_stream made = { .stream = stream };
    self->streams = program_resize(self->streams, self->stream_count + 1, sizeof made);
    self->streams[self->stream_count] = made;
    return &self->streams[self->stream_count++];
}

void model_event(model *self, void **event, const char *call)
{
    if (!*event) MODEL_DO(self, call, self->driver.events.create(&self->driver, event));
}

void model_record(model *self, void *event, gpuarena_stream stream)
{
    MODEL_DO(self, "cudaEventRecord", self->driver.events.record(&self->driver, event, stream));
}

void model_follow(model *self, gpuarena_stream stream, void *event)
{
    MODEL_DO(self, "cudaStreamWaitEvent", self->driver.events.stream_wait(&self->driver, stream, event));
}

static void model_record_all(model *self, model_stream *on)          /* up to now */
{
    model_event(self, &on->event, "cudaEventRecord");
    if (!on->is_gone) model_record(self, on->event, on->stream);
}

void model_freed(model *self, gpuarena_stream stream)
{
    model_stream_of(self, stream)->freed = ++self->frees;
}

void model_join(model *self, gpuarena_stream stream)
{
    model_stream *joined = model_stream_of(self, stream);
    for (size_t at = 0; at < self->stream_count; at++) {
        model_stream *other = &self->streams[at];
        if (other == joined || other->freed <= joined->joined) continue;
        model_record_all(self, other);
        model_follow(self, stream, other->event);
    }
    if (!self->failed) joined->joined = self->frees;
}

/* Tells whether the stream was forgotten, and none with the same handle has come since. */
static int model_is_gone(const model *self, gpuarena_stream stream)
{
    int is_gone = 0;
    for (size_t at = 0; at < self->stream_count; at++) {
        if (self->streams[at].stream == stream) is_gone = self->streams[at].is_gone;
    }
    return is_gone;
}

void model_wait_all(model *self)
{
    MODEL_DO(self, "cudaDeviceSynchronize", self->driver.events.device_wait(&self->driver));
}

void model_wait(model *self, gpuarena_stream stream)
{
    const gpuarena_driver *driver = &self->driver;
    if (model_is_gone(self, stream)) {
        model_wait_all(self);
        return;
    }
    model_stream *on = model_stream_of(self, stream);
    model_record_all(self, on);
    MODEL_DO(self, "cudaStreamSynchronize", driver->events.host_wait(driver, on->event));
}

/* ---- calls */

uint64_t model_largest(const model *self)
{
    uint64_t largest = self->kind->largest ? self->kind->largest(self) : 0;
    for (const model_heap *heap = self->heaps; heap; heap = heap->next) {
        uint64_t here = piece_set_largest(&heap->free);
        if (here > largest) largest = here;
    }
    return largest;
}

static void model_enter(model *self)
{
    pthread_mutex_lock(&self->lock);
    self->failed = GPUARENA_OK;
}

static gpuarena_result model_leave(model *self, uint64_t bytes, model_refusal *refused)
{
    gpuarena_result result = self->failed;
    if (result) {
        *refused = self->refused;
        refused->requested_bytes = bytes;
        refused->reserved_bytes = self->reserved_bytes;
        refused->free_bytes = self->reserved_bytes - self->live_bytes;
        refused->largest_bytes = model_largest(self);
        /* As much is free, and quiet, but in pieces? Else it is another stream's, or an event was refused. */
        if (result == GPUARENA_OUT_OF_MEMORY && refused->free_bytes - self->pending_bytes >= bytes
            && refused->largest_bytes < bytes) refused->reason = GPUARENA_REASON_FRAGMENTED;
    }
    pthread_mutex_unlock(&self->lock);
    return result;
}

static piece *model_find(const model *self, const void *ptr)
{
    return (piece *)(uintptr_t)device_table_find(&self->live, (uint64_t)(uintptr_t)ptr);
}

/* Fails, where a stream could not wait for another, with the block given up again. */
static piece *model_find_room(model *self, uint64_t bytes, gpuarena_stream stream)
{
    piece *found = self->kind->alloc(self, memory_round_up(bytes, self->kind->alignment_bytes), stream);
    const gpuarena_result failed = self->failed;
    if (found && failed) {
        self->failed = GPUARENA_OK;
        self->kind->free(self, found, stream);
        self->failed = failed;
    } else if (found && device_table_find(&self->live, found->address)) {
        model_twice(self);
    }
    return self->failed ? NULL : found;
}

gpuarena_result model_alloc(model *self, void **ptr, uint64_t bytes, gpuarena_stream stream, model_refusal *refused)
{
    piece *found = NULL;
    *ptr = NULL;
    if (!bytes) return GPUARENA_OK;
    model_enter(self);
    if (bytes <= model_most_bytes) found = model_find_room(self, bytes, stream);
    else model_refuse(self, GPUARENA_OUT_OF_MEMORY, GPUARENA_REASON_TOO_LARGE, NULL, 0);
    if (found) {
        found->state = PIECE_LIVE;
        device_table_add(&self->live, found->address, (uint64_t)(uintptr_t)found);
        self->live_bytes += found->bytes;
        *ptr = (void *)(uintptr_t)found->address;
    }
    return model_leave(self, bytes, refused);
}

gpuarena_result model_free(model *self, void *ptr, gpuarena_stream stream, model_refusal *refused)
{
    uint64_t bytes = 0;
    if (!ptr) return GPUARENA_OK;
    model_enter(self);
    piece *freed = model_find(self, ptr);
    if (freed) {
        bytes = freed->bytes;
        (void)device_table_take(&self->live, freed->address);
        self->live_bytes -= bytes;
        self->kind->free(self, freed, stream);
    } else {
        model_refuse(self, GPUARENA_FOREIGN_POINTER, GPUARENA_REASON_NONE, "free", 0);
    }
    return model_leave(self, bytes, refused);
}

gpuarena_result model_use(model *self, const void *ptr, gpuarena_stream stream, model_refusal *refused)
{
    if (!self->kind->use) return GPUARENA_OK;
    model_enter(self);
    self->kind->use(self, model_find(self, ptr), stream);
    return model_leave(self, 0, refused);
}

gpuarena_result model_end_stream(model *self, gpuarena_stream stream, model_refusal *refused)
{
    model_enter(self);
    model_stream *gone = model_stream_of(self, stream);
    model_record_all(self, gone);
    gone->is_gone = 1;
    return model_leave(self, 0, refused);
}

gpuarena_result model_trim(model *self, model_refusal *refused)
{
    model_enter(self);
    self->kind->trim(self);
    return model_leave(self, 0, refused);
}

uint64_t model_block_bytes(const model *self, const void *ptr)
{
    return model_find(self, ptr)->bytes;
}

void model_measure(const model *self, memory_use *use)
{
    use->live_bytes = self->live_bytes;
    use->free_bytes = self->reserved_bytes - self->live_bytes;
    use->pending_bytes = self->pending_bytes;
}

/* ---- life */

model *model_open(const model_kind *kind, const gpuarena_driver *driver, uint64_t limit_bytes,
                  gpuarena_result *result)
{
    model *made = program_need(1, kind->size);
    made->kind = kind;
    made->driver = *driver;
    made->limit_bytes = limit_bytes;
    pthread_mutex_init(&made->lock, NULL);
    if (kind->needs_pages && !driver->vm.reserve) made->failed = GPUARENA_NOT_SUPPORTED;
    else if (kind->open) kind->open(made);
    *result = made->failed;
    if (!*result) return made;
    model_close(made);
    return NULL;
}

void model_close(model *self)
{
    if (!self) return;
    const gpuarena_driver *driver = &self->driver;
    self->failed = GPUARENA_OK;
    if (self->kind->close) self->kind->close(self);
    if (self->ranges) model_wait_all(self);
    while (self->ranges) {
        model_range *gone = self->ranges;
        self->ranges = gone->next;
        model_range_close(self, gone);
    }
    for (size_t at = 0; at < self->obtained.capacity; at++) {
        const device_range *held = &self->obtained.slots[at];
        if (!held->bytes) continue;
        (void)driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, (void *)(uintptr_t)held->address, held->bytes,
                                       NULL);
    }
    while (self->heaps) {
        model_heap *gone = self->heaps;
        self->heaps = gone->next;
        if (gone->event) (void)driver->events.destroy(driver, gone->event);
        free(gone);
    }
    for (size_t at = 0; at < self->stream_count; at++) {
        if (self->streams[at].event) (void)driver->events.destroy(driver, self->streams[at].event);
    }
    free(self->streams);
    device_table_clear(&self->live);
    device_table_clear(&self->obtained);
    for (piece *gone; (gone = self->pieces.made) != NULL; free(gone)) self->pieces.made = gone->made;
    pthread_mutex_destroy(&self->lock);
    free(self);
}
