/* The device of scripts: the simulated machine behind a table that counts calls, makes them fail or lie, and knows
   which arena holds how much. It must not know scripts, nor the policies of arenas.
   Included by script_world.h. */
#ifndef TESTS_SCRIPT_DEVICE_H
#define TESTS_SCRIPT_DEVICE_H

#include "host_memory.h"
#include "sim_device.h"
#include "stress/sim/engine.h"
#include "stress/sim/entries.h"
#include "stress/sim/memory.h"

/* X(NAME, member, kind, bytes, answer): the entries of the driver table. The kind's parameters are those of
   stress/sim/entries.h; bytes: the size that a fault `above` goes by; answer: where no fault strikes. */
#define DEVICE_SERVED(X) \
    X(info, memory.info, memory_info, 0, made_info(self, kind, free_bytes, total_bytes)) \
    X(obtain, memory.obtain, memory_obtain, bytes, made_obtain(self, kind, ptr, bytes, stream)) \
    X(reserve, vm.reserve, vm_reserve, bytes, made_reserve(self, address, bytes, alignment)) \
    X(release, vm.release, vm_release, bytes, device.real.vm.release(self, page_of(address), bytes)) \
    X(create, vm.create, vm_create, bytes, made_create(self, page, bytes, traits)) \
    X(destroy, vm.destroy, vm_destroy, bytes, made_destroy(self, page, bytes)) \
    X(map, vm.map, vm_map, bytes, device.real.vm.map(self, address, bytes, page)) \
    X(access, vm.access, vm_access, bytes, device.real.vm.access(self, address, bytes, mode)) \
    X(unmap, vm.unmap, vm_unmap, bytes, device.real.vm.unmap(self, address, bytes)) \
    X(event_create, events.create, events_create, 0, \
      counted(&device.event_count, 1, device.real.events.create(self, event))) \
    X(record, events.record, events_record, 0, device.real.events.record(self, event, stream)) \
    X(query, events.query, events_query, 0, device.real.events.query(self, event)) \
    X(host_wait, events.host_wait, events_host_wait, 0, device.real.events.host_wait(self, event)) \
    X(stream_wait, events.stream_wait, events_stream_wait, 0, device.real.events.stream_wait(self, stream, event)) \
    X(device_wait, events.device_wait, events_device_wait, 0, device.real.events.device_wait(self)) \
    X(active, capture.active, capture_active, 0, device.real.capture.active(self, stream, active)) \
    X(clear, clear, device_clear, bytes, device.real.clear(self, ptr, bytes, stream)) \
    X(get_handle, ipc.get_handle, ipc_get_handle, 0, \
      device.real.ipc.get_handle(self, bench_at(ptr, 0 - device.shift), handle)) \
    X(open_handle, ipc.open_handle, ipc_open_handle, 0, \
      counted(&device.open_count, 1, device.real.ipc.open_handle(self, handle, ptr))) \
    X(close_handle, ipc.close_handle, ipc_close_handle, 0, \
      counted(&device.open_count, -1, device.real.ipc.close_handle(self, ptr))) \
    X(from_page, fd.from_page, fd_from_page, 0, device.real.fd.from_page(self, page, fd)) \
    X(to_page, fd.to_page, fd_to_page, 0, made_to_page(self, fd, page)) \
    X(peer, peer, device_peer, 0, device.real.peer(self, number))
/* The served entries, and those in which a fault leaves work to do. Calls on memory come first. */
#define DEVICE_TABLE(X) \
    X(give_back, memory.give_back, , , ) DEVICE_SERVED(X) \
    X(event_destroy, events.destroy, , , ) X(exchange_mode, capture.exchange_mode, , , )
typedef enum device_entry {
#define X(name, member, kind, bytes, answer) ENTRY_##name,
    DEVICE_TABLE(X)
#undef X
    ENTRY_host,                                  /* the arena's calls for host memory */
    ENTRY_COUNT                                  /* in a fault: any entry but host */
} device_entry;
static const char *const device_entries[] = {
#define X(name, member, kind, bytes, answer) #name,
    DEVICE_TABLE(X)
#undef X
    "host", "any"
};

enum { DEVICE_FAULTS = 4, DEVICE_ASKED = 256, DEVICE_ARENAS = 16 };
enum { CODE_UNLOADING = SIM_UNLOADING, CODE_LOST = SIM_ILLEGAL_ADDRESS };
enum { MODE_RELAXED = 2 };                       /* cudaStreamCaptureModeRelaxed */
/* The lie that comes next: of obtain; of destroy, that it failed; of reserve, an address at which no page begins. */
typedef enum device_lie { LIE_NONE, LIE_NULL, LIE_MISALIGNED, LIE_OVERLAP, LIE_WRAP, LIE_DESTROYED, LIE_RESERVE,
                          LIE_COUNT } device_lie;
