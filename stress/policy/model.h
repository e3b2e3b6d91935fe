/* Models of known allocators: each a file of its own and a word of MODELS, straightforward, over the driver table.
   It must not know workloads, devices or reports. */
#ifndef STRESS_POLICY_MODEL_H
#define STRESS_POLICY_MODEL_H

#include <pthread.h>

#include "../../gpuarena.h"
#include "../base/memory.h"
#include "../base/sets.h"

/* ---- Pieces of device memory: neighbours in a chain, and ordered sets of them */

typedef enum piece_state {
    PIECE_FREE, PIECE_LIVE,
    PIECE_PENDING,                               /* freed, and waiting for events */
    PIECE_HOLE                                   /* addresses without memory */
} piece_state;

typedef struct piece piece;
struct piece {
    uint64_t        address, bytes;
    piece          *previous, *next;             /* touching neighbours; NULL: an end of the chain */
    piece_state     state;
    uint32_t        event_count;                 /* that it waits for */
    void           *owner;                       /* the model's own: a list, a pool, an event */
    void           *uses;                        /* the model's own: streams that use it */
    gpuarena_stream stream;                      /* whose work comes last, as far as the model goes by it */
    treap_node      place;                       /* in the set that it is in: at most one */
    piece          *made;                        /* the one that was made before it */
};

typedef struct pieces {                          /* where pieces come from; zeroed: none yet */
    piece *made;                                 /* the latest of all */
    piece *spare;                                /* by next */
} pieces;

piece *pieces_take(pieces *self);                /* zeroed, but for `made` */
void   pieces_give(pieces *self, piece *unused);

/* The part behind the first bytes, taken from here, a piece of its own with the same owner, state and stream. Both
   are in no set. */
piece *piece_split(pieces *self, piece *from, uint64_t bytes);

typedef struct piece_set {                       /* zeroed: empty, by size and then address */
    treap order;                                 /* weights are sizes */
    int   by_address;
} piece_set;

/* NULL: there is none. best: by size, the smallest, then lowest, to fit. lowest: by address, the first that fits.
   largest: bytes; 0: empty. */
void piece_set_add(piece_set *self, piece *added);
static inline void piece_set_remove(piece_set *of, piece *one) { treap_remove(&of->order, &one->place); }
static inline piece *piece_set_first(const piece_set *of) { return treap_from(&of->order, 0, 0, 0); }
static inline piece *piece_set_best(const piece_set *of, uint64_t size)
{
    return treap_from(&of->order, size, 0, 0);
}
static inline piece *piece_set_lowest(const piece_set *of, uint64_t size)
{
    return treap_from(&of->order, 0, 0, size);
}
static inline uint64_t piece_set_largest(const piece_set *of) { return treap_heaviest(&of->order); }
static inline piece *piece_set_after(const piece_set *of, const piece *one)
{
    return treap_from(&of->order, one->place.key, one->place.tie + 1, 0);
}

typedef struct model model;

/* A function that fails sets model.failed, and model.refused says more of it. One thread at a time is in the
   functions. */
typedef struct model_kind {
    const char *name, *shown, *summary;          /* as policy_kind has them */
    const char *lacks;                           /* parts of the original that are not reproduced; "": none known */
    size_t      size;                            /* of its struct, which begins with a model */
    uint64_t    alignment_bytes;
    int         needs_pages;                     /* 1: nothing without the driver's virtual memory */
    int         in_order;                        /* 1: streams wait for each other in it: see pool.in_order */
    uint64_t    beyond_bytes;                    /* by as much it may pass its limit, as its original does */
    void           (*open)(model *self);         /* NULL: nothing to do */
    /* bytes: not 0, and a multiple of the alignment. Of at least as many bytes; one that is found and yet has failed
       is freed again. */
    piece         *(*alloc)(model *self, uint64_t bytes, gpuarena_stream stream);
    void           (*free)(model *self, piece *freed, gpuarena_stream stream);
    /* NULL: there is no such call, and a free's stream must have been made to wait for all other uses. Else a block
       goes back to the stream of its allocation, and uses on others are told before its free. */
    void           (*use)(model *self, piece *used, gpuarena_stream stream);
    void           (*trim)(model *self);         /* all that is idle goes back to the driver */
    uint64_t       (*largest)(const model *self);        /* of free pieces outside heaps; NULL: there are none */
    void           (*close)(model *self);        /* all but memory from model_obtain, heaps and ranges */
} model_kind;

/* All of them, in the order of `stress list`. A new one is a file, and a word here. */
#define MODELS(X) \
    X(best_fit) X(first_fit) X(bfc) X(pytorch) X(pytorch_expandable) X(rmm) X(rmm_arena) X(cub) X(ort)
#define X(name) extern const model_kind model_##name;
MODELS(X)
#undef X

typedef struct model_refusal {                   /* the latest failure */
    gpuarena_reason reason;
    const char     *call;                        /* of the driver; NULL: one that obtains */
    int             code;                        /* the driver's; 0: it was not asked */
    uint64_t        requested_bytes;
    uint64_t        reserved_bytes, free_bytes, largest_bytes;
} model_refusal;

/* NULL: result says why: NOT_SUPPORTED, or the failure of its first memory. */
model *model_open(const model_kind *kind, const gpuarena_driver *driver, uint64_t limit_bytes,
                  gpuarena_result *result);
