/* For tests of op streams: whether a program orders its own GPU work, by vector clocks over its streams.
   Knows nothing of devices, nor of how streams are made. Used by test_workload_*.c. */
#ifndef TESTS_WORKLOAD_ORDER_H
#define TESTS_WORKLOAD_ORDER_H

#include "workload_text.h"

enum { ORDER_STREAMS = 80 };                     /* numbers of streams are below it */

/* A program that orders its work has 0 in the first four. */
typedef struct order_count {
    size_t before_alloc;                         /* touches that nothing puts after their block's allocation */
    size_t before_fill;                          /* .. after the kernel that touched it first */
    size_t before_use;                           /* frees that nothing puts after some use of the block */
    size_t dead;                                 /* touches and frees of a block that is not live */
    size_t crossing_uses, crossing_frees;        /* on another stream than the allocation */
    size_t waits;
} order_count;

typedef struct order_block {
    uint64_t at[ORDER_STREAMS], alloc_at, fill_at, alloc_on, fill_on;
    int      live;
} order_block;

typedef struct order_walk {
    uint64_t clock[ORDER_STREAMS][ORDER_STREAMS];        /* [stream][other]: up to where it comes after the other */
    order_block *blocks;
    order_count  count;
} order_walk;

TEST_UNUSED static void order_alloc(order_walk *walk, const op *next)
{
    order_block *block = &walk->blocks[next->first];
    memset(block, 0, sizeof *block);
    block->live = 1;
    block->alloc_on = next->stream;
    block->alloc_at = block->at[next->stream] = ++walk->clock[next->stream][next->stream];
}

TEST_UNUSED static void order_touch(order_walk *walk, uint64_t on, order_block *block)
{
    walk->count.dead += !block->live;
    walk->count.crossing_uses += on != block->alloc_on;
    walk->count.before_alloc += walk->clock[on][block->alloc_on] < block->alloc_at;
    if (block->fill_at == 0) {
        block->fill_on = on;
        block->fill_at = walk->clock[on][on];
    }
    walk->count.before_fill += walk->clock[on][block->fill_on] < block->fill_at;
    block->at[on] = walk->clock[on][on];
}

TEST_UNUSED static void order_free(order_walk *walk, const op *next)
{
    order_block *block = &walk->blocks[next->first];
    int is_early = 0;
    for (size_t stream = 0; stream < ORDER_STREAMS; stream++) {
        is_early |= walk->clock[next->stream][stream] < block->at[stream];
    }
    walk->count.dead += !block->live;
    walk->count.before_use += (size_t)is_early;
    walk->count.crossing_frees += next->stream != block->alloc_on;
    block->live = 0;
}

TEST_UNUSED static void order_wait(order_walk *walk, const op *next)
{
    uint64_t *own = walk->clock[next->stream];
    const uint64_t *other = walk->clock[next->value];
    for (size_t stream = 0; stream < ORDER_STREAMS; stream++) {
        own[stream] = other[stream] > own[stream] ? other[stream] : own[stream];
    }
    walk->count.waits++;
}

TEST_UNUSED static order_count order_check(const op_stream *stream)
{
    order_walk *walk = calloc(1, sizeof *walk);
    if (walk) {
        walk->blocks = calloc(stream->block_count + 1, sizeof *walk->blocks);
    }
    if (!walk || !walk->blocks) {
        give_up("no memory");
    }
    for (size_t i = 0; i < stream->op_count; i++) {
        const op *next = &stream->ops[i];
        if (next->stream >= ORDER_STREAMS || (next->kind == OP_WAIT && next->value >= ORDER_STREAMS)) {
            give_up("a stream's number is too large");
        }
        walk->clock[next->stream][next->stream] += next->kind == OP_KERNEL;
        for (uint32_t touch = 0; next->kind == OP_KERNEL && touch < next->count; touch++) {
            order_touch(walk, next->stream, &walk->blocks[stream->touches[next->first + touch]]);
        }
        switch (next->kind) {
        case OP_ALLOC:  order_alloc(walk, next); break;
        case OP_FREE:   order_free(walk, next); break;
        case OP_WAIT:   order_wait(walk, next); break;
        case OP_KERNEL:
        case OP_STEP:
        case OP_RIVAL:  break;
        }
    }
    order_count count = walk->count;
    free(walk->blocks);
    free(walk);
    return count;
}

TEST_UNUSED static size_t order_breaches(const order_count *count)
{
    return count->before_alloc + count->before_fill + count->before_use + count->dead;
}

TEST_UNUSED static void check_ordered(const char *name, const order_count *count)
{
    CHECK_MSG(order_breaches(count) == 0, "%s orders its own work", name);
    if (order_breaches(count) > 0) {
        printf("#   before their allocation %zu, their fill %zu, their last use %zu; dead %zu\n", count->before_alloc,
               count->before_fill, count->before_use, count->dead);
    }
}

/* Waits without which the program would be ordered all the same. */
TEST_UNUSED static size_t order_idle_waits(op_stream *stream)
{
    size_t idle = 0;
    for (size_t i = 0; i < stream->op_count; i++) {
        if (stream->ops[i].kind == OP_WAIT) {
            op wait = stream->ops[i];
            stream->ops[i] = (op){ 0, 0, 0, 0, OP_STEP };
            order_count count = order_check(stream);
            idle += order_breaches(&count) == 0;
            stream->ops[i] = wait;
        }
    }
    return idle;
}

#endif
