/* Books of virtual memory: random calls against a plain model; and the counting CUDA table over a made-up driver.
   It must not know of policies or workloads. */
#include "stress/device/cuda_table.h"
#include "stress/base/splitmix64.h"
#include "tap.h"

enum { PAGE = 2 << 20, PLACES = 64, HANDLES = 24, ROUNDS = 40000 };
#define FIRST ((uint64_t)1 << 40)                /* address of the first place */

typedef struct model {
    uint64_t handle[HANDLES], pages[HANDLES];    /* pages 0: it is not held */
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

/* One that is held is unmapped, and then destroyed. */
static void random_handle(model *self, device_pages *books, uint64_t pick, uint64_t pages)
{
    for (int place = 0; place < PLACES; place++) {
        if (self->behind[place] != (int)pick + 1) continue;
        self->behind[place] = 0;
        device_pages_unmap(books, FIRST + (uint64_t)place * PAGE, PAGE);
    }
    if (self->pages[pick]) {
        device_pages_destroy(books, self->handle[pick]);
        self->pages[pick] = 0;
    } else {
        self->handle[pick] = self->next_handle++;            /* 0 is one, too */
        self->pages[pick] = pages;
        device_pages_create(books, self->handle[pick], pages * PAGE);
    }
}

static void random_mapping(model *self, device_pages *books, uint64_t pick, uint64_t place)
{
    uint64_t address = FIRST + place * PAGE;
    if (self->behind[place]) {
        self->behind[place] = 0;
        device_pages_unmap(books, address, PAGE);
    } else if (self->pages[pick] && model_is_free(self, place, self->pages[pick])) {
        device_pages_map(books, address, self->pages[pick] * PAGE);
        for (uint64_t at = 0; at < self->pages[pick]; at++) self->behind[place + at] = (int)pick + 1;
    }
}

/* From a byte inside a page on, over at most so many bytes. */
static int run_is_right(const model *self, const device_pages *books, uint64_t place, uint64_t inside, uint64_t bytes)
{
    uint64_t end = place, address = FIRST + place * PAGE + inside;
    while (end < PLACES && self->behind[end]) end++;
    uint64_t run = end > place ? (end - place) * PAGE - inside : 0;
    uint64_t expected = run < bytes ? run : bytes;
    return device_pages_run(books, address, bytes) == expected
        && device_pages_hold(books, address, bytes) == (expected == bytes);
}

static void test_books(void)
{
    uint64_t random = 11, created = 0;
    int wrong = 0;
    model plain;
    device_pages books;
    memset(&plain, 0, sizeof plain);
    memset(&books, 0, sizeof books);
    books.page_bytes = PAGE;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t pick = splitmix64_below(&random, HANDLES), place = splitmix64_below(&random, PLACES);
        uint64_t pages = 1 + splitmix64_below(&random, 4);
        if (splitmix64_below(&random, 4) == 0) random_handle(&plain, &books, pick, pages);
        else random_mapping(&plain, &books, pick, place);
        wrong += books.held_bytes != model_held(&plain);
        wrong += !run_is_right(&plain, &books, place, splitmix64_below(&random, PAGE),
                               splitmix64_below(&random, 5 * PAGE));
        created = plain.next_handle;
    }
    CHECK_MSG(!wrong && created > 500, "%d rounds, %d handles: held bytes and mapped runs as the model's", ROUNDS,
              (int)created);
    device_pages_unmap(&books, FIRST, PLACES * (uint64_t)PAGE);
    for (uint64_t handle = 0; handle < created; handle++) device_pages_destroy(&books, handle);
    CHECK_U64(books.held_bytes, ==, 0);
    CHECK(!device_pages_hold(&books, FIRST, 1) && device_pages_hold(&books, FIRST, 0));
    CHECK_U64(device_pages_run(&books, UINT64_MAX - 5, UINT64_MAX), ==, 0);
    device_pages_clear(&books);
}

#ifdef GPUARENA_NO_CUDA
static void test_table(void)
{
    SKIP("the counting CUDA table: this build is without CUDA");
}
#else

