/* A plan for people: device, policies as they are in force, and what times are measured on.
   It must not run anything.
   Tested by tests/cli.t. */
#include "plan.h"

#include "../base/program.h"
#include "../report/environment.h"
#include "../base/host.h"

void plan_tell(const plan *self, int is_timed, FILE *out)
{
    char line[512];
    const char *name = program_name();
    const cuda_environment *environment = plan_environment(self);
    fprintf(out, "%s: device %s, verify %s, %s\n", name, self->device,
            plan_verify_name(self->settings.verify),
            is_timed ? "timed in a second pass" : "not timed");
    if (environment) fprintf(out, "%s: %s\n", name, environment_line(environment, line, sizeof line));
    for (size_t index = 0; index < self->policy_count; index++) {
        char text[512];
        const policy *chosen = &self->policies[index];
        gpuarena_config_text(&chosen->config, text, sizeof text);
        fprintf(out, "%s: policy %s: %s\n", name, chosen->text,
                chosen->family == POLICY_ARENA ? text
                : chosen->family == POLICY_MODEL ? chosen->model->summary
                : chosen->family == POLICY_RAW ? "cudaMalloc and cudaFree"
                : chosen->family == POLICY_ASYNC ? "cudaMallocAsync and cudaFreeAsync" : "at its own defaults");
    }
    if (is_timed) fprintf(out, "%s: %s\n", name, host_line(line, sizeof line));
}
