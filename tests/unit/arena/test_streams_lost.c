/* A device that is lost: whichever call says so is the last one. What puts a thread's mode back may follow, and is
   not asked what it says: it is the thread's, not the device's. */
#include "stream_stage.h"

static struct {
    gpuarena_driver real;
    int is_lost, depth;                          /* depth: how often the thread's mode is to be put back */
    uint64_t after;                              /* calls on a lost device */
} watch;

enum { WATCH_RELAXED = 2 };                      /* cudaStreamCaptureModeRelaxed */

static int watch_code(int code)
{
    watch.after += watch.is_lost != 0;
    watch.is_lost |= code == SIM_ILLEGAL_ADDRESS;
    return code;
}

static int watch_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return watch_code(watch.real.memory.info(self, kind, free_bytes, total_bytes));
}

static int watch_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                        gpuarena_stream stream)
{
    return watch_code(watch.real.memory.obtain(self, kind, ptr, bytes, stream));
}

static int watch_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                           gpuarena_stream stream)
{
    return watch_code(watch.real.memory.give_back(self, kind, ptr, bytes, stream));
}

static int watch_create(const gpuarena_driver *self, void **event)
{
    return watch_code(watch.real.events.create(self, event));
}

static int watch_destroy(const gpuarena_driver *self, void *event)
{
    return watch_code(watch.real.events.destroy(self, event));
}

static int watch_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    return watch_code(watch.real.events.record(self, event, stream));
}

static int watch_query(const gpuarena_driver *self, void *event)
{
    return watch_code(watch.real.events.query(self, event));
}

static int watch_host_wait(const gpuarena_driver *self, void *event)
{
    return watch_code(watch.real.events.host_wait(self, event));
}

static int watch_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    return watch_code(watch.real.events.stream_wait(self, stream, event));
}

static int watch_device_wait(const gpuarena_driver *self)
{
    return watch_code(watch.real.events.device_wait(self));
}

static int watch_active(const gpuarena_driver *self, gpuarena_stream stream, int *active)
{
    return watch_code(watch.real.capture.active(self, stream, active));
}

/* The mode is made relaxed, and inside of that, by calls that wait, once more: what is put back there is relaxed.
   It is put back though the call says that it failed, so that modes tell what a call is for. */
static int watch_exchange_mode(const gpuarena_driver *self, int *mode)
{
    int is_put_back = watch.depth == 2 || (watch.depth == 1 && *mode != WATCH_RELAXED);
    int code = watch.real.capture.exchange_mode(self, mode);
    if (is_put_back && code != SIM_SUCCESS) (void)watch.real.capture.exchange_mode(self, mode);
    watch.depth += is_put_back ? -1 : code == SIM_SUCCESS;
    return is_put_back ? code : watch_code(code);
}

static int watch_vm_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    return watch_code(watch.real.vm.reserve(self, address, bytes, alignment));
}

static int watch_vm_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    return watch_code(watch.real.vm.release(self, address, bytes));
}

static int watch_vm_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    return watch_code(watch.real.vm.create(self, page, bytes, traits));
}

static int watch_vm_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    return watch_code(watch.real.vm.destroy(self, page, bytes));
}

static int watch_vm_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    return watch_code(watch.real.vm.map(self, address, bytes, page));
}

static int watch_vm_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    return watch_code(watch.real.vm.access(self, address, bytes, mode));
}

static int watch_vm_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    return watch_code(watch.real.vm.unmap(self, address, bytes));
}

static void watch_all(gpuarena_driver *driver)
{
    watch.real = *driver;
    watch.is_lost = watch.depth = 0;
    watch.after = 0;
    driver->memory.info = watch_info;
    driver->memory.obtain = watch_obtain;
    driver->memory.give_back = watch_give_back;
    driver->vm.reserve = watch_vm_reserve;
    driver->vm.release = watch_vm_release;
    driver->vm.create = watch_vm_create;
    driver->vm.destroy = watch_vm_destroy;
    driver->vm.map = watch_vm_map;
    driver->vm.access = watch_vm_access;
    driver->vm.unmap = watch_vm_unmap;
    driver->events.create = watch_create;
    driver->events.destroy = watch_destroy;
    driver->events.record = watch_record;
    driver->events.query = watch_query;
    driver->events.host_wait = watch_host_wait;
    driver->events.stream_wait = watch_stream_wait;
    driver->events.device_wait = watch_device_wait;
    driver->capture.active = watch_active;
    driver->capture.exchange_mode = watch_exchange_mode;
}

