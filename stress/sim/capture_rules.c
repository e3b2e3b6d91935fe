/* What must not be done while streams capture, by whom, and what comes of it: the CUDA runtime's rules.
   Must not know how captures begin or end.
   Tested by tests/test_sim_capture.c. */
#include "capture.h"

#include <inttypes.h>
#include <stdlib.h>

static capture_thread *capture_find_thread(const captures *all, uint64_t thread)
{
    for (uint32_t i = 0; i < all->thread_count; i++) {
        if (all->threads[i].thread == thread) {
            return &all->threads[i];
        }
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
    if (all->thread_count == all->thread_capacity) {
        uint32_t capacity = all->thread_capacity ? all->thread_capacity * 2 : 8;
        capture_thread *threads = realloc(all->threads, capacity * sizeof *threads);
        if (!threads) {
            return NULL;
        }
        all->threads = threads;
        all->thread_capacity = capacity;
    }
    all->threads[all->thread_count] = made;
    return &all->threads[all->thread_count++];
}

int capture_exchange_mode(captures *all, uint64_t thread, int *mode)
{
    if (!mode || *mode < CAPTURE_GLOBAL || *mode >= CAPTURE_MODES) {
        return SIM_INVALID_VALUE;
    }
    capture_thread *found = capture_find_thread(all, thread);
    found = found ? found : capture_add_thread(all, thread);
    if (!found) {
        return SIM_OUT_OF_MEMORY;
    }
    capture_mode before = found->mode;
    found->mode = (capture_mode)*mode;
    *mode = (int)before;
    return SIM_SUCCESS;
}

int capture_fail(const capture_scene *scene, capture *met, int code)
{
    if (!met->is_invalid) {
        met->is_invalid = 1;
        judge_report(scene->judge, scene->device, "%s while stream %" PRIu64 " captures: answered %d, and the "
                     "capture is invalid", scene->action, met->origin->id, code);
    }
    return code;
}

int capture_check_unsafe(const capture_scene *scene)
{
    int code = SIM_SUCCESS;
    capture_mode mode = scene->all->list ? capture_mode_of(scene->all, scene->thread) : CAPTURE_RELAXED;
    for (capture *each = mode == CAPTURE_RELAXED ? NULL : scene->all->list; each; each = each->next) {
        int is_own = each->thread == scene->thread;
        if (is_own ? each->mode != CAPTURE_RELAXED : mode == CAPTURE_GLOBAL && each->mode == CAPTURE_GLOBAL) {
            code = capture_fail(scene, each, SIM_CAPTURE_UNSUPPORTED);
        }
    }
    return code;
}

int capture_check_use(const capture_scene *scene, const stream_queue *self)
{
    if (self->capture) {
        return self->capture->is_invalid ? SIM_CAPTURE_INVALIDATED : SIM_SUCCESS;
    }
    for (uint32_t i = 0; self->kind == STREAM_LEGACY && scene->all->list && i < scene->streams->count; i++) {
        const stream_queue *other = scene->streams->list[i];
        if (other->capture && other->is_blocking && other->device == self->device) {
            return SIM_CAPTURE_IMPLICIT;
        }
    }
    return SIM_SUCCESS;
}

int capture_check_wait(const capture_scene *scene, const stream_queue *self)
{
    int code = self ? capture_check_use(scene, self) : SIM_SUCCESS;
    if (code == SIM_CAPTURE_IMPLICIT || !scene->all->list) {
        return code;
    }
    for (uint32_t i = 0; i < scene->streams->count; i++) {
        const stream_queue *other = scene->streams->list[i];
        if (other->capture && (self ? other == self : other->device == scene->device)) {
            code = capture_fail(scene, other->capture, SIM_CAPTURE_UNSUPPORTED);
        }
    }
    return code != SIM_SUCCESS ? code : capture_check_unsafe(scene);
}
