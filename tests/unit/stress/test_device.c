/* Books of device memory, of ranges and of pages, against plain models; and contents on CUDA, on the libcudart
   substitute. Devices in a run: tests/cli/cases/cuda.case and passes.case. It must not know of policies or
   workloads. */
#include "stress/base/sets.h"
#include "stress/device/cuda_table.h"
#include "stress/device/device.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)

static void *at_address(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Random ranges against a table of owners, one per unit: where each begins and ends, and their granules. */
static void test_ranges(void)
{
    enum { UNITS = 256, UNIT = 64 << 10, IN_GRANULE = 32, ROUNDS = 20000 };
    static uint32_t owner[UNITS];
    static uint64_t length[UNITS];
    cuda_table table;
    uint64_t random = 9;
    int wrong = 0, failed;
    memset(&table, 0, sizeof table);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t at = splitmix64_next(&random) % (UNITS - 16), address = at * UNIT, used = 0, granules = 0;
        uint64_t units = 1 + splitmix64_next(&random) % 16, less = splitmix64_next(&random) % (2 * UNIT);
        uint64_t bytes = units * UNIT - (less < UNIT ? less : 0);            /* half of them end where a unit does */
        wrong += cuda_table_holds(&table, at_address(address), 1) != (owner[at] != 0);
        if (length[at]) {
            uint64_t held = length[at];
            wrong += !cuda_table_holds(&table, at_address(address), held);
            wrong += cuda_table_holds(&table, at_address(address), held + 1);
            wrong += !cuda_table_holds(&table, at_address(address + held - 1), 1);
            for (uint64_t unit = at; unit * UNIT < address + held; unit++) owner[unit] = 0;
            length[at] = 0;
        }
        cuda_table_drop(&table, CUDA_OBTAINED, address);                     /* nothing, where none begins there */
        for (uint64_t unit = at; unit < at + units; unit++) used |= owner[unit];
        if (!used && splitmix64_next(&random) % 2) {
            cuda_table_enter(&table, CUDA_OBTAINED, address, bytes);
            for (uint64_t unit = at; unit < at + units; unit++) owner[unit] = 1;
            length[at] = bytes;
        }
        for (uint64_t first = 0; first < UNITS; first += IN_GRANULE) {
            uint64_t tenants = 0;
            for (uint64_t unit = first; unit < first + IN_GRANULE; unit++) tenants += owner[unit];
            granules += tenants > 0;
        }
        wrong += cuda_table_held_bytes(&table) != granules * 2 * MIB;
    }
    CHECK_INT(wrong, ==, 0);
    for (uint64_t at = 0; at < UNITS; at++) cuda_table_drop(&table, CUDA_OBTAINED, at * UNIT);
    CHECK_U64(cuda_table_held_bytes(&table), ==, 0);
    for (uint64_t bytes = MIB; bytes <= 3 * MIB; bytes += MIB) {
        cuda_table_enter(&table, CUDA_OBTAINED, bytes * 16, bytes);
    }
    CHECK_U64(cuda_table_held_bytes(&table), ==, 2 * MIB + 2 * MIB + 4 * MIB);
    CHECK(cuda_table_holds(&table, at_address(5), 0));
    CHECK(!cuda_table_holds(&table, at_address(UINT64_MAX), UINT64_MAX));
    for (uint64_t bytes = MIB; bytes <= 3 * MIB; bytes += MIB) cuda_table_drop(&table, CUDA_OBTAINED, bytes * 16);
    for (uint64_t at = 0; at < 6 * MIB; at += 3 * MIB) {                     /* the driver's pool packs: 0 to 6 MiB */
        cuda_table_enter(&table, (cuda_book)(CUDA_OBTAINED + GPUARENA_MEMORY_ASYNC), 64 * MIB + at, 3 * MIB);
    }
    CHECK_U64(cuda_table_held_bytes(&table), ==, 6 * MIB);
    for (uint64_t at = 0; at < 6 * MIB; at += 3 * MIB) {
        cuda_table_drop(&table, (cuda_book)(CUDA_OBTAINED + GPUARENA_MEMORY_ASYNC), 64 * MIB + at);
    }
    CHECK_U64(cuda_table_held_bytes(&table), ==, 0);
    CHECK_U64(cuda_table_clear(&table, &failed), ==, 0);
}

