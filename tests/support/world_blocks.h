/* The blocks of the streams test: which streams' work uses each, and what the program must do before it may use or
   free it on another; allocations, uses, frees and the life of streams made of that.
   It must not know captures, but for the marks that they leave in blocks. Included by test_streams.c. */
#ifndef TESTS_WORLD_BLOCKS_H
#define TESTS_WORLD_BLOCKS_H

#include "world.h"

enum { BLOCKS = 200, NOBODY = -1 };

typedef struct block {
    char    *ptr;
    uint64_t bytes, id;
    uint64_t owner;                              /* for the judge: the id, or that of a whole set */
    int      own;                                /* the stream of its allocation; NOBODY: every, or it is gone */
    int      ready;                              /* behind this stream's work it may be used; NOBODY: anywhere */
    uint32_t behind;                             /* streams that are behind that already */
    uint32_t touched, named;                     /* streams whose work uses it; those that gpuarena_use was told */
    int      pins;                               /* graphs that use it, be they still being captured */
    int      set, capture;                       /* from 1, of world_capture.h; 0: none */
    int      is_eager;                           /* a set's: used outside of graphs */
    int      is_orphan;                          /* used on the stream of its allocation alone, which is gone */
    int      is_any;                             /* allocated for every stream */
    int      is_haunted;                         /* a stream that was named is gone, its work perhaps not */
} block;

static block blocks[BLOCKS];
static int block_count;
static uint64_t requested_bytes;                 /* of all of them */

/* What is in a block stays there, wherever pages move. */
static inline void block_verify(const block *at, uint64_t bytes)
{
    uint64_t bad;
    if (!sim_verify(world.machine, 0, at->ptr, bytes, at->id, &bad))
        blame("a block's contents survive", (int)(bad >> 10));
}

static inline void block_drop(block *gone)
{
    requested_bytes -= gone->bytes;
    *gone = blocks[--block_count];
}

/* A block outside of captures and sets, or NULL. */
static inline block *block_pick(void)
{
    for (int tries = 0; tries < 10 && block_count; tries++) {
        block *found = &blocks[draw((uint64_t)block_count)];
        if (!found->set) return found;
    }
    return NULL;
}

/* The work that a block must not be given to another stream before: of streams the arena was not told of. */
static inline uint32_t block_unnamed(const block *at, int but)
{
    uint32_t mask = at->touched & ~at->named;
    if (but < 0 || !(at->behind & bit(but))) mask |= bit(at->ready);
    return mask & ~bit(but);
}

/* Work on the stream uses the block. 0: the stream cannot be ordered behind its allocation now. */
static inline int block_touch(block *at, int stream)
{
    uint32_t before = at->ready == stream || (at->behind & bit(stream)) ? 0 : bit(at->ready);
    if (!world_all_usable(before)) return 0;
    world_follow_all(stream, before);
    world_use(stream, at->ptr, at->bytes, at->owner);
    if (one_in(2)) world_work(stream);
    at->behind |= bit(stream);
    at->touched |= bit(stream);
    at->is_orphan = 0;
    return 1;
}

static inline uint64_t block_bytes(void)
{
    static const uint64_t few[] = { KIB(1), KIB(64), KIB(64), KIB(64) + 256, KIB(700) };
    if (with(WITH_ALIKE) && !one_in(8)) return few[draw(COUNT(few))];
    switch (draw(with(WITH_LARGE) ? 8 : 6)) {
    case 0: case 1: case 2: return 1 + draw(KIB(64));
    case 3: case 4: return 1 + draw(KIB(700));
    case 5: return KIB(256) << draw(3);
    default: return 1 + draw(MIB(6));
    }
}

static inline block *block_add(void *ptr, uint64_t bytes, int stream)
{
    uint64_t id = ++world.id;
    block fresh = { ptr, bytes, id, id, stream, stream, bit(stream), 0, 0, 0, 0, 0, 0, 0, stream < 0, 0 };
    blocks[block_count] = fresh;
    sim_fill(world.machine, 0, ptr, bytes, id);
    requested_bytes += bytes;
    tally.allocs++;
    return &blocks[block_count++];
}

