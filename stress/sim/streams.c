/* Streams, and the order of their commands. */
#include "streams.h"

enum { STREAMS_LINE_STEP = 8 };                  /* clocks grow by so many lines at once */

void mark_join(stream_mark *mark, const stream_mark *other)
{
    vclock_join(&mark->seen, &other->seen);
    memory_raise(&mark->end_ns, other->end_ns);
}

void mark_copy(stream_mark *mark, const stream_mark *other)
{
    vclock_copy(&mark->seen, &other->seen);
    mark->end_ns = other->end_ns;
}

void mark_advance(stream_mark *mark, const streams *all, uint32_t line, uint64_t now_ns, uint64_t work_ns)
{
    vclock_reserve(&mark->seen, (all->line_count + STREAMS_LINE_STEP - 1) / STREAMS_LINE_STEP * STREAMS_LINE_STEP);
    mark->seen.at[line]++;
    memory_raise(&mark->end_ns, now_ns);
    mark->end_ns = work_ns > UINT64_MAX - mark->end_ns ? UINT64_MAX : mark->end_ns + work_ns;
}

static void streams_free(stream_queue *self)
{
    vclock_destroy(&self->done.seen);
    vclock_destroy(&self->captured.seen);
    free(self);
}

void streams_destroy(streams *all)
{
    for (uint32_t i = 0; i < all->count; i++) streams_free(all->list[i]);
    free(all->list);
    free(all->idle_lines);
    vclock_destroy(&all->host);
    memset(all, 0, sizeof *all);
}

stream_queue *streams_create(streams *all, stream_kind kind, int device, int is_blocking, uint64_t thread)
{
    stream_queue *made = program_need(1, sizeof *made);
    ARRAY_RESERVE_BOTH(all->list, all->idle_lines, all->capacity, all->count + 1);   /* its line may become idle */
    made->line = all->idle_count > 0 ? all->idle_lines[--all->idle_count] : all->line_count++;
    vclock_copy(&made->done.seen, &all->host);   /* a line that was another's starts where the host has outlived it */
    made->kind = kind;
    made->device = device;
    made->is_blocking = is_blocking;
    made->thread = thread;
    made->id = kind == STREAM_LEGACY ? STREAMS_LEGACY_ID + (uint64_t)device : ++all->last_id;
    all->list[all->count++] = made;
    return made;
}

stream_queue *streams_find(const streams *all, stream_kind kind, int device, uint64_t thread)
{
    for (uint32_t i = 0; i < all->count; i++) {
        stream_queue *self = all->list[i];
        if (self->kind == kind && self->device == device && self->thread == thread && !self->is_closed) {
            return self;
        }
    }
    return NULL;
}

int streams_is_outlived(const streams *all, const stream_queue *self)
{
    return vclock_get(&self->done.seen, self->line) <= vclock_get(&all->host, self->line);
}

/* Closed streams that the host has outlived leave. */
static void streams_sweep(streams *all)
{
    uint32_t kept = 0;
    if (all->closed_count == 0) return;
    for (uint32_t i = 0; i < all->count; i++) {
        stream_queue *self = all->list[i];
        if (self->is_closed && streams_is_outlived(all, self)) {
            all->idle_lines[all->idle_count++] = self->line;
            all->closed_count--;
            streams_free(self);
        } else {
            all->list[kept++] = self;
        }
    }
    all->count = kept;
}

void streams_close(streams *all, const stream_queue *self, int device)
{
    for (uint32_t i = 0; i < all->count; i++) {
        stream_queue *other = all->list[i];
        if (!other->is_closed && (self ? other == self : other->device == device)) {
            other->is_closed = 1;
            all->closed_count++;
        }
    }
    streams_sweep(all);
}

/* Joins the commands so far of other streams that come before this one's next by the rules of the legacy stream. */
static void streams_join_implicit(streams *all, stream_queue *self)
{
    for (uint32_t i = 0; self->is_blocking && i < all->count; i++) {
        const stream_queue *other = all->list[i];
        if (other != self && other->device == self->device && other->is_blocking && !other->is_closed
            && (self->kind == STREAM_LEGACY || other->kind == STREAM_LEGACY)
            && vclock_get(&other->done.seen, other->line) > vclock_get(&self->done.seen, other->line)) {
            mark_join(&self->done, &other->done);
        }
    }
}

void streams_issue(streams *all, stream_queue *self, uint64_t now_ns, uint64_t work_ns)
{
    vclock_join(&self->done.seen, &all->host);
    streams_join_implicit(all, self);
    mark_advance(&self->done, all, self->line, now_ns, work_ns);
}

void streams_follow(streams *all, stream_queue *self, uint64_t now_ns, const stream_mark *mark)
{
    streams_issue(all, self, now_ns, 0);
    mark_join(&self->done, mark);
}

void streams_host_follow(streams *all, const stream_mark *mark)
{
    vclock_join(&all->host, &mark->seen);
    streams_sweep(all);
}

uint64_t streams_host_outlive(streams *all, int device)
{
    uint64_t end_ns = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const stream_queue *self = all->list[i];
        if (self->device != device) continue;
        memory_raise(&end_ns, self->done.end_ns);
        if (!streams_is_outlived(all, self)) vclock_join(&all->host, &self->done.seen);
    }
    streams_sweep(all);
    return end_ns;
}
