/* Faults of virtual memory on the simulated device: each call fails when told to, and changes nothing then; spurious
   refusals, sizes that are refused, a lost device, a rival; stalls.
   Must not know how faults are kept. */
#include "sim_vm.h"

typedef struct stage {                           /* 4 pages reserved: the first has access, the second is mapped */
    sim_bench bench;
    const gpuarena_driver *driver;
    char *address, *spare;
    uint64_t pages[3];
} stage;

static void stage_open(stage *self, const char *faults)
{
    self->bench = bench_open_sized(MIB(64), faults);
    self->driver = &self->bench.driver;
    self->address = vm_reserved(self->driver, 4 * PAGE);
    self->spare = vm_reserved(self->driver, PAGE);
    self->pages[0] = vm_backed(self->driver, self->address, PAGE);
    self->pages[1] = vm_created(self->driver, PAGE);
    self->pages[2] = vm_created(self->driver, PAGE);
    vm_must(vm_map(self->driver, self->address + PAGE, PAGE, self->pages[1]), "map");
    sim_fill(self->bench.machine, 0, self->address, PAGE, 5);
}

/* The calls as they are right on a fresh stage. */
static int call_reserve(stage *self)
{
    void *address;
    return vm_reserve(self->driver, &address, PAGE, 0);
}

static int call_release(stage *self)
{
    return vm_release(self->driver, self->spare, PAGE);
}

static int call_create(stage *self)
{
    uint64_t page;
    return vm_create(self->driver, &page, PAGE);
}

static int call_destroy(stage *self)
{
    return vm_destroy(self->driver, self->pages[2], PAGE);
}

static int call_map(stage *self)
{
    return vm_map(self->driver, self->address + 2 * PAGE, PAGE, self->pages[2]);
}

static int call_access(stage *self)
{
    return vm_access(self->driver, self->address + PAGE, PAGE, 1);
}

static int call_unmap(stage *self)
{
    return vm_unmap(self->driver, self->address, PAGE);
}

static const struct {
    sim_call kind;
    const char *name, *cuda_name;
    int (*make)(stage *);
    int before, code;                            /* such calls that a stage makes; of a fault that names none */
} calls[] = {
    { SIM_CALL_VM_RESERVE, "reserve", "cuMemAddressReserve", call_reserve, 2, SIM_OUT_OF_MEMORY },
    { SIM_CALL_VM_RELEASE, "release", "cuMemAddressFree", call_release, 0, SIM_UNKNOWN },
    { SIM_CALL_VM_CREATE, "create", "cuMemCreate", call_create, 3, SIM_OUT_OF_MEMORY },
    { SIM_CALL_VM_DESTROY, "destroy", "cuMemRelease", call_destroy, 0, SIM_UNKNOWN },
    { SIM_CALL_VM_MAP, "map", "cuMemMap", call_map, 2, SIM_OUT_OF_MEMORY },
    { SIM_CALL_VM_ACCESS, "access", "cuMemSetAccess", call_access, 1, SIM_OUT_OF_MEMORY },
    { SIM_CALL_VM_UNMAP, "unmap", "cuMemUnmap", call_unmap, 0, SIM_UNKNOWN },
};

static int same_state(const sim_counters *one, const sim_counters *other)
{
    return one->held_bytes == other->held_bytes && one->handle_count == other->handle_count
        && one->mapping_count == other->mapping_count && one->findings == other->findings
        && one->reserved_address_bytes == other->reserved_address_bytes;
}

/* The stage is as it was opened. */
static int is_whole(const stage *self)
{
    uint64_t bad_offset;
    return sim_verify(self->bench.machine, 0, self->address, PAGE, 5, &bad_offset)
        && !sim_holds(self->bench.machine, 0, self->address + PAGE, 1);
}

