/* A device of many tenants: arenas that share one table, from any thread. It counts what each holds at each driver
   call, and blames who passes a limit. Memory is addresses that are never used again; events are done at once.
   It must not know the arenas' inside. Included by test_tenants_*.c. */
#ifndef TESTS_TENANT_DEVICE_H
#define TESTS_TENANT_DEVICE_H

#include <sched.h>
#include <stdlib.h>
#include "stress/base/splitmix64.h"
#include "done_events.h"
#include "tap.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define GIB(count) ((uint64_t)(count) << 30)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { TENANT_MOST = 16 };
typedef struct tenant {
    gpuarena *arena;
    const gpuarena_driver *table;                /* the arena's own copy: by it calls are known */
    int parent;                                  /* -1: none */
    uint64_t ceiling_bytes;                      /* the limit; while it is being raised, the new one */
    uint64_t held_bytes;                         /* here and below */
    uint64_t peak_bytes;                         /* own, not exactly */
} tenant;

static tenant   tenants[TENANT_MOST];
static int      tenant_count;
static uint64_t tenant_device_bytes, tenant_free_bytes, tenant_address, tenant_page, tenant_call_count;
static int      tenant_yields;                   /* in each call others have their go */
static const char *tenant_trouble;               /* the first; NULL: none */

static inline void tenant_blame(const char *what)
{
    const char *none = NULL;
    (void)__atomic_compare_exchange_n(&tenant_trouble, &none, what, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#define WANT(condition) do { if (!(condition)) tenant_blame("not so: " #condition); } while (0)

/* ---- what is held */

static inline int tenant_of(const gpuarena_driver *self)
{
    for (int at = 0; at < tenant_count; at++)
        if (__atomic_load_n(&tenants[at].table, __ATOMIC_RELAXED) == self) return at;
    tenant_blame("a table that is nobody's");
    return 0;
}

static inline void tenant_leave(const gpuarena_driver *self, uint64_t bytes, uint64_t freed_bytes)
{
    for (int at = tenant_of(self); at >= 0; at = tenants[at].parent)
        __atomic_fetch_sub(&tenants[at].held_bytes, bytes, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&tenant_free_bytes, freed_bytes, __ATOMIC_SEQ_CST);
}

/* The arena may hold so much more, and so may all above; or the device has it not. */
static inline int tenant_enter(const gpuarena_driver *self, uint64_t bytes)
{
    uint64_t free_bytes = __atomic_load_n(&tenant_free_bytes, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&tenant_call_count, 1, __ATOMIC_RELAXED);
    for (int at = tenant_of(self); at >= 0; at = tenants[at].parent) {
        uint64_t held = __atomic_add_fetch(&tenants[at].held_bytes, bytes, __ATOMIC_SEQ_CST);
        if (held > __atomic_load_n(&tenants[at].ceiling_bytes, __ATOMIC_SEQ_CST))
            tenant_blame("the driver is asked for more than a limit");
    }
    if (tenant_yields) sched_yield();
    do {
        if (free_bytes < bytes) {
            tenant_leave(self, bytes, 0);
            return GPUARENA_STATUS_NO_MEMORY;
        }
    } while (!__atomic_compare_exchange_n(&tenant_free_bytes, &free_bytes, free_bytes - bytes, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return GPUARENA_STATUS_DONE;
}

static inline void *tenant_place(uint64_t bytes)
{
    return (void *)(uintptr_t)__atomic_fetch_add(&tenant_address, bytes, __ATOMIC_RELAXED);
}

/* ---- the table */

static int tenant_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)self, (void)kind;
    *free_bytes = __atomic_load_n(&tenant_free_bytes, __ATOMIC_SEQ_CST);
    *total_bytes = tenant_device_bytes;
    return 0;
}

static int tenant_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                         gpuarena_stream stream)
{
    int code = tenant_enter(self, bytes);
    (void)kind, (void)stream;
    if (!code) *ptr = tenant_place(bytes);
    return code;
}

static int tenant_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                            gpuarena_stream stream)
{
    (void)kind, (void)ptr, (void)stream;
    if (tenant_yields) sched_yield();
    tenant_leave(self, bytes, bytes);
    return 0;
}

static int tenant_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    (void)self, (void)alignment;
    *address = tenant_place(bytes);
    return 0;
}

static int tenant_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    (void)self, (void)address, (void)bytes;
    return 0;
}

static int tenant_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    (void)traits;
    *page = __atomic_add_fetch(&tenant_page, 1, __ATOMIC_RELAXED);
    return tenant_enter(self, bytes);
}

static int tenant_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    (void)page;
    tenant_leave(self, bytes, bytes);
    return 0;
}

static int tenant_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    (void)self, (void)address, (void)bytes, (void)page;
    if (tenant_yields) sched_yield();
    return 0;
}

static int tenant_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    (void)self, (void)address, (void)bytes, (void)mode;
    return 0;
}

/* ---- tenants */

static inline void tenant_open(uint64_t device_bytes)
{
    tenant_count = 0;
    tenant_device_bytes = tenant_free_bytes = device_bytes;
    tenant_address = (uint64_t)1 << 40;
    tenant_trouble = NULL;
}

/* The next tenant, under another or none; its limit may pass what the others leave. 0: it was not made. */
static inline int tenant_make(int parent, uint64_t limit_bytes, const char *text)
{
    static const gpuarena_driver table = {
        .page_bytes = (uint64_t)2 << 20,
        .memory = { tenant_info, tenant_obtain, tenant_give_back },
        .vm = { tenant_reserve, tenant_release, tenant_create, tenant_destroy, tenant_map, tenant_access,
                tenant_release },
        .events = DONE_EVENTS };
    tenant *self = &tenants[tenant_count];
    gpuarena_config config = GPUARENA_INIT;
    memset(self, 0, sizeof *self);
    self->parent = parent;
    self->ceiling_bytes = limit_bytes;
    config.environment = "";
    config.driver = &table;
    config.parent = parent >= 0 ? tenants[parent].arena : NULL;
    config.oversubscribe = 1;
    snprintf(config.name, sizeof config.name, "tenant %d", tenant_count);
    if (gpuarena_config_parse(text, &config, NULL, 0)) return 0;
    config.limit_bytes = limit_bytes < tenant_device_bytes ? limit_bytes : tenant_device_bytes;
    if (gpuarena_create(&config, &self->arena) || gpuarena_set_limit(self->arena, limit_bytes)) return 0;
    gpuarena_get_config(self->arena, &config);
    __atomic_store_n(&self->table, config.driver, __ATOMIC_RELAXED);
    return ++tenant_count;
}

/* By one thread at a time for each tenant. */
static inline void tenant_limit(int which, uint64_t bytes)
{
    tenant *self = &tenants[which];
    if (bytes > self->ceiling_bytes) __atomic_store_n(&self->ceiling_bytes, bytes, __ATOMIC_SEQ_CST);
    WANT(gpuarena_set_limit(self->arena, bytes) == GPUARENA_OK);
    __atomic_store_n(&self->ceiling_bytes, bytes, __ATOMIC_SEQ_CST);
}

#endif