/* ---- virtual memory */

enum { PAGE = 2 << 20, PLACES = 64, HANDLES = 24 };
#define FIRST ((uint64_t)1 << 40)                /* address of the first place */

typedef struct model {
    uint64_t handle[HANDLES], pages[HANDLES];    /* pages 0: it is not held */
    uint64_t begins[PLACES];                     /* pages of the mapping that begins there; 0: none does */
    int      behind[PLACES];                     /* mapped: the handle's index + 1 */
    uint64_t next_handle;
} model;

static uint64_t model_held(const model *self)
{
    uint64_t pages = 0;
    for (int index = 0; index < HANDLES; index++) pages += self->pages[index];
    return pages * PAGE;
}

static int model_is_free(const model *self, uint64_t place, uint64_t pages)
{
    int used = place + pages > PLACES;
    for (uint64_t at = place; at < place + pages && !used; at++) used |= self->behind[at] != 0;
    return !used;
}

/* Maps the handle of this index, from this place on; pages 0: ends the mapping there. */
static void model_map(model *self, cuda_table *table, uint64_t place, uint64_t pages, int index)
{
    const uint64_t address = FIRST + place * PAGE, count = pages ? pages : self->begins[place];
    if (pages) cuda_table_enter(table, CUDA_MAPPED, address, pages * PAGE);
    else cuda_table_drop(table, CUDA_MAPPED, address);
    for (uint64_t at = 0; at < count; at++) self->behind[place + at] = pages ? index + 1 : 0;
    self->begins[place] = pages;
}

/* A handle that is held is unmapped, and then destroyed; else it is created. */
static void random_handle(model *self, cuda_table *table, int pick, uint64_t pages)
{
    for (uint64_t place = 0; place < PLACES; place++) {
        if (self->begins[place] && self->behind[place] == pick + 1) model_map(self, table, place, 0, pick);
    }
    if (self->pages[pick]) {
        cuda_table_drop(table, CUDA_CREATED, self->handle[pick]);
        self->pages[pick] = 0;
    } else {
        self->handle[pick] = self->next_handle++;            /* 0 is one, too */
        self->pages[pick] = pages;
        cuda_table_enter(table, CUDA_CREATED, self->handle[pick], pages * PAGE);
    }
}

static void random_mapping(model *self, cuda_table *table, int pick, uint64_t place)
{
    if (self->begins[place]) {
        model_map(self, table, place, 0, pick);
    } else if (self->pages[pick] && model_is_free(self, place, self->pages[pick])) {
        model_map(self, table, place, self->pages[pick], pick);
    }
}

/* Tells whether the table knows the run of mapped memory that begins at a byte inside of a page. */
static int run_is_right(const model *self, const cuda_table *table, uint64_t place, uint64_t inside, uint64_t bytes)
{
    uint64_t end = place, address = FIRST + place * PAGE + inside;
    while (end < PLACES && self->behind[end]) end++;
    uint64_t run = end > place ? (end - place) * PAGE - inside : 0;
    return cuda_table_holds(table, at_address(address), bytes) == (bytes <= run)
        && cuda_table_holds(table, at_address(address), run)
        && !cuda_table_holds(table, at_address(address), run + 1);
}

static void test_books(void)
{
    enum { ROUNDS = 40000 };
    uint64_t random = 11, created = 0;
    int wrong = 0, failed;
    model plain;
    cuda_table table;
    memset(&plain, 0, sizeof plain);
    memset(&table, 0, sizeof table);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t place = splitmix64_below(&random, PLACES), pages = 1 + splitmix64_below(&random, 4);
        int pick = (int)splitmix64_below(&random, HANDLES);
        if (splitmix64_below(&random, 4) == 0) random_handle(&plain, &table, pick, pages);
        else random_mapping(&plain, &table, pick, place);
        wrong += cuda_table_held_bytes(&table) != model_held(&plain);
        wrong += !run_is_right(&plain, &table, place, splitmix64_below(&random, PAGE),
                               splitmix64_below(&random, 5 * PAGE));
        created = plain.next_handle;
    }
    CHECK_MSG(!wrong && created > 500, "%d rounds, %d handles: held bytes and mapped runs as the model's", ROUNDS,
              (int)created);
    for (uint64_t place = 0; place < PLACES; place++) cuda_table_drop(&table, CUDA_MAPPED, FIRST + place * PAGE);
    for (uint64_t handle = 0; handle < created; handle++) cuda_table_drop(&table, CUDA_CREATED, handle);
    CHECK_U64(cuda_table_held_bytes(&table), ==, 0);
    CHECK(!cuda_table_holds(&table, at_address(FIRST), 1) && cuda_table_holds(&table, at_address(FIRST), 0));
    CHECK_U64(cuda_table_clear(&table, &failed), ==, 0);
}