static void test_every_call_fails_when_told_to(void)
{
    for (size_t i = 0; i < COUNT(calls); i++) {
        stage self;
        stage_open(&self, NULL);
        sim_counters before = bench_counters(&self.bench);
        sim_fail_call(self.bench.machine, calls[i].kind, 1, 0, SIM_OUT_OF_MEMORY);
        int failed = calls[i].make(&self), fired = sim_fail_fired(self.bench.machine);
        sim_counters after = bench_counters(&self.bench);
        CHECK_MSG(failed == SIM_OUT_OF_MEMORY && fired && same_state(&before, &after) && is_whole(&self),
                  "%s: refused with memory free, and nothing changed", calls[i].name);
        CHECK_U64(after.calls[calls[i].kind], ==, before.calls[calls[i].kind] + 1);
        CHECK_MSG(calls[i].make(&self) == SIM_SUCCESS, "%s: and the next succeeds", calls[i].name);
        bench_close(&self.bench);
    }
}

static void test_faults_by_name(void)
{
    for (size_t i = 0; i < 2 * COUNT(calls); i++) {
        stage self;
        char text[64];
        size_t row = i % COUNT(calls);
        snprintf(text, sizeof text, "%s:%d", i < COUNT(calls) ? calls[row].name : calls[row].cuda_name,
                 calls[row].before + 1);
        stage_open(&self, text);
        int code = calls[row].make(&self);
        CHECK_MSG(code == calls[row].code, "%s answers %d", text, code);
        CHECK_MSG(calls[row].make(&self) == SIM_SUCCESS, "once");
        bench_close(&self.bench);
        snprintf(text, sizeof text, "%s:%d+=801", calls[row].name, calls[row].before + 1);
        stage_open(&self, text);
        CHECK_MSG(calls[row].make(&self) == SIM_NOT_SUPPORTED && calls[row].make(&self) == SIM_NOT_SUPPORTED, "%s: "
                  "every one", text);
        bench_close(&self.bench);
    }
}

static void test_a_lost_device(void)
{
    for (size_t i = 0; i < COUNT(calls); i++) {
        stage self;
        unsigned wrong = 0;
        void *ptr;
        stage_open(&self, NULL);
        sim_counters before = bench_counters(&self.bench);
        sim_fail_call(self.bench.machine, calls[i].kind, 1, 0, 719);
        wrong += calls[i].make(&self) != 719;
        for (size_t j = 0; j < COUNT(calls); j++) wrong += calls[j].make(&self) != 719;
        wrong += bench_obtain(self.driver, MIB(2), &ptr) != 719;
        sim_counters after = bench_counters(&self.bench);
        CHECK_MSG(wrong == 0 && same_state(&before, &after), "lost by %s: every later call says so", calls[i].name);
        bench_close(&self.bench);
    }
}

/* Reserves, creates, maps and gives access to so many bytes. How many of these were done, and the last one's code. */
static int back(const gpuarena_driver *driver, uint64_t bytes, int *code)
{
    uint64_t page = 0;
    void *address = NULL;
    int done = 0;
    while (done < 4) {
        *code = done == 0 ? vm_reserve(driver, &address, bytes, 0)
              : done == 1 ? vm_create(driver, &page, bytes)
              : done == 2 ? vm_map(driver, address, bytes, page)
                          : vm_access(driver, address, bytes, 1);
        if (*code) break;
        done++;
    }
    return done;
}

static void test_sizes_that_are_refused(void)
{
    static const struct { const char *faults; int done, code; } rows[] = {
        { "reserve>4M", 0, SIM_OUT_OF_MEMORY }, { "create>4M", 1, SIM_OUT_OF_MEMORY },
        { "cuMemCreate>4M", 1, SIM_OUT_OF_MEMORY }, { "map>4M=999", 2, SIM_UNKNOWN }, { "access>4M=1", 3, 1 },
        { "obtain>2M", 4, SIM_SUCCESS },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int code = SIM_UNKNOWN;
        sim_bench bench = bench_open_sized(GIB(1), rows[i].faults);
        CHECK_MSG(back(&bench.driver, MIB(4), &code) == 4, "%s: not 4 MiB", rows[i].faults);
        CHECK_INT(back(&bench.driver, MIB(6), &code), ==, rows[i].done);
        CHECK_INT(code, ==, rows[i].code);
        bench_close(&bench);
    }
}

static void expect_problem(const char *text, const char *expected)
{
    problem why = { 0, "" };
    sim_config config = { 1, MIB(64), 0, NULL, text, 0, 0 };
    sim *made = sim_create(&config, &why);
    CHECK_MSG(!made && why.exit_code == EXIT_USAGE && strstr(why.text, expected), "%s: %s", text, why.text);
    sim_destroy(made);
}

