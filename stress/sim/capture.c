/* Captures: begun, joined, issued to, ended. */
#include "engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"

/* ---- Graphs: a growing list of nodes */

/* NULL: no host memory */
static graph *graph_create(int device)
{
    graph *made = calloc(1, sizeof *made);
    if (made) made->device = device;
    return made;
}

void graph_destroy(graph *self)
{
    if (self) {
        free(self->nodes);
        free(self);
    }
}

graph *graph_copy(const graph *self)
{
    graph *made = graph_create(self->device);
    graph_node *nodes = malloc((self->count + 1) * sizeof *nodes);
    if (!made || !nodes) {
        free(nodes);
        graph_destroy(made);
        return NULL;
    }
    if (self->count > 0) memcpy(nodes, self->nodes, self->count * sizeof *nodes);
    made->nodes = nodes;
    made->count = self->count;
    made->capacity = self->count + 1;
    made->work_ns = self->work_ns;
    return made;
}

int graph_add(graph *self, graph_act act, const void *payload, size_t bytes)
{
    if (bytes > GRAPH_PAYLOAD) return -1;
    if (ARRAY_RESERVE(self->nodes, self->capacity, self->count + 1)) return -1;
    graph_node *node = &self->nodes[self->count++];
    memset(node, 0, sizeof *node);
    node->act = act;
    memcpy(node->payload.bytes, payload, bytes);
    return 0;
}

int graph_run(const graph *self, void *context)
{
    int code = SIM_SUCCESS;
    for (uint32_t i = 0; i < self->count && code == SIM_SUCCESS; i++) {
        code = self->nodes[i].act(context, &self->nodes[i].payload);
    }
    return code;
}

/* ---- Captures: begun, joined, issued to, ended */

void captures_destroy(captures *all)
{
    while (all->list) {
        capture *next = all->list->next;
        graph_destroy(all->list->graph);
        free(all->list);
        all->list = next;
    }
    free(all->threads);
    memset(all, 0, sizeof *all);
}

capture *capture_find(const captures *all, uint64_t id)
{
    capture *found = all->list;
    while (found && found->id != id) found = found->next;
    return found;
}

static int capture_enter(const sim_device *device, stream_queue *self, capture *joined, const stream_mark *mark)
{
    if (vclock_reserve(&self->captured, streams_width(&device->sim->streams))) return SIM_OUT_OF_MEMORY;
    vclock_copy(&self->captured, &mark->seen);
    self->captured_ns = mark->end_ns;
    self->capture = joined;
    return SIM_SUCCESS;
}

int capture_begin(sim_device *device, stream_queue *self, int mode)
{
    static const stream_mark beginning;
    if (mode < CAPTURE_GLOBAL || mode >= CAPTURE_MODES) return SIM_INVALID_VALUE;
    if (self->kind == STREAM_LEGACY || self->capture) {
        return self->capture ? SIM_ILLEGAL_STATE : SIM_CAPTURE_UNSUPPORTED;
    }
    capture *made = calloc(1, sizeof *made);
    graph *into = graph_create(self->device);
    if (!made || !into || capture_enter(device, self, made, &beginning)) {
        free(made);
        graph_destroy(into);
        return SIM_OUT_OF_MEMORY;
    }
    made->id = ++device->sim->captures.last_id;
    made->thread = engine_thread(device->sim);
    made->mode = (capture_mode)mode;
    made->origin = self;
    made->graph = into;
    made->next = device->sim->captures.list;
    device->sim->captures.list = made;
    return SIM_SUCCESS;
}

/* All streams leave the capture, and it is no more. */
static void capture_drop(sim_device *device, capture *ended)
{
    capture **link = &device->sim->captures.list;
    while (*link != ended) link = &(*link)->next;
    *link = ended->next;
    for (uint32_t i = 0; i < device->sim->streams.count; i++) {
        stream_queue *other = device->sim->streams.list[i];
        if (other->capture == ended) other->capture = NULL;
    }
    graph_destroy(ended->graph);
    free(ended);
}

void capture_abandon_device(sim_device *device)
{
    for (uint32_t i = 0; i < device->sim->streams.count; i++) {
        const stream_queue *self = device->sim->streams.list[i];
        if (self->capture && self->device == device->ordinal) {
            capture_drop(device, self->capture);
        }
    }
}

/* 1: some stream has captured work that the stream where the capture began has not joined. */
static int capture_is_unjoined(const sim_device *device, const stream_queue *origin)
{
    for (uint32_t i = 0; i < device->sim->streams.count; i++) {
        const stream_queue *other = device->sim->streams.list[i];
        if (other->capture == origin->capture
            && vclock_get(&other->captured, other->line) > vclock_get(&origin->captured, other->line)) {
            return 1;
        }
    }
    return 0;
}

int capture_end(sim_device *device, stream_queue *self, const char *action, graph **made)
{
    capture *ended = self->capture;
    *made = NULL;
    if (!ended) return SIM_ILLEGAL_STATE;
    if (ended->mode != CAPTURE_RELAXED && ended->thread != engine_thread(device->sim)) {
        return SIM_CAPTURE_WRONG_THREAD;
    }
    if (ended->origin != self) return capture_fail(device, ended, action, SIM_CAPTURE_UNMATCHED);
    int code = ended->is_invalid ? SIM_CAPTURE_INVALIDATED
        : capture_is_unjoined(device, self) ? SIM_CAPTURE_UNJOINED : SIM_SUCCESS;
    if (code == SIM_SUCCESS) {
        *made = ended->graph;
        ended->graph = NULL;
    }
    capture_drop(device, ended);
    return code;
}