typedef struct made_up {                         /* a driver that only counts, and refuses what it is told to */
    gpuarena_driver table;
    int             calls[7], fails;             /* of vm's entries, in order; fails: index + 1 of one that does */
    uint64_t        next_handle, unmapped_bytes, access_bytes;
    uint32_t        mode;
} made_up;

static int made_up_call(const gpuarena_driver *table, int entry)
{
    made_up *self = table->user;
    self->calls[entry]++;
    return self->fails == entry + 1 ? 2 : 0;
}

static int made_up_reserve(const gpuarena_driver *table, void **address, uint64_t bytes, uint64_t alignment)
{
    int code = made_up_call(table, 0);
    (void)bytes;
    if (!code) *address = (void *)(uintptr_t)(FIRST + alignment);
    return code;
}

static int made_up_release(const gpuarena_driver *table, void *address, uint64_t bytes)
{
    (void)address; (void)bytes;
    return made_up_call(table, 1);
}

static int made_up_create(const gpuarena_driver *table, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    made_up *self = table->user;
    int code = made_up_call(table, 2);
    (void)bytes;
    if (!code) *page = 100 + traits + self->next_handle++;
    return code;
}

static int made_up_destroy(const gpuarena_driver *table, uint64_t page, uint64_t bytes)
{
    (void)page; (void)bytes;
    return made_up_call(table, 3);
}

static int made_up_map(const gpuarena_driver *table, void *address, uint64_t bytes, uint64_t page)
{
    (void)address; (void)bytes; (void)page;
    return made_up_call(table, 4);
}

static int made_up_access(const gpuarena_driver *table, void *address, uint64_t bytes, uint32_t mode)
{
    made_up *self = table->user;
    (void)address;
    self->access_bytes += bytes;
    self->mode = mode;
    return made_up_call(table, 5);
}

static int made_up_unmap(const gpuarena_driver *table, void *address, uint64_t bytes)
{
    made_up *self = table->user;
    (void)address;
    self->unmapped_bytes += bytes;
    return made_up_call(table, 6);
}

/* A counting table in front of it. */
static void made_up_open(made_up *self, cuda_table *counting, gpuarena_driver *driver)
{
    memset(self, 0, sizeof *self);
    memset(counting, 0, sizeof *counting);
    self->table.user = self;
    self->table.page_bytes = PAGE;
    self->table.peers = 6;
    self->table.vm.reserve = made_up_reserve;
    self->table.vm.release = made_up_release;
    self->table.vm.create = made_up_create;
    self->table.vm.destroy = made_up_destroy;
    self->table.vm.map = made_up_map;
    self->table.vm.access = made_up_access;
    self->table.vm.unmap = made_up_unmap;
    counting->inner = self->table;
    cuda_table_fill(counting, driver);
}

/* 8 pages of addresses, handles of 1, 2 and 1 pages mapped at pages 0, 1 and 4, and a spare one. */
static void made_up_use(const gpuarena_driver *driver, char **base)
{
    uint64_t one = 0, two = 0, three = 0, spare = 0;
    void *address = NULL;
    driver->vm.reserve(driver, &address, 8 * (uint64_t)PAGE, 2 * (uint64_t)PAGE);
    *base = address;
    driver->vm.create(driver, &one, PAGE, 0);
    driver->vm.create(driver, &two, 2 * (uint64_t)PAGE, 0);
    driver->vm.create(driver, &three, PAGE, 0);
    driver->vm.create(driver, &spare, PAGE, 3);
    driver->vm.map(driver, *base, PAGE, one);
    driver->vm.map(driver, *base + PAGE, 2 * (uint64_t)PAGE, two);
    driver->vm.map(driver, *base + 4 * (uint64_t)PAGE, PAGE, three);
    driver->vm.access(driver, *base, 3 * (uint64_t)PAGE, 1);
}

