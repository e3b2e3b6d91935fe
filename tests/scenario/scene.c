/* Verdicts, their figures, and the workloads that scenarios play.
   It must not know what any scenario is about.
   Tested by tests/scenario/test_needs.c. */
#include "scene.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

void scene_say(scene *self, int passed, const char *format, ...)
{
    va_list values;
    if (self->verdict == NEED_FAIL) return;
    self->verdict = passed ? NEED_PASS : NEED_FAIL;
    va_start(values, format);
    vsnprintf(self->said, sizeof self->said, format, values);
    va_end(values);
}

int scene_lacks(scene *self, const char *what)
{
    if (self->chosen->family == POLICY_ARENA) return 0;
    scene_say(self, 0, "%s has no %s", self->chosen->text, what);
    if (self->chosen->family == POLICY_MODEL) self->verdict = NEED_NONE;
    return 1;
}

int scene_is_over(const scene *self)
{
    return self->verdict == NEED_FAIL || self->trouble.exit_code;
}

int scene_workload(scene *self, const char *spec, op_stream *stream)
{
    workload_options options;
    memset(&options, 0, sizeof options);
    options.seed_given = 1;
    options.seed = self->seed;
    return workload_make(spec, &options, stream, &self->trouble);
}
