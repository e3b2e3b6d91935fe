/* The plan of a command line, complete before anything runs: device, op streams, policies, filter; the rows of a
   shard; and the command line that shows a failure again.
   Every mistake of the user that can be seen without running is a problem here. */
#ifndef STRESS_RUN_PLAN_H
#define STRESS_RUN_PLAN_H

#include "../base/cli.h"
#include "../device/cuda_environment.h"
#include "../sim/costs.h"
#include "pass.h"

typedef struct plan_workload {
    const char *text;                            /* the item of -w */
    op_stream   stream;
    size_t      first, case_count;               /* its cases in plan.cases */
} plan_workload;

typedef struct plan_case {                       /* a row that is asked for, once or several times */
    const plan_workload *workload;
    const policy        *chosen;
} plan_case;

typedef struct plan {
    char           device[64];                   /* "sim:80G", "cuda:0" */
    pass_settings  settings;                     /* verify: the mode in force */
    sim_costs      costs;
    cuda_environment environment;                /* on CUDA */
    plan_workload *workloads;
    size_t         workload_count;
    size_t         op_count;                     /* sum over all workloads */
    policy        *policies;
    size_t         policy_count;
    plan_case     *cases;                        /* by workload; of a workload by policy */
    size_t         case_count;
    int            timed;
    workload_options options;
    const char    *vary;                         /* of batch: --vary; NULL: the workload's own */
    uint64_t       repeats;                      /* of batch: runs of the workload, on one pool; 0 is 1 */
    problem        absent;                       /* exit_code 0: device and libraries are there (plan_present) */
} plan;

enum { PLAN_QUICK_OPS = 20000, PLAN_MOST_OPS = 1 << 25 };   /* MOST_OPS: of all workloads, 1 GiB of memory */

/* Reads --device and the options that shape a simulated one. Sets name, device and environment of the plan, whose
   rest is zero. The plan must not move. -1 and a problem: a mistake is EXIT_USAGE. A CUDA device that does not answer
   is no problem yet: plan_present reports it. */
int  plan_device(plan *self, const cli *asked, problem *why);
/* Checks that the device and libraries are there. Called after all other checks, because a mistake is reported before
   a missing device. -1 and EXIT_NO_DEVICE, EXIT_HARNESS. */
int  plan_present(const plan *self, problem *why);
/* Reads -p into the policies of the plan, which has its device; each is tried on it. */
int  plan_policies(plan *self, const cli *asked, problem *why);
const cuda_environment *plan_environment(const plan *self);                  /* NULL: the device is simulated */

const char *plan_verify_name(verify_mode mode);      /* the word of --verify */

/* Makes the whole plan. -1 and a problem. The cli must outlive the plan, which must not move; the plan's memory is
   freed when the process ends. */
int  plan_make(plan *self, const cli *asked, problem *why);
int  plan_asks_many(const cli *asked);           /* tells whether more than one workload, or `all`, is asked for */

/* ---- Shards: one run's rows dealt out to several processes, row k to shard k modulo n; and the mark of a shard,
        which is the first line of its files */

typedef struct shard_mark {
    uint64_t    index, count;                    /* index from 0; count 1: all rows are here */
    uint64_t    rows;                            /* of all shards */
    uint64_t    times;                           /* rows of each case of the plan */
    uint64_t    seed, sweep;                     /* sweep: a hash of all options that shape rows, without the seed */
    char        version[24];
    const char *source;                          /* "--shard", or the environment's variable; NULL: a file */
} shard_mark;

enum { SHARD_MARK_ROOM = 200 };

/* Finds this process's shard from the text of --shard: i/n, none, or auto/n, which takes the index alone from the
   environment. NULL: --shard is not given, and a Slurm array, MPI or a Kubernetes job decides. -1 and a problem,
   EXIT_USAGE. */
int      shard_find(shard_mark *made, const char *text, problem *why);
uint64_t shard_rows(const shard_mark *mark, uint64_t rows);                  /* its share of the first `rows` rows */

const char *shard_mark_print(const shard_mark *mark, char *text, size_t size);       /* without the newline */
int      shard_mark_read(slice line, shard_mark *mark);                      /* 0, or -1: the line is no mark */
/* Copies a path, with "03-of-16" in place of each {shard}; mark NULL: unchanged. Free it. */
char    *shard_path(const char *text, const shard_mark *mark);

/* Completes the mark after shard_find and plan_make, for `times` rows of each case. Prints a line on stderr if rows
   are left out. -1 and a problem, EXIT_USAGE: an option that one shard cannot serve. */
int      shard_start(shard_mark *mark, const cli *asked, const plan *made, uint64_t times, problem *why);
const char *shard_part(const shard_mark *mark, char *text, size_t size);     /* "shard 1/4: 3 of 12 rows";
                                                                                NULL: all */

/* ---- The command line that shows a failure again: options that shape results, and no more */

typedef struct repro {
    const char *command;                         /* "run", or a command that searches; words that need no quotes */
    const cli  *asked;
    const char *device;                          /* the device that was used, even for `auto` */
    const char *workload, *policy;               /* NULL: the command has none */
    int         is_recording;                    /* 1: options that shaped the generated workload are left out */
    uint64_t    times;                           /* --repeat; 0: none */
    uint64_t    ops;                             /* cut after so many allocations and frees; UINT64_MAX: as asked */
    uint64_t    limit_bytes, capacity_bytes;     /* written behind --limit; instead of --device; 0: none */
    const char *faults;                          /* joined to --faults; NULL or "": none */
} repro;

char *repro_line(const repro *line);              /* for a shell; free it */
void repro_write(FILE *out, const repro *line);  /* "repro: ..", with its newline */

#endif