/* May a call answer so, whose driver or host memory failed (struck) or did not? */
static inline int block_expected(gpuarena_result result, int struck)
{
    if (result == GPUARENA_OK) return 1;
    if (result == GPUARENA_CAPTURE) return world.captures > 0 || struck;
    return struck && (result == GPUARENA_HOST_MEMORY || result == GPUARENA_DRIVER_ERROR);
}

/* What the slow path did for an allocation that it served. Read in the arena itself. */
static inline void block_count_rungs(const gpuarena_stats *before)
{
    gpuarena_stats after = world.arena->stats;
    tally.remapped += after.remapped_page_count - before->remapped_page_count;
    tally.stuck += world.arena->paged.unmap_failed_count != 0;
    tally.looked += after.look_count - before->look_count;
    tally.grown += after.grow_count - before->grow_count;
    tally.released += after.release_count - before->release_count;
    tally.settled += after.resolve_count - before->resolve_count;
    tally.waited += after.wait_count - before->wait_count;
    tally.stolen += after.stream_wait_count - before->stream_wait_count;
    tally.gpu_waits += after.gpu_wait_count - before->gpu_wait_count;
    tally.event_errors += after.event_error_count - before->event_error_count;
}

/* Asks the arena; NULL: refused. */
static inline block *block_ask(gpuarena_request *request, int stream)
{
    void *ptr = NULL;
    gpuarena_stats before = world.arena->stats;
    request->stream = stream < 0 ? GPUARENA_ANY_STREAM : world_enter(stream);
    world_arm();
    gpuarena_result result = gpuarena_alloc_ex(world.arena, &ptr, request);
    int struck = world_disarm();
    block_count_rungs(&before);
    if (result == GPUARENA_OK) return block_add(ptr, request->bytes, stream);
    tally.refused++;
    tally.try_refused += (request->flags & GPUARENA_ALLOC_TRY) != 0;
    if (result != GPUARENA_OUT_OF_MEMORY && !block_expected(result, struck)) blame("result of alloc", result);
    return NULL;
}

/* A third stream asks for a part of the size that the second was just made to wait for the first for. */
static inline void block_chase(uint64_t bytes)
{
    gpuarena_request request = GPUARENA_INIT;
    int stream = world_pick();
    if (stream < 0 || block_count == BLOCKS) return;
    request.bytes = 1 + draw(bytes);
    block *made = block_ask(&request, stream);
    if (made) block_touch(made, stream);
}

static inline void do_alloc(void)
{
    int any = with(WITH_ANY) && !with(WITH_ALONE) && one_in(8), stream = any ? NOBODY : world_pick(), user;
    gpuarena_request request = GPUARENA_INIT;
    uint64_t stolen = tally.stolen;
    if (block_count == BLOCKS || (stream < 0 && !any)) return;
    request.bytes = block_bytes();
    if (with(WITH_ALIGNMENT) && one_in(4)) request.alignment_bytes = (uint64_t)256 << draw(14);
    if (with(WITH_TRY) && one_in(4)) request.flags = GPUARENA_ALLOC_TRY;
    if (with(WITH_PAGES) && one_in(12)) request.flags |= GPUARENA_ALLOC_DEDICATED;
    else if (with(WITH_PAGES) && one_in(12)) request.room_bytes = 1 + draw(MIB(5));
    tally.own_segments += (request.flags & GPUARENA_ALLOC_DEDICATED) != 0;
    block *made = block_ask(&request, stream);
    if (!made) return;
    tally.any_allocs += stream < 0;
    user = stream < 0 ? world_pick() : stream;
    if (user >= 0 && !one_in(8)) block_touch(made, user);
    if (tally.stolen != stolen) block_chase(request.bytes);
}

