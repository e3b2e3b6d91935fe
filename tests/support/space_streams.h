/* Streams as programs have them: the legacy one, made ones, threads' own; those that end, those that are captured,
   and the graphs and sets of memory that captures leave. Order that the program owes by CUDA's rules and by the
   header's contracts is made here; all other order is the arena's. It must not know how order is kept. Included by
   space.h. */
#ifndef TESTS_SPACE_STREAMS_H
#define TESTS_SPACE_STREAMS_H

#include "space_state.h"

enum { SPACE_THREADS = 3 };

static inline uint32_t space_bit(int stream) { return stream < 0 ? 0 : (uint32_t)1 << stream; }

/* ---- who calls, on which stream */

/* Calls come from this thread from now on. One thread really runs; it has several numbers. */
static inline void space_be(uint64_t thread)
{
    space.thread = gpuarena__thread_number_ = thread;
    sim_thread(space.machine, thread);
}

/* The handle, called by the thread that may. The legacy stream has two. */
static inline gpuarena_stream space_enter(int stream)
{
    gpuarena__thread_number_ = space.thread;
    if (stream == SPACE_ANY) return GPUARENA_ANY_STREAM;
    if (stream == SPACE_OWN) return GPUARENA_OWN_STREAM;
    if (space.streams[stream].thread) space_be(space.streams[stream].thread);
    else if (stream && space.arena && space.arena->heaps.wanted)     /* so each stream has a heap of its own */
        gpuarena__thread_number_ = (UINT64_C(1) << 32) + (uint64_t)stream;     /* no real thread has it */
    if (space.busy && stream == 0 && space.op % 4 == 0) return (gpuarena_stream)(intptr_t)1;
    return space.streams[stream].handle;
}

static inline int space_captures(void)
{
    int count = 0;
    for (int at = 0; at < SPACE_ALL_STREAMS; at++) count += space.streams[at].capture == 1 + at;
    return count;
}

/* The stream may be given work, recorded and waited for, outside of captures. The legacy stream may while no blocking
   one is captured. */
static inline int space_usable(int stream)
{
    for (int at = 0; at < SPACE_ALL_STREAMS && stream == 0; at++)
        if (space.streams[at].capture && space.streams[at].blocking) return 0;
    return space.streams[stream].alive && !space.streams[stream].capture;
}

/* The first usable stream, from this one on. */
static inline int space_usable_from(int stream)
{
    for (int at = 0; at < SPACE_ALL_STREAMS; at++)
        if (space_usable((stream + at) % SPACE_ALL_STREAMS)) return (stream + at) % SPACE_ALL_STREAMS;
    return SPACE_NOBODY;
}

/* The stream, if it is captured; else the first usable one from it on. */
static inline int space_at(int stream)
{
    return space.streams[stream].capture ? stream : space_usable_from(stream);
}

/* ---- the program's own order */

/* One stream follows another: its next work begins after all work that the other has so far. */
static inline void space_follow(int stream, int other)
{
    gpuarena_stream between = space_enter(other), made = NULL;
    if (stream == other) return;
    if (space.streams[stream].thread && space.streams[other].thread) {           /* no thread has both */
        space_must(sim_stream_create(space.machine, 0, 0, &made));
        space_must(sim_stream_follow(space.machine, 0, made, between));
        between = made;
    }
    space_must(sim_stream_follow(space.machine, 0, space_enter(stream), between));
    if (made) space_must(sim_stream_destroy(space.machine, 0, made));
}

/* The stream follows all of these. 0: they cannot all be followed. */
static inline int space_follow_all(int stream, uint32_t streams)
{
    streams &= ~space_bit(stream);
    for (int at = 0; at < SPACE_ALL_STREAMS; at++)
        if (streams & space_bit(at) && !space_usable(at)) return 0;
    for (int at = 0; at < SPACE_ALL_STREAMS; at++)
        if (streams & space_bit(at)) space_follow(stream, at);
    return 1;
}

/* The stream follows the one behind whose work the block is ready. 0: it cannot. */
static inline int space_behind(shadow_block *block, int stream)
{
    if (stream == SPACE_NOBODY) return 0;
    if (block->stream == SPACE_NOBODY || (space_bit(stream) & block->behind)) return 1;
    if (space.streams[stream].capture ? space.streams[stream].capture != space.streams[block->stream].capture
                                      : !space_usable(stream) || !space_usable(block->stream)) return 0;
    space_follow(stream, block->stream);
    block->behind |= space_bit(stream);
    return 1;
}

/* The host waits for the device. 0: it may not while a stream is captured. */
static inline int space_wait(void)
{
    if (space_captures()) return 0;
    space_must(sim_device_wait(space.machine, 0));
    return 1;
}

/* Judges a call's result: it is OK, unless the driver or host memory has failed, or a capture forbids it. */
static inline void space_expect(const char *call, gpuarena_result result)
{
    if (!result || space.struck || (result == GPUARENA_CAPTURE && space_captures())) return;
    space_blame("%s answers %s", call, gpuarena_result_name(result));
}

/* ---- the life of streams */

