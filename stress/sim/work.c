/* Streams of a machine by their handles: life, work, questions and waits; captures, events, graphs. */
#include "engine.h"

/* ---- Graphs: a growing list of nodes */

/* A handle of it is gone, or the capture that made it and kept it; NULL is fine. */
static void graph_drop(graph *self)
{
    if (!self || (self->reference_count > 0 && --self->reference_count > 0)) return;
    free(self->nodes);
    vclock_destroy(&self->latest.seen);
    free(self);
}

/* bytes: up to GRAPH_PAYLOAD */
static void graph_add(graph *self, graph_act act, const void *payload, size_t bytes)
{
    ARRAY_RESERVE(self->nodes, self->capacity, self->count + 1);
    graph_node *node = &self->nodes[self->count++];
    memset(node, 0, sizeof *node);
    node->act = act;
    memcpy(node->payload.bytes, payload, bytes);
}

/* ---- Captures: begun, joined, issued to, ended */

/* NULL: it has ended. */
static capture *capture_find(const captures *all, uint64_t id)
{
    capture *found = all->list;
    while (found && found->id != id) found = found->next;
    return found;
}

/* Invalidates a capture, which is a finding, and answers with the code. */
static int capture_fail(const engine_call *self, capture *met, int code)
{
    if (!met->is_invalid) {
        met->is_invalid = 1;
        ENGINE_REPORT(self->device, "%s while stream %" PRIu64 " captures: answered %d, and the capture is invalid",
                      self->action, met->origin->id, code);
    }
    return code;
}

static void capture_enter(stream_queue *by, capture *joined, const stream_mark *mark)
{
    mark_copy(&by->captured, mark);
    by->capture = joined;
}

int work_begin_capture(const engine_call *self, int mode)
{
    static const stream_mark beginning;
    stream_queue *by = self->stream;
    captures *all = &self->machine->captures;
    if (mode < CAPTURE_GLOBAL || mode >= CAPTURE_MODES) return SIM_INVALID_VALUE;
    if (by->kind == STREAM_LEGACY || by->capture) return by->capture ? SIM_ILLEGAL_STATE : SIM_CAPTURE_UNSUPPORTED;
    capture *made = program_need(1, sizeof *made);
    capture_enter(by, made, &beginning);
    made->id = ++all->last_id;
    made->thread = engine_thread(self->machine);
    made->mode = (capture_mode)mode;
    made->origin = by;
    made->graph = program_need(1, sizeof *made->graph);
    made->next = all->list;
    all->list = made;
    return SIM_SUCCESS;
}

/* All streams leave the capture, and it is no more. */
static void capture_drop(sim *machine, capture *ended)
{
    capture **link = &machine->captures.list;
    while (*link != ended) link = &(*link)->next;
    *link = ended->next;
    for (uint32_t i = 0; i < machine->streams.count; i++) {
        stream_queue *other = machine->streams.list[i];
        if (other->capture == ended) other->capture = NULL;
    }
    graph_drop(ended->graph);
    free(ended);
}

/* Tells whether some stream has captured work that the stream where the capture began has not joined. */
static int capture_is_unjoined(const streams *all, const stream_queue *origin)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const stream_queue *other = all->list[i];
        if (other->capture == origin->capture
            && vclock_get(&other->captured.seen, other->line) > vclock_get(&origin->captured.seen, other->line)) {
            return 1;
        }
    }
    return 0;
}

int work_end_capture(const engine_call *self, graph **made)
{
    sim *machine = self->machine;
    capture *ended = self->stream->capture;
    *made = NULL;
    if (!ended) return SIM_ILLEGAL_STATE;
    if (ended->mode != CAPTURE_RELAXED && ended->thread != engine_thread(machine)) return SIM_CAPTURE_WRONG_THREAD;
    if (ended->origin != self->stream) return capture_fail(self, ended, SIM_CAPTURE_UNMATCHED);
    int code = ended->is_invalid ? SIM_CAPTURE_INVALIDATED
        : capture_is_unjoined(&machine->streams, self->stream) ? SIM_CAPTURE_UNJOINED : SIM_SUCCESS;
    if (code == SIM_SUCCESS) {
        *made = ended->graph;
        ended->graph = NULL;
    }
    capture_drop(machine, ended);
    return code;
}