/* A further stream uses a block, ordered behind its allocation alone; mostly the arena is told. */
static inline void do_use(void)
{
    block *at = block_pick();
    int stream = world_pick(), early = one_in(2);
    if (!at || stream < 0 || (early && !block_touch(at, stream))) return;
    if (!one_in(4)) {
        gpuarena_stream handle = world_enter(stream);
        world_arm();
        gpuarena_result result = gpuarena_use(world.arena, at->ptr + draw(at->bytes), handle);
        int struck = world_disarm();
        if (!block_expected(result, struck)) blame("result of use", result);
        if (result == GPUARENA_OK) at->named |= bit(stream);
        tally.uses += result == GPUARENA_OK;
    }
    if (!early || one_in(2)) block_touch(at, stream);
}

static inline void block_free(block *at, gpuarena_stream stream)
{
    block_verify(at, at->bytes);
    world_arm();
    gpuarena_result result = gpuarena_free(world.arena, at->ptr, stream);
    (void)world_disarm();
    if (result) blame("result of free", result);
    block_drop(at);
}

/* Frees a block that all its streams are done with, for the host waited for them. */
static inline void block_free_done(block *at)
{
    uint32_t mask = at->touched | at->named | bit(at->ready);
    if (world.captures) return;
    if (at->is_haunted && sim_device_wait(world.machine, 0)) blame("the program's own wait for the device", 0);
    for (int stream = 0; stream < WORLD_STREAMS && !at->is_haunted; stream++)
        if ((mask & bit(stream)) && sim_stream_wait(world.machine, 0, world_enter(stream)))
            blame("the program's own wait for a stream", stream);
    tally.any_frees++;
    block_free(at, GPUARENA_ANY_STREAM);
}

/* Frees a block on one stream, its own by name or as OWN, made to follow the others. */
static inline void block_free_on(block *at, int stream, int as_own)
{
    uint32_t before = block_unnamed(at, stream);
    if (!world_all_usable(before) || (before && !world_is_usable(stream))) return;
    world_follow_all(stream, before);
    if (one_in(2) && world_is_usable(stream)) block_touch(at, stream);
    if (stream == at->own) tally.own_frees++;
    else tally.other_frees++;
    gpuarena_stream handle = world_enter(stream);
    if (as_own && one_in(2)) world_be(1 + draw(WORLD_THREADS));
    block_free(at, as_own ? GPUARENA_OWN_STREAM : handle);
}

static inline void do_free(void)
{
    block *at = block_pick();
    if (!at || at->pins) return;
    int other = (int)draw(WORLD_STREAMS);
    if (at->is_orphan && one_in(2)) block_free(at, GPUARENA_OWN_STREAM);
    else if (at->is_any && one_in(4)) block_free(at, GPUARENA_OWN_STREAM);
    else if (with(WITH_ANY) && one_in(16)) block_free_done(at);
    else if (at->own >= 0 && !one_in(3)) block_free_on(at, at->own, one_in(2));
    else if (world.streams[other].alive) block_free_on(at, other, 0);
}

/* On the stream that the block is ready behind, which had all that lies behind it too; or out of quiet memory. */
static inline void block_grow(block *at, int stream, uint64_t bytes)
{
    if (stream == at->own && at->ready != stream) return;
    world_arm();
    gpuarena_result result = gpuarena_resize(world.arena, at->ptr, bytes, world_enter(stream));
    int struck = world_disarm();
    block_verify(at, at->bytes);
    if (result != GPUARENA_OUT_OF_MEMORY && !block_expected(result, struck)) blame("result of resize", result);
    if (result) return;
    tally.grown_blocks++;
    requested_bytes += bytes - at->bytes;
    at->bytes = bytes;
    if (stream == at->own) at->behind = bit(stream);
    sim_fill(world.machine, 0, at->ptr, bytes, at->id);
}

/* The tail is freed, as by block_free_on. */
static inline void block_shrink(block *at, int stream, uint64_t bytes)
{
    uint32_t before = block_unnamed(at, stream);
    if (!world_all_usable(before) || !world_is_usable(stream)) return;
    world_follow_all(stream, before);
    world_arm();
    gpuarena_result result = gpuarena_resize(world.arena, at->ptr, bytes, world_enter(stream));
    int struck = world_disarm();
    block_verify(at, result ? at->bytes : bytes);
    if (!block_expected(result, struck)) blame("result of a resize that shrinks", result);
    if (result) return;
    tally.shrunk_blocks++;
    requested_bytes -= at->bytes - bytes;
    at->bytes = bytes;
}