static const char *const device_lies[] = { "", "null", "misaligned", "overlap", "wrap", "destroyed", "reserve" };

typedef struct device_fault {
    device_entry entry;
    uint64_t seen, at, length;                   /* calls number at, from 1, and length - 1 more */
    uint64_t above;                              /* calls for more bytes alone; 0: all */
    int code;
} device_fault;

typedef struct device_holder {                   /* an arena */
    const gpuarena_driver *table;                /* its copy; NULL: it is being created */
    int parent, knows_lost;                      /* parent -1: none; knows_lost: it was told that the device is */
    uint64_t held, held_peak, ceiling;           /* held: sub-arenas' memory included */
} device_holder;

static struct {
    sim *machine;
    gpuarena_driver real, table;
    uint64_t calls[ENTRY_COUNT + 1], struck[ENTRY_COUNT + 1];    /* the last: of any entry */
    device_fault faults[DEVICE_FAULTS];
    int fault_count;
    uint64_t asked[DEVICE_ASKED];                /* sizes that obtain and create were called with */
    int asked_count;
    device_holder holders[DEVICE_ARENAS];
    int holder_count;
    int has_turn;                                /* the fault of the turn is set */
    int lost, mode_depth, small_sizes;           /* mode_depth: how often the thread's mode is to be put back */
    uint64_t host_refused;                       /* the size of the request for host memory that was struck last;
                                                    0: as much was given since */
    device_lie lie;                              /* to come */
    uint64_t said_free;                          /* the free bytes that info answers, if is_said */
    int is_said;
    uint64_t imported;                           /* the handle of another's memory that was had last; 0: none */
    uint64_t open_count;                         /* of segments */
    uint64_t shift;                              /* how far behind a granule's start segments begin */
    uint64_t lied_address, lied_bytes;           /* bytes 0: none is outstanding */
    host_memory host;
    void (*within)(device_entry entry);          /* in each call that is made; NULL: nothing */
    uint64_t event_count;
    int is_walked;                               /* by the interpreter: no fault of host memory */
    void *overlapped;                            /* the latest address given */
    const char *wrong;                           /* the first call that no arena may make */
} device;

/* The runner of scripts' threads, if there is one: tests/schedule. */
static struct {
    int are_on;                                  /* threads run: nothing is exact */
    int has_reset;                               /* one has freed blocks that other threads may just have got */
    int ran;                                     /* 1: they have ended: their actions are counted */
    int is_known;                                /* 1: so far this order equals an earlier one, which was audited */
    uint64_t seed;                               /* of their order */
    void (*at)(const gpuarena_driver *self, device_entry entry, int ends);   /* in each driver call */
    void (*made)(gpuarena *arena);               /* after each creation of an arena */
    void (*wait)(const void *thing, const char *name), (*wake)(const void *thing);
    void (*run)(char *const *texts, int count);  /* runs all threads to their ends */
    int (*repeats)(uint64_t seed);               /* 1: an order before has the same plan */
    void (*told)(void);                          /* prints the actions, behind a case that failed */
    uint32_t held;                               /* entries, a bit each, of which a call waits: `hold` */
    uint64_t distinct;                           /* orders that there were */
} threads;

static void device_blame(const char *what) { if (!device.wrong) device.wrong = what; }

/* Counts a call. Not 0: the code that is returned instead of making the call. */
static int device_enter(device_entry entry, uint64_t bytes)
{
    int code = 0;
    device.calls[entry]++;
    if (entry != ENTRY_host) device.calls[ENTRY_COUNT]++;
    if (device.lost && entry != ENTRY_host) return entry == ENTRY_exchange_mode ? 0 : CODE_LOST;
    for (int at = 0; at < device.fault_count; at++) {
        device_fault *meant = &device.faults[at];
        if (meant->entry != entry && !(meant->entry == ENTRY_COUNT && entry != ENTRY_host)) continue;
        if (bytes <= meant->above && meant->above) continue;
        meant->seen++;
        if (!code && meant->seen >= meant->at && meant->seen - meant->at < meant->length) code = meant->code;
    }
    if (entry == ENTRY_host && (code || bytes == device.host_refused)) device.host_refused = code ? bytes : 0;
    if (!code) return 0;
    device.struck[entry]++;
    device.struck[ENTRY_COUNT]++;
    return code;
}

/* ---- who holds how much */

/* An arena is about to be made, under the arena of another number, or under none (-1). */
static void device_await_arena(int parent)
{
    device.holders[device.holder_count++] = (device_holder){ NULL, parent, 0, 0, 0, UINT64_MAX };
}

