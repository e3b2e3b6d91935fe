/* Peers: who may use an arena's memory on a machine of three devices, and what sub-arenas have of their parent's. And
   imports that scripts cannot ask for: of no pages, and by no descriptor. */
#include "sim_device.h"
#include "stress/sim/engine.h"
#include "stress/sim/vmem.h"

#include <limits.h>
#include <unistd.h>

static sim *machine;
static gpuarena_driver table;                    /* of device 0 */
static int peer_calls;

static int count_peer(const gpuarena_driver *self, int32_t device)
{
    gpuarena_driver real;
    peer_calls++;
    sim_driver(machine, 0, &real);
    (void)self;
    return real.peer(&real, device);
}

static gpuarena *make(const char *text, gpuarena *parent, const gpuarena_driver *driver)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    config.environment = "";
    config.parent = parent;
    config.driver = driver;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    if (!arena) exit(1);
    return arena;
}

/* A block of 3 MiB, and which devices may use it. */
static void expect_access(gpuarena *arena, uint64_t devices)
{
    void *block = NULL;
    CHECK_INT(gpuarena_alloc(arena, &block, MIB(3), NULL), ==, GPUARENA_OK);
    for (int device = 0; device < 3; device++) {
        int holds = vmem_has_access(&machine->devices[0], bench_number(block), device);
        CHECK_MSG(holds == (int)(devices >> device & 1), "device %d: %d", device, holds);
    }
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
}

static uint64_t peers_of(const gpuarena *arena)
{
    gpuarena_config config;
    gpuarena_get_config(arena, &config);
    return config.peers;
}

static void test_pages(void)
{
    gpuarena *arena = make("peers=0+2", NULL, &table), *other = make("", NULL, &table);
    CHECK_INT(peer_calls, ==, 1);
    CHECK_U64(peers_of(arena), ==, 4);
    CHECK_U64(peers_of(other), ==, 0);
    expect_access(arena, 5);
    expect_access(other, 1);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(other), ==, GPUARENA_OK);
}

/* A sub-arena has its parent's peers and its own, with the parent's table or the one that the parent was given. */
static void test_sub_arenas(void)
{
    gpuarena_driver other = table;
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = make("peers=2", NULL, &table), *refused = NULL;
    gpuarena *first = make("", arena, NULL), *second = make("peers=1", arena, &table);
    gpuarena *third = make("", second, &table);
    CHECK(peers_of(first) == 4 && peers_of(second) == 6 && peers_of(third) == 6);
    expect_access(arena, 5);
    expect_access(first, 5);
    expect_access(second, 7);
    expect_access(third, 7);
    other.peers = 2;
    config.driver = &other;
    config.parent = arena;
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &refused), ==, GPUARENA_INVALID_CONFIG);
    CHECK_INT(gpuarena_destroy(third), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(second), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(first), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* The table's owner may have set peers before. */
static void test_own_table(void)
{
    gpuarena_driver own = table;
    own.peers = 2;
    gpuarena *arena = make("peers=2", NULL, &own), *plain = make("", NULL, &own);
    expect_access(arena, 7);
    expect_access(plain, 3);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(plain), ==, GPUARENA_OK);
}

/* Segments: the driver is asked at creation, for each peer once. */
static void test_segments(void)
{
    int before = peer_calls;
    gpuarena *arena = make("backing=segments,peers=1+2", NULL, &table);
    CHECK_INT(peer_calls, ==, before + 2);
    CHECK_U64(peers_of(arena), ==, 6);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_INT(peer_calls, ==, before + 2);
}

