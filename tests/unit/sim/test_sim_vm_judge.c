/* The judge and virtual memory: addresses that go while work uses them, memory that moves before its users are done,
   graphs whose addresses were mapped anew, use without access; and what captures forbid.
   Must not know how the judge keeps its records. */
#include "sim_order.h"
#include "sim_vm.h"

typedef struct stage {                           /* 8 pages reserved, the first 4 each with a handle of its own */
    order_bench order;
    sim *machine;
    const gpuarena_driver *driver;
    char *address;
    uint64_t pages[4];
} stage;

static void stage_open(stage *self)
{
    memset(self, 0, sizeof *self);
    self->order = order_open(0);
    self->machine = self->order.machine;
    self->driver = &self->order.bench.driver;
    self->address = vm_reserved(self->driver, 8 * PAGE);
    for (int i = 0; i < 4; i++) self->pages[i] = vm_backed(self->driver, self->address + (uint64_t)i * PAGE, PAGE);
}

static char *stage_page(const stage *self, int page)
{
    return self->address + (uint64_t)page * PAGE;
}

/* The next op: this owner uses so many pages from one on, on the stream. 1: no finding. */
static int stage_use(stage *self, int stream, int page, int count, uint64_t owner)
{
    uint64_t before = sim_finding_count(self->machine);
    sim_begin_op(self->machine, self->order.op);
    int code = sim_access(self->machine, 0, self->order.streams[stream], stage_page(self, page),
                          (uint64_t)count * PAGE, owner, self->order.op++);
    return code == SIM_SUCCESS && sim_finding_count(self->machine) == before;
}

/* 1: success, and no finding. */
static int stage_unmap(stage *self, int page, int count)
{
    uint64_t before = sim_finding_count(self->machine);
    sim_begin_op(self->machine, self->order.op++);
    return vm_unmap(self->driver, stage_page(self, page), (uint64_t)count * PAGE) == SIM_SUCCESS
        && sim_finding_count(self->machine) == before;
}

static void stage_map(stage *self, int page, uint64_t handle)
{
    vm_must(vm_map(self->driver, stage_page(self, page), PAGE, handle), "map");
    vm_must(vm_access(self->driver, stage_page(self, page), PAGE, 1), "access");
}

static int stage_wait(stage *self, int stream)
{
    return sim_stream_wait(self->machine, 0, self->order.streams[stream]) == SIM_SUCCESS;
}

static void test_unmap_while_work_is_pending(void)
{
    stage self;
    stage_open(&self);
    CHECK(stage_use(&self, 1, 0, 3, 1));
    CHECK_INT(order_work(&self.order, 1, 100000), ==, 0);
    uint64_t start = sim_now_ns(self.machine);
    CHECK_MSG(!stage_unmap(&self, 2, 1), "the work goes on");
    CHECK_STR(order_last_finding(&self.order), "op 1: device 0: unmap of 2097152 bytes at +0x80000400000: not known "
              "to be after op 0 on stream 1");
    CHECK_MSG(sim_now_ns(self.machine) - start == 28000, "unmap does not wait");
    CHECK_MSG(stage_unmap(&self, 3, 1), "the page beside it is nobody's");
    sim_advance(self.machine, 1000000);
    CHECK_MSG(!stage_unmap(&self, 1, 1), "done by the clock, but the host does not know");
    CHECK(stage_wait(&self, 1));
    CHECK_MSG(stage_unmap(&self, 0, 1), "known to be done");
    CHECK_U64(sim_finding_count(self.machine), ==, 2);
    order_close(&self.order);
}

static void test_one_unmap_is_one_finding(void)
{
    stage self;
    stage_open(&self);
    CHECK(stage_use(&self, 1, 1, 1, 1) && stage_use(&self, 2, 2, 1, 2));
    CHECK(!stage_unmap(&self, 0, 4) && sim_finding_count(self.machine) == 1);
    CHECK_STR(order_last_finding(&self.order), "op 2: device 0: unmap of 8388608 bytes at +0x80000000000: not known "
              "to be after op 0 on stream 1");
    order_close(&self.order);
}