static inline void space_begin_stream(int stream, int blocking)
{
    space.streams[stream] = (space_stream){ .alive = 1, .blocking = blocking };
    space_must(sim_stream_create(space.machine, 0, blocking, &space.streams[stream].handle));
}

static inline void space_begin_streams(void)
{
    space.streams[0].alive = 1;
    for (int at = 1; at < SPACE_STREAMS; at++) space_begin_stream(at, space.busy && at == 1);
    for (int at = SPACE_THREADS_OWN; at < SPACE_ALL_STREAMS && space.busy; at++)
        space.streams[at] = (space_stream){ .handle = space.driver.per_thread, .alive = 1, .blocking = 1,
                                            .thread = (uint64_t)(1 + at - SPACE_THREADS_OWN) };
    if (space.busy) sim_reuse_handles(space.machine, 1);
}

/* An heir takes the place of a stream in a set of streams. */
static inline void space_pass(uint32_t *streams, int stream, int heir)
{
    if (*streams & space_bit(stream)) *streams = (*streams & ~space_bit(stream)) | space_bit(heir);
}

/* Ends a stream before its work ends. The heir follows that work. */
static inline void space_end_stream(int stream, int heir)
{
    space_follow(heir, stream);
    SHADOW_EACH(block) {
        if (block->own == stream) {
            block->own = SPACE_NOBODY;
            block->is_orphan = !block->set && block->stream == stream;
        }
        if (block->stream == stream) block->stream = heir;
        if (block->stream == heir) block->behind |= space_bit(heir);
        block->behind &= ~space_bit(stream);
    }
    for (int at = 1; at <= SPACE_SETS; at++) {
        space_pass(&space.sets[at].used, stream, heir);
        space_pass(&space.sets[at].launched, stream, heir);
    }
    space_expect("forget", gpuarena_forget(space.arena, space_enter(stream)));
    space_must(sim_stream_destroy(space.machine, 0, space.streams[stream].handle));
    space.streams[stream].alive = 0;
    space.tally.ended_count++;
}

/* ---- captures */

static inline int space_is_captured(int set)
{
    for (int at = 0; at < SPACE_ALL_STREAMS; at++) if (space.streams[at].set == set) return 1;
    return 0;
}

static inline int space_has_graphs(int set)
{
    for (int at = 0; at < SPACE_GRAPHS; at++) if (space.graphs[at].set == set) return 1;
    return 0;
}

/* Tells the arena, before the device: blocks that the stream allocates belong to the set. */
static inline int space_announce(int stream, int set, int capture)
{
    space_set *into = &space.sets[set];
    int fresh = !into->id;
    gpuarena_result result = gpuarena_capture_begin(space.arena, space_enter(stream), &into->id);
    space_expect("capture_begin", result);
    if (result) return 0;
    if (fresh) into->used = into->launched = 0;
    space.streams[stream].capture = capture;
    space.streams[stream].set = set;
    return 1;
}

static inline void space_begin_capture(const space_op *op)
{
    int origin = space_usable_from(op->stream), set = 1 + op->slot % SPACE_SETS;
    if (origin <= 0 || !space_announce(origin, set, 1 + origin)) return;
    int fork = space_usable_from((origin + 1) % SPACE_ALL_STREAMS);
    if (!(op->flags & SPACE_FORK) || fork <= 0 || (space.streams[fork].thread && space.streams[origin].thread)
        || !space_announce(fork, set, 1 + origin)) fork = SPACE_NOBODY;
    gpuarena_stream handle = space_enter(origin);
    space.streams[origin].begun_by = space.thread;
    space_must(sim_capture_begin(space.machine, 0, handle, (int)(op->bytes % 3)));
    if (fork != SPACE_NOBODY) space_follow(fork, origin);
}

static inline void space_tell_end(int stream)
{
    if (gpuarena_capture_end(space.arena, space_enter(stream))) space_blame("capture_end fails");
}

static inline void space_keep_graph(void *handle, int set)
{
    int at = 0;
    while (at < SPACE_GRAPHS && space.graphs[at].set) at++;
    if (at == SPACE_GRAPHS) space_must(sim_graph_destroy(space.machine, handle));
    else space.graphs[at] = (space_graph){ handle, set };
}

static inline void space_end_capture(int origin)
{
    void *graph = NULL;
    int set = space.streams[origin].set, capture = 1 + origin, fork = SPACE_NOBODY;
    for (int at = 0; at < SPACE_ALL_STREAMS; at++)
        if (space.streams[at].capture == capture && at != origin) fork = at;
    if (fork != SPACE_NOBODY) space_follow(origin, fork);
    gpuarena_stream handle = space_enter(origin);
    space_be(space.streams[origin].begun_by);
    space_must(sim_capture_end(space.machine, 0, handle, &graph));
    space.streams[origin].capture = space.streams[origin].set = 0;
    if (fork != SPACE_NOBODY) {
        space.streams[fork].capture = space.streams[fork].set = 0;
        space_tell_end(fork);
    }
    space_tell_end(origin);
    SHADOW_EACH(block) {
        if (block->capture != capture) continue;
        block->capture = 0;
        block->named = 0;
        block->stream = SPACE_NOBODY;
    }
    for (int at = space.freed_count - 1; at >= 0 && !space_is_captured(set); at--)
        if (space.freed[at].set == set) space.freed[at] = space.freed[--space.freed_count];
    if (graph) space_keep_graph(graph, set);
}

