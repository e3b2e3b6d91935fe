/* Every call on an arena that has a result: an arena that refuses one refuses them all. It must not know why. */
#ifndef TESTS_ALL_CALLS_H
#define TESTS_ALL_CALLS_H

#include "gpuarena.h"

static inline gpuarena_result all_calls_visit(const gpuarena_block *block, void *user)
{
    (void)block;
    ++*(int *)user;
    return GPUARENA_STOPPED;
}

static inline gpuarena_result all_calls_write(const char *text, size_t bytes, void *user)
{
    (void)text, (void)bytes;
    ++*(int *)user;
    return GPUARENA_STOPPED;
}

/* The number of the first call that does not answer this, or 100 where one has written an output or called back; 0:
   all are refused like this. */
static inline int all_calls_answer(gpuarena *arena, void *block, gpuarena_result expected)
{
    void *out = block;
    uint64_t released = 5;
    int called = 0;
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_block found = GPUARENA_INIT;
    gpuarena_device figures = GPUARENA_INIT;
    gpuarena_shared shared = GPUARENA_INIT;
    uint64_t set = 5;
    int fd = 5;
    request.bytes = 100;
    found.tag = 5;
    figures.device = 5;
    const gpuarena_result results[] = {
        gpuarena_alloc(arena, &out, 100, NULL), gpuarena_alloc(arena, &out, 0, NULL),
        gpuarena_alloc_ex(arena, &out, &request), gpuarena_can_alloc(arena, &request),
        gpuarena_free(arena, block, NULL), gpuarena_resize(arena, block, 50, NULL), gpuarena_use(arena, block, NULL),
        gpuarena_forget(arena, NULL), gpuarena_reserve(arena, UINT64_C(64) << 20),
        gpuarena_trim(arena, 0, &released), gpuarena_set_limit(arena, 1), gpuarena_reset(arena, NULL),
        gpuarena_free_since(arena, 0, 0, NULL), gpuarena_step(arena, 0), gpuarena_lookup(arena, block, &found),
        gpuarena_walk(arena, all_calls_visit, &called),
        gpuarena_report(arena, GPUARENA_FORMAT_TEXT, all_calls_write, &called), gpuarena_check(arena, NULL, 0),
        gpuarena_observe(arena, NULL, NULL), gpuarena_get_device(arena, &figures),
        gpuarena_capture_begin(arena, NULL, &set), gpuarena_capture_end(arena, NULL),
        gpuarena_capture_release(arena, 1, NULL), gpuarena_export(arena, block, &shared),
        gpuarena_export_fd(arena, block, 0, &fd, &set), gpuarena_export_end(arena, block),
        gpuarena_import(arena, &shared, &out), gpuarena_import_fd(arena, block, 0, 1),
        gpuarena_import_end(arena, block),
        arena ? gpuarena_destroy(arena) : expected,
    };
    for (size_t at = 0; at < sizeof results / sizeof results[0]; at++)
        if (results[at] != expected) return (int)at + 1;
    return out == block && released == 5 && !called && found.tag == 5 && figures.device == 5 && set == 5 && fd == 5
        && !shared.bytes ? 0 : 100;
}

#endif