/* What proves that work is done: every wait of the host, a query that says so, a give_back; no stream's wait. */
static void test_what_unmap_may_follow(void)
{
    for (int way = 0; way < 6; way++) {
        static const char *const names[] = { "a wait for the stream", "a wait for an event", "a query of an event",
                                             "a wait for the device", "a give_back", "a wait by another stream" };
        stage self;
        stage_open(&self);
        int fine = stage_use(&self, 1, 0, 1, 1) && order_record(&self.order, 0, 1) == SIM_SUCCESS;
        if (way == 0) fine &= stage_wait(&self, 1);
        if (way == 1) fine &= order_host_wait(&self.order, 0) == SIM_SUCCESS;
        if (way == 2) fine &= order_query(&self.order, 0) == SIM_SUCCESS;
        if (way == 3) fine &= self.driver->events.device_wait(self.driver) == SIM_SUCCESS;
        if (way == 4) fine &= bench_give_back(self.driver, self.order.block, MIB(4)) == SIM_SUCCESS;
        if (way == 5) fine &= order_follow(&self.order, 2, 0) == SIM_SUCCESS;
        CHECK_MSG(fine && stage_unmap(&self, 0, 1) == (way < 5), "%s: %s", names[way],
                  way < 5 ? "fine" : "not enough");
        order_close(&self.order);
    }
}

static void test_end_of_access_and_destroy_are_judged(void)
{
    stage self;
    stage_open(&self);
    CHECK(stage_use(&self, 1, 0, 2, 1));
    CHECK_INT(vm_access(self.driver, stage_page(&self, 0), PAGE, 1), ==, 0);
    CHECK_MSG(sim_finding_count(self.machine) == 0, "access that stays disturbs nobody");
    CHECK_INT(vm_access(self.driver, stage_page(&self, 0), PAGE, 0), ==, 0);
    CHECK_STR(order_last_finding(&self.order), "op 0: device 0: end of access of 2097152 bytes at +0x80000000000: "
              "not known to be after op 0 on stream 1");
    CHECK_INT(vm_destroy(self.driver, self.pages[1], PAGE), ==, 0);
    CHECK_MSG(sim_finding_count(self.machine) == 1, "destroy alone takes nothing away that is mapped");
    CHECK_MSG(!stage_unmap(&self, 1, 1) && sim_finding_count(self.machine) == 2, "unmapped, destroyed: said once");
    CHECK_MSG(!stage_unmap(&self, 0, 1), "unmapped before the work is known to be done");
    CHECK_INT(vm_destroy(self.driver, self.pages[0], PAGE), ==, 0);
    CHECK_STR(order_last_finding(&self.order), "op 2: device 0: destroy of 2097152 bytes in a handle: not known to "
              "be after op 0 on stream 1");
    CHECK_U64(sim_finding_count(self.machine), ==, 4);
    order_close(&self.order);
}

static void test_moved_memory_is_the_same_memory(void)
{
    stage self;
    stage_open(&self);
    CHECK(stage_use(&self, 1, 0, 1, 1) && !stage_unmap(&self, 0, 1));
    stage_map(&self, 5, self.pages[0]);
    CHECK_MSG(!stage_use(&self, 2, 5, 1, 2), "at its new address, not after the use at its old one");
    CHECK_STR(order_last_finding(&self.order), "op 2: device 0: op 2 on stream 2 uses 2097152 bytes at "
              "+0x80000a00000: not ordered after op 0 on stream 1");
    stage_map(&self, 0, self.pages[0]);
    CHECK(stage_use(&self, 1, 1, 1, 3) && order_record(&self.order, 0, 1) == SIM_SUCCESS);
    CHECK(order_follow(&self.order, 2, 0) == SIM_SUCCESS && !stage_unmap(&self, 1, 1));
    stage_map(&self, 6, self.pages[1]);
    CHECK_MSG(stage_use(&self, 2, 6, 1, 4), "unmapped too early, but used in order");
    CHECK(stage_use(&self, 1, 2, 1, 5) && stage_wait(&self, 1) && stage_unmap(&self, 2, 1));
    stage_map(&self, 7, self.pages[2]);
    CHECK_MSG(stage_use(&self, 2, 7, 1, 6), "moved as it should be");
    CHECK_MSG(stage_use(&self, 3, 3, 1, 7) && !stage_use(&self, 2, 3, 1, 8), "what stays is judged as ever");
    order_close(&self.order);
}