int capture_issue(const sim_device *device, stream_queue *self, uint64_t work_ns)
{
    if (vclock_reserve(&self->captured, streams_width(&device->sim->streams))) return SIM_OUT_OF_MEMORY;
    graph *into = self->capture->graph;
    uint64_t *end_ns = &self->captured_ns;
    *end_ns = work_ns > UINT64_MAX - *end_ns ? UINT64_MAX : *end_ns + work_ns;
    into->work_ns = *end_ns > into->work_ns ? *end_ns : into->work_ns;
    self->captured.at[self->line]++;
    return SIM_SUCCESS;
}

int capture_record(const sim_device *device, const stream_queue *self, stream_mark *mark)
{
    if (vclock_reserve(&mark->seen, streams_width(&device->sim->streams))) return SIM_OUT_OF_MEMORY;
    vclock_copy(&mark->seen, &self->captured);
    mark->end_ns = self->captured_ns;
    return SIM_SUCCESS;
}

int capture_follow(sim_device *device, stream_queue *self, uint64_t id, const stream_mark *mark, const char *action)
{
    capture *joined = capture_find(&device->sim->captures, id);
    if (!joined) return SIM_CAPTURED_EVENT;
    if (joined->is_invalid) return SIM_CAPTURE_INVALIDATED;
    if (self->kind == STREAM_LEGACY) return SIM_CAPTURE_IMPLICIT;
    if (!self->capture) return capture_enter(device, self, joined, mark);
    if (self->capture != joined) {
        capture_fail(device, self->capture, action, SIM_CAPTURE_MERGE);
        return capture_fail(device, joined, action, SIM_CAPTURE_MERGE);
    }
    if (vclock_reserve(&self->captured, streams_width(&device->sim->streams))) return SIM_OUT_OF_MEMORY;
    vclock_join(&self->captured, &mark->seen);
    self->captured_ns = mark->end_ns > self->captured_ns ? mark->end_ns : self->captured_ns;
    return SIM_SUCCESS;
}

/* ---- What must not be done while streams capture, by whom, and what comes of it: the CUDA runtime's rules */

static capture_thread *capture_find_thread(const captures *all, uint64_t thread)
{
    for (uint32_t i = 0; i < all->thread_count; i++) {
        if (all->threads[i].thread == thread) return &all->threads[i];
    }
    return NULL;
}

static capture_mode capture_mode_of(const captures *all, uint64_t thread)
{
    const capture_thread *found = capture_find_thread(all, thread);
    return found ? found->mode : CAPTURE_GLOBAL;
}

static capture_thread *capture_add_thread(captures *all, uint64_t thread)
{
    const capture_thread made = { thread, CAPTURE_GLOBAL };
    if (ARRAY_RESERVE(all->threads, all->thread_capacity, all->thread_count + 1)) return NULL;
    all->threads[all->thread_count] = made;
    return &all->threads[all->thread_count++];
}

int capture_exchange_mode(sim *machine, int *mode)
{
    captures *all = &machine->captures;
    uint64_t thread = engine_thread(machine);
    if (!mode || *mode < CAPTURE_GLOBAL || *mode >= CAPTURE_MODES) return SIM_INVALID_VALUE;
    capture_thread *found = capture_find_thread(all, thread);
    found = found ? found : capture_add_thread(all, thread);
    if (!found) return SIM_OUT_OF_MEMORY;
    capture_mode before = found->mode;
    found->mode = (capture_mode)*mode;
    *mode = (int)before;
    return SIM_SUCCESS;
}

int capture_fail(sim_device *device, capture *met, const char *action, int code)
{
    if (!met->is_invalid) {
        met->is_invalid = 1;
        ENGINE_REPORT(device, "%s while stream %" PRIu64 " captures: answered %d, and the capture is invalid", action,
                      met->origin->id, code);
    }
    return code;
}

int capture_check_unsafe(sim_device *device, const char *action)
{
    int code = SIM_SUCCESS;
    const captures *all = &device->sim->captures;
    uint64_t thread = engine_thread(device->sim);
    capture_mode mode = all->list ? capture_mode_of(all, thread) : CAPTURE_RELAXED;
    for (capture *each = mode == CAPTURE_RELAXED ? NULL : all->list; each; each = each->next) {
        int is_own = each->thread == thread;
        if (is_own ? each->mode != CAPTURE_RELAXED : mode == CAPTURE_GLOBAL && each->mode == CAPTURE_GLOBAL) {
            code = capture_fail(device, each, action, SIM_CAPTURE_UNSUPPORTED);
        }
    }
    return code;
}

int capture_check_use(const sim_device *device, const stream_queue *self)
{
    if (self->capture) return self->capture->is_invalid ? SIM_CAPTURE_INVALIDATED : SIM_SUCCESS;
    const streams *all = &device->sim->streams;
    for (uint32_t i = 0; self->kind == STREAM_LEGACY && device->sim->captures.list && i < all->count; i++) {
        const stream_queue *other = all->list[i];
        if (other->capture && other->is_blocking && other->device == self->device) {
            return SIM_CAPTURE_IMPLICIT;
        }
    }
    return SIM_SUCCESS;
}

int capture_check_wait(sim_device *device, const stream_queue *self, const char *action)
{
    int code = self ? capture_check_use(device, self) : SIM_SUCCESS;
    if (code == SIM_CAPTURE_IMPLICIT || !device->sim->captures.list) return code;
    for (uint32_t i = 0; i < device->sim->streams.count; i++) {
        const stream_queue *other = device->sim->streams.list[i];
        if (other->capture && (self ? other == self : other->device == device->ordinal)) {
            code = capture_fail(device, other->capture, action, SIM_CAPTURE_UNSUPPORTED);
        }
    }
    return code != SIM_SUCCESS ? code : capture_check_unsafe(device, action);
}
