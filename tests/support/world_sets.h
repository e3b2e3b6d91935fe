/* Graphs and sets of the streams test: graphs launched in the order that a program must keep, blocks of a set used
   and freed outside of captures, sets released.
   It must not know how the arena keeps sets. Included by test_streams.c. */
#ifndef TESTS_WORLD_SETS_H
#define TESTS_WORLD_SETS_H

#include "world_capture.h"

/* ---- graphs */

/* What the graph's launch on this stream must come after: graphs that share a set do not run at the same time. */
static inline uint32_t graph_before(const captured_graph *at, int stream)
{
    uint32_t before = sets[at->set].launched;
    for (int input = 0; input < at->input_count; input++) {
        const block *used = block_of_id(at->inputs[input]);
        if (used && !(used->behind & bit(stream))) before |= bit(used->ready);
    }
    return before & ~bit(stream);
}

static inline captured_graph *graph_pick(void)
{
    for (uint64_t at = draw(GRAPHS), end = at + GRAPHS; at < end; at++)
        if (graphs[at % GRAPHS].set) return &graphs[at % GRAPHS];
    return NULL;
}

static inline void graph_launch(captured_graph *at)
{
    int stream = world_pick();
    if (stream < 0) return;
    uint32_t before = graph_before(at, stream);
    if (!world_all_usable(before)) return;
    world_follow_all(stream, before);
    int code = sim_graph_launch(world.machine, 0, at->handle, world_enter(stream), world.op);
    if (code) blame("the program's own launch", code);
    sets[at->set].launched = bit(stream);
    sets[at->set].used |= bit(stream);
    for (int input = 0; input < at->input_count; input++) {
        block *used = block_of_id(at->inputs[input]);
        if (!used) continue;
        used->behind |= bit(stream);
        used->touched |= bit(stream);
        used->is_orphan = 0;
    }
    tally.launches++;
}

static inline void do_launch(void)
{
    captured_graph *at = graph_pick();
    if (at) graph_launch(at);
}

static inline void graph_drop(captured_graph *at)
{
    if (!at || !at->set) return;
    sim_graph_destroy(world.machine, at->handle);
    graph_unpin(at->inputs, at->input_count);
    sets[at->set].graphs--;
    at->set = 0;
}

/* ---- blocks of a set outside of captures */

static inline block *set_block(int set)
{
    for (int tries = 0; tries < 30 && block_count; tries++) {
        block *found = &blocks[draw((uint64_t)block_count)];
        if (found->set && !found->capture && (!set || found->set == set)) return found;
    }
    return NULL;
}

/* What a graph left is read between launches, where it belongs to one owner with all else; or when they are gone. */
static inline void set_use(block *at)
{
    int stream = world_pick();
    if (stream < 0) return;
    memory_set *of = &sets[at->set];
    if ((!of->owner && (of->graphs || of->captures)) || !world_all_usable(of->used & ~bit(stream))) return;
    world_follow_all(stream, of->used & ~bit(stream));
    world_use(stream, at->ptr, at->bytes, at->owner);
    if (one_in(2)) world_work(stream);
    of->used |= bit(stream);
    at->is_eager = 1;
}

static inline void do_set_use(void)
{
    block *at = set_block(0);
    if (at) set_use(at);
}

static inline int set_free(block *at)
{
    int stream = world_pick();
    const memory_set *of = &sets[at->set];
    if (stream < 0 || !world_all_usable(of->used & ~bit(stream))) return 0;
    world_follow_all(stream, of->used & ~bit(stream));
    gpuarena_stream handle = world_enter(stream);
    tally.outside_frees++;
    block_free(at, handle);
    return 1;
}

static inline void do_set_free(void)
{
    block *at = set_block(0);
    if (at) set_free(at);
}

/* A block of a set that is released on this stream becomes an ordinary one. */
static inline void set_let_go(block *at, const memory_set *of, int stream)
{
    at->set = 0;
    at->ready = stream;
    at->behind = bit(stream);
    at->touched = of->used | bit(stream);
    tally.let_go++;
}

/* Its graphs run once more, perhaps, and are gone. */
static inline void set_drop_graphs(int set)
{
    for (int at = 0; at < GRAPHS; at++) {
        if (graphs[at].set != set) continue;
        if (one_in(2)) graph_launch(&graphs[at]);
        graph_drop(&graphs[at]);
    }
}

/* What the graphs left is used up outside, and the next capture begins, and may run, before that is done. */
static inline void do_set_recycle(void)
{
    int set = 1 + (int)draw(SETS);
    if (!sets[set].id || sets[set].captures) return;
    set_drop_graphs(set);
    for (int at = block_count - 1; at >= 0; at--) {
        if (blocks[at].set != set) continue;
        set_use(&blocks[at]);
        set_free(&blocks[at]);
    }
    int number = capture_start(set);
    for (int count = 0; number && count < 6; count++) capture_alloc(number);
    if (!number || one_in(2)) return;
    capture_finish(number);
    for (int at = 0; at < GRAPHS; at++)
        if (graphs[at].set == set) graph_launch(&graphs[at]);
}

/* Its graphs are gone, and its blocks are free, or ordinary from then on: the arena may have the memory. */
static inline void set_release(int set)
{
    memory_set *of = &sets[set];
    int stream = world_pick();
    if (!of->id || of->captures || stream < 0 || !world_all_usable(of->used & ~bit(stream))) return;
    set_drop_graphs(set);
    int keeps = one_in(3);
    for (int at = block_count - 1; at >= 0 && !keeps; at--)
        if (blocks[at].set == set && !set_free(&blocks[at])) return;
    world_follow_all(stream, of->used & ~bit(stream));
    gpuarena_stream handle = world_enter(stream);
    world_arm();
    gpuarena_result result = gpuarena_capture_release(world.arena, of->id, handle);
    int struck = world_disarm();
    if (!block_expected(result, struck)) blame("result of capture_release", result);
    for (int at = 0; at < block_count && result == GPUARENA_OK; at++)
        if (blocks[at].set == set) set_let_go(&blocks[at], of, stream);
    if (result == GPUARENA_OK) of->id = 0;
    tally.set_releases += result == GPUARENA_OK;
}

static inline void capture_pass_mask(uint32_t *mask, int stream, int heir)
{
    if (*mask & bit(stream)) *mask = (*mask & ~bit(stream)) | bit(heir);
}

static inline void do_set_release(void)
{
    set_release(1 + (int)draw(SETS));
}

/* A stream's work is done, or another's too: as block_pass_on. */
static inline void capture_pass_on(int stream, int heir)
{
    for (int set = 1; set <= SETS; set++) {
        capture_pass_mask(&sets[set].used, stream, heir);
        capture_pass_mask(&sets[set].launched, stream, heir);
    }
}

static inline void do_graph(void)
{
    switch (draw(40)) {
    case 0: graph_drop(graph_pick()); break;
    case 1: case 2: do_set_release(); break;
    case 3: do_set_free(); break;
    case 39: case 38: do_set_recycle(); break;
    case 4: case 5: do_set_use(); break;
    case 6: case 7: case 8: case 9: do_capture_begin(); break;
    case 10: case 11: case 12: do_capture_end(); break;
    case 13: case 14: case 15: case 16: do_launch(); break;
    default: do_captured();
    }
}

#endif