/* Growing in place: the owner keeps its bytes, and gets memory that another one had elsewhere. */
static void test_a_range_is_judged_page_by_page(void)
{
    stage self;
    stage_open(&self);
    CHECK(stage_use(&self, 1, 0, 3, 1) && stage_use(&self, 2, 3, 1, 2));
    CHECK_MSG(stage_use(&self, 2, 0, 3, 1), "an owner's own order is its own affair");
    CHECK_MSG(!stage_use(&self, 1, 0, 4, 1), "but for the last page, which is another's");
    CHECK(stage_wait(&self, 2) && stage_unmap(&self, 3, 1) == 0);
    order_close(&self.order);
}

static void test_other_places_of_the_same_memory(void)
{
    stage self;
    stage_open(&self);
    stage_map(&self, 4, self.pages[0]);
    stage_map(&self, 5, self.pages[0]);
    CHECK(stage_use(&self, 1, 0, 1, 1));
    CHECK_MSG(stage_unmap(&self, 4, 1), "another place of it is in use, not this one");
    CHECK(stage_use(&self, 1, 5, 1, 1));
    CHECK_MSG(!stage_unmap(&self, 0, 1), "a later use in another place does not hide the one here");
    CHECK_STR(order_last_finding(&self.order), "op 3: device 0: unmap of 2097152 bytes at +0x80000000000: not known "
              "to be after op 0 on stream 1");
    CHECK_MSG(!stage_use(&self, 2, 5, 1, 2), "two owners of one memory are two owners");
    CHECK(stage_wait(&self, 1) && stage_wait(&self, 2) && stage_unmap(&self, 5, 1));
    order_close(&self.order);
}

static void test_use_without_access_loses_the_device(void)
{
    for (int way = 0; way < 4; way++) {
        static const char *const names[] = { "nothing mapped", "no access", "access ended", "one page too many" };
        stage self;
        void *ptr;
        stage_open(&self);
        if (way == 1) vm_must(vm_map(self.driver, stage_page(&self, 4), PAGE, self.pages[0]), "map");
        if (way == 2) vm_must(vm_access(self.driver, stage_page(&self, 3), PAGE, 0), "access");
        int page = way == 2 ? 3 : way == 3 ? 0 : 4, count = way == 3 ? 5 : 1;
        CHECK_MSG(!stage_use(&self, 1, page, count, 1), "%s", names[way]);
        CHECK_MSG(strstr(order_last_finding(&self.order), "which are not all mapped, within one reservation, with "
                  "access for the device") != NULL, "and the finding says so");
        CHECK_INT(sim_stream_query(self.machine, 0, self.order.streams[1]), ==, SIM_ILLEGAL_ADDRESS);
        CHECK_INT(vm_unmap(self.driver, stage_page(&self, 0), PAGE), ==, SIM_ILLEGAL_ADDRESS);
        CHECK_INT(bench_obtain(self.driver, MIB(2), &ptr), ==, SIM_ILLEGAL_ADDRESS);
        CHECK_U64(bench_counters(&self.order.bench).mapping_count, ==, way == 1 ? 5 : 4);
        order_close(&self.order);
    }
}

static void *stage_capture(stage *self, int page)
{
    void *graph = NULL;
    int fine = sim_capture_begin(self->machine, 0, self->order.streams[1], 2) == SIM_SUCCESS
        && stage_use(self, 1, page, 1, 1)
        && sim_capture_end(self->machine, 0, self->order.streams[1], &graph) == SIM_SUCCESS;
    return fine ? graph : NULL;
}

static int stage_launch(stage *self, void *graph)
{
    uint64_t before = sim_finding_count(self->machine);
    sim_begin_op(self->machine, self->order.op);
    int code = sim_graph_launch(self->machine, 0, graph, self->order.streams[1], self->order.op++);
    return code == SIM_SUCCESS && sim_finding_count(self->machine) == before;
}

