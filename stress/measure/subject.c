/* Opening, closing, verifying.
   It must not time anything.
   Tested by tests/test_bench.c. */
#include "subject.h"

#include <inttypes.h>
#include <string.h>

#include "null_driver.h"

const char *subject_name(subject_kind kind)
{
    static const char *const names[] = { "segments", "paged", "segments:cache=64M", "paged:cache=64M", "cub-library",
                                         "mutex" };
    return names[kind];
}

static int subject_open_arena(subject *self, problem *why)
{
    gpuarena_driver driver;
    gpuarena_config config = GPUARENA_INIT;
    null_driver_fill(&driver);
    config.driver = &driver;
    config.environment = "";
    config.limit_bytes = SUBJECT_LIMIT_BYTES;
    config.backing = self->kind == SUBJECT_PAGED || self->kind == SUBJECT_PAGED_CACHED ? GPUARENA_BACKING_PAGED
                                                                                       : GPUARENA_BACKING_SEGMENTS;
    if (self->kind >= SUBJECT_SEGMENTS_CACHED) config.cache_bytes = SUBJECT_CACHE_BYTES;
    gpuarena_result result = gpuarena_create(&config, &self->arena);
    if (!result) return 0;
    return problem_set(why, EXIT_HARNESS, "%s: no arena: %s", subject_name(self->kind), gpuarena_result_name(result));
}

int subject_open(subject *self, subject_kind kind, problem *why)
{
    memset(self, 0, sizeof *self);
    self->kind = kind;
    if (pthread_mutex_init(&self->mutex, NULL)) return problem_set(why, EXIT_HARNESS, "no mutex");
    if (kind == SUBJECT_MUTEX) return 0;
    if (kind != SUBJECT_CUB) return subject_open_arena(self, why);
    self->rival = rival_open_null(why);
    return self->rival ? 0 : -1;
}

void subject_close(subject *self)
{
    rival_close(self->rival);
    if (self->arena) {
        (void)gpuarena_reset(self->arena, NULL);
        (void)gpuarena_destroy(self->arena);
    }
    (void)pthread_mutex_destroy(&self->mutex);
}

int subject_verify(const subject *self, uint64_t live_count, problem *why)
{
    gpuarena_stats now;
    char message[256];
    const char *name = subject_name(self->kind);
    if (!self->arena) return 0;
    gpuarena_get_stats(self->arena, &now);
    if (now.requested_bytes + now.slack_bytes != now.live_bytes
        || now.live_bytes + now.pending_bytes + now.cached_bytes != now.reserved_bytes) {
        return problem_set(why, EXIT_VERIFY, "%s: bytes do not sum", name);
    }
    if (now.reserved_peak_bytes > SUBJECT_LIMIT_BYTES) {
        return problem_set(why, EXIT_VERIFY, "%s: %" PRIu64 " bytes reserved, above the limit", name,
                           now.reserved_peak_bytes);
    }
    if (now.live_count != live_count) {
        return problem_set(why, EXIT_VERIFY, "%s: %" PRIu64 " blocks live, expected %" PRIu64, name, now.live_count,
                           live_count);
    }
    if (!gpuarena_check(self->arena, message, sizeof message)) return 0;
    return problem_set(why, EXIT_VERIFY, "%s: %s", name, message);
}
