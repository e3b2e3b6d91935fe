/* Contents and virtual memory: patterns stay with the physical memory, wherever it is mapped; and random calls
   against a shadow of what is mapped where and what it holds.
   Must not know how addresses, handles and mappings are kept.
   GPUARENA_VM_STEPS: how many random calls. */
#include "sim_vm.h"

static int is_filled(const sim_bench *bench, const void *address, uint64_t bytes, uint64_t pattern)
{
    uint64_t bad_offset;
    return sim_verify(bench->machine, 0, address, bytes, pattern, &bad_offset);
}

static void test_contents_survive_remaps(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = vm_reserved(driver, MIB(32));
    uint64_t page = vm_backed(driver, address, MIB(4)), bad_offset = 7;
    CHECK_MSG(!is_filled(&bench, address, 1, 0), "a fresh handle has no pattern");
    sim_fill(bench.machine, 0, address, MIB(4), 1);
    sim_fill(bench.machine, 0, address + MIB(3), KIB(1), 2);
    CHECK_INT(vm_unmap(driver, address, MIB(4)) | vm_map(driver, address + MIB(16), MIB(4), page), ==, 0);
    CHECK_INT(vm_access(driver, address + MIB(16), MIB(4), 1), ==, 0);
    char *moved = address + MIB(16);
    CHECK(is_filled(&bench, moved, MIB(3), 1) && is_filled(&bench, moved + MIB(3), KIB(1), 2));
    CHECK(!sim_verify(bench.machine, 0, moved, MIB(4), 1, &bad_offset) && bad_offset == MIB(3));
    uint64_t other = vm_backed(driver, address, MIB(4));
    CHECK_MSG(!is_filled(&bench, address, 1, 1), "the addresses that it left hold other memory");
    CHECK_INT(vm_map(driver, address + MIB(8), MIB(4), page), ==, 0);
    CHECK_INT(vm_access(driver, address + MIB(8), MIB(4), 1), ==, 0);
    sim_fill(bench.machine, 0, address + MIB(8), MIB(4), 3);
    CHECK_MSG(is_filled(&bench, moved, MIB(4), 3), "written in one place, read in the other");
    CHECK_INT(vm_destroy(driver, page, MIB(4)) | vm_unmap(driver, moved, MIB(4)), ==, 0);
    CHECK(is_filled(&bench, address + MIB(8), MIB(4), 3));
    CHECK_INT(vm_unmap(driver, address + MIB(8), MIB(4)), ==, 0);
    page = vm_backed(driver, moved, MIB(4));
    CHECK_MSG(!is_filled(&bench, moved, 1, 3), "what was destroyed is forgotten");
    CHECK_INT(vm_unmap(driver, moved, MIB(4)) | vm_unmap(driver, address, MIB(4)), ==, 0);
    CHECK_INT(vm_destroy(driver, page, MIB(4)) | vm_destroy(driver, other, MIB(4)), ==, 0);
    CHECK_INT(vm_release(driver, address, MIB(32)), ==, 0);
    vm_expect_clean(&bench, 0);
    bench_close(&bench);
}

/* One range over many mappings, in whatever order their memory came. */
static void test_ranges_span_mappings(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = vm_reserved(driver, MIB(16));
    uint64_t pages[8], bad_offset;
    for (int i = 0; i < 8; i++) pages[i] = vm_created(driver, PAGE);
    for (int i = 0; i < 8; i++) vm_must(vm_map(driver, address + (uint64_t)i * PAGE, PAGE, pages[7 - i]), "map");
    CHECK_INT(vm_access(driver, address, MIB(16), 1), ==, 0);
    sim_fill(bench.machine, 0, address + 100, MIB(16) - 200, 5);
    CHECK(is_filled(&bench, address + 100, MIB(16) - 200, 5));
    CHECK(!sim_verify(bench.machine, 0, address + 100, MIB(16) - 100, 5, &bad_offset) && bad_offset == MIB(16) - 200);
    CHECK_INT(vm_unmap(driver, address, PAGE) | vm_unmap(driver, address + 7 * PAGE, PAGE), ==, 0);
    CHECK_INT(vm_map(driver, address, PAGE, pages[0]) | vm_map(driver, address + 7 * PAGE, PAGE, pages[7]), ==, 0);
    CHECK_INT(vm_access(driver, address, PAGE, 1) | vm_access(driver, address + 7 * PAGE, PAGE, 1), ==, 0);
    CHECK_MSG(is_filled(&bench, address, PAGE - 100, 5) && !is_filled(&bench, address + PAGE - 100, 100, 5),
              "the first and the last page changed places, and kept what they held");
    CHECK(is_filled(&bench, address + 7 * PAGE + 100, PAGE - 100, 5));
    CHECK(!is_filled(&bench, address + 7 * PAGE, 100, 5));
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    bench_close(&bench);
}

