/* What a scenario has in hand: one policy, fresh simulated devices to put it to work on, and a verdict to give.
   Knows nothing of rows or reports. Nothing here is timed.
   Tested by tests/scenario/needs.t. */
#ifndef TESTS_SCENARIO_SCENE_H
#define TESTS_SCENARIO_SCENE_H

#include "stress/policy/policy.h"
#include "stress/workload/workload.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

typedef enum need_verdict {
    NEED_UNSAID,                                 /* a scenario that ends so is a defect of the harness */
    NEED_PASS, NEED_FAIL,
    NEED_NONE                                    /* it is not this policy's need */
} need_verdict;

typedef struct scene {                           /* one scenario, on one policy */
    const policy *chosen;
    device_config device;                        /* costs, virtual memory: as asked for; the size is the scenario's */
    uint64_t      seed;
    need_verdict  verdict;
    char          said[240];                     /* the figures that were measured */
    problem       trouble;                       /* of the harness; exit code 0: none */
} scene;

/* The verdict, and what was measured: the first FAIL stays, and goes before what is said after it. */
void scene_say(scene *self, int passed, const char *format, ...) PROBLEM_FORMAT(3, 4);
/* 1: the policy is no arena, and so has no `what` ("a limit"): FAIL; of a model it is not asked. */
int  scene_lacks(scene *self, const char *what);
int  scene_is_over(const scene *self);           /* it has failed, or the harness has */

typedef struct ground_shape {                    /* zero: default */
    uint64_t    capacity_bytes;                  /* 16 GiB */
    const char *faults;
    uint64_t    limit_bytes;                     /* arenas and models alone: 0: none */
    const char *keys;                            /* laid over an arena's configuration */
    void      (*adapt)(gpuarena_config *config, void *user);     /* likewise, and after them */
    void       *user;
} ground_shape;

typedef struct ground {                          /* the policy at work, on a fresh device */
    scene   *of;
    policy   chosen;
    device  *on;
    pool     pool;
    uint64_t op, owner;                          /* of the device: operations, and blocks that were handed out */
    gpuarena_result result;                      /* of the latest ground_alloc */
} ground;

/* Operation 0 is the opening. -1: it could not be opened: the scene's verdict is FAIL, or it has its trouble.
   ground_close in both cases. */
int  ground_open(ground *self, scene *of, const ground_shape *shape);
/* FAIL, where the device's judge or gpuarena_check has something to say. */
void ground_close(ground *self);

/* An operation of its own each. A block is used on its stream as soon as it is there; NULL: self->result says why. */
void *ground_alloc(ground *self, uint64_t bytes, gpuarena_stream stream);
void  ground_free(ground *self, void *ptr, uint64_t bytes, gpuarena_stream stream);
gpuarena_stream ground_stream(ground *self);     /* a new one; NULL: trouble */
void  ground_work(ground *self, gpuarena_stream stream, uint64_t work_ns);
/* What the device has in use, as cudaMemGetInfo tells. */
uint64_t ground_used(ground *self);
/* What the policy itself says that it holds: reserved; live and cached; raw can only ask the device. */
uint64_t ground_reported(ground *self);
uint64_t ground_calls(const ground *self);       /* of the driver, on memory, so far */
uint64_t ground_held(const ground *self);        /* physical bytes, as the simulated device knows */
uint64_t ground_held_peak(const ground *self);   /* the highest, at any call */

/* The growth whole at creation, whatever the policy's own is: for ground_shape.adapt. */
void ground_fixed(gpuarena_config *config, void *user);

/* Allocations and frees of an op stream, all on the default stream, for as many as fit; then all is freed. */
typedef struct ground_played {
    uint64_t ops, refused;                       /* it ends at the first refusal */
    uint64_t live_peak_bytes, reserved_peak_bytes;       /* requested; ground_reported */
} ground_played;
int  ground_play(ground *self, const op_stream *stream, ground_played *played);      /* -1: trouble */
/* A workload by its specification; -1: trouble. */
int  scene_workload(scene *self, const char *spec, op_stream *stream);

#endif
