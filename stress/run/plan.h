/* What a command line asks for, made whole before anything runs: device, op streams, policies, filter; which of the
   rows are a shard's; and the command line that shows a failure again.
   Every mistake of the user that can be seen without running is a problem here. */
#ifndef STRESS_RUN_PLAN_H
#define STRESS_RUN_PLAN_H

#include "../base/cli.h"
#include "../device/cuda_environment.h"
#include "../sim/costs.h"
#include "pass.h"

typedef struct plan_workload {
    const char *text;                            /* as asked for */
    op_stream   stream;
    size_t      first, case_count;               /* its cases of the plan */
} plan_workload;

typedef struct plan_case {                       /* a row that is asked for, be it several times */
    const plan_workload *workload;
    const policy        *chosen;
} plan_case;

typedef struct plan {
    char           device[64];                   /* "sim:80G", "cuda:0" */
    pass_settings  settings;                     /* verify: what is in force */
    sim_costs      costs;
    cuda_environment environment;                /* on CUDA */
    plan_workload *workloads;
    size_t         workload_count;
    size_t         op_count;                     /* of all workloads */
    policy        *policies;
    size_t         policy_count;
    plan_case     *cases;                        /* by workload; of a workload by policy */
    size_t         case_count;
    int            timed;
    workload_options options;
    const char    *vary;                         /* of batch: --vary; NULL: the workload's own .. */
    uint64_t       repeats;                      /* .. and the workload so often, on one pool; 0 is 1 */
    problem        absent;                       /* exit_code 0: device and libraries are there (plan_present) */
} plan;

enum { PLAN_QUICK_OPS = 20000, PLAN_MOST_OPS = 1 << 25 };   /* the latter: of all workloads, 1 GiB of memory */

/* --device and the options that shape a simulated one: name, device and environment of the plan, the rest zero. The
   plan must not move. -1 and a problem: a mistake is EXIT_USAGE. A CUDA device that does not answer is none yet. */
int  plan_device(plan *self, const cli *asked, problem *why);
/* Asked when all else was checked, as a mistake goes before what is not there: -1 and
   EXIT_NO_DEVICE, EXIT_HARNESS. */
int  plan_present(const plan *self, problem *why);
/* -p: policies of the plan, which has its device; each is tried on it. */
int  plan_policies(plan *self, const cli *asked, problem *why);
const cuda_environment *plan_environment(const plan *self);                  /* NULL: the device is simulated */

const char *plan_verify_name(verify_mode mode);      /* as --verify has it */

/* -1 and a problem. The cli must outlive the plan, which must not move; what it holds goes with the process. */
int  plan_make(plan *self, const cli *asked, problem *why);
int  plan_asks_many(const cli *asked);           /* 1: for more than one workload, `all` among them */

/* ---- Shards: one run's rows dealt out to several processes, row k to shard k modulo n; and the mark by which the
        files of a shard are known, their first line */

typedef struct shard_mark {
    uint64_t    index, count;                    /* index from 0; count 1: all rows are here */
    uint64_t    rows;                            /* of all shards .. */
    uint64_t    times;                           /* .. each case of the plan so often */
    uint64_t    seed, sweep;                     /* sweep: a hash of all that was asked for */
    char        version[24];
    const char *source;                          /* "--shard", or what the environment said; NULL: a file */
} shard_mark;

enum { SHARD_MARK_ROOM = 200 };

/* --shard's text (NULL: not given): i/n, none, or auto/n where the environment has an index alone. Without it what a
   Slurm array, MPI or a Kubernetes job says. -1 and a problem, EXIT_USAGE. */
int      shard_find(shard_mark *made, const char *text, problem *why);
uint64_t shard_rows(const shard_mark *mark, uint64_t rows);                  /* how many of the first rows it has */

const char *shard_mark_print(const shard_mark *mark, char *text, size_t size);       /* without the newline */
int      shard_mark_read(slice line, shard_mark *mark);                      /* 0, or -1: the line is no mark */
/* A path with {shard} in it, by "03-of-16" in its place; of no mark as it is. Free it. */
char    *shard_path(const char *text, const shard_mark *mark);

/* After shard_find and plan_make: the rest of the mark, of rows that come so often, and a word on stderr where rows
   are left out. -1 and a problem, EXIT_USAGE: what cannot be asked of one shard. */
int      shard_start(shard_mark *mark, const cli *asked, const plan *made, uint64_t times, problem *why);
const char *shard_part(const shard_mark *mark, char *text, size_t size);     /* "shard 1/4: 3 of 12 rows";
                                                                                NULL: all */

/* ---- The command line that shows a failure again: options that shape results, and no more */

typedef struct repro {
    const char *command;                         /* "run", or what searches; words that need no quotes */
    const cli  *asked;
    const char *device;                          /* the one it was, where `auto` was asked for */
    const char *workload, *policy;               /* NULL: the command has none */
    int         is_recording;                    /* what shaped the generated workload is left out */
    uint64_t    times;                           /* --repeat; 0: none */
    uint64_t    ops;                             /* cut after so many allocations and frees; UINT64_MAX: as asked */
    uint64_t    limit_bytes, capacity_bytes;     /* beside --limit; instead of --device; 0: none */
    const char *faults;                          /* beside --faults; NULL or "": none */
} repro;

char *repro_line(const repro *line);              /* for a shell; free it */
void repro_write(FILE *out, const repro *line);  /* "repro: ..", with its newline */

#endif