static void test_passed_through(void)
{
    static const int expected[7] = { 1, 0, 4, 0, 3, 1, 0 };
    made_up inner;
    cuda_table counting;
    gpuarena_driver driver;
    char *base = NULL;
    int failed = 0;
    made_up_open(&inner, &counting, &driver);
    CHECK(driver.page_bytes == PAGE && driver.peers == 6);
    made_up_use(&driver, &base);
    CHECK(base == (char *)(uintptr_t)(FIRST + 2 * (uint64_t)PAGE) && !memcmp(inner.calls, expected, sizeof expected));
    CHECK(inner.access_bytes == 3 * (uint64_t)PAGE && inner.mode == 1);
    CHECK_U64(counting.calls, ==, 9);
    CHECK_MSG(cuda_table_held_bytes(&counting) == 5 * (uint64_t)PAGE, "mapped, and spare");
    CHECK(cuda_table_holds(&counting, base + 5, 3 * (uint64_t)PAGE - 5));
    CHECK(!cuda_table_holds(&counting, base, 3 * (uint64_t)PAGE + 1));
    driver.vm.unmap(&driver, base, 3 * (uint64_t)PAGE);
    driver.vm.destroy(&driver, 101, 2 * (uint64_t)PAGE);
    CHECK_U64(cuda_table_held_bytes(&counting), ==, 3 * (uint64_t)PAGE);
    CHECK_U64(counting.held_peak_bytes, ==, 5 * (uint64_t)PAGE);
    CHECK_U64(cuda_table_clear(&counting, &failed), ==, 0);
    CHECK_MSG(!failed && inner.calls[6] == 2 && inner.calls[3] == 4 && inner.calls[1] == 1
              && inner.unmapped_bytes == 4 * (uint64_t)PAGE, "what is left is unmapped, destroyed and released");
    CHECK(cuda_table_held_bytes(&counting) == 0 && counting.pages.ranges.count == 0);
}

static void test_clear(void)
{
    made_up inner;
    cuda_table counting;
    gpuarena_driver driver;
    char *base = NULL;
    int failed = 0;
    made_up_open(&inner, &counting, &driver);
    made_up_use(&driver, &base);
    CHECK_U64(cuda_table_clear(&counting, &failed), ==, 0);
    CHECK_MSG(inner.calls[6] == 2 && inner.unmapped_bytes == 4 * (uint64_t)PAGE && inner.calls[3] == 4,
              "two runs of whole mappings, and no hole");
    made_up_open(&inner, &counting, &driver);
    made_up_use(&driver, &base);
    inner.fails = 7;
    CHECK_MSG(cuda_table_clear(&counting, &failed) == 4 * (uint64_t)PAGE && failed == 2,
              "what cannot be unmapped stays on the device");
    failed = 0;
    made_up_open(&inner, &counting, &driver);
    made_up_use(&driver, &base);
    inner.fails = 4;
    CHECK_MSG(cuda_table_clear(&counting, &failed) == 5 * (uint64_t)PAGE && failed == 2, "so does what is kept");
}

static void test_refusals(void)
{
    for (int entry = 1; entry <= 7; entry++) {
        made_up inner;
        cuda_table counting;
        gpuarena_driver driver;
        char *base = NULL;
        int failed = 0;
        made_up_open(&inner, &counting, &driver);
        inner.fails = entry;
        if (entry != 1) made_up_use(&driver, &base);
        else CHECK_INT(driver.vm.reserve(&driver, &(void *){ NULL }, PAGE, 0), ==, 2);
        uint64_t held_bytes = entry == 3 || entry == 1 ? 0 : 5 * (uint64_t)PAGE;
        CHECK_MSG(cuda_table_held_bytes(&counting) == held_bytes, "entry %d refuses: nothing is booked", entry);
        inner.fails = 0;
        CHECK_U64(cuda_table_clear(&counting, &failed), ==, 0);
    }
}

static void test_table(void)
{
    made_up inner;
    cuda_table counting;
    gpuarena_driver driver;
    test_passed_through();
    test_clear();
    test_refusals();
    made_up_open(&inner, &counting, &driver);
    memset(&counting.inner.vm, 0, sizeof counting.inner.vm);
    counting.inner.page_bytes = 0;
    cuda_table_fill(&counting, &driver);
    CHECK_MSG(!driver.vm.reserve && !driver.vm.unmap && !driver.page_bytes, "no virtual memory: none is made up");
    CHECK(!cuda_table_holds(&counting, &driver, 1));
}
#endif

int main(void)
{
    test_books();
    test_table();
    return tap_done();
}
