/* What a command line asks for, made whole before anything runs: device, op streams, policies, filter.
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

#endif
