/* What models share: memory from the driver and its sum, blocks by address, the order of streams.
   It must not know any allocator's rules. Tested by tests/test_like_*.c. */
#ifndef STRESS_POLICY_MODEL_PARTS_H
#define STRESS_POLICY_MODEL_PARTS_H

#include <pthread.h>

#include "../base/number_map.h"
#include "model.h"
#include "pieces.h"

#define MODEL_MIB ((uint64_t)1 << 20)

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
    device_table      live;                      /* blocks by address: their piece */
    device_table      obtained;                  /* memory from the driver by address: its bytes */
    model_refusal     refused;
    model_stream     *streams;
    size_t            stream_count;
    uint64_t          frees;
    pthread_mutex_t   lock;
};

uint64_t model_round(uint64_t bytes, uint64_t unit);
/* What a driver's code means; done with reason and code in refused, unless it is success. */
gpuarena_result model_result(model *self, const char *call, int code);
gpuarena_result model_over_limit(model *self);   /* OUT_OF_MEMORY, and why */
gpuarena_result model_no_memory(model *self);    /* HOST_MEMORY, likewise */
/* Would pass the limit: of what is reserved now, and so many more. */
int             model_is_over(const model *self, uint64_t bytes);

/* A free piece of so many bytes, alone in its chain: one call of the driver, which the limit is asked before. */
gpuarena_result model_obtain(model *self, uint64_t bytes, piece **made);
gpuarena_result model_give_back(model *self, piece *whole);                  /* alone in its chain, and in no set */
/* Joins a free piece with its free neighbours, which leave this set, and puts it there. */
void            model_put(model *self, piece_set *set, piece *freed);
/* Takes it from the set: live, of so many bytes; the rest, where it is to be split, goes into the set. */
piece          *model_cut(model *self, piece_set *set, piece *from, uint64_t bytes, int splits);
/* Pieces of the set that are alone in their chain go back to the driver. */
gpuarena_result model_release(model *self, piece_set *set);

/* Memory in one order: a free is noted, and a stream that is given memory comes after all frees on others. */
gpuarena_result model_freed(model *self, gpuarena_stream stream);
gpuarena_result model_join(model *self, gpuarena_stream stream);
gpuarena_result model_forget(model *self, gpuarena_stream stream);
gpuarena_result model_wait(model *self, gpuarena_stream stream);             /* the host, for what is on it */
gpuarena_result model_wait_all(model *self);

#endif