/* The call's stream follows a point of the same capture, or joins it. */
static int capture_follow(const engine_call *self, uint64_t id, const stream_mark *mark)
{
    stream_queue *by = self->stream;
    capture *joined = capture_find(&self->machine->captures, id);
    if (!joined) return SIM_CAPTURED_EVENT;
    if (joined->is_invalid) return SIM_CAPTURE_INVALIDATED;
    if (by->kind == STREAM_LEGACY) return SIM_CAPTURE_IMPLICIT;
    if (!by->capture) {
        capture_enter(by, joined, mark);
        return SIM_SUCCESS;
    }
    if (by->capture != joined) {
        capture_fail(self, by->capture, SIM_CAPTURE_MERGE);
        return capture_fail(self, joined, SIM_CAPTURE_MERGE);
    }
    mark_join(&by->captured, mark);
    return SIM_SUCCESS;
}

/* ---- Calls that must not be made while streams capture, by whom, and their effects: the CUDA runtime's rules */

int capture_exchange_mode(sim *machine, int *mode)
{
    device_table *modes = &machine->captures.modes;
    if (!mode || *mode < CAPTURE_GLOBAL || *mode >= CAPTURE_MODES) return SIM_INVALID_VALUE;
    uint64_t thread = engine_thread(machine), before = device_table_take(modes, thread);
    if (*mode != CAPTURE_GLOBAL) device_table_add(modes, thread, (uint64_t)*mode);
    *mode = (int)before;
    return SIM_SUCCESS;
}

int capture_check_unsafe(const engine_call *self)
{
    int code = SIM_SUCCESS;
    captures *all = &self->machine->captures;
    uint64_t thread = engine_thread(self->machine);
    uint64_t mode = all->list ? device_table_find(&all->modes, thread) : CAPTURE_RELAXED;
    for (capture *each = mode == CAPTURE_RELAXED ? NULL : all->list; each; each = each->next) {
        int is_own = each->thread == thread;
        if (is_own ? each->mode != CAPTURE_RELAXED : mode == CAPTURE_GLOBAL && each->mode == CAPTURE_GLOBAL) {
            code = capture_fail(self, each, SIM_CAPTURE_UNSUPPORTED);
        }
    }
    return code;
}

/* The legacy stream must not be used while a blocking stream of its device captures. To use it breaks that capture;
   to ask whether it is captured does not. */
static int capture_check_legacy(const engine_call *self, const stream_queue *by, int is_used)
{
    int code = SIM_SUCCESS;
    const streams *all = &self->machine->streams;
    for (uint32_t i = 0; by->kind == STREAM_LEGACY && self->machine->captures.list && i < all->count; i++) {
        const stream_queue *other = all->list[i];
        if (!other->capture || !other->is_blocking || other->device != by->device) continue;
        code = is_used ? capture_fail(self, other->capture, SIM_CAPTURE_IMPLICIT) : SIM_CAPTURE_IMPLICIT;
    }
    return code;
}

/* A call that uses this stream, be it the legacy stream. */
static int capture_check_use(const engine_call *self, const stream_queue *by)
{
    if (by->capture) return by->capture->is_invalid ? SIM_CAPTURE_INVALIDATED : SIM_SUCCESS;
    return capture_check_legacy(self, by, 1);
}

int capture_check_wait(const engine_call *self, const stream_queue *by)
{
    const sim *machine = self->machine;
    int code = by ? capture_check_use(self, by) : SIM_SUCCESS;
    if (code == SIM_CAPTURE_IMPLICIT || !machine->captures.list) return code;
    for (uint32_t i = 0; i < machine->streams.count; i++) {
        const stream_queue *other = machine->streams.list[i];
        if (other->capture && (by ? other == by : other->device == self->device->ordinal)) {
            code = capture_fail(self, other->capture, SIM_CAPTURE_UNSUPPORTED);
        }
    }
    return code != SIM_SUCCESS ? code : capture_check_unsafe(self);
}

/* ---- Streams, and calls on devices */

void work_begin_call(engine_call *self, uint64_t bytes, const char *unsafe)
{
    sim_device *device = self->device;
    const sim_call_row *row = &sim_call_rows[self->kind];
    int code = row->traits & SIM_BARE ? SIM_SUCCESS : device->lost_code;
    const fault *acts = faults_call(&device->sim->faults, self->kind, bytes, code != SIM_SUCCESS);
    self->cost_ns = engine_cost_ns(device, (sim_cost_kind)row->cost, 0);
    device->counted.calls[self->kind]++;
    if (row->traits & SIM_COUNTED) device->counted.memory_calls++;
    self->lie = acts ? acts->type : FAULT_CALL;
    if (acts) code = acts->code;
    if (!device->lost_code && codes_of(code)->status == GPUARENA_STATUS_LOST) device->lost_code = code;
    if (code == SIM_SUCCESS && row->traits & SIM_EXPORT && device->sim->without_vm) code = SIM_NOT_SUPPORTED;
    self->action = unsafe;
    if (code == SIM_SUCCESS && row->traits & SIM_UNSAFE) code = capture_check_unsafe(self);
    self->action = row->name;
    self->code = code;
}

