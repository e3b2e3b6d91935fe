/* Captures: begun, joined, issued to, ended.
   Must not know of handles, memory or what is captured, nor what is prohibited meanwhile.
   Tested by tests/test_sim_capture.c. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

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
    while (found && found->id != id) {
        found = found->next;
    }
    return found;
}

static int capture_enter(const capture_scene *scene, stream_queue *self, capture *joined, const stream_mark *mark)
{
    if (vclock_reserve(&self->captured, streams_width(scene->streams))) {
        return SIM_OUT_OF_MEMORY;
    }
    vclock_copy(&self->captured, &mark->seen);
    self->captured_ns = mark->end_ns;
    self->capture = joined;
    return SIM_SUCCESS;
}

int capture_begin(const capture_scene *scene, stream_queue *self, int mode)
{
    static const stream_mark beginning;
    if (mode < CAPTURE_GLOBAL || mode >= CAPTURE_MODES) {
        return SIM_INVALID_VALUE;
    }
    if (self->kind == STREAM_LEGACY || self->capture) {
        return self->capture ? SIM_ILLEGAL_STATE : SIM_CAPTURE_UNSUPPORTED;
    }
    capture *made = calloc(1, sizeof *made);
    graph *into = graph_create(self->device);
    if (!made || !into || capture_enter(scene, self, made, &beginning)) {
        free(made);
        graph_destroy(into);
        return SIM_OUT_OF_MEMORY;
    }
    made->id = ++scene->all->last_id;
    made->thread = scene->thread;
    made->mode = (capture_mode)mode;
    made->origin = self;
    made->graph = into;
    made->next = scene->all->list;
    scene->all->list = made;
    return SIM_SUCCESS;
}

/* All streams leave the capture, and it is no more. */
static void capture_drop(const capture_scene *scene, capture *ended)
{
    capture **link = &scene->all->list;
    while (*link != ended) {
        link = &(*link)->next;
    }
    *link = ended->next;
    for (uint32_t i = 0; i < scene->streams->count; i++) {
        stream_queue *other = scene->streams->list[i];
        if (other->capture == ended) {
            other->capture = NULL;
        }
    }
    graph_destroy(ended->graph);
    free(ended);
}

void capture_abandon_device(const capture_scene *scene)
{
    for (uint32_t i = 0; i < scene->streams->count; i++) {
        const stream_queue *self = scene->streams->list[i];
        if (self->capture && self->device == scene->device) {
            capture_drop(scene, self->capture);
        }
    }
}

/* 1: some stream has captured work that the stream where the capture began has not joined. */
static int capture_is_unjoined(const capture_scene *scene, const stream_queue *origin)
{
    for (uint32_t i = 0; i < scene->streams->count; i++) {
        const stream_queue *other = scene->streams->list[i];
        if (other->capture == origin->capture
            && vclock_get(&other->captured, other->line) > vclock_get(&origin->captured, other->line)) {
            return 1;
        }
    }
    return 0;
}

int capture_end(const capture_scene *scene, stream_queue *self, graph **made)
{
    capture *ended = self->capture;
    *made = NULL;
    if (!ended) {
        return SIM_ILLEGAL_STATE;
    }
    if (ended->mode != CAPTURE_RELAXED && ended->thread != scene->thread) {
        return SIM_CAPTURE_WRONG_THREAD;
    }
    if (ended->origin != self) {
        return capture_fail(scene, ended, SIM_CAPTURE_UNMATCHED);
    }
    int code = ended->is_invalid ? SIM_CAPTURE_INVALIDATED
        : capture_is_unjoined(scene, self) ? SIM_CAPTURE_UNJOINED : SIM_SUCCESS;
    if (code == SIM_SUCCESS) {
        *made = ended->graph;
        ended->graph = NULL;
    }
    capture_drop(scene, ended);
    return code;
}

int capture_issue(const capture_scene *scene, stream_queue *self, uint64_t work_ns)
{
    if (vclock_reserve(&self->captured, streams_width(scene->streams))) {
        return SIM_OUT_OF_MEMORY;
    }
    graph *into = self->capture->graph;
    uint64_t *end_ns = &self->captured_ns;
    *end_ns = work_ns > UINT64_MAX - *end_ns ? UINT64_MAX : *end_ns + work_ns;
    into->work_ns = *end_ns > into->work_ns ? *end_ns : into->work_ns;
    self->captured.at[self->line]++;
    return SIM_SUCCESS;
}

int capture_record(const capture_scene *scene, const stream_queue *self, stream_mark *mark)
{
    if (vclock_reserve(&mark->seen, streams_width(scene->streams))) {
        return SIM_OUT_OF_MEMORY;
    }
    vclock_copy(&mark->seen, &self->captured);
    mark->end_ns = self->captured_ns;
    return SIM_SUCCESS;
}

int capture_follow(const capture_scene *scene, stream_queue *self, uint64_t id, const stream_mark *mark)
{
    capture *joined = capture_find(scene->all, id);
    if (!joined) {
        return SIM_CAPTURED_EVENT;
    }
    if (joined->is_invalid) {
        return SIM_CAPTURE_INVALIDATED;
    }
    if (self->kind == STREAM_LEGACY) {
        return SIM_CAPTURE_IMPLICIT;
    }
    if (!self->capture) {
        return capture_enter(scene, self, joined, mark);
    }
    if (self->capture != joined) {
        capture_fail(scene, self->capture, SIM_CAPTURE_MERGE);
        return capture_fail(scene, joined, SIM_CAPTURE_MERGE);
    }
    if (vclock_reserve(&self->captured, streams_width(scene->streams))) {
        return SIM_OUT_OF_MEMORY;
    }
    vclock_join(&self->captured, &mark->seen);
    self->captured_ns = mark->end_ns > self->captured_ns ? mark->end_ns : self->captured_ns;
    return SIM_SUCCESS;
}