static int device_holder_of(const gpuarena_driver *self)
{
    for (int at = 0; at < device.holder_count; at++) if (device.holders[at].table == self) return at;
    for (int at = 0; at < device.holder_count; at++) {
        if (device.holders[at].table) continue;
        device.holders[at].table = self;
        return at;
    }
    device_blame("a table that is no arena's");
    return -1;
}

/* A call begins, which may say that the device is lost. Not 0: the code that is returned instead of making the
   call. */
static int device_begin(const gpuarena_driver *self, device_entry entry, uint64_t bytes)
{
    if (threads.at) threads.at(self, entry, 0);
    if (device.within) device.within(entry);
    int code = device_enter(entry, bytes);
    if (code == CODE_LOST) {
        int holder = device_holder_of(self);
        if (holder >= 0 && device.holders[holder].knows_lost++) device_blame("a driver call on a lost device");
        device.lost = 1;
    }
    if ((entry == ENTRY_obtain || entry == ENTRY_create) && device.asked_count < DEVICE_ASKED)
        device.asked[device.asked_count++] = bytes;
    return code;
}

/* A call ends with this code. */
static int device_end(const gpuarena_driver *self, device_entry entry, int code)
{
    if (threads.at) threads.at(self, entry, 1);
    return code;
}

static void device_give(const gpuarena_driver *self, uint64_t bytes)
{
    for (int at = device_holder_of(self); at >= 0; at = device.holders[at].parent) device.holders[at].held -= bytes;
}

static void device_take(const gpuarena_driver *self, uint64_t bytes)
{
    for (int at = device_holder_of(self); at >= 0; at = device.holders[at].parent) {
        device_holder *holder = &device.holders[at];
        holder->held += bytes;
        if (holder->held > holder->held_peak) holder->held_peak = holder->held;
        if (holder->held > holder->ceiling) device_blame("more than a limit is held");
    }
    if (!bytes || (bytes % SIM_GRANULE && !device.small_sizes)) device_blame("a size that is no multiple of 2 MiB");
}

/* ---- entries that answer otherwise than the machine */

static int made_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    int code = device.real.memory.info(self, kind, free_bytes, total_bytes);
    if (!code && device.is_said) *free_bytes = device.said_free;
    return code;
}

/* A lie is told once. */
static int device_lies_as(device_lie lie)
{
    int does = device.lie == lie;
    if (does) device.lie = LIE_NONE;
    return does;
}

/* A range that no device should return. */
static int lied_obtain(void **ptr, uint64_t bytes)
{
    uint64_t address = device.lie == LIE_MISALIGNED ? ((uint64_t)1 << 50) + 64
        : device.lie == LIE_OVERLAP ? bench_number(device.overlapped) + SIM_GRANULE
        : device.lie == LIE_WRAP ? 0 - SIM_GRANULE : 0;
    device.lied_address = address;
    device.lied_bytes = device.lie == LIE_NULL ? 0 : bytes;
    device.lie = LIE_NONE;
    *ptr = (void *)(uintptr_t)address;
    return 0;
}

static int made_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                       gpuarena_stream stream)
{
    if (device.lie && device.lie < LIE_DESTROYED) return lied_obtain(ptr, bytes);
    int code = device.real.memory.obtain(self, kind, ptr, bytes + device.shift, stream);
    if (code) return code;
    device_take(self, bytes);
    device.overlapped = *ptr = bench_at(*ptr, device.shift);
    return 0;
}

static int made_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    int code = device.real.vm.create(self, page, bytes, traits);
    if (!code) device_take(self, bytes);
    return code;
}

static int made_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    int code = device.real.vm.destroy(self, page, bytes);
    if (!code && page == device.imported) device.imported = 0;
    else if (!code) device_give(self, bytes);
    return !code && device_lies_as(LIE_DESTROYED) ? SIM_UNKNOWN : code;
}

/* The address of the page in which an address lies: after `lie reserve` ranges begin inside of a page. */
static void *page_of(void *address) { return bench_at(address, 0 - bench_number(address) % SIM_GRANULE); }

/* After `lie reserve` the address lies inside the reserved range, at no multiple of a page. */
static int made_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    int code = device.real.vm.reserve(self, address, bytes, alignment);
    if (!code && device_lies_as(LIE_RESERVE)) *address = bench_at(*address, KIB(4));
    return code;
}

/* Counts an object that a call made or gave up, unless the call failed. */
static int counted(uint64_t *count, int by, int code)
{
    if (!code) *count += (uint64_t)by;
    return code;
}