static void test_graphs_pin_their_addresses(void)
{
    stage self;
    stage_open(&self);
    void *graph = stage_capture(&self, 0);
    CHECK(graph && stage_launch(&self, graph) && stage_launch(&self, graph));
    CHECK_MSG(!stage_unmap(&self, 0, 1), "a launch is work as any other");
    CHECK(stage_wait(&self, 1));
    stage_map(&self, 0, self.pages[0]);
    CHECK_MSG(!stage_launch(&self, graph), "the same memory at the same addresses, but mapped anew");
    CHECK_STR(order_last_finding(&self.order), "op 4: device 0: op 4 on stream 1 launches a graph, captured at op "
              "0, that uses 2097152 bytes at +0x80000000000: unmapped since, and mapped anew");
    void *second = stage_capture(&self, 0);
    CHECK_MSG(second && stage_launch(&self, second), "a graph captured since then knows the new mapping");
    CHECK(stage_wait(&self, 1) && stage_unmap(&self, 0, 1));
    CHECK_MSG(!stage_launch(&self, second), "nothing is mapped there now");
    CHECK_INT(sim_stream_wait(self.machine, 0, self.order.streams[1]), ==, SIM_ILLEGAL_ADDRESS);
    order_close(&self.order);
}

static void test_a_graph_that_is_gone_pins_nothing(void)
{
    stage self;
    stage_open(&self);
    void *graph = stage_capture(&self, 0);
    CHECK(graph && stage_launch(&self, graph) && stage_wait(&self, 1));
    CHECK_INT(sim_graph_destroy(self.machine, graph), ==, 0);
    CHECK(stage_unmap(&self, 0, 1));
    stage_map(&self, 0, self.pages[0]);
    CHECK(stage_use(&self, 2, 0, 1, 9) && sim_finding_count(self.machine) == 0);
    order_close(&self.order);
}

/* Each call while a stream captures globally is refused, and the capture is invalid; with this thread's mode relaxed
   it is as ever. */
static void test_calls_while_a_stream_captures(void)
{
    for (int way = 0; way < 14; way++) {
        static const char *const names[] = { "reserve", "release", "create", "destroy", "map", "access", "unmap" };
        stage self;
        void *address, *graph;
        uint64_t page;
        int status = -1, relaxed = way >= 7, mode = 2;
        stage_open(&self);
        char *spare = vm_reserved(self.driver, PAGE);
        const gpuarena_driver *driver = self.driver;
        vm_must(sim_capture_begin(self.machine, 0, self.order.streams[1], 0), "begin of a capture");
        if (relaxed) vm_must(driver->capture.exchange_mode(driver, &mode), "exchange of the mode");
        int code = way % 7 == 0 ? vm_reserve(driver, &address, PAGE, 0)
                 : way % 7 == 1 ? vm_release(driver, spare, PAGE)
                 : way % 7 == 2 ? vm_create(driver, &page, PAGE)
                 : way % 7 == 3 ? vm_destroy(driver, self.pages[0], PAGE)
                 : way % 7 == 4 ? vm_map(driver, stage_page(&self, 5), PAGE, self.pages[0])
                 : way % 7 == 5 ? vm_access(driver, stage_page(&self, 0), PAGE, 0)
                                : vm_unmap(driver, stage_page(&self, 0), PAGE);
        CHECK_INT(code, ==, relaxed ? SIM_SUCCESS : SIM_CAPTURE_UNSUPPORTED);
        status = sim_capture_end(self.machine, 0, self.order.streams[1], &graph);
        CHECK_MSG(status == (relaxed ? SIM_SUCCESS : SIM_CAPTURE_INVALIDATED), "%s: the capture is %s",
                  names[way % 7],
                  relaxed ? "fine" : "invalid");
        CHECK_U64(sim_finding_count(self.machine), ==, !relaxed);
        order_close(&self.order);
    }
}

int main(void)
{
    test_unmap_while_work_is_pending();
    test_one_unmap_is_one_finding();
    test_what_unmap_may_follow();
    test_end_of_access_and_destroy_are_judged();
    test_moved_memory_is_the_same_memory();
    test_a_range_is_judged_page_by_page();
    test_other_places_of_the_same_memory();
    test_use_without_access_loses_the_device();
    test_graphs_pin_their_addresses();
    test_a_graph_that_is_gone_pins_nothing();
    test_calls_while_a_stream_captures();
    return tap_done();
}
