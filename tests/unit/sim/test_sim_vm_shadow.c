/* Virtual memory: random calls against a shadow of what is mapped where and what it holds.
   Must not know how addresses, handles and mappings are kept.
   GPUARENA_VM_STEPS: how many random calls. */
#include "sim_vm.h"

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
    long step_count = (long)tap_number("GPUARENA_VM_STEPS", 200000);
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
    test_random_calls_equal_a_shadow();
    return tap_done();
}
