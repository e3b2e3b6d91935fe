/* What no script can say of a sub-arena's creation: every field of the driver table counts, and what is no arena is
   no parent. */
#include "tenant_bench.h"

static void refuse_config(const gpuarena_config *config, const char *part)
{
    gpuarena_failure failure;
    gpuarena *arena = NULL;
    CHECK_INT(gpuarena_create(config, &arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_MSG(strstr(failure.detail, part) != NULL, "\"%s\" says \"%s\"", failure.detail, part);
    CHECK(arena == NULL);
}

/* What must be the same in the tables of a parent and a sub-arena. X(field) */
#define TABLE(X) \
    X(user) X(device) X(null_is_per_thread) X(per_thread) X(page_bytes) X(peers) X(classify) X(code_name) X(now_ns) \
    X(memory.info) X(memory.obtain) X(memory.give_back) X(vm.reserve) X(vm.release) X(vm.create) X(vm.destroy) \
    X(vm.map) X(vm.access) X(vm.unmap) X(events.create) X(events.destroy) X(events.record) X(events.query) \
    X(events.host_wait) X(events.stream_wait) X(events.device_wait) X(capture.active) X(capture.exchange_mode) \
    X(clear) X(ipc.get_handle) X(ipc.open_handle) X(ipc.close_handle) X(fd.from_page) X(fd.to_page) X(peer)

static void test_other_drivers(void)
{
    gpuarena *whole = make("whole", NULL, GIB(4)), *part = NULL;
    gpuarena_config config = plain_config("part", whole, MIB(8));
    gpuarena_driver other;
    config.driver = &other;
#define X(field) + sizeof other.field
    CHECK_MSG(sizeof(void *) != 8 || sizeof other == 0 TABLE(X), "the table's fields are all known here");
#undef X
#define X(field) \
    other = bench.driver; \
    ((unsigned char *)&other.field)[0] ^= 1; \
    refuse_config(&config, "driver: another than the parent's");
    TABLE(X)
#undef X
    memset(&other, 0x5A, sizeof other);          /* what lies between the fields is no difference */
#define X(field) other.field = bench.driver.field;
    TABLE(X)
#undef X
    CHECK_INT(gpuarena_create(&config, &part), ==, GPUARENA_OK);
    end(part), end(whole);
}

static void test_no_parent(void)
{
    gpuarena *whole = make("whole", NULL, GIB(4));
    gpuarena_config config = plain_config("part", (gpuarena *)(void *)&config, MIB(8));
    config.driver = &bench.driver;
    refuse_config(&config, "parent: not a living arena");
    end(whole);
    config.parent = whole;
    refuse_config(&config, "parent: not a living arena");
    config.parent = NULL;
    config.oversubscribe = 2;
    refuse_config(&config, "oversubscribe: expected a number up to 1");
}

int main(void)
{
    backing = GPUARENA_BACKING_SEGMENTS;
    bench = bench_open_sized(GIB(16), NULL);
    test_other_drivers();
    test_no_parent();
    close_bench();
    return tap_done();
}