#ifdef GPUARENA_NO_CUDA
static void test_cuda(void)
{
    SKIP("the CUDA side: this build is without CUDA");
}
#else
#include <cuda_runtime_api.h>

#include "stress/cudart/cudart.h"

static problem why;
static device *opened;                           /* CUDA on a machine of ours */

static unsigned char *obtain(uint64_t bytes)
{
    const gpuarena_driver *driver = device_driver(opened);
    void *ptr = NULL;
    CHECK_INT(driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, &ptr, bytes, NULL), ==, 0);
    return ptr;
}

static void give_back(void *ptr, uint64_t bytes)
{
    const gpuarena_driver *driver = device_driver(opened);
    CHECK_INT(driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL), ==, 0);
}

/* Every size around the ends and the window of the check; every byte, changed, is seen where it is. */
static void test_cuda_contents(void)
{
    static const uint64_t sizes[] = { 1, 7, 8, 9, 15, 16, 17, 100, 4 * MIB - 1, 4 * MIB, 4 * MIB + 9, 9 * MIB + 3 };
    const uint64_t pattern = 12345678901u;
    for (size_t index = 0; index < sizeof sizes / sizeof sizes[0]; index++) {
        uint64_t bytes = sizes[index], bad_offset = 0, wrong = 0, step = bytes < 1000 ? 1 : bytes / 7;
        unsigned char *block = obtain(bytes), other;
        wrong += device_fill(opened, NULL, block, bytes, pattern, &why) != 0;
        for (uint64_t at = 0; at < bytes; at += step) {
            unsigned char kept;
            wrong += device_verify(opened, block, bytes, pattern, &bad_offset, &why) != 1;
            cudaMemcpy(&kept, block + at, 1, cudaMemcpyDeviceToHost);
            other = (unsigned char)(kept ^ 0x10);
            cudaMemcpy(block + at, &other, 1, cudaMemcpyHostToDevice);
            wrong += device_verify(opened, block, bytes, pattern, &bad_offset, &why) != 0 || bad_offset != at;
            cudaMemcpy(block + at, &kept, 1, cudaMemcpyHostToDevice);
        }
        CHECK_MSG(wrong == 0, "%" PRIu64 " bytes: %" PRIu64 " answers are wrong", bytes, wrong);
        give_back(block, bytes);
    }
}

/* Patterns of neighbours differ in the first and the last bytes, whatever their middle. */
static void test_cuda_neighbours(void)
{
    uint64_t bad_offset = 0, mistaken = 0;
    unsigned char *block = obtain(64);
    for (uint64_t pattern = 1; pattern <= 300; pattern++) {
        device_fill(opened, NULL, block, 64, pattern, &why);
        mistaken += device_verify(opened, block, 64, pattern + 1, &bad_offset, &why) != 0;
        mistaken += device_verify(opened, block, 64, pattern, &bad_offset, &why) != 1;
    }
    CHECK_U64(mistaken, ==, 0);
    give_back(block, 64);
}