static void test_broken_texts(void)
{
    expect_problem("unmap>4M", "expected obtain:N");
    expect_problem("create>", "obtain>SIZE[=CODE]");
    expect_problem("create>4M=0", "with a code from 1 to 9999");
    expect_problem("create:0", "KIND:N[+][=CODE]");
    expect_problem("stall:", "stall:N[=MICROSECONDS]");
    expect_problem("stall:1001", "N from 0 to 1000");
    expect_problem("stall:20=", "stall:N[=MICROSECONDS]");
    expect_problem("stall:20=1000000001", "stall:N[=MICROSECONDS]");
    expect_problem("stall", "stall:N");
}

static void test_a_rival_takes_what_handles_would(void)
{
    sim_bench bench = bench_open_sized(MIB(16), "rival@1=64M");
    uint64_t page = vm_created(&bench.driver, MIB(10));
    CHECK_U64(bench_free_bytes(&bench.driver), ==, MIB(6));
    sim_begin_op(bench.machine, 1);
    CHECK_MSG(bench_counters(&bench).rival_bytes == MIB(6), "it takes what is free");
    CHECK_INT(call_create(&(stage){ bench, &bench.driver, NULL, NULL, { 0 } }), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(vm_destroy(&bench.driver, page, MIB(10)), ==, 0);
    CHECK_U64(bench_free_bytes(&bench.driver), ==, MIB(10));
    bench_close(&bench);
}

/* The cost of each of 2,000 calls of access beyond the plain one, added up; *many: of how many. */
static uint64_t stalls_of(const char *faults, unsigned *many)
{
    sim_bench bench = bench_open_sized(MIB(64), faults);
    uint64_t total_ns = 0;
    char *address = vm_reserved(&bench.driver, PAGE);
    vm_backed(&bench.driver, address, PAGE);
    *many = 0;
    for (int i = 0; i < 2000; i++) {
        uint64_t before = bench_counters(&bench).vns[SIM_CALL_VM_ACCESS], clock = sim_now_ns(bench.machine);
        vm_must(vm_access(&bench.driver, address, PAGE, 1), "access");
        uint64_t taken = bench_counters(&bench).vns[SIM_CALL_VM_ACCESS] - before;
        if (sim_now_ns(bench.machine) - clock != taken) CHECK_MSG(0, "the clock and the counter agree");
        *many += taken > 38080;
        total_ns += taken - 38080;
    }
    bench_close(&bench);
    return total_ns;
}

static void test_stalls(void)
{
    unsigned many, again;
    CHECK_MSG(stalls_of(NULL, &many) == 0 && many == 0, "none, unless told to");
    CHECK_MSG(stalls_of("stall:0", &many) == 0 && many == 0, "none of 1,000");
    uint64_t total_ns = stalls_of("stall:20", &many);
    CHECK_MSG(many >= 20 && many <= 60, "%u of 2,000 calls stall", many);
    CHECK_U64(total_ns, ==, (uint64_t)many * 2000000);
    CHECK_MSG(stalls_of("stall:20", &again) == total_ns && again == many, "and always as many");
    CHECK_U64(stalls_of("stall:1000=3", &many), ==, 2000 * 3000);
    CHECK_INT(many, ==, 2000);
    sim_bench bench = bench_open_sized(MIB(64), "stall:1000");
    char *address = vm_reserved(&bench.driver, PAGE);
    vm_backed(&bench.driver, address, PAGE);
    vm_must(vm_unmap(&bench.driver, address, PAGE), "unmap");
    sim_counters counters = bench_counters(&bench);
    CHECK_U64(counters.vns[SIM_CALL_VM_UNMAP], ==, 2028000);
    CHECK(counters.vns[SIM_CALL_VM_MAP] == 2000 && counters.vns[SIM_CALL_VM_CREATE] == 30000
          && counters.vns[SIM_CALL_VM_RESERVE] == 10000);
    bench_close(&bench);
}

int main(void)
{
    test_every_call_fails_when_told_to();
    test_faults_by_name();
    test_a_lost_device();
    test_sizes_that_are_refused();
    test_broken_texts();
    test_a_rival_takes_what_handles_would();
    test_stalls();
    return tap_done();
}
