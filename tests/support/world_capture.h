/* The captures of the streams test: sets of blocks, captures into them on one stream or two, what happens in them.
   It must not know how the arena keeps sets. Included by world_sets.h. */
#ifndef TESTS_WORLD_CAPTURE_H
#define TESTS_WORLD_CAPTURE_H

#include "world_blocks.h"

enum { SETS = 3, CAPTURES = 2, GRAPHS = 6, INPUTS = 6, SET_FREES = 64 };

typedef struct set_freed { const char *ptr; uint64_t bytes; int stream; } set_freed;    /* NOBODY: for none yet */

typedef struct memory_set {
    uint64_t id;                                 /* the arena's; 0: no such set */
    uint64_t owner;                              /* one for all its blocks, which then may be used between launches */
    uint32_t used;                               /* streams whose work used it, and may not be done */
    uint32_t launched;                           /* the stream of its graphs' latest launch, or its heir; or 0 */
    int      captures, graphs;
    int      freed_count;
    set_freed freed[SET_FREES];                  /* in the captures in progress, by which streams */
} memory_set;

typedef struct capture_run {
    int      set;                                /* from 1; 0: no capture */
    int      origin, fork;                       /* streams; fork: NOBODY, if there is none */
    uint64_t thread;
    uint64_t inputs[INPUTS];                     /* ids of blocks from outside that it uses */
    int      input_count;
} capture_run;

typedef struct captured_graph {
    void    *handle;
    int      set;                                /* from 1; 0: no graph */
    uint64_t inputs[INPUTS];
    int      input_count;
} captured_graph;

static memory_set sets[SETS + 1];
static capture_run captures[CAPTURES + 1];
static captured_graph graphs[GRAPHS];

static inline void capture_clear(void)
{
    memset(sets, 0, sizeof sets);
    memset(captures, 0, sizeof captures);
    memset(graphs, 0, sizeof graphs);
}

/* ---- begin */

/* From now on the stream is in this capture; 0: in none. The legacy stream must keep out of a blocking stream's. */
static inline void capture_mark(int stream, int capture)
{
    if (stream < 0) return;
    world.streams[stream].capture = capture;
    world.blocking_captures += capture ? world.streams[stream].blocking : -world.streams[stream].blocking;
}

/* Tells the arena, before the stream captures. 0: it could not. */
static inline int capture_announce(int stream, uint64_t *id)
{
    gpuarena_stream handle = world_enter(stream);
    world_arm();
    gpuarena_result result = gpuarena_capture_begin(world.arena, handle, id);
    int struck = world_disarm();
    if (result && !(struck && block_expected(result, struck))) blame("result of capture_begin", result);
    return result == GPUARENA_OK;
}

static inline int capture_stream(int but)
{
    int stream = world_pick();
    return stream == WORLD_LEGACY || stream == but ? NOBODY : stream;
}

/* A set to capture into: a new one, or one that there is. 0: none. */
static inline int capture_choose_set(void)
{
    for (int tries = 0; tries < SETS; tries++) {
        int set = 1 + (int)draw(SETS);
        if (sets[set].graphs < GRAPHS / SETS) return set;
    }
    return 0;
}

static inline void capture_enter_set(memory_set *into, uint64_t id)
{
    tally.joins += into->id != 0;
    if (!into->id) {
        memory_set fresh = { id, one_in(3) ? ++world.id : 0, 0, 0, 0, 0, 0, { { 0, 0, 0 } } };
        *into = fresh;
    }
    into->captures++;
}