/* A use writes again the bytes that a fill has written; a use by another owner that comes too late is seen. */
static void test_cuda_uses(void)
{
    static const uint64_t sizes[] = { 1, 16, 17, 1000, 2 * MIB - 1, 2 * MIB, 9 * MIB + 3 };
    static const uint64_t seen_at[] = { 1, 16, 8, 8, 8, 2 * MIB, 2 * MIB };     /* from the size on: nowhere */
    for (size_t index = 0; index < sizeof sizes / sizeof sizes[0]; index++) {
        uint64_t bytes = sizes[index], bad_offset = bytes;
        unsigned char *block = obtain(bytes);
        CHECK_INT(device_fill(opened, NULL, block, bytes, 7, &why), ==, 0);
        CHECK_INT(device_access(opened, NULL, block, bytes, 7, &why), ==, 0);
        CHECK_INT(device_verify(opened, block, bytes, 7, &bad_offset, &why), ==, 1);
        CHECK_INT(device_access(opened, NULL, block, bytes, 8, &why), ==, 0);
        int same = device_verify(opened, block, bytes, 7, &bad_offset, &why);
        CHECK_MSG(same == (seen_at[index] >= bytes), "%" PRIu64 " bytes", bytes);
        CHECK_U64(bad_offset, ==, seen_at[index] < bytes ? seen_at[index] : bytes);
        give_back(block, bytes);
    }
}

/* A block, two pages, of which one is mapped, and addresses around it and elsewhere: all that a policy leaves goes
   with the device. */
static void leave(void)
{
    const gpuarena_driver *driver = device_driver(opened);
    uint64_t mapped = 0, spare = 0;
    void *base = NULL, *other = NULL;
    (void)obtain(3 * MIB);
    CHECK_INT(driver->vm.reserve(driver, &other, 2 * PAGE, 0), ==, 0);
    CHECK(!driver->vm.reserve(driver, &base, 4 * PAGE, 0) && !driver->vm.create(driver, &mapped, PAGE, 0));
    CHECK(!driver->vm.create(driver, &spare, 3 * PAGE, 0) && !driver->vm.map(driver, base, PAGE, mapped));
    CHECK_INT(driver->vm.access(driver, base, PAGE, 1), ==, 0);
    CHECK(device_holds(opened, base, PAGE) && !device_holds(opened, base, PAGE + 1));
}

/* Memory that cannot be unmapped, or destroyed, stays on the device, and the close reports it; so do the addresses
   around a mapping. */
static void leave_for_good(sim *served, const device_config *config)
{
    static const struct { sim_call kind; const char *kept; } rows[] = {
        { SIM_CALL_VM_UNMAP, "2097152 bytes could not be given back to cuda:1: cudaErrorUnknown (999)" },
        { SIM_CALL_VM_DESTROY, "8388608 bytes could not be given back to cuda:1: cudaErrorUnknown (999)" } };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        problem told = { 0, "" };
        sim_counters left;
        opened = device_open(config, &why);
        leave();
        sim_fail_call(served, rows[row].kind, 1, 1, 999);
        CHECK_INT(device_close(opened, &told), ==, -1);
        CHECK_STR(told.text, rows[row].kept);
        sim_get_counters(served, 1, &left);
        CHECK_U64(left.reserved_address_bytes, ==, 4 * PAGE);
        sim_fail_call(served, SIM_CALL_KINDS, 0, 0, 0);
    }
}

static void test_cuda(void)
{
    sim_counters left;
    device_counters counted;
    sim_config machine = { 2, 256 * MIB, 0, NULL, NULL, 0, 0 };
    device_config config = { 0 };
    sim *served = sim_create(&machine, &why);
    config.is_cuda = 1;
    config.ordinal = 1;
    cudart_attach(served);
    opened = device_open(&config, &why);
    if (CHECK_MSG(opened != NULL, "a CUDA device opens on the substitute: %s", why.text)) {
        test_cuda_contents();
        test_cuda_neighbours();
        test_cuda_uses();
        leave();
        device_count(opened, &counted);
        CHECK_U64(counted.held_bytes, ==, 4 * MIB + 4 * PAGE);
        CHECK_U64(counted.held_peak_bytes, ==, 4 * MIB + 4 * PAGE);
    }
    CHECK_INT(device_close(opened, &why), ==, 0);
    sim_get_counters(served, 1, &left);
    CHECK_U64(left.held_bytes + left.handle_count + left.mapping_count + left.reserved_address_bytes, ==, 0);
    leave_for_good(served, &config);
    CHECK_MSG(!sim_finding(served, 0), "no finding");
    cudart_attach(NULL);
    sim_destroy(served);
}
#endif

int main(void)
{
    test_ranges();
    test_books();
    test_cuda();
    return tap_done();
}
