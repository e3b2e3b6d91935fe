/* What a command line asks for, made whole before anything runs: device, op streams, policies, filter.
   Every mistake of the user that can be seen without running is a problem here.
   Tested by tests/cli.t. */
#ifndef STRESS_PLAN_H
#define STRESS_PLAN_H

#include <regex.h>

#include "cli.h"
#include "pass.h"
#include "sim/costs.h"

typedef struct plan_workload {
    const char *text;                            /* as asked for */
    op_stream   stream;
} plan_workload;

typedef struct plan {
    const char    *device;                       /* "sim:80G" */
    pass_settings  settings;
    sim_costs      costs;
    plan_workload *workloads;
    size_t         workload_count;
    policy        *policies;
    size_t         policy_count;
    regex_t        filter;
    int            filtered;                     /* filter is compiled */
    int            timed;
    workload_options options;
} plan;

enum { PLAN_QUICK_OPS = 20000 };

/* -1 and a problem. The cli must outlive the plan, which must not move; plan_free in both cases. */
int  plan_make(plan *self, const cli *asked, problem *why);
void plan_free(plan *self);
/* Whether the row of this workload and policy is asked for. */
int  plan_wants(const plan *self, const plan_workload *workload, const policy *chosen);

#endif