static void test_use_without_access_is_a_finding(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = vm_reserved(driver, MIB(8));
    uint64_t page = vm_created(driver, MIB(4)), bad_offset = 9;
    sim_fill(bench.machine, 0, address, 1, 1);
    CHECK_MSG(sim_finding_count(bench.machine) == 1, "nothing is mapped");
    vm_must(vm_map(driver, address, MIB(4), page), "map");
    sim_fill(bench.machine, 0, address, 1, 1);
    CHECK_STR(vm_last_finding(&bench), "before the first op: device 0: fill of 1 bytes at +0x80000000000, which are "
              "not all mapped, within one reservation, with access for the device");
    CHECK_MSG(!sim_verify(bench.machine, 0, address, 1, 1, &bad_offset) && sim_finding_count(bench.machine) == 3,
              "no access");
    CHECK_U64(bad_offset, ==, 0);
    vm_must(vm_access(driver, address, MIB(4), 1), "access");
    sim_fill(bench.machine, 0, address, MIB(4), 1);
    CHECK(is_filled(&bench, address, MIB(4), 1) && sim_finding_count(bench.machine) == 3);
    sim_fill(bench.machine, 0, address, MIB(4) + 1, 2);
    CHECK_MSG(sim_finding_count(bench.machine) == 4 && is_filled(&bench, address, MIB(4), 1), "one byte too many");
    CHECK_INT(vm_access(driver, address, MIB(4), 0), ==, 0);
    CHECK(!is_filled(&bench, address, 1, 1) && sim_finding_count(bench.machine) == 5);
    CHECK_MSG(bench_free_bytes(driver) == MIB(60), "none of this is GPU work: the device lives on");
    bench_close(&bench);
}

/* ---- a shadow: for each page of addresses which handle and which page of it; for each page of a handle its
   pattern */
enum { SLOTS = 48, HANDLES = 24, MOST_PAGES = 3 };

typedef struct shadow_handle {
    uint64_t value;                              /* 0: not referenced */
    int pages, mappings;
    uint64_t patterns[MOST_PAGES];               /* 0: none */
} shadow_handle;

typedef struct shadow {
    sim_bench bench;
    char *address;
    shadow_handle handles[HANDLES];
    struct { int handle, page, has_access; } slots[SLOTS];   /* handle -1: nothing mapped */
    uint64_t state, next_pattern;
    unsigned wrong;
} shadow;

static int shadow_random(shadow *self, int count)
{
    return (int)(splitmix64_next(&self->state) % (uint64_t)count);
}

static char *shadow_at(const shadow *self, int slot)
{
    return self->address + (uint64_t)slot * PAGE;
}

static void shadow_expect(shadow *self, int code, int expected, const char *call)
{
    if ((code == SIM_SUCCESS) == expected) return;
    printf("# %s answers %d\n", call, code);
    self->wrong++;
}

static void shadow_create(shadow *self)
{
    shadow_handle *made = &self->handles[shadow_random(self, HANDLES)];
    if (made->value || made->mappings > 0) return;
    memset(made, 0, sizeof *made);
    made->pages = 1 + shadow_random(self, MOST_PAGES);
    shadow_expect(self, vm_create(&self->bench.driver, &made->value, (uint64_t)made->pages * PAGE), 1, "create");
}

static void shadow_destroy(shadow *self)
{
    shadow_handle *gone = &self->handles[shadow_random(self, HANDLES)];
    if (!gone->value) return;
    shadow_expect(self, vm_destroy(&self->bench.driver, gone->value, (uint64_t)gone->pages * PAGE), 1, "destroy");
    gone->value = 0;
}

static void shadow_map(shadow *self)
{
    int number = shadow_random(self, HANDLES), slot = shadow_random(self, SLOTS), fits = 1;
    shadow_handle *mapped = &self->handles[number];
    if (!mapped->value) return;
    for (int i = slot; i < slot + mapped->pages; i++) fits = fits && i < SLOTS && self->slots[i].handle < 0;
    shadow_expect(self, vm_map(&self->bench.driver, shadow_at(self, slot), (uint64_t)mapped->pages * PAGE,
                               mapped->value), fits, "map");
    for (int i = 0; fits && i < mapped->pages; i++) {
        self->slots[slot + i].handle = number;
        self->slots[slot + i].page = i;
        self->slots[slot + i].has_access = 0;
    }
    mapped->mappings += fits;
}

/* 1: whole mappings and no hole. */
static int shadow_is_whole(const shadow *self, int from, int to)
{
    int whole = to <= SLOTS && self->slots[from].page == 0;
    for (int i = from; whole && i < to; i++) whole = self->slots[i].handle >= 0;
    return whole && self->slots[to - 1].page == self->handles[self->slots[to - 1].handle].pages - 1;
}

static void shadow_access(shadow *self)
{
    int from = shadow_random(self, SLOTS), to = from + 1 + shadow_random(self, 6);
    uint32_t mode = shadow_random(self, 4) > 0;
    int fits = shadow_is_whole(self, from, to);
    int code = vm_access(&self->bench.driver, shadow_at(self, from), (uint64_t)(to - from) * PAGE, mode);
    shadow_expect(self, code, fits, "access");
    for (int i = from; fits && i < to; i++) self->slots[i].has_access = (int)mode;
}

