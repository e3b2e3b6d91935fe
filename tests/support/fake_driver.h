/* A tiny made-up device: addresses from nowhere, a ledger of what is held, faults and lies on demand.
   It must not know of the arena's policies: it sees driver and host memory calls and judges their legality.
   Included by the tests of the header; run them with `make test`. */
#ifndef TESTS_FAKE_DRIVER_H
#define TESTS_FAKE_DRIVER_H

#include <stdlib.h>
#include <string.h>
#include "gpuarena.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define GIB(count) ((uint64_t)(count) << 30)
#define FAKE_GRANULE MIB(2)
#define FAKE_FOR_EVER UINT64_MAX

enum { FAKE_MAX_RANGES = 4096, FAKE_ASKED_COUNT = 64, FAKE_POISONED_BYTES = 1 << 18 };

typedef enum fake_call { FAKE_INFO, FAKE_OBTAIN, FAKE_GIVE_BACK, FAKE_HOST, FAKE_CALL_KINDS } fake_call;
enum {
    FAKE_ON_INFO = 1 << FAKE_INFO, FAKE_ON_OBTAIN = 1 << FAKE_OBTAIN, FAKE_ON_GIVE_BACK = 1 << FAKE_GIVE_BACK,
    FAKE_ON_HOST = 1 << FAKE_HOST
};
typedef enum fake_lie { FAKE_TRUTH, FAKE_LIE_NULL, FAKE_LIE_MISALIGNED, FAKE_LIE_OVERLAP, FAKE_LIE_WRAP } fake_lie;

typedef struct fake_range { uint64_t address, bytes; } fake_range;

typedef union fake_header {                      /* before each host block: its size, and the list of kept ones */
    struct { size_t bytes; union fake_header *next; } tie;
    long double alignment;
} fake_header;

typedef struct fake_device {
    gpuarena_driver table;
    uint64_t total_bytes, rival_bytes;           /* rival: taken by another process */
    uint64_t largest_bytes;                      /* obtain above it is refused */
    uint64_t watch_bytes;                        /* an obtain after which more is held is counted in passed_count */
    uint64_t held_bytes, held_peak_bytes, passed_count;
    uint64_t wrong_count;                        /* illegal calls: sizes, ranges never given, wrong host sizes */
    uint64_t after_lost_count;                   /* driver calls after one that said LOST */
    uint64_t refused_count;                      /* obtain calls that answered NO_MEMORY */
    uint64_t calls[FAKE_CALL_KINDS];
    uint64_t struck[FAKE_CALL_KINDS];            /* of these, answered by the fault */
    uint64_t asked[FAKE_ASKED_COUNT];            /* sizes of the first obtain calls since fake_forget_calls */
    uint64_t host_bytes;
    uint64_t base_address;
    int      scattered;                          /* 1: addresses are never reused, and a granule apart */
    uint64_t next_address;
    int      keep_host;                          /* 1: freed host memory stays readable until fake_close */
    fake_header *kept;
    int      code_step;                          /* code = status x this */
    unsigned fail_kinds;                         /* the fault: calls of these kinds are counted, from fail_at on .. */
    uint64_t fail_at, fail_length, fail_seen, fail_fired;
    gpuarena_status fail_status;                 /* .. that many answer this */
    int      is_looked_at;                       /* by the test itself, whose own calls no fault strikes */
    int      lost;
    fake_lie lie;                                /* what the next obtain does, once */
    fake_range lied;                             /* bytes 0: none outstanding */
    size_t range_count;
    fake_range ranges[FAKE_MAX_RANGES];          /* by address */
} fake_device;

/* The pointer that stands for an address of the device, and back. */
static inline void *fake_pointer(uint64_t address) { return (void *)(uintptr_t)address; }
static inline uint64_t fake_address(const void *ptr) { return (uint64_t)(uintptr_t)ptr; }
static inline gpuarena_stream fake_stream(int number) { return (gpuarena_stream)(intptr_t)(number * 16); }

static inline fake_device *fake_of(const gpuarena_driver *self) { return (fake_device *)self->user; }

/* Counts the call and says what the fault makes of it. */
static inline gpuarena_status fake_count(fake_device *device, fake_call kind)
{
    device->calls[kind]++;
    if (device->lost && kind != FAKE_HOST) {
        device->after_lost_count++;
        return GPUARENA_STATUS_LOST;
    }
    if (device->fail_at == 0 || device->is_looked_at || !(device->fail_kinds & 1u << kind))
        return GPUARENA_STATUS_DONE;
    device->fail_seen++;
    if (device->fail_seen < device->fail_at || device->fail_seen - device->fail_at >= device->fail_length)
        return GPUARENA_STATUS_DONE;
    device->fail_fired++;
    device->struck[kind]++;
    if (device->fail_status == GPUARENA_STATUS_LOST && kind != FAKE_HOST) device->lost = 1;
    return device->fail_status;
}

