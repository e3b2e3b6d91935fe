/* Heaps whose blocks lie side by side. A free of one heap looks at the node before its block, which is another heap's
   and may be cut at that moment: here at the free's last look, when the cut has linked its new node and has not yet
   written which stream that node waits for. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/* The header's reads and writes without a lock are reported here: reads before they happen, writes afterwards. */
static void will_read(const volatile void *field);
static void has_written(const volatile void *field);
#define __atomic_load_n(field, order)         (will_read(field), __atomic_load_n((field), order))
#define __atomic_store_n(field, value, order) (__atomic_store_n((field), (value), order), has_written(field))
#define GPUARENA_STATIC
#include "tests/support/scripted.h"

enum { ROUNDS = 8, BLOCK_BYTES = 512 << 10 };
enum { LOOKS = 2 };                              /* so often a free reads `prev` of its block's node */

static gpuarena *arena;
static const volatile void *watched;             /* `prev` of that node; NULL: nothing is reported */
static int look_count;
static sem_t cut_may_begin, cut_is_linked, cut_may_end;
static pthread_t cutter;
static void *cut;                                /* the block that was cut off */
static gpuarena_result cut_result;

static int is_cutter(void) { return pthread_equal(pthread_self(), cutter) != 0; }

static void will_read(const volatile void *field)
{
    if (!watched || field != watched || is_cutter() || ++look_count != LOOKS) return;
    sem_post(&cut_may_begin);
    sem_wait(&cut_is_linked);
}

static void has_written(const volatile void *field)
{
    if (!watched || field != watched || !is_cutter()) return;
    sem_post(&cut_is_linked);
    sem_wait(&cut_may_end);
}

static void *run_cut(void *stream)
{
    sem_wait(&cut_may_begin);
    cut_result = gpuarena_alloc(arena, &cut, BLOCK_BYTES, (gpuarena_stream)stream);
    return NULL;
}

/* Frees a block, whose node is this, while the free block before it is cut for a request of another stream. */
static void free_beside(void *ptr, gpuarena__node *node, gpuarena_stream stream, gpuarena_stream cut_for)
{
    look_count = 0;
    CHECK_INT(pthread_create(&cutter, NULL, run_cut, (void *)cut_for), ==, 0);
    watched = &node->prev;
    CHECK_INT(gpuarena_free(arena, ptr, stream), ==, GPUARENA_OK);
    watched = NULL;
    CHECK_INT(look_count, ==, LOOKS);
    sem_post(&cut_may_end);
    CHECK_INT(pthread_join(cutter, NULL), ==, 0);
    CHECK_INT(cut_result, ==, GPUARENA_OK);
}

static gpuarena__node *node_of(const void *ptr)
{
    return gpuarena__node_at(arena, gpuarena__node_around(arena, gpuarena__address(ptr)));
}

/* A thread's stream is forgotten, and its record is that of another thread's stream now. Nodes of the first stream's
   blocks lie unused in its heap. When one of them is put beside a block of the other stream, it is still none of that
   stream's. Each round takes one of them. The script frees 8M so that heaps can take memory without a new peak. */
static void test_record_given_again(void)
{
    void *ptr, *behind = NULL, *parts[ROUNDS];
    char message[200];
    script("device 1G; arena initial=64M; a first 64K on s1; elsewhere a 0 64K on s2");
    script("a 1..8 4K on s3; a pin 4K on s1; f 1..8 on s3");
    script("a most 8M on s1; f most on any; done all; forget s3; elsewhere a 9 512K on s4; f 9 on any");
    arena = arena_now();
    for (int round = 0; round < ROUNDS; round++) {
        const gpuarena__node *before;
        CHECK_INT(gpuarena_alloc(arena, &ptr, BLOCK_BYTES, stream_handle(4)), ==, GPUARENA_OK);
        if (!round) CHECK_INT(gpuarena_alloc(arena, &behind, BLOCK_BYTES, stream_handle(4)), ==, GPUARENA_OK);
        before = gpuarena__node_at(arena, node_of(ptr)->prev);
        CHECK(node_of(ptr)->record == 3 && gpuarena__is_free(before) && before->record == 0);
        CHECK_INT(gpuarena__owner_of(arena, before->address), ==, arena->streams.list[1].heap);
        CHECK_INT(gpuarena__owner_of(arena, gpuarena__address(ptr)), ==, arena->streams.list[3].heap);
        free_beside(ptr, node_of(ptr), stream_handle(4), stream_handle(1));
        if (!CHECK_MSG(gpuarena_check(arena, message, sizeof message) == GPUARENA_OK, "check: %s", message)) return;
        CHECK((char *)cut + BLOCK_BYTES <= (char *)ptr);
        parts[round] = cut;
    }
    for (int round = 0; round < ROUNDS; round++)
        CHECK_INT(gpuarena_free(arena, parts[round], stream_handle(1)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, behind, stream_handle(4)), ==, GPUARENA_OK);
    script_end();
}

int main(void)
{
    sem_init(&cut_may_begin, 0, 0);
    sem_init(&cut_is_linked, 0, 0);
    sem_init(&cut_may_end, 0, 0);
    test_record_given_again();
    return tap_done();
}
