/* A handle, and what a descriptor leads to, are the same few bytes: who exported what. */
#include "share.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/array.h"
#include "vmem.h"

enum { SHARE_MAGIC = 0x67706173 };

typedef struct share_token {
    uint64_t magic, process, machine;            /* machine: its address */
    uint64_t device;
    uint64_t what, bytes;                        /* an address and a size, or a handle and 0 */
} share_token;

typedef char share_token_fits[sizeof(share_token) <= GPUARENA_IPC_BYTES ? 1 : -1];

typedef struct share_open { sim_device *device; uint64_t address, count; } share_open;

static share_token share_describe(const sim_device *device, uint64_t what, uint64_t bytes)
{
    share_token made = { SHARE_MAGIC, (uint64_t)getpid(), (uint64_t)(uintptr_t)device->sim, (uint64_t)device->ordinal,
                         what, bytes };
    return made;
}

/* The device whose memory it is, or NULL and the code. */
static sim_device *share_read(const sim_device *device, const share_token *token, int *code)
{
    const sim *machine = device->sim;
    *code = SIM_INVALID_VALUE;
    if (token->magic != SHARE_MAGIC) {
        judge_report(&device->sim->judge, device->ordinal, "import of what was never exported");
        return NULL;
    }
    *code = SIM_NOT_SUPPORTED;
    if (token->process != (uint64_t)getpid() || token->machine != (uint64_t)(uintptr_t)machine
        || token->device >= (uint64_t)machine->device_count) {
        return NULL;
    }
    *code = SIM_SUCCESS;
    return &machine->devices[token->device];
}

/* ---- Requests */

/* 1: the address is the base of what an obtain gave. */
static int share_find(const sim_device *device, uint64_t address, devmem_place *place)
{
    uint64_t offset;
    return engine_offset(device, address, &offset) && devmem_find(&device->memory, offset, place)
        && place->offset == offset && !place->range->tenant;
}

int share_get(const sim_device *device, uint64_t address, unsigned char *handle)
{
    devmem_place place;
    if (!handle) return SIM_INVALID_VALUE;
    if (!share_find(device, address, &place)) {
        judge_report(&device->sim->judge, device->ordinal, "export of %s, which is no base that cudaMalloc gave",
                     engine_name(device, address).text);
        return SIM_INVALID_VALUE;
    }
    share_token made = share_describe(device, address, place.bytes);
    memset(handle, 0, GPUARENA_IPC_BYTES);
    memcpy(handle, &made, sizeof made);
    return SIM_SUCCESS;
}

static share_open *share_find_open(const sim *machine, uint64_t address)
{
    for (uint32_t i = 0; i < machine->open_count; i++) {
        if (machine->opens[i].address == address) return &machine->opens[i];
    }
    return NULL;
}

int share_is_open(const sim *machine, uint64_t address)
{
    return share_find_open(machine, address) != NULL;
}

/* A new entry, of what is not open yet; NULL: no host memory. */
static share_open *share_add(sim *machine, sim_device *owner, uint64_t address)
{
    if (ARRAY_RESERVE(machine->opens, machine->open_room, machine->open_count + 1)) return NULL;
    share_open *added = &machine->opens[machine->open_count++];
    added->device = owner;
    added->address = address;
    added->count = 0;
    return added;
}

int share_open_memory(const sim_device *device, const unsigned char *handle, void **ptr)
{
    share_token token;
    devmem_place place;
    int code;
    if (!handle || !ptr) return SIM_INVALID_VALUE;
    memcpy(&token, handle, sizeof token);
    sim_device *owner = share_read(device, &token, &code);
    if (!owner) return code;
    if (!share_find(owner, token.what, &place) || place.bytes != token.bytes) {
        judge_report(&device->sim->judge, device->ordinal, "open of memory that was given back");
        return SIM_INVALID_VALUE;
    }
    share_open *opened = share_find_open(device->sim, token.what);
    if (!opened) opened = share_add(device->sim, owner, token.what);
    if (!opened) return SIM_UNKNOWN;
    opened->count++;
    *ptr = (void *)(uintptr_t)token.what;
    return SIM_SUCCESS;
}

int share_close(sim_device *device, uint64_t address, uint64_t *cost_ns)
{
    sim *machine = device->sim;
    share_open *opened = share_find_open(machine, address);
    *cost_ns = engine_call_ns(device, SIM_CALL_IPC_CLOSE);
    if (!opened) {
        judge_report(&machine->judge, device->ordinal, "close of %s, which is not open",
                     engine_name(device, address).text);
        return SIM_INVALID_VALUE;
    }
    if (--opened->count == 0) *opened = machine->opens[--machine->open_count];
    return SIM_SUCCESS;
}

void share_reset(const sim_device *device)
{
    sim *machine = device->sim;
    for (uint32_t i = machine->open_count; i-- > 0;) {
        if (machine->opens[i].device == device) machine->opens[i] = machine->opens[--machine->open_count];
    }
}

/* ---- Pages. The file has no name, and ends with the last descriptor of it */

int share_export(const sim_device *device, uint64_t page, int *fd)
{
    share_token made = share_describe(device, page, 0);
    if (!fd || !vmem_can_export(device, page)) return SIM_INVALID_VALUE;
    FILE *file = tmpfile();
    if (!file) return SIM_UNKNOWN;
    int copy = fwrite(&made, sizeof made, 1, file) == 1 && fflush(file) == 0 ? dup(fileno(file)) : -1;
    fclose(file);
    if (copy < 0) return SIM_UNKNOWN;
    *fd = copy;
    return SIM_SUCCESS;
}

int share_import(sim_device *device, int fd, uint64_t *page)
{
    share_token token;
    int code;
    memset(&token, 0, sizeof token);
    if (!page) return SIM_INVALID_VALUE;
    if (pread(fd, &token, sizeof token, 0) != (ssize_t)sizeof token) token.magic = 0;
    sim_device *owner = share_read(device, &token, &code);
    return owner ? vmem_import(owner, token.what, page) : code;
}