/* From now on: call number `at` (from 1) of these kinds, and `length` - 1 more after it, answer `status`. */
static inline void fake_fail(fake_device *device, unsigned kinds, uint64_t at, uint64_t length,
                             gpuarena_status status)
{
    device->fail_kinds = kinds;
    device->fail_at = at;
    device->fail_length = length;
    device->fail_status = status;
    device->fail_seen = device->fail_fired = 0;
}

static inline void fake_heal(fake_device *device)
{
    device->fail_at = 0;
}

static inline void fake_forget_calls(fake_device *device)
{
    memset(device->calls, 0, sizeof device->calls);
    memset(device->asked, 0, sizeof device->asked);
}

/* Index of the first range that ends after the address. */
static inline size_t fake_find(const fake_device *device, uint64_t address)
{
    size_t low = 0, high = device->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (device->ranges[middle].address + device->ranges[middle].bytes <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The range that holds the address, or NULL. */
static inline const fake_range *fake_range_of(const fake_device *device, uint64_t address)
{
    size_t index = fake_find(device, address);
    if (index == device->range_count || device->ranges[index].address > address) return NULL;
    return &device->ranges[index];
}

/* The lowest free address, or, scattered, one never used before. */
static inline uint64_t fake_place(fake_device *device, uint64_t bytes)
{
    uint64_t address = device->base_address;
    if (device->scattered) {
        address = device->next_address;
        device->next_address += bytes + FAKE_GRANULE;
        return address;
    }
    for (size_t index = 0; index < device->range_count; index++) {
        if (device->ranges[index].address - address >= bytes) break;
        address = device->ranges[index].address + device->ranges[index].bytes;
    }
    return address;
}

static inline void fake_hold(fake_device *device, uint64_t address, uint64_t bytes)
{
    size_t index = fake_find(device, address);
    memmove(&device->ranges[index + 1], &device->ranges[index],
            (device->range_count - index) * sizeof device->ranges[0]);
    device->ranges[index].address = address;
    device->ranges[index].bytes = bytes;
    device->range_count++;
    device->held_bytes += bytes;
    if (device->held_bytes > device->held_peak_bytes) device->held_peak_bytes = device->held_bytes;
    if (device->held_bytes > device->watch_bytes) device->passed_count++;
}

/* The address of a range that no device should give; overlap: inside the first range held, which needs 4 MiB. */
static inline uint64_t fake_lie_address(const fake_device *device)
{
    switch (device->lie) {
    case FAKE_LIE_MISALIGNED: return device->base_address + GIB(512) + 64;
    case FAKE_LIE_OVERLAP:    return device->ranges[0].address + FAKE_GRANULE;
    case FAKE_LIE_WRAP:       return 0 - FAKE_GRANULE;
    default:                  return 0;
    }
}

static inline int fake_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                            uint64_t *total_bytes)
{
    fake_device *device = fake_of(self);
    gpuarena_status status = fake_count(device, FAKE_INFO);
    if (kind != GPUARENA_MEMORY_DEVICE) device->wrong_count++;
    if (status != GPUARENA_STATUS_DONE) return (int)status * device->code_step;
    *total_bytes = device->total_bytes;
    *free_bytes = device->total_bytes - device->rival_bytes - device->held_bytes;
    return 0;
}

static inline int fake_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    fake_device *device = fake_of(self);
    if (device->calls[FAKE_OBTAIN] < FAKE_ASKED_COUNT) device->asked[device->calls[FAKE_OBTAIN]] = bytes;
    gpuarena_status status = fake_count(device, FAKE_OBTAIN);
    (void)stream;
    if (bytes == 0 || bytes % FAKE_GRANULE != 0 || kind != GPUARENA_MEMORY_DEVICE) device->wrong_count++;
    if (status == GPUARENA_STATUS_DONE
        && (bytes > device->largest_bytes || device->range_count == FAKE_MAX_RANGES
            || bytes > device->total_bytes - device->rival_bytes - device->held_bytes))
        status = GPUARENA_STATUS_NO_MEMORY;
    if (status == GPUARENA_STATUS_NO_MEMORY) device->refused_count++;
    if (status != GPUARENA_STATUS_DONE) return (int)status * device->code_step;
    if (device->lie != FAKE_TRUTH) {
        device->lied.address = fake_lie_address(device);
        device->lied.bytes = device->lie == FAKE_LIE_NULL ? 0 : bytes;
        device->lie = FAKE_TRUTH;
        *ptr = fake_pointer(device->lied.address);
        return 0;
    }
    uint64_t address = fake_place(device, bytes);
    fake_hold(device, address, bytes);
    *ptr = fake_pointer(address);
    return 0;
}

