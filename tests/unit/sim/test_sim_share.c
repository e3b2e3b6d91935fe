/* Opening another process's memory: how many steps in ordered sets it takes beside much other memory. It must not
   test what opening does: contract/. */
#define _GNU_SOURCE                              /* share.c's */
#include "sim_device.h"

#include "stress/sim/engine.h"

static unsigned steps;

static void *counted_from(const treap *set, uint64_t key, uint64_t tie, uint64_t weight)
{
    steps++;
    return treap_from(set, key, tie, weight);
}

#define treap_from counted_from
#define addresses_next(space, range) counted_from(&(space)->ranges, (range)->offset + 1, 0, 0)
#include "stress/sim/share.c"

/* The exporter is another machine of this process: what tells them apart is the same. */
static unsigned steps_beside(unsigned count)
{
    sim_bench from = bench_open_sized(GIB(1), NULL), to = bench_open_sized(GIB(8), NULL);
    sim_device *device = to.driver.user;
    unsigned char handle[GPUARENA_IPC_BYTES];
    void *block = NULL, *other, *again;
    unsigned wrong = 0;
    CHECK_INT(bench_obtain(&from.driver, MIB(2), &block), ==, 0);
    CHECK_INT(share_get(from.driver.user, SHARE_OTHERS, (uint64_t)(uintptr_t)block, handle), ==, 0);
    for (unsigned i = 0; i < count; i++) wrong += bench_obtain(&to.driver, MIB(2), &other) != 0;
    CHECK_INT(share_open_memory(device, SHARE_OTHERS, handle, &other), ==, 0);
    steps = 0;
    CHECK_INT(share_open_memory(device, SHARE_OTHERS, handle, &again), ==, 0);
    CHECK(!wrong && again == other);
    unsigned taken = steps;
    CHECK_INT(share_close(device, (uint64_t)(uintptr_t)other), ==, 0);
    CHECK_INT(share_close(device, (uint64_t)(uintptr_t)other), ==, 0);
    CHECK_U64(sim_finding_count(to.machine), ==, 0);
    bench_close(&from);
    bench_close(&to);
    return taken;
}

int main(void)
{
    CHECK_INT(steps_beside(1000), ==, steps_beside(10));
    return tap_done();
}