/* Beside the pin: 16 MiB that stream 1 works on and has freed, in the pin's segment, or in one that is idle. */
static stage open_watched(gpuarena_streams streams, gpuarena_growth growth)
{
    stage self = stage_device();
    gpuarena_config config = stage_config(&self);
    watch_all(&self.driver);
    config.streams = streams;
    config.growth = growth;
    config.limit_bytes = growth == GPUARENA_GROWTH_FIXED ? MIB(18) : MIB(32);
    stage_arena(&self, &config);
    CHECK_INT(gpuarena_alloc(self.arena, &self.pin, MIB(2), self.streams[0]), ==, GPUARENA_OK);
    stage_pending(&self, MIB(16), 1, STAGE_SECOND);
    return self;
}

/* As stage_close; but memory and events of a lost device are never given back. */
static void close_lost(stage *self, const char *name)
{
    CHECK_STR(stage_wrong(self), "");
    CHECK_INT(gpuarena_reset(self->arena, self->streams[0]), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
    CHECK_MSG(watch.is_lost && watch.after == 0, "%s: %" PRIu64 " calls on a lost device", name, watch.after);
    CHECK_U64(sim_finding_count(self->machine), ==, 0);
    sim_destroy(self->machine);
}

static gpuarena_result take_elsewhere(stage *self, uint64_t bytes)
{
    void *ptr = NULL;
    return gpuarena_alloc(self->arena, &ptr, bytes, self->streams[2]);
}

static gpuarena_result ask(stage *self, uint64_t bytes)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    request.stream = self->streams[2];
    return gpuarena_can_alloc(self->arena, &request);
}

static gpuarena_result grow(stage *self, uint64_t bytes) { return gpuarena_reserve(self->arena, bytes); }

static gpuarena_result trim(stage *self, uint64_t keep) { return gpuarena_trim(self->arena, keep, NULL); }

static gpuarena_result forget(stage *self, uint64_t stream)
{
    return gpuarena_forget(self->arena, self->streams[stream]);
}

static const struct {
    const char *name;
    sim_call call;                               /* that says that the device is lost */
    gpuarena_streams streams;
    gpuarena_growth growth;
    gpuarena_result (*act)(stage *self, uint64_t value);
    uint64_t value;
} losses[] = {
    { "before an event", SIM_CALL_STREAM_IS_CAPTURING, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_FIXED,
      take_elsewhere, MIB(16) },
    { "before events are asked", SIM_CALL_EXCHANGE_CAPTURE_MODE, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_FIXED,
      take_elsewhere, MIB(16) },
    { "before the device is waited for", SIM_CALL_STREAM_IS_CAPTURING, GPUARENA_STREAMS_SAME, GPUARENA_GROWTH_FIXED,
      take_elsewhere, MIB(16) },
    { "before room is made", SIM_CALL_STREAM_IS_CAPTURING, GPUARENA_STREAMS_SAME, GPUARENA_GROWTH_EXACT,
      take_elsewhere, MIB(24) },
    { "before growth", SIM_CALL_EXCHANGE_CAPTURE_MODE, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_EXACT, grow, MIB(24) },
    { "before a trim", SIM_CALL_STREAM_IS_CAPTURING, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_EXACT, trim, 0 },
    { "in can_alloc of what is there", SIM_CALL_STREAM_IS_CAPTURING, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_EXACT,
      ask, MIB(16) },
    { "in can_alloc of more", SIM_CALL_STREAM_IS_CAPTURING, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_EXACT,
      ask, MIB(24) },
    { "in forget", SIM_CALL_STREAM_IS_CAPTURING, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_FIXED, forget, 1 },
    { "before forget", SIM_CALL_EXCHANGE_CAPTURE_MODE, GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_FIXED, forget, 1 },
};

static void test_lost_in(size_t at)
{
    stage self = open_watched(losses[at].streams, losses[at].growth);
    sim_fail_call(self.machine, losses[at].call, 1, 0, SIM_ILLEGAL_ADDRESS);
    CHECK_MSG(losses[at].act(&self, losses[at].value) == GPUARENA_DEVICE_LOST, "%s: lost", losses[at].name);
    close_lost(&self, losses[at].name);
}