static stream_queue *work_find_created(const sim *machine, const void *handle, int *code)
{
    stream_queue *found = handles_find(&machine->handles, handle, HANDLE_STREAM);
    *code = found ? machine->devices[found->device].lost_code : SIM_INVALID_HANDLE;
    return *code == SIM_SUCCESS ? found : NULL;
}

stream_queue *work_find_stream(sim_device *device, const void *handle, int *code)
{
    sim *machine = device->sim;
    if ((uintptr_t)handle > (uintptr_t)WORK_PER_THREAD) {
        return work_find_created(machine, handle, code);
    }
    if (device->lost_code) {
        *code = device->lost_code;
        return NULL;
    }
    stream_kind kind = handle == WORK_PER_THREAD ? STREAM_PER_THREAD : STREAM_LEGACY;
    uint64_t thread = kind == STREAM_PER_THREAD ? engine_thread(machine) : 0;
    stream_queue *found = streams_find(&machine->streams, kind, device->ordinal, thread);
    *code = SIM_SUCCESS;
    return found ? found : streams_create(&machine->streams, kind, device->ordinal, 1, thread);
}

int work_take_stream(engine_call *self, const void *handle)
{
    self->stream = work_find_stream(self->device, handle, &self->code);
    return self->stream != NULL;
}

int work_create_stream(sim_device *device, int is_blocking, void **handle)
{
    sim *machine = device->sim;
    if (device->lost_code) return device->lost_code;
    stream_queue *made = streams_create(&machine->streams, STREAM_CREATED, device->ordinal, is_blocking, 0);
    *handle = handles_create(&machine->handles, HANDLE_STREAM, made);
    return SIM_SUCCESS;
}

int work_destroy_stream(const engine_call *self, const void *handle)
{
    int code;
    sim *machine = self->machine;
    stream_queue *found = work_find_created(machine, handle, &code);
    if (!found) return code;
    if (found->capture) return capture_fail(self, found->capture, SIM_CAPTURE_UNSUPPORTED);
    handles_drop(&machine->handles, handle);
    streams_close(&machine->streams, found, found->device);
    return SIM_SUCCESS;
}

int work_issue(const engine_call *self, stream_queue *by, uint64_t work_ns)
{
    sim *machine = self->machine;
    int code = capture_check_use(self, by);
    if (code != SIM_SUCCESS) return code;
    if (by->capture) {
        mark_advance(&by->captured, &machine->streams, by->line, 0, work_ns);
        memory_raise(&by->capture->graph->work_ns, by->captured.end_ns);
    } else {
        streams_issue(&machine->streams, by, machine->now_ns, work_ns);
    }
    return SIM_SUCCESS;
}

static void work_wait_until(engine_call *self, uint64_t end_ns)
{
    uint64_t now_ns = self->machine->now_ns, wait_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    self->cost_ns = wait_ns > UINT64_MAX - self->cost_ns ? UINT64_MAX : self->cost_ns + wait_ns;
}

/* The host waits for a mark, or asks whether it is reached. is_known 1: the host knew that it was. */
static int work_wait_mark(engine_call *self, const stream_mark *mark, int is_known, int waits)
{
    sim *machine = self->machine;
    if (!waits && mark->end_ns > machine->now_ns) return SIM_NOT_READY;
    if (waits) work_wait_until(self, mark->end_ns);
    if (!is_known) streams_host_follow(&machine->streams, mark);
    for (int i = 0; waits && i < machine->device_count; i++) mempools_settle(&machine->devices[i]);
    return SIM_SUCCESS;
}

/* A wait for the legacy stream covers all work that comes before its next command. */
int work_wait_stream(engine_call *self, int waits)
{
    sim *machine = self->machine;
    stream_queue *by = self->stream;
    int code = capture_check_wait(self, by);
    if (code != SIM_SUCCESS) return code;
    if (by->kind == STREAM_LEGACY) streams_issue(&machine->streams, by, machine->now_ns, 0);
    return work_wait_mark(self, &by->done, streams_is_outlived(&machine->streams, by), waits);
}

void work_drain_device(engine_call *self)
{
    work_wait_until(self, streams_host_outlive(&self->machine->streams, self->device->ordinal));
    mempools_settle(self->device);
}