/* A parent has peers, which memory in a stream's order cannot have. */
static void test_async_child(void)
{
    gpuarena *arena = make("backing=segments,peers=1", NULL, &table), *child = make("backing=async", arena, NULL);
    CHECK_U64(peers_of(child), ==, 0);
    CHECK_INT(gpuarena_destroy(child), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* Pages come to a device that has none. */
static void test_no_pages(void)
{
    gpuarena_driver without = table;
    gpuarena_shared shared = GPUARENA_INIT;
    void *block = NULL;
    without.page_bytes = 0;
    gpuarena *arena = make("backing=segments", NULL, &without);
    shared.bytes = MIB(1);
    shared.paged_bytes = MIB(2);
    CHECK_INT(gpuarena_import(arena, &shared, &block), ==, GPUARENA_NOT_SUPPORTED);
    CHECK(block == NULL);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* What is no descriptor changes nothing: the import goes on with the next one. */
static void test_no_descriptor(void)
{
    gpuarena *from = make("share=pages", NULL, &table), *to = make("", NULL, &table);
    gpuarena_shared shared = GPUARENA_INIT;
    void *block = NULL, *there = NULL;
    uint64_t at = 0, bytes = 0;
    int fd = -1;
    CHECK_INT(gpuarena_alloc(from, &block, MIB(3), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export(from, block, &shared), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_import(to, &shared, &there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_import_fd(to, there, -1, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    for (; at < shared.paged_bytes; at += bytes) {
        CHECK_INT(gpuarena_export_fd(from, block, at, &fd, &bytes), ==, GPUARENA_OK);
        if (!bytes) break;
        if (!at) CHECK(gpuarena_import_fd(to, there, INT_MAX, bytes) != GPUARENA_OK);     /* refused by the driver */
        CHECK_INT(gpuarena_import_fd(to, there, fd, bytes), ==, GPUARENA_OK);
        close(fd);
    }
    CHECK_INT(gpuarena_import_end(to, there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_end(from, block), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(from, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(to), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(from), ==, GPUARENA_OK);
}

/* What is no export, no import and no descriptor's size is refused, and changes nothing. */
static void test_import_arguments(void)
{
    enum { MOST_LOG2 = 49 };                     /* of the bytes of a block */
    static const uint64_t wrong[][3] = {         /* bytes, offset, bytes of pages */
        { 0, 0, 0 }, { ((uint64_t)1 << MOST_LOG2) + 1, 0, 0 }, { 1, ((uint64_t)1 << MOST_LOG2) + 1, 0 },
        { 1, 0, (uint64_t)2 << MOST_LOG2 }, { 1, 0, MIB(3) }, { MIB(2), 1, MIB(2) } };
    gpuarena *from = make("share=pages", NULL, &table), *to = make("", NULL, &table);
    gpuarena_shared shared = GPUARENA_INIT;
    void *block = NULL, *there = NULL;
    uint64_t at, bytes = 0;
    int fd = -1;
    for (size_t row = 0; row < COUNT(wrong); row++) {
        shared.bytes = wrong[row][0];
        shared.offset_bytes = wrong[row][1];
        shared.paged_bytes = wrong[row][2];
        CHECK_MSG(gpuarena_import(to, &shared, &there) == GPUARENA_INVALID_ARGUMENT, "import, row %d", (int)row);
    }
    CHECK_INT(gpuarena_import(to, NULL, &there), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import(to, &shared, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_alloc(from, &block, MIB(3), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export(from, block, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_export(from, block, &shared), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_fd(from, block, 0, NULL, &bytes), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_export_fd(from, block, 0, &fd, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import(to, &shared, &there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_import_fd(to, NULL, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_fd(to, &fd, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_fd(to, there, 0, 0), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_fd(to, there, 0, MIB(1)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_fd(to, there, 0, shared.paged_bytes + MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    for (at = 0; at < shared.paged_bytes; at += bytes) {
        CHECK_INT(gpuarena_export_fd(from, block, at, &fd, &bytes), ==, GPUARENA_OK);
        if (!bytes) break;
        CHECK_INT(gpuarena_import_fd(to, there, fd, bytes), ==, GPUARENA_OK);
        close(fd);
    }
    CHECK_INT(gpuarena_import_fd(to, there, 0, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_end(to, &fd), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_INT(gpuarena_import_end(to, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_import_end(to, there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_end(from, block), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_end(from, &fd), ==, GPUARENA_FOREIGN_POINTER);
    CHECK_INT(gpuarena_free(from, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(to), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(from), ==, GPUARENA_OK);
}

static int no_descriptor(const gpuarena_driver *self, uint64_t page, int *fd)
{
    (void)self, (void)page;
    *fd = -1;
    return 0;
}

static int no_segment(const gpuarena_driver *self, const unsigned char *handle, void **ptr)
{
    (void)self, (void)handle;
    *ptr = NULL;
    return 0;
}

static int is_lost;
static gpuarena_driver real;

static int lose(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return is_lost ? SIM_ILLEGAL_ADDRESS : real.memory.info(self, kind, free_bytes, total_bytes);
}

/* A driver that says it did what it did not do, or lacks what an import needs; a device that is lost before pages
   come. */
static void test_import_driver(void)
{
    gpuarena_driver bad = table;
    gpuarena_shared shared = GPUARENA_INIT, segment = GPUARENA_INIT;
    gpuarena_device figures;
    void *block = NULL, *there = NULL;
    uint64_t bytes = 0;
    int fd = -1;
    real = table;
    bad.fd.from_page = no_descriptor;
    bad.ipc.open_handle = no_segment;
    bad.memory.info = lose;
    gpuarena *arena = make("share=pages", NULL, &bad);
    segment.bytes = 1;
    CHECK_INT(gpuarena_import(arena, &segment, &there), ==, GPUARENA_DRIVER_ERROR);
    CHECK_INT(gpuarena_alloc(arena, &block, MIB(3), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export(arena, block, &shared), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_fd(arena, block, 0, &fd, &bytes), ==, GPUARENA_DRIVER_ERROR);
    CHECK(fd == -1 && !bytes && !there);
    CHECK_INT(gpuarena_import(arena, &shared, &there), ==, GPUARENA_OK);
    is_lost = 1;
    CHECK_INT(gpuarena_get_device(arena, &figures), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_import_fd(arena, there, 0, MIB(2)), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_export_fd(arena, block, 0, &fd, &bytes), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_import(arena, &shared, &block), ==, GPUARENA_DEVICE_LOST);
    CHECK_INT(gpuarena_import_end(arena, there), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_export_end(arena, block), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    for (int lacks = 0; lacks < 3; lacks++) {
        bad = table;
        if (lacks == 0) memset(&bad.vm, 0, sizeof bad.vm);
        if (lacks == 1) memset(&bad.fd, 0, sizeof bad.fd);
        if (lacks == 2) memset(&bad.ipc, 0, sizeof bad.ipc);
        arena = make("backing=segments", NULL, &bad);
        CHECK_INT(gpuarena_import(arena, lacks < 2 ? &shared : &segment, &there), ==, GPUARENA_NOT_SUPPORTED);
        CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    }
}

int main(void)
{
    sim_config config = { 3, GIB(1), 0, NULL, NULL, 0, 0 };
    machine = bench_open(&config).machine;
    sim_driver(machine, 0, &table);
    table.peer = count_peer;
    test_pages();
    test_sub_arenas();
    test_own_table();
    test_segments();
    test_async_child();
    test_no_pages();
    test_no_descriptor();
    test_import_arguments();
    test_import_driver();
    sim_destroy(machine);
    return tap_done();
}
