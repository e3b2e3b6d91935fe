/* What tests of graph captures share: begin and end with the arena and on the device, forks, joins, launches.
   It must not know how the arena works inside, nor what is tested.
   Included by test_streams_*.c. */
#ifndef TESTS_STREAM_CAPTURE_H
#define TESTS_STREAM_CAPTURE_H

#include "stream_stage.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED };          /* modes of captures */

/* The arena first, then the device: allocations on the stream are the set's from here on. */
static inline void capture_begin(stage *self, int stream, int mode, uint64_t *set)
{
    CHECK_INT(gpuarena_capture_begin(self->arena, self->streams[stream], set), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_begin(self->machine, 0, self->streams[stream], mode), ==, SIM_SUCCESS);
}

/* A stream of the same capture: it follows the one that captures. */
static inline void capture_fork_to(stage *self, int from, int stream, uint64_t *set)
{
    CHECK_INT(gpuarena_capture_begin(self->arena, self->streams[stream], set), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_follow(self->machine, 0, self->streams[stream], self->streams[from]), ==, SIM_SUCCESS);
}

static inline void capture_join_from(stage *self, int stream, int into)
{
    CHECK_INT(sim_stream_follow(self->machine, 0, self->streams[into], self->streams[stream]), ==, SIM_SUCCESS);
}

/* Ends the capture of a stream; the graph, or NULL after a failed check. */
static inline void *capture_end(stage *self, int stream)
{
    void *graph = NULL;
    CHECK_INT(sim_capture_end(self->machine, 0, self->streams[stream], &graph), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_capture_end(self->arena, self->streams[stream]), ==, GPUARENA_OK);
    return graph;
}

/* 1: no finding. */
static inline int capture_launch(stage *self, void *graph, int stream)
{
    uint64_t before = sim_finding_count(self->machine);
    sim_begin_op(self->machine, ++self->op);
    return sim_graph_launch(self->machine, 0, graph, self->streams[stream], self->op) == SIM_SUCCESS
        && sim_finding_count(self->machine) == before;
}

/* The graphs' work is done, they are gone, and the set is the arena's again. */
static inline void capture_release(stage *self, uint64_t set, int stream)
{
    CHECK_INT(gpuarena_capture_release(self->arena, set, self->streams[stream]), ==, GPUARENA_OK);
}

#endif