static inline int fake_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                 gpuarena_stream stream)
{
    fake_device *device = fake_of(self);
    gpuarena_status status = fake_count(device, FAKE_GIVE_BACK);
    size_t index = fake_find(device, fake_address(ptr));
    (void)stream;
    (void)kind;
    if (status != GPUARENA_STATUS_DONE && status != GPUARENA_STATUS_UNLOADING) return (int)status * device->code_step;
    if (device->lied.bytes != 0 && device->lied.address == fake_address(ptr) && device->lied.bytes == bytes) {
        device->lied.bytes = 0;
    } else if (index == device->range_count || device->ranges[index].address != fake_address(ptr)
               || device->ranges[index].bytes != bytes) {
        device->wrong_count++;
    } else {
        memmove(&device->ranges[index], &device->ranges[index + 1],
                (device->range_count - index - 1) * sizeof device->ranges[0]);
        device->range_count--;
        device->held_bytes -= bytes;
    }
    return (int)status * device->code_step;
}

static inline gpuarena_status fake_classify(const gpuarena_driver *self, int code)
{
    return (gpuarena_status)(code / fake_of(self)->code_step);
}

static inline const char *fake_code_name(const gpuarena_driver *self, int code)
{
    static const char *const names[] = { "fakeDone", "fakeNoMemory", "fakeNotReady", "fakeCapturing",
                                         "fakeNotSupported",
                                         "fakeFailed", "fakeLost", "fakeUnloading" };
    return names[(code / fake_of(self)->code_step) % 8];
}

static inline void *fake_host_alloc(size_t bytes, void *user)
{
    fake_device *device = user;
    if (fake_count(device, FAKE_HOST) != GPUARENA_STATUS_DONE) return NULL;
    fake_header *header = malloc(sizeof *header + bytes);
    if (!header) return NULL;
    header->tie.bytes = bytes;
    header->tie.next = NULL;
    memset(header + 1, 0xA5, bytes < FAKE_POISONED_BYTES ? bytes : FAKE_POISONED_BYTES);
    device->host_bytes += bytes;
    return header + 1;
}

static inline void fake_host_free(void *memory, size_t bytes, void *user)
{
    fake_device *device = user;
    fake_header *header = (fake_header *)memory - 1;
    if (header->tie.bytes != bytes) device->wrong_count++;
    device->host_bytes -= header->tie.bytes;
    if (!device->keep_host) {
        free(header);
        return;
    }
    header->tie.next = device->kept;
    device->kept = header;
}

/* Opens a device of its own address space: adjacent ranges, lowest address first, nothing failing. */
static inline void fake_open(fake_device *device, uint64_t total_bytes)
{
    static uint64_t opened;
    memset(device, 0, sizeof *device);
    device->total_bytes = total_bytes;
    device->largest_bytes = device->watch_bytes = UINT64_MAX;
    device->code_step = 111;
    device->base_address = device->next_address = (1 + opened++ % 4096) << 43;
    device->table.user = device;
    device->table.device = 3;
    device->table.classify = fake_classify;
    device->table.code_name = fake_code_name;
    device->table.memory.info = fake_info;
    device->table.memory.obtain = fake_obtain;
    device->table.memory.give_back = fake_give_back;
}

/* Frees what keep_host kept. 1: the ledger is empty, all host memory came back, and every call was legal. */
static inline int fake_close(fake_device *device)
{
    while (device->kept) {
        fake_header *header = device->kept;
        device->kept = header->tie.next;
        free(header);
    }
    return device->held_bytes == 0 && device->range_count == 0 && device->host_bytes == 0 && device->lied.bytes == 0
        && device->wrong_count == 0 && device->passed_count == 0 && device->after_lost_count == 0;
}

/* A configuration for the device: its host memory too, no environment, all else at zero. */
static inline gpuarena_config fake_config(fake_device *device)
{
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &device->table;
    config.environment = "";
    config.host_alloc = fake_host_alloc;
    config.host_free = fake_host_free;
    config.host_user = device;
    return config;
}

#endif