/* A driver that is unloading may answer so, and has taken the memory even so. */
static int device_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                            gpuarena_stream stream)
{
    int code = device_begin(self, ENTRY_give_back, bytes), real = 0;
    int is_lied = device.lied_bytes && device.lied_address == bench_number(ptr) && device.lied_bytes == bytes;
    if (code && code != CODE_UNLOADING) return device_end(self, ENTRY_give_back, code);
    if (is_lied) device.lied_bytes = 0;
    else real = device.real.memory.give_back(self, kind, bench_at(ptr, 0 - device.shift), bytes + device.shift,
                                             stream);
    if (!real && !is_lied) device_give(self, bytes);
    return device_end(self, ENTRY_give_back, code ? code : real);
}

static int device_event_destroy(const gpuarena_driver *self, void *event)
{
    int code = device_begin(self, ENTRY_event_destroy, 0);
    device.event_count--;
    return device_end(self, ENTRY_event_destroy, code ? code : device.real.events.destroy(self, event));
}

/* The arena makes the mode relaxed, and calls that wait do so once more inside of that: they put relaxed back. The
   mode is put back even if the call returns a failure; an arena ignores the result of that call. */
static int device_exchange_mode(const gpuarena_driver *self, int *mode)
{
    int is_put_back = device.mode_depth == 2 || (device.mode_depth == 1 && *mode != MODE_RELAXED);
    int code = is_put_back ? device_enter(ENTRY_exchange_mode, 0) : device_begin(self, ENTRY_exchange_mode, 0);
    int real = code && !is_put_back ? 0 : device.real.capture.exchange_mode(self, mode);
    if (is_put_back) device.mode_depth--;
    else if (!code && !real) device.mode_depth++;
    return code ? code : real;
}

static int made_to_page(const gpuarena_driver *self, int fd, uint64_t *page)
{
    if (device.imported) device_blame("a handle of another's memory was not given up");
    int code = device.real.fd.to_page(self, fd, page);
    if (!code) device.imported = *page;
    return code;
}

/* Makes the function of an entry: the call is counted, and may fail. The faults stand on both sides of it, and so
   does the runner of threads. */
#define X(name, member, kind, bytes_asked, answer) \
    static int device_##name ENTRY_##kind \
    { \
        int code = device_begin(self, ENTRY_##name, bytes_asked); \
        return device_end(self, ENTRY_##name, code ? code : answer); \
    }
DEVICE_SERVED(X)
#undef X

static uint64_t device_standing_clock(const gpuarena_driver *self) { return (void)self, (uint64_t)5; }

/* Host memory is refused by faults, but never in the interpreter's own walks. */
static int device_host_refuses(size_t bytes) { return !device.is_walked && device_enter(ENTRY_host, bytes); }

/* ---- its life */

/* Puts the entries that count in the place of those that the machine has. */
static void device_wrap(void)
{
    gpuarena_driver *table = &device.table;
    *table = device.real;
#define X(name, member, kind, bytes, answer) table->member = device_##name;
    DEVICE_TABLE(X)
#undef X
}

/* Opens a machine of `count` devices, of which scripts use the first. */
static void device_open(uint64_t capacity_bytes, uint64_t count)
{
    sim_config config = { 0, 0, 0, NULL, NULL, 0, 0 };
    config.device_count = (uint32_t)count;
    config.capacity_bytes = capacity_bytes;
    sim_bench bench = bench_open(&config);
    memset(&device, 0, sizeof device);
    device.machine = bench.machine;
    device.host.refuses = device_host_refuses;
    device.host.keeps = device.host.spoils = !TAP_SANITIZED; /* a sanitizer itself sees uses of freed memory */
    device.real = bench.driver;
    device.real.per_thread = (gpuarena_stream)(intptr_t)2;
    device_wrap();
}

/* Leaves out a group of entries, or one; the clock. 0: there is none of this name. */
static int device_without(const char *what)
{
#define X(name, member, kind, bytes, answer) if (!strcmp(what, #name)) return device.table.member = NULL, 1;
    DEVICE_TABLE(X)
#undef X
    return bench_without(&device.table, what);
}

/* Sets the lie of this name. 0: there is no such lie. */
static int device_will_lie(const char *name)
{
    device.lie = LIE_COUNT;
    while (--device.lie && strcmp(name, device_lies[device.lie])) {}
    return device.lie != LIE_NONE;
}

static sim_counters device_counters(void)
{
    sim_counters counters;
    sim_get_counters(device.machine, 0, &counters);
    return counters;
}

/* To be called after all arenas have ended. Returns the first thing that is left; NULL: nothing is. */
static const char *device_left(void)
{
    if (host_close(&device.host)) return host_close(&device.host);
    if (device.lost) return NULL;
    if (device.lied_bytes) return "a range that the driver lied about is left";
    if (device.open_count) return "segments of others are left open";
    if (device.event_count) return "events are left";
    return bench_left(device.machine);
}

#endif
