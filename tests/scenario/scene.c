/* Verdicts, their sentences, and the workloads that scenarios play.
   It must not know what any scenario is about.
   Tested by tests/scenario/test_needs.c. */
#include "scene.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static void scene_sentence(scene *self, const char *format, va_list values)
{
    vsnprintf(self->said, sizeof self->said, format, values);
}

void scene_say(scene *self, int passed, const char *format, ...)
{
    va_list values;
    if (self->verdict == NEED_FAIL) return;
    self->verdict = passed ? NEED_PASS : NEED_FAIL;
    va_start(values, format);
    scene_sentence(self, format, values);
    va_end(values);
}

void scene_none(scene *self, const char *format, ...)
{
    va_list values;
    if (self->verdict == NEED_FAIL) return;
    self->verdict = NEED_NONE;
    va_start(values, format);
    scene_sentence(self, format, values);
    va_end(values);
}

int scene_is_model(scene *self)
{
    if (self->chosen->family != POLICY_MODEL) return 0;
    scene_none(self, "%s is a model of the memory that its original takes, not of its figures and settings",
               self->chosen->text);
    return 1;
}

int scene_lacks(scene *self, const char *what)
{
    if (self->chosen->family == POLICY_ARENA) return 0;
    if (scene_is_model(self)) return 1;
    scene_say(self, 0, "%s has no %s", self->chosen->text, what);
    return 1;
}

int scene_is_over(const scene *self)
{
    return self->verdict == NEED_FAIL || self->trouble.exit_code;
}

const char *scene_size(scene *self, uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
    char *text = self->sizes[self->size_at++ % (sizeof self->sizes / sizeof self->sizes[0])];
    size_t unit = 0;
    while (unit < 3 && bytes >= 10240 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, sizeof self->sizes[0], "%" PRIu64 " %s", bytes, units[unit]);
    return text;
}

int scene_workload(scene *self, const char *spec, op_stream *stream)
{
    workload_options options;
    memset(&options, 0, sizeof options);
    options.seed_given = 1;
    options.seed = self->seed;
    return workload_make(spec, &options, stream, &self->trouble);
}
