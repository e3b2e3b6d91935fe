/* Peers: who may use an arena's memory on a machine of three devices, and what sub-arenas have of their parent's. */
#include "sim_device.h"
#include "stress/sim/vmem.h"

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
    sim_destroy(machine);
    return tap_done();
}
