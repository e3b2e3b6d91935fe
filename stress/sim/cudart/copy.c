/* Copies and fills, row by row, between host and devices; all is checked before the first byte moves.
   Must not know of streams or how memory is laid out.
   Tested by tests/test_cudart_contents.c. */
#include "copy.h"

#include <inttypes.h>
#include <string.h>

#include "host.h"

typedef struct copy_side {
    sim_device    *device;                       /* NULL: the host's */
    uint64_t       offset;
    unsigned char *host;
    uint64_t       pitch;
} copy_side;

/* An address that a device has ever given is a device's, held or not: what was given back is found as that. */
static copy_side copy_find(const call *self, copy_area area)
{
    copy_side side = { engine_owner(self->machine, (uint64_t)(uintptr_t)area.ptr), 0, NULL, area.pitch };
    if (side.device) {
        engine_offset(side.device, (uint64_t)(uintptr_t)area.ptr, &side.offset);
        if (side.offset >= SIM_GRANULE && side.offset < side.device->memory.high_offset) {
            return side;
        }
    }
    side.device = NULL;
    side.host = area.ptr;
    return side;
}

/* From the first byte of the first row to the last of the last; 0: more than the type holds. */
static int copy_extent(uint64_t pitch, uint64_t width, uint64_t height, uint64_t *bytes)
{
    if (height > 1 && pitch > (UINT64_MAX - width) / (height - 1)) {
        return 0;
    }
    *bytes = pitch * (height - 1) + width;
    return 1;
}

static int copy_check(call *self, const char *name, const char *what, const copy_side *side, copy_area area,
                      uint64_t bytes)
{
    if (!side->device && !area.ptr) {
        return SIM_INVALID_VALUE;
    }
    if (!side->device || devmem_holds(&side->device->memory, side->offset, bytes)) {
        return side->device ? side->device->lost_code : SIM_SUCCESS;
    }
    judge_report(&self->machine->judge, side->device->ordinal, "%s %s %" PRIu64 " bytes at %s, which are not held by "
                 "one cudaMalloc", name, what, bytes, engine_name(side->device, (uint64_t)(uintptr_t)area.ptr).text);
    return SIM_INVALID_VALUE;
}

/* 1: the sides are where the kind says. */
static int copy_check_kind(call *self, const char *name, const copy_side *to, const copy_side *from,
                           enum cudaMemcpyKind kind)
{
    int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault || (to_device == (to->device != NULL) && from_device == (from->device != NULL))) {
        return 1;
    }
    judge_report(&self->machine->judge, self->device->ordinal, "%s of kind %d to an address of %s from one of %s",
                 name, (int)kind, to->device ? "a device" : "no device", from->device ? "a device" : "no device");
    return 0;
}

static int copy_no_host_memory(call *self, const char *name)
{
    judge_report(&self->machine->judge, self->device->ordinal, "no host memory left to simulate %s", name);
    return SIM_UNKNOWN;
}

static int copy_row(const copy_side *to, const copy_side *from, uint64_t row, uint64_t width)
{
    uint64_t target = row * to->pitch, source = row * from->pitch;
    if (to->device && from->device) {
        return devmem_copy(&to->device->memory, to->offset + target, &from->device->memory, from->offset + source,
                           width);
    }
    if (to->device) {
        return devmem_write(&to->device->memory, to->offset + target, width, from->host + source);
    }
    if (from->device) {
        devmem_read(&from->device->memory, from->offset + source, width, to->host + target);
    } else {
        memmove(to->host + target, from->host + source, width);
    }
    return 0;
}

int copy_bytes(call *self, const char *name, copy_area to, copy_area from, size_t width, size_t height,
               enum cudaMemcpyKind kind)
{
    uint64_t to_bytes, from_bytes;
    if ((unsigned)kind > cudaMemcpyDefault) {
        return cudaErrorInvalidMemcpyDirection;
    }
    if (height > 1 && (width > to.pitch || width > from.pitch)) {
        return cudaErrorInvalidPitchValue;
    }
    if (width == 0 || height == 0) {
        return SIM_SUCCESS;
    }
    copy_side target = copy_find(self, to), source = copy_find(self, from);
    if (!copy_extent(to.pitch, width, height, &to_bytes) || !copy_extent(from.pitch, width, height, &from_bytes)
        || !copy_check_kind(self, name, &target, &source, kind)) {
        return SIM_INVALID_VALUE;
    }
    int code = copy_check(self, name, "to", &target, to, to_bytes);
    code = code != SIM_SUCCESS ? code : copy_check(self, name, "from", &source, from, from_bytes);
    for (uint64_t row = 0; code == SIM_SUCCESS && row < height; row++) {
        if (copy_row(&target, &source, row, width)) {
            code = copy_no_host_memory(self, name);
        }
    }
    return code;
}

int copy_fill(call *self, const char *name, copy_area to, int value, size_t width, size_t height)
{
    uint64_t bytes;
    if (height > 1 && width > to.pitch) {
        return cudaErrorInvalidPitchValue;
    }
    if (width == 0 || height == 0) {
        return SIM_SUCCESS;
    }
    copy_side target = copy_find(self, to);
    if (!copy_extent(to.pitch, width, height, &bytes)) {
        return SIM_INVALID_VALUE;
    }
    if (!target.device && to.ptr && !host_find(to.ptr)) {
        judge_report(&self->machine->judge, self->device->ordinal, "%s of %" PRIu64 " bytes at an address that is "
                     "neither a device's nor pinned", name, bytes);
        return SIM_INVALID_VALUE;
    }
    int code = copy_check(self, name, "of", &target, to, bytes);
    for (uint64_t row = 0; code == SIM_SUCCESS && row < height; row++) {
        if (!target.device) {
            memset(target.host + row * to.pitch, value, width);
        } else if (devmem_set(&target.device->memory, target.offset + row * to.pitch, width, (unsigned char)value)) {
            code = copy_no_host_memory(self, name);
        }
    }
    return code;
}