int work_wait_device(engine_call *self)
{
    int code = capture_check_wait(self, NULL);
    if (code == SIM_SUCCESS) work_drain_device(self);
    return code;
}

int work_capture_status(const engine_call *self, int *status)
{
    const capture *met = self->stream->capture;
    *status = !met ? 0 : met->is_invalid ? 2 : 1;
    return capture_check_legacy(self, self->stream, 0);
}

void *work_keep_graph(sim *machine, handle_kind of, graph *made)
{
    if (!made) return NULL;
    made->reference_count++;
    return handles_create(&machine->handles, of, made);
}

void *work_instantiate(sim *machine, const graph *source)
{
    graph *made = program_need(1, sizeof *made);
    ARRAY_RESERVE(made->nodes, made->capacity, source->count);
    for (uint32_t i = 0; i < source->count; i++) made->nodes[made->count++] = source->nodes[i];
    made->work_ns = source->work_ns;
    return work_keep_graph(machine, HANDLE_GRAPH_EXEC, made);
}

int work_drop_graph(sim *machine, handle_kind of, const void *handle)
{
    graph *found = handles_find(&machine->handles, handle, of);
    if (!found) return SIM_INVALID_VALUE;
    handles_drop(&machine->handles, handle);
    graph_drop(found);
    return SIM_SUCCESS;
}

/* ---- Events by their handles: each a copy of its stream's mark from when it was recorded */

typedef struct event {
    int         device;
    int         is_timed;
    int         is_recorded;
    uint64_t    capture_id;                      /* recorded last in a capturing stream: of which capture; else 0 */
    stream_mark mark;
} event;

/* NULL and a code: not an event now, or one of a lost device. */
static event *event_find(const sim *machine, const void *value, int *code)
{
    event *found = handles_find(&machine->handles, value, HANDLE_EVENT);
    *code = found ? machine->devices[found->device].lost_code : SIM_INVALID_HANDLE;
    return *code == SIM_SUCCESS ? found : NULL;
}

static void event_free(event *self)
{
    vclock_destroy(&self->mark.seen);
    free(self);
}

int event_create(sim_device *device, int is_timed, void **made)
{
    sim *machine = device->sim;
    if (device->lost_code) return device->lost_code;
    event *self = program_need(1, sizeof *self);
    self->device = device->ordinal;
    self->is_timed = is_timed;
    *made = handles_create(&machine->handles, HANDLE_EVENT, self);
    return SIM_SUCCESS;
}

int event_destroy(sim *machine, const void *value)
{
    int code;
    event *self = event_find(machine, value, &code);
    if (!self) return code;
    handles_drop(&machine->handles, value);
    event_free(self);
    return SIM_SUCCESS;
}

int event_record(const engine_call *self, const void *value)
{
    int code;
    sim *machine = self->machine;
    stream_queue *at = self->stream;
    event *point = event_find(machine, value, &code);
    if (!point || point->device != at->device) return point ? SIM_INVALID_HANDLE : code;
    code = capture_check_use(self, at);
    if (code != SIM_SUCCESS) return code;
    if (!at->capture) streams_issue(&machine->streams, at, machine->now_ns, 0);
    mark_copy(&point->mark, at->capture ? &at->captured : &at->done);
    point->is_recorded = 1;
    point->capture_id = at->capture ? at->capture->id : 0;
    return SIM_SUCCESS;
}

int event_wait(engine_call *self, const void *value, int waits)
{
    int code;
    const event *point = event_find(self->machine, value, &code);
    if (!point) return code;
    if (point->capture_id) {
        capture *met = capture_find(&self->machine->captures, point->capture_id);
        return met ? capture_fail(self, met, SIM_CAPTURED_EVENT) : SIM_CAPTURED_EVENT;
    }
    code = capture_check_unsafe(self);
    return code == SIM_SUCCESS && point->is_recorded ? work_wait_mark(self, &point->mark, 0, waits) : code;
}

int event_follow(const engine_call *self, const void *value)
{
    int code;
    sim *machine = self->machine;
    stream_queue *from = self->stream;
    const event *point = event_find(machine, value, &code);
    if (!point) return code;
    code = capture_check_use(self, from);
    if (code != SIM_SUCCESS || !point->is_recorded) return code;
    if (point->capture_id) return capture_follow(self, point->capture_id, &point->mark);
    if (from->capture) return capture_fail(self, from->capture, SIM_CAPTURE_ISOLATION);
    streams_follow(&machine->streams, from, machine->now_ns, &point->mark);
    return SIM_SUCCESS;
}