static inline void do_resize(void)
{
    block *at = block_pick();
    int stream = world_pick();
    if (!at || at->pins || at->is_haunted || stream < 0) return;
    if (at->own >= 0 && world_is_usable(at->own) && !one_in(3)) stream = at->own;
    uint64_t bytes = one_in(2) ? block_bytes() : at->bytes + 1 + draw(MIB(2));
    if (bytes > at->bytes) block_grow(at, stream, bytes);
    else if (bytes < at->bytes) block_shrink(at, stream, bytes);
}

/* Everything at once, on one stream that follows all. */
static inline void do_reset(void)
{
    uint32_t before = 0;
    int stream = world_pick();
    for (int at = 0; at < block_count; at++) {
        if (blocks[at].set || blocks[at].pins) return;
        before |= blocks[at].touched | bit(blocks[at].ready);
        block_verify(&blocks[at], blocks[at].bytes);
    }
    if (stream < 0 || !world_all_usable(before)) return;
    world_follow_all(stream, before);
    gpuarena_stream handle = world_enter(stream);
    gpuarena_result result = gpuarena_reset(world.arena, handle);
    if (result) blame("result of reset", result);
    while (block_count) block_drop(&blocks[0]);
    tally.resets++;
}

/* Before the arena refuses: a block that only its own stream uses is freed there, if this thread may. */
static inline int block_relieve(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    block *at = block_pick();
    (void)failure;
    (void)user;
    if (!at || at->pins || at->own < 0 || block_unnamed(at, at->own) || one_in(3)) return 0;
    const world_stream *own = &world.streams[at->own];
    if (own->thread && own->thread != world.thread) return 0;
    block_verify(at, at->bytes);
    if (gpuarena_free(arena, at->ptr, own->handle)) blame("result of free, under pressure", 0);
    block_drop(at);
    tally.relieved++;
    return 1;
}

/* ---- the life of streams */

/* The stream's work is done, for certain, or another has followed it (heir): what is said of blocks then. */
static inline void block_pass_on(int stream, int heir)
{
    for (int i = 0; i < block_count; i++) {
        block *at = &blocks[i];
        at->is_orphan = at->is_orphan || (at->own == stream && !at->set && at->touched == bit(stream));
        if (at->touched & ~at->named & bit(stream)) at->touched |= bit(heir);
        if (at->ready == stream) at->ready = heir;
        if (at->ready == heir) at->behind |= bit(heir);
        at->touched &= ~bit(stream);
    }
}

/* The stream is destroyed: its number will be another's. */
static inline void block_forget_stream(int stream)
{
    for (int i = 0; i < block_count; i++) {
        block *at = &blocks[i];
        at->behind &= ~bit(stream);
        at->is_haunted = at->is_haunted || (at->named & bit(stream));
        at->named &= ~bit(stream);
        if (at->own != stream) continue;
        at->own = NOBODY;
    }
}

/* The arena is told of all that the stream still uses, beside the one that it is ready behind. */
static inline void block_name_all(int stream)
{
    gpuarena_stream handle = world_enter(stream);
    for (int i = 0; i < block_count; i++) {
        block *at = &blocks[i];
        if (at->set || !(at->touched & ~at->named & bit(stream)) || at->ready == stream) continue;
        if (gpuarena_use(world.arena, at->ptr, handle) == GPUARENA_OK) at->named |= bit(stream);
    }
}

/* The last use of a stream that will be gone before it is done: the arena alone knows of it. */
static inline void block_last_use(block *at, int stream)
{
    if (!block_touch(at, stream)) return;
    world_work(stream);
    if (gpuarena_use(world.arena, at->ptr, world.streams[stream].handle)) blame("result of use", 0);
    at->named |= bit(stream);
}

#endif