/* The arena ends, and the first of its events says that the device is lost. */
static void test_lost_at_the_end(void)
{
    stage self = open_watched(GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_EXACT);
    for (int stream = 2; stream <= 3; stream++) stage_pending(&self, MIB(2), stream, STAGE_SECOND);
    for (uint64_t stream = 1; stream <= 3; stream++) CHECK_INT(forget(&self, stream), ==, GPUARENA_OK);
    CHECK_MSG(stage_events >= 3, "several events");
    sim_fail_call(self.machine, SIM_CALL_EVENT_DESTROY, 1, 0, SIM_ILLEGAL_ADDRESS);
    close_lost(&self, "at the end");
}

/* The device was lost before: forget says that, too. */
static void test_forget_on_a_lost_device(void)
{
    stage self = open_watched(GPUARENA_STREAMS_STEAL, GPUARENA_GROWTH_EXACT);
    sim_fail_call(self.machine, SIM_CALL_OBTAIN, 1, 0, SIM_ILLEGAL_ADDRESS);
    CHECK_INT(grow(&self, MIB(24)), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(forget(&self, 1), ==, GPUARENA_DEVICE_LOST);
    close_lost(&self, "forget on a lost device");
}

/* A life that climbs every rung; its calls are refused from some point on. */
static void live(stage *self)
{
    uint64_t set = 0;
    void *ptrs[3] = { NULL, NULL, NULL };
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_device figures;
    request.bytes = MIB(24);
    request.stream = self->streams[4];
    (void)gpuarena_alloc(self->arena, &ptrs[0], MIB(8), self->streams[2]);
    if (ptrs[0]) (void)gpuarena_use(self->arena, ptrs[0], self->streams[3]);
    (void)gpuarena_free(self->arena, ptrs[0], self->streams[2]);
    (void)gpuarena_forget(self->arena, self->streams[3]);
    (void)gpuarena_can_alloc(self->arena, &request);
    (void)gpuarena_alloc_ex(self->arena, &ptrs[1], &request);
    (void)gpuarena_free(self->arena, ptrs[1], self->streams[4]);
    (void)gpuarena_capture_begin(self->arena, self->streams[5], &set);
    (void)gpuarena_alloc(self->arena, &ptrs[2], MIB(4), self->streams[5]);
    (void)gpuarena_free(self->arena, ptrs[2], self->streams[5]);
    (void)gpuarena_capture_end(self->arena, self->streams[5]);
    if (set) (void)gpuarena_capture_release(self->arena, set, self->streams[5]);
    (void)gpuarena_alloc(self->arena, &ptrs[0], MIB(16), GPUARENA_ANY_STREAM);
    (void)gpuarena_free(self->arena, ptrs[0], GPUARENA_OWN_STREAM);
    (void)gpuarena_alloc(self->arena, &ptrs[1], MIB(30), self->streams[2]);
    (void)gpuarena_get_device(self->arena, &figures);
    (void)gpuarena_free(self->arena, ptrs[1], self->streams[2]);
    (void)gpuarena_trim(self->arena, MIB(16), NULL);
    (void)gpuarena_set_limit(self->arena, MIB(2));
}

/* Whichever of its calls it is. */
static void test_lost_anywhere(gpuarena_streams streams)
{
    uint64_t lost = 0, after = 0, wrong = 0, nth;
    int fired = 1;
    for (nth = 1; fired && nth <= 1000; nth++) {
        stage self = open_watched(streams, GPUARENA_GROWTH_EXACT);
        sim_fail_call(self.machine, SIM_CALL_KINDS, nth, 0, SIM_ILLEGAL_ADDRESS);
        live(&self);
        wrong += stage_wrong(&self)[0] != '\0';
        wrong += gpuarena_reset(self.arena, self.streams[0]) != GPUARENA_OK;
        wrong += gpuarena_destroy(self.arena) != GPUARENA_OK;
        wrong += sim_finding_count(self.machine);
        fired = sim_fail_fired(self.machine);
        lost += watch.is_lost != 0;
        after += watch.after;
        sim_destroy(self.machine);
    }
    CHECK_MSG(lost > 20 && !fired, "lost in %" PRIu64 " ways", lost);
    CHECK_U64(after, ==, 0);
    CHECK_U64(wrong, ==, 0);
}

int main(void)
{
    for (size_t at = 0; at < COUNT(losses); at++) test_lost_in(at);
    test_lost_at_the_end();
    test_forget_on_a_lost_device();
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_SEGMENTS; backing++) {
        stage_backing = (gpuarena_backing)backing;
        test_lost_anywhere(GPUARENA_STREAMS_SAME);
        test_lost_anywhere(GPUARENA_STREAMS_EVENTS);
        test_lost_anywhere(GPUARENA_STREAMS_STEAL);
    }
    return tap_done();
}