void   model_close(model *self);                 /* gives back all that it holds; NULL is fine */

/* The calls of pool_alloc and the others (policy.h). refused: filled by a failure. Any thread. */
gpuarena_result model_alloc(model *self, void **ptr, uint64_t bytes, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_free(model *self, void *ptr, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_use(model *self, const void *ptr, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_end_stream(model *self, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_trim(model *self, model_refusal *refused);

/* While no thread is in a call: a live block's bytes; what is live, free and pending; the largest free piece, which
   may take a walk over all. */
uint64_t model_block_bytes(const model *self, const void *ptr);
void     model_measure(const model *self, memory_use *use);
uint64_t model_largest(const model *self);

/* ---- Common to all models: memory from the driver and its sum, blocks by address, the order of streams */

#define MODEL_MIB ((uint64_t)1 << 20)

typedef struct model_heap model_heap;
struct model_heap {                              /* free pieces that are searched together */
    model_heap     *next;
    gpuarena_stream stream;                      /* this and the next tell it from others */
    int             kind;
    void           *event;                       /* the model's own; goes with the heap */
    piece_set       free;
};

typedef struct model_stream {
    gpuarena_stream stream;
    uint64_t        freed, joined;               /* of model.frees: the latest on it; up to which it waits */
    void           *event;                       /* NULL: not made yet */
    int             is_gone;                     /* forgotten: its event was recorded for the last time */
} model_stream;

struct model {
    const model_kind *kind;
    gpuarena_driver   driver;
    uint64_t          limit_bytes;               /* GPUARENA_NO_LIMIT: none */
    uint64_t          reserved_bytes;            /* asked of the driver, as the library counts */
    uint64_t          live_bytes, pending_bytes;
    pieces            pieces;
    model_heap       *heaps;                     /* in the order of their making */
    struct model_range *ranges;                  /* the latest first */
    device_table      live;                      /* blocks by address: their piece */
    device_table      obtained;                  /* memory from the driver by address: its bytes */
    gpuarena_result   failed;                    /* of the call under way; OK: nothing has */
    model_refusal     refused;
    model_stream     *streams;
    size_t            stream_count;
    uint64_t          frees;
    pthread_mutex_t   lock;
};

/* Once a call has failed, functions that can fail do nothing, and those that look for something answer NULL. */

/* The heap of this stream and kind, made where there is none: a struct of so many bytes that begins with the heap. */
void    *model_heap_of(model *self, gpuarena_stream stream, int kind, size_t size);
/* A driver's code, which is no success, as a result; and as the failure of this call, unless it is success. */
gpuarena_result model_code_result(const gpuarena_driver *driver, int code);
void            model_check(model *self, const char *call, int code);
/* model_check of a driver's call, which is not made where this call has failed already. */
#define MODEL_DO(self, call, made) ((self)->failed ? (void)0 : model_check(self, call, made))
void            model_over_limit(model *self);   /* OUT_OF_MEMORY, and why */
/* Tells whether so many bytes more than are reserved now would pass the limit. */
int             model_is_over(const model *self, uint64_t bytes);

/* A free piece of so many bytes, alone in its chain: one call of the driver, which the limit is asked before. */
piece          *model_obtain(model *self, uint64_t bytes);
void            model_give_back(model *self, piece *whole);                  /* alone in its chain, and in no set */
/* Joins a piece with neighbours of its owner and state, which leave this set, and puts it there; as a free one. */
void            model_join_into(model *self, piece_set *set, piece *joined);
void            model_put(model *self, piece_set *set, piece *freed);
/* Takes it from the set: live, of so many bytes; the rest, where it is to be split, goes into the set. */
piece          *model_cut(model *self, piece_set *set, piece *from, uint64_t bytes, int splits);
/* Pieces of the set that are alone in their chain go back to the driver. */
void            model_release(model *self, piece_set *set);

/* ---- Addresses of the driver's virtual memory, with pages behind parts of them */

typedef struct model_range {
    struct model_range *next;                    /* of the model's */
    uint64_t  address, bytes, page_bytes;
    uint64_t *pages;                             /* handles; 0: nothing is mapped */
} model_range;

/* bytes: whole pages. map: pages from begin up to end, none of which is mapped; all, or none and why. unmap: those,
   all mapped, up to the first that the driver keeps. */
model_range *model_range_open(model *self, uint64_t bytes, uint64_t page_bytes);
void model_range_map(model *self, model_range *range, uint64_t begin, uint64_t end);
void model_range_unmap(model *self, model_range *range, uint64_t begin, uint64_t end);

/* The device's free bytes, and all it has. */
void model_info(model *self, uint64_t *free_bytes, uint64_t *total_bytes);

/* model_event makes an event where there is none; call: the name for its failure. model_record records it;
   model_follow makes a stream wait for it. */
void model_event(model *self, void **event, const char *call);
void model_record(model *self, void *event, gpuarena_stream stream);
void model_follow(model *self, gpuarena_stream stream, void *event);

/* Memory in one order: a free is noted, and a stream that is given memory comes after all frees on others. */
void model_freed(model *self, gpuarena_stream stream);
void model_join(model *self, gpuarena_stream stream);
void model_wait(model *self, gpuarena_stream stream);        /* the host, for all commands on it */
void model_wait_all(model *self);

#endif