/* The number of the capture; 0: none. */
static inline int capture_start(int set)
{
    int number = captures[1].set ? CAPTURES : 1, origin = capture_stream(NOBODY), fork, code;
    if (captures[number].set || !set || origin < 0) return 0;
    uint64_t id = sets[set].id;
    if (!capture_announce(origin, &id)) return 0;
    fork = one_in(2) ? capture_stream(origin) : NOBODY;
    if (fork >= 0 && !capture_announce(fork, &id)) fork = NOBODY;
    capture_enter_set(&sets[set], id);
    gpuarena_stream handle = world_enter(origin);
    capture_run fresh = { set, origin, fork, world.thread, { 0 }, 0 };
    captures[number] = fresh;
    code = sim_capture_begin(world.machine, 0, handle, (int)draw(3));
    if (code) blame("the program's own capture", code);
    capture_mark(origin, number);
    capture_mark(fork, number);
    world.captures++;
    tally.captures++;
    tally.forks += fork >= 0;
    if (fork >= 0) world_follow(fork, origin);
    return number;
}

static inline void do_capture_begin(void)
{
    (void)capture_start(capture_choose_set());
}

/* ---- inside */

static inline int capture_pick(void)
{
    int number = 1 + (int)draw(CAPTURES);
    number = captures[number].set ? number : 1 + number % CAPTURES;
    return captures[number].set ? number : 0;
}

static inline int capture_side(const capture_run *run)
{
    return run->fork >= 0 && one_in(2) ? run->fork : run->origin;
}

static inline block *capture_block(int number)
{
    for (int tries = 0; tries < 20 && block_count; tries++) {
        block *found = &blocks[draw((uint64_t)block_count)];
        if (found->capture == number) return found;
    }
    return NULL;
}

static inline void capture_touch(block *at, int stream)
{
    if (at->ready != stream) world_follow(stream, at->ready);
    at->ready = stream;
    world_use(stream, at->ptr, at->bytes, at->owner);
    if (one_in(2)) world_work(stream);
}

/* Another stream of the capture uses a block, and the arena is told: nothing in the capture tells when it is done. */
static inline void capture_use(int number)
{
    const capture_run *run = &captures[number];
    block *at = capture_block(number);
    if (!at || run->fork < 0) return;
    int stream = at->ready == run->fork ? run->origin : run->fork;
    world_follow(stream, at->ready);
    world_use(stream, at->ptr, at->bytes, at->owner);
    gpuarena_stream handle = world_enter(stream);
    world_arm();
    gpuarena_result result = gpuarena_use(world.arena, at->ptr, handle);
    if (!block_expected(result, world_disarm())) blame("result of use in a capture", result);
    if (result) at->ready = stream;
    else at->named |= bit(stream);
}

static inline void capture_freed(const capture_run *run, const block *at, int stream)
{
    memory_set *of = &sets[run->set];
    set_freed fresh = { at->ptr, at->bytes, at->named & ~bit(stream) ? NOBODY : stream };
    if (of->freed_count < SET_FREES) of->freed[of->freed_count++] = fresh;
    tally.set_frees++;
}

/* Two streams of one capture are ordered by nothing that a judge of whole launches could see: memory that the one
   freed is not for the other before the captures have ended. */
static inline void capture_judge(memory_set *of, const block *made, int stream)
{
    for (int at = 0; at < of->freed_count; at++) {
        set_freed *freed = &of->freed[at];
        if (made->ptr >= freed->ptr + freed->bytes || freed->ptr >= made->ptr + made->bytes) continue;
        if (freed->stream != stream) blame("in a capture, what one stream freed is not handed to another", stream);
        *freed = of->freed[--of->freed_count];
        at--;
    }
}

static inline void capture_alloc(int number)
{
    gpuarena_request request = GPUARENA_INIT;
    const capture_run *run = &captures[number];
    int stream = capture_side(run);
    if (block_count == BLOCKS) return;
    request.bytes = block_bytes() / 4 + 1;
    block *made = block_ask(&request, stream);
    if (!made) return;
    made->set = run->set;
    made->capture = number;
    if (sets[run->set].owner) made->owner = sets[run->set].owner;
    tally.set_allocs++;
    capture_judge(&sets[run->set], made, stream);
    if (!one_in(8)) capture_touch(made, stream);
}