int event_elapsed(sim *machine, const void *start, const void *end, int64_t *ns)
{
    int code;
    const event *from = event_find(machine, start, &code);
    const event *to = from ? event_find(machine, end, &code) : NULL;
    if (!to) return code;
    if (!from->is_recorded || !to->is_recorded || !from->is_timed || !to->is_timed
        || from->capture_id || to->capture_id) {
        return SIM_INVALID_HANDLE;
    }
    if (from->mark.end_ns > machine->now_ns || to->mark.end_ns > machine->now_ns) {
        return SIM_NOT_READY;
    }
    *ns = (int64_t)(to->mark.end_ns - from->mark.end_ns);
    return SIM_SUCCESS;
}

void work_reset(sim_device *device)
{
    sim *machine = device->sim;
    for (uint32_t i = 0; i < machine->streams.count; i++) {
        const stream_queue *self = machine->streams.list[i];
        if (self->capture && self->device == device->ordinal) capture_drop(machine, self->capture);
    }
    (void)streams_host_outlive(&machine->streams, device->ordinal);
    for (uint32_t i = 0; i < machine->handles.count; i++) {
        void *value;
        const stream_queue *queue = handles_each(&machine->handles, i, HANDLE_STREAM, &value);
        event *point = handles_each(&machine->handles, i, HANDLE_EVENT, &value);
        if ((queue ? queue->device : point ? point->device : -1) != device->ordinal) continue;
        handles_drop(&machine->handles, value);
        if (point) event_free(point);
    }
    streams_close(&machine->streams, NULL, device->ordinal);
}

void work_destroy(sim *machine)
{
    for (uint32_t i = 0; i < machine->handles.count; i++) {
        void *value;
        event *point = handles_each(&machine->handles, i, HANDLE_EVENT, &value);
        graph_drop(handles_each(&machine->handles, i, HANDLE_GRAPH, &value));
        graph_drop(handles_each(&machine->handles, i, HANDLE_GRAPH_EXEC, &value));
        if (point) event_free(point);
    }
    while (machine->captures.list) capture_drop(machine, machine->captures.list);
    device_table_clear(&machine->captures.modes);
    streams_destroy(&machine->streams);
    handles_destroy(&machine->handles);
}

/* ---- Commands with effects, and launches of graphs: all of a graph is one command of the stream that it is launched
        on */

int launch_command(const engine_call *self, uint64_t work_ns, graph_act act, const void *payload, size_t bytes)
{
    stream_queue *by = self->stream;
    launch now = { &self->machine->devices[by->device], by, 0, self->machine->judge.op };
    int code = work_issue(self, by, work_ns);
    if (code != SIM_SUCCESS || !act) return code;
    if (!by->capture) return act(&now, payload);
    graph_add(by->capture->graph, act, payload, bytes);
    return SIM_SUCCESS;
}

static int launch_act_use(const launch *now, const void *payload)
{
    access_range range = *(const access_range *)payload;
    if (now->is_graph) {
        range.is_launched = 1;
        range.captured_op = range.op;
        range.op = now->op;
    }
    access_use(now->device, now->by, &range);
    return SIM_SUCCESS;
}

int launch_use(const engine_call *self, const void *ptr, uint64_t bytes, uint64_t owner, uint64_t op)
{
    const access_range used = { (uint64_t)(uintptr_t)ptr, bytes, owner, op, 0, 0, self->machine->mapping_serial };
    return launch_command(self, 0, launch_act_use, &used, sizeof used);
}

/* While the stream captures, the graph's nodes are copied behind those of the capture, whose own they are. */
int launch_graph(const engine_call *self, graph *launched, uint64_t op)
{
    sim *machine = self->machine;
    stream_queue *by = self->stream;
    launch now = { &machine->devices[by->device], by, 1, op };
    int code = capture_check_use(self, by);
    if (code == SIM_SUCCESS && !by->capture) {
        streams_follow(&machine->streams, by, machine->now_ns, &launched->latest);
    }
    if (code == SIM_SUCCESS) code = work_issue(self, by, launched->work_ns);
    if (code == SIM_SUCCESS && !by->capture) mark_copy(&launched->latest, &by->done);
    for (uint32_t i = 0; i < launched->count && code == SIM_SUCCESS; i++) {
        const graph_node *node = &launched->nodes[i];
        if (by->capture) graph_add(by->capture->graph, node->act, &node->payload, sizeof node->payload);
        else code = node->act(&now, &node->payload);
    }
    return code;
}