static inline void space_do_capture(const space_op *op)
{
    int capture = space.streams[op->stream].capture;
    if (capture) space_end_capture(capture - 1);
    else space_begin_capture(op);
}

/* A block was allocated on a stream, perhaps in a capture. Two streams of one capture are ordered by nothing that a
   judge of whole launches could see: the other may not have a block that one freed before the captures have ended. */
static inline void space_enter_set(shadow_block *made, int stream)
{
    if (stream == SPACE_ANY || !space.streams[stream].set) return;
    made->set = space.streams[stream].set;
    made->capture = space.streams[stream].capture;
    for (int at = space.freed_count - 1; at >= 0; at--) {
        if (made->address >= space.freed[at].address + space.freed[at].bytes
            || space.freed[at].address >= made->address + made->bytes) continue;
        if (space.freed[at].stream != stream) space_blame("what one captured stream freed is handed to another");
        space.freed[at] = space.freed[--space.freed_count];
    }
}

/* On which stream a set's block is freed, for which all is ordered. A later capture into its set frees only blocks
   that were named to gpuarena_use: nothing orders a captured stream behind other work. */
static inline int space_stream_of_set(const shadow_block *block, int stream)
{
    const space_set *of = &space.sets[block->set];
    int is_inside = stream != SPACE_ANY && stream != SPACE_OWN && space.streams[stream].set == block->set
        && (block->capture ? space.streams[stream].capture == block->capture : !block->is_unnamed);
    if (!is_inside && !block->capture) {
        stream = space_usable_from(stream);
        return stream != SPACE_NOBODY && space_follow_all(stream, of->used) ? stream : SPACE_NOBODY;
    }
    if (!is_inside && stream != SPACE_OWN) stream = block->stream;
    int on = stream == SPACE_OWN ? block->own : stream;
    if (space.freed_count == SPACE_FREED) return SPACE_NOBODY;
    space.freed[space.freed_count++] = (space_freed){ block->address, block->bytes, block->set,
                                                      block->named & ~space_bit(on) ? SPACE_NOBODY : on };
    return stream;
}

/* The stream on which a set's block is used: the capture's, or any when its graphs are gone. */
static inline int space_use_of_set(const shadow_block *block, int stream)
{
    space_set *of = &space.sets[block->set];
    if (block->capture) return space.streams[stream].capture == block->capture ? stream : SPACE_NOBODY;
    stream = space_usable_from(stream);
    if (stream == SPACE_NOBODY || space_is_captured(block->set) || space_has_graphs(block->set)
        || !space_follow_all(stream, of->used)) return SPACE_NOBODY;
    of->used |= space_bit(stream);
    return stream;
}

/* Graphs that share a set do not run at the same time. */
static inline void space_do_graph(const space_op *op)
{
    int at = op->slot % SPACE_GRAPHS, set = space.graphs[at].set, stream = space_usable_from(op->stream);
    if (!set) return;
    if (op->flags & SPACE_LAUNCH && stream != SPACE_NOBODY && space_follow_all(stream, space.sets[set].launched)) {
        space_must(sim_graph_launch(space.machine, 0, space.graphs[at].handle, space_enter(stream), space.op));
        space.sets[set].launched = space_bit(stream);
        space.sets[set].used |= space_bit(stream);
        space.tally.launch_count++;
    }
    if (!(op->flags & SPACE_DROP)) return;
    space_must(sim_graph_destroy(space.machine, space.graphs[at].handle));
    space.graphs[at].set = 0;
}

/* A set's graphs are gone, and its blocks are ordinary from then on: the arena may have the rest. */
static inline void space_do_let_go(const space_op *op)
{
    int set = 1 + op->slot % SPACE_SETS, stream = space_usable_from(op->stream);
    space_set *of = &space.sets[set];
    if (!of->id || space_is_captured(set) || space_has_graphs(set) || stream == SPACE_NOBODY
        || !space_follow_all(stream, of->used)) return;
    gpuarena_result result = gpuarena_capture_release(space.arena, of->id, space_enter(stream));
    space_expect("capture_release", result);
    if (result) return;
    of->id = 0;
    space.tally.let_go_count++;
    SHADOW_EACH(block) {
        if (block->set != set) continue;
        block->set = 0;
        block->stream = stream;
        block->behind = space_bit(stream);
    }
}

/* Ends all captures, graphs and sets, so that their blocks become ordinary. */
static inline void space_end_captures(void)
{
    for (int at = 0; at < SPACE_ALL_STREAMS; at++)
        if (space.streams[at].capture == 1 + at) space_end_capture(at);
    for (int at = 0; at < SPACE_GRAPHS; at++)
        space_do_graph(&(space_op){ SPACE_GRAPH, at, 0, 0, 0, SPACE_DROP });
    for (int set = 0; set < SPACE_SETS; set++) space_do_let_go(&(space_op){ SPACE_LETGO, set, 1, 0, 0, 0 });
}

#endif