static inline void capture_free(int number)
{
    block *at = capture_block(number);
    if (!at) return;
    int stream = one_in(4) ? capture_side(&captures[number]) : at->ready;
    if (stream != at->ready) world_follow(stream, at->ready);
    int as_own = stream == at->own && one_in(2);
    gpuarena_stream handle = world_enter(stream);
    capture_freed(&captures[number], at, stream);
    block_free(at, as_own ? GPUARENA_OWN_STREAM : handle);
}

/* A block from outside is used by the graph: it is pinned until that is gone. */
static inline void capture_input(int number)
{
    capture_run *run = &captures[number];
    block *at = block_pick();
    if (!at || run->input_count == INPUTS) return;
    world_use(capture_side(run), at->ptr, at->bytes, at->owner);
    at->pins++;
    run->inputs[run->input_count++] = at->id;
}

/* What an earlier capture left in the set goes back to it within this one. */
static inline void capture_free_earlier(int number)
{
    const capture_run *run = &captures[number];
    for (int i = 0; i < block_count; i++) {
        block *at = &blocks[i];
        if (at->set != run->set || at->capture || at->is_eager) continue;
        gpuarena_stream handle = world_enter(run->origin);
        capture_freed(run, at, run->origin);
        block_free(at, handle);
        return;
    }
}

static inline void do_captured(void)
{
    int number = capture_pick();
    if (!number) return;
    switch (draw(12)) {
    case 0: capture_input(number); break;
    case 1: capture_free_earlier(number); break;
    case 6: capture_use(number); break;
    case 2: case 3: case 4: case 5: capture_free(number); break;
    default: capture_alloc(number);
    }
}

/* ---- end */

static inline int graph_room(void)
{
    for (int at = 0; at < GRAPHS; at++)
        if (!graphs[at].set) return at;
    return NOBODY;
}

static inline block *block_of_id(uint64_t id)
{
    for (int at = 0; at < block_count; at++)
        if (blocks[at].id == id) return &blocks[at];
    return NULL;
}

static inline void graph_unpin(const uint64_t *inputs, int count)
{
    for (int at = 0; at < count; at++) {
        block *found = block_of_id(inputs[at]);
        if (found) found->pins--;
        else blame("the program's own inputs", at);
    }
}

static inline void graph_keep(const capture_run *run, void *handle)
{
    int room = graph_room();
    captured_graph made = { handle, run->set, { 0 }, run->input_count };
    memcpy(made.inputs, run->inputs, sizeof made.inputs);
    if (room < 0) {
        graph_unpin(run->inputs, run->input_count);
        sim_graph_destroy(world.machine, handle);
        return;
    }
    graphs[room] = made;
    sets[run->set].graphs++;
}

static inline void capture_tell_end(int stream)
{
    if (stream < 0) return;
    gpuarena_stream handle = world_enter(stream);
    gpuarena_result result = gpuarena_capture_end(world.arena, handle);
    if (result) blame("result of capture_end", result);
}

static inline void capture_finish(int number)
{
    capture_run run = captures[number];
    void *handle = NULL;
    if (run.fork >= 0) world_follow(run.origin, run.fork);
    gpuarena_stream stream = world_enter(run.origin);
    world_be(run.thread);
    int code = sim_capture_end(world.machine, 0, stream, &handle);
    if (code) blame("the program's own capture is invalid at its end", code);
    capture_mark(run.origin, 0);
    capture_mark(run.fork, 0);
    world.captures--;
    captures[number].set = 0;
    capture_tell_end(run.fork);
    capture_tell_end(run.origin);
    sets[run.set].captures--;
    if (!sets[run.set].captures) sets[run.set].freed_count = 0;
    for (int at = 0; at < block_count; at++)
        if (blocks[at].capture == number) {
            blocks[at].capture = 0;
            blocks[at].named = 0;
            blocks[at].ready = NOBODY;
        }
    if (handle) graph_keep(&run, handle);
}

static inline void do_capture_end(void)
{
    int number = capture_pick();
    if (number) capture_finish(number);
}

#endif
