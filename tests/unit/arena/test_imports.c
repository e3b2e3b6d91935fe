/* Imports that scripts cannot ask for: of no pages, by no descriptor, with a driver that lies. Others:
   share.script. */
#include "sim_device.h"

#include <limits.h>
#include <unistd.h>

static gpuarena_driver table;

static gpuarena *make(const char *text, const gpuarena_driver *driver)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    config.environment = "";
    config.driver = driver;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    if (!arena) exit(1);
    return arena;
}

/* What is no export, no import and no descriptor's size is refused, and changes nothing. */
static void test_import_arguments(void)
{
    enum { MOST_LOG2 = 49 };                     /* of the bytes of a block */
    static const uint64_t wrong[][3] = {         /* bytes, offset, bytes of pages */
        { 0, 0, 0 }, { ((uint64_t)1 << MOST_LOG2) + 1, 0, 0 }, { 1, ((uint64_t)1 << MOST_LOG2) + 1, 0 },
        { 1, 0, (uint64_t)2 << MOST_LOG2 }, { 1, 0, MIB(3) }, { MIB(2), 1, MIB(2) } };
    gpuarena *from = make("share=pages", &table), *to = make("", &table);
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
    CHECK_INT(gpuarena_import_fd(to, there, -1, MIB(2)), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK(gpuarena_import_fd(to, there, INT_MAX, MIB(2)) != GPUARENA_OK);            /* refused by the driver */
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
    gpuarena *arena = make("share=pages", &bad);
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
    for (int lacks = 0; lacks < 4; lacks++) {
        bad = table;
        if (lacks == 0) memset(&bad.vm, 0, sizeof bad.vm);
        if (lacks == 1) memset(&bad.fd, 0, sizeof bad.fd);
        if (lacks == 2) bad.page_bytes = 0;      /* pages come to a device that has none */
        if (lacks == 3) memset(&bad.ipc, 0, sizeof bad.ipc);
        arena = make("backing=segments", &bad);
        CHECK_INT(gpuarena_import(arena, lacks < 3 ? &shared : &segment, &there), ==, GPUARENA_NOT_SUPPORTED);
        CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    }
}

int main(void)
{
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    table = bench.driver;
    test_import_arguments();
    test_import_driver();
    bench_close(&bench);
    return tap_done();
}