static void shadow_unmap(shadow *self)
{
    int from = shadow_random(self, SLOTS), to = from + 1 + shadow_random(self, 5);
    int fits = shadow_is_whole(self, from, to);
    shadow_expect(self, vm_unmap(&self->bench.driver, shadow_at(self, from), (uint64_t)(to - from) * PAGE), fits,
                  "unmap");
    for (int i = from; fits && i < to; i++) {
        self->handles[self->slots[i].handle].mappings -= self->slots[i].page == 0;
        self->slots[i].handle = -1;
        self->slots[i].page = 0;
    }
}

static int shadow_holds(const shadow *self, int from, int to)
{
    int held = to <= SLOTS;
    for (int i = from; held && i < to; i++) held = self->slots[i].handle >= 0 && self->slots[i].has_access;
    return held;
}

static void shadow_fill(shadow *self)
{
    int from = shadow_random(self, SLOTS), to = from + 1 + shadow_random(self, 5);
    int held = shadow_holds(self, from, to);
    self->wrong += sim_holds(self->bench.machine, 0, shadow_at(self, from), (uint64_t)(to - from) * PAGE) != held;
    if (!held) return;
    uint64_t pattern = ++self->next_pattern;
    sim_fill(self->bench.machine, 0, shadow_at(self, from), (uint64_t)(to - from) * PAGE, pattern);
    for (int i = from; i < to; i++) self->handles[self->slots[i].handle].patterns[self->slots[i].page] = pattern;
}

static void shadow_verify(shadow *self)
{
    uint64_t bad_offset;
    int slot = shadow_random(self, SLOTS);
    if (!shadow_holds(self, slot, slot + 1)) return;
    uint64_t pattern = self->handles[self->slots[slot].handle].patterns[self->slots[slot].page];
    int found = sim_verify(self->bench.machine, 0, shadow_at(self, slot), PAGE, pattern ? pattern : 1, &bad_offset);
    self->wrong += found != (pattern != 0);
}

static void shadow_count(shadow *self)
{
    uint64_t handle_count = 0, mapping_count = 0, held_bytes = 0;
    sim_counters counters = bench_counters(&self->bench);
    for (int i = 0; i < HANDLES; i++) {
        const shadow_handle *each = &self->handles[i];
        mapping_count += (uint64_t)each->mappings;
        handle_count += each->value || each->mappings > 0;
        held_bytes += each->value || each->mappings > 0 ? (uint64_t)each->pages * PAGE : 0;
    }
    self->wrong += counters.handle_count != handle_count || counters.mapping_count != mapping_count
        || counters.held_bytes != held_bytes;
}

static void shadow_end(shadow *self)
{
    const gpuarena_driver *driver = &self->bench.driver;
    for (int i = 0; i < SLOTS; i++) {
        int handle = self->slots[i].handle;
        if (handle >= 0 && self->slots[i].page == 0)
            shadow_expect(self, vm_unmap(driver, shadow_at(self, i), (uint64_t)self->handles[handle].pages * PAGE), 1,
                          "the last unmap");
    }
    for (int i = 0; i < HANDLES; i++) {
        const shadow_handle *each = &self->handles[i];
        if (each->value)
            shadow_expect(self, vm_destroy(driver, each->value, (uint64_t)each->pages * PAGE), 1, "the last destroy");
    }
    shadow_expect(self, vm_release(driver, self->address, SLOTS * PAGE), 1, "release");
}

static void test_random_calls_equal_a_shadow(void)
{
    static void (*const steps[])(shadow *) = { shadow_create, shadow_destroy, shadow_map, shadow_map, shadow_access,
                                               shadow_access, shadow_unmap, shadow_fill, shadow_fill, shadow_verify,
                                               shadow_verify, shadow_count };
    const char *asked = getenv("GPUARENA_VM_STEPS");
    long step_count = asked ? strtol(asked, NULL, 10) : 200000;
    shadow self;
    memset(&self, 0, sizeof self);
    self.bench = bench_open_sized(GIB(1), NULL);
    self.address = vm_reserved(&self.bench.driver, SLOTS * PAGE);
    for (int i = 0; i < SLOTS; i++) self.slots[i].handle = -1;
    for (long i = 0; i < step_count && self.wrong == 0; i++) steps[shadow_random(&self, (int)COUNT(steps))](&self);
    CHECK_MSG(self.next_pattern > 100, "%" PRIu64 " fills were made", self.next_pattern);
    CHECK_U64(self.wrong, ==, 0);
    shadow_end(&self);
    CHECK_U64(self.wrong, ==, 0);
    vm_expect_clean(&self.bench, sim_finding_count(self.bench.machine));
    bench_close(&self.bench);
}

int main(void)
{
    test_contents_survive_remaps();
    test_ranges_span_mappings();
    test_use_without_access_is_a_finding();
    test_random_calls_equal_a_shadow();
    return tap_done();
}
