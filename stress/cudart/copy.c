/* Copies and fills, row by row, between host and devices; all is checked before the first byte moves. */
#include "copy.h"

#include <inttypes.h>
#include <string.h>

#include "../sim/work.h"
#include "call.h"
#include "host.h"

typedef struct copy_side {
    sim_device    *device;                       /* NULL: the host's */
    uint64_t       offset;
    unsigned char *host;
    uint64_t       pitch;
} copy_side;

/* An address that a device has ever given is a device's, held or not: what was given back is found as that. */
static copy_side copy_find(const sim *machine, copy_area area)
{
    copy_side side = { engine_owner(machine, (uint64_t)(uintptr_t)area.ptr), 0, NULL, area.pitch };
    if (side.device) {
        engine_offset(side.device, (uint64_t)(uintptr_t)area.ptr, &side.offset);
    } else {
        side.host = area.ptr;
    }
    return side;
}

/* How many bytes there are from the first of the first row to the last of the last; or the code of a bad pitch. */
static int copy_measure(const launch *self, const copy_side *side, uint64_t width, uint64_t height, uint64_t *bytes)
{
    const uint64_t most = (uint64_t)attributes_of(self->device, cudaDevAttrMaxPitch);
    if (width > side->pitch || (height > 1 && side->pitch > most)) {
        return cudaErrorInvalidPitchValue;
    }
    if (height - 1 > (UINT64_MAX - width) / side->pitch) return SIM_INVALID_VALUE;
    *bytes = side->pitch * (height - 1) + width;
    return SIM_SUCCESS;
}

static int copy_check_pinned(const launch *self, const char *name, const char *what, const unsigned char *ptr,
                             uint64_t bytes)
{
    const host_block *block = host_find(ptr);
    uint64_t left = block ? block->bytes - (uint64_t)(ptr - (unsigned char *)block->ptr) : bytes;
    if (bytes <= left) return SIM_SUCCESS;
    judge_report(&self->device->sim->judge, self->device->ordinal,
                 "%s %s %" PRIu64 " bytes of pinned memory that ends after %" PRIu64, name, what, bytes, left);
    return SIM_INVALID_VALUE;
}

/* The host's memory is the host's own affair. */
static void copy_use(const launch *self, const copy_side *side, copy_area area, uint64_t bytes)
{
    if (side->device) {
        uint64_t address = (uint64_t)(uintptr_t)area.ptr;
        access_range range = { address, bytes, access_owner_of(side->device, address), self->op, 0, 0, 0 };
        access_use(self->device, self->by, &range);
    }
}

static int copy_check(const launch *self, const char *name, const char *what, const copy_side *side, copy_area area,
                      uint64_t bytes)
{
    if (!side->device) {
        return area.ptr ? copy_check_pinned(self, name, what, side->host, bytes) : SIM_INVALID_VALUE;
    }
    if (devmem_serves(&side->device->memory, side->offset, bytes, self->device->ordinal)) {
        return side->device->lost_code;
    }
    if (vspace_reservation(&side->device->memory.virtual, side->offset)) {
        copy_use(self, side, area, bytes);       /* a finding, and the device's end */
        return self->device->lost_code;
    }
    judge_report(&self->device->sim->judge, side->device->ordinal, "%s %s %" PRIu64 " bytes at %s, which are not "
                 "held by one cudaMalloc", name, what, bytes,
                 engine_name(side->device, (uint64_t)(uintptr_t)area.ptr).text);
    return SIM_INVALID_VALUE;
}

/* Rows of different pitches are not judged: they may pass each other by. */
static int copy_overlaps(const copy_side *to, const copy_side *from, uint64_t width, uint64_t height)
{
    uint64_t target = to->device ? to->offset : (uint64_t)(uintptr_t)to->host;
    uint64_t source = from->device ? from->offset : (uint64_t)(uintptr_t)from->host;
    uint64_t apart = target > source ? target - source : source - target;
    if (to->device != from->device || (height > 1 && to->pitch != from->pitch)) return 0;
    uint64_t rows = apart / to->pitch, rest = apart % to->pitch;
    return (rest < width && rows < height) || (to->pitch - rest < width && rows + 1 < height);
}

static int copy_check_overlap(const launch *self, const char *name, const copy_side *to, const copy_side *from,
                              uint64_t width, uint64_t height)
{
    if (!copy_overlaps(to, from, width, height)) return SIM_SUCCESS;
    judge_report(&self->device->sim->judge, self->device->ordinal,
                 "%s of %" PRIu64 " bytes between areas that overlap",
                 name, width * height);
    return SIM_INVALID_VALUE;
}

/* Memory that is wherever it is used. */
static int copy_is_managed(const copy_side *side)
{
    const host_block *block = side->device ? NULL : host_find(side->host);
    return block && block->is_managed;
}

/* Whether the sides are where the kind says. */
static int copy_check_kind(const launch *self, const char *name, const copy_side *to, const copy_side *from,
                           enum cudaMemcpyKind kind)
{
    int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault || copy_is_managed(to) || copy_is_managed(from)
        || (to_device == (to->device != NULL) && from_device == (from->device != NULL))) {
        return SIM_SUCCESS;
    }
    judge_report(&self->device->sim->judge, self->device->ordinal, "%s of kind %d to an address of %s from one of %s",
                 name, (int)kind, to->device ? "a device" : "no device", from->device ? "a device" : "no device");
    return SIM_INVALID_VALUE;
}

static int copy_no_host_memory(const launch *self, const char *name)
{
    judge_report(&self->device->sim->judge, self->device->ordinal, "no host memory left to simulate %s", name);
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
        memcpy(to->host + target, from->host + source, width);
    }
    return 0;
}

int copy_meets_host(const sim *machine, const copy_request *request)
{
    return !copy_find(machine, request->to).device || !copy_find(machine, request->from).device;
}

int copy_bytes(void *now, const void *payload)
{
    const launch *self = now;
    const copy_request *asked = payload;
    size_t width = asked->width, height = asked->height;
    uint64_t to_bytes, from_bytes;
    if ((unsigned)asked->kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (width == 0 || height == 0) return SIM_SUCCESS;
    copy_side target = copy_find(self->device->sim, asked->to), source = copy_find(self->device->sim, asked->from);
    int code = copy_measure(self, &target, width, height, &to_bytes);
    code = code != SIM_SUCCESS ? code : copy_measure(self, &source, width, height, &from_bytes);
    code = code != SIM_SUCCESS ? code : copy_check_kind(self, asked->name, &target, &source, asked->kind);
    code = code != SIM_SUCCESS ? code : copy_check(self, asked->name, "to", &target, asked->to, to_bytes);
    code = code != SIM_SUCCESS ? code : copy_check(self, asked->name, "from", &source, asked->from, from_bytes);
    code = code != SIM_SUCCESS ? code : copy_check_overlap(self, asked->name, &target, &source, width, height);
    if (code == SIM_SUCCESS) {
        copy_use(self, &target, asked->to, to_bytes);
        copy_use(self, &source, asked->from, from_bytes);
    }
    for (uint64_t row = 0; code == SIM_SUCCESS && row < height; row++) {
        if (copy_row(&target, &source, row, width)) code = copy_no_host_memory(self, asked->name);
    }
    return code;
}

static int copy_fill_row(const copy_side *target, uint64_t row, const copy_request *asked)
{
    uint64_t at = row * asked->to.pitch;
    if (!target->device) {
        memset(target->host + at, asked->value, asked->width);
        return 0;
    }
    return devmem_set(&target->device->memory, target->offset + at, asked->width, (unsigned char)asked->value);
}

int copy_fill(void *now, const void *payload)
{
    const launch *self = now;
    const copy_request *asked = payload;
    uint64_t bytes;
    if (asked->width == 0 || asked->height == 0) return SIM_SUCCESS;
    copy_side target = copy_find(self->device->sim, asked->to);
    int code = copy_measure(self, &target, asked->width, asked->height, &bytes);
    if (code == SIM_SUCCESS && !target.device && asked->to.ptr && !host_find(asked->to.ptr)) {
        judge_report(&self->device->sim->judge, self->device->ordinal, "%s of %" PRIu64 " bytes at an address that "
                     "is neither a device's nor pinned", asked->name, bytes);
        return SIM_INVALID_VALUE;
    }
    code = code != SIM_SUCCESS ? code : copy_check(self, asked->name, "of", &target, asked->to, bytes);
    if (code == SIM_SUCCESS) copy_use(self, &target, asked->to, bytes);
    for (uint64_t row = 0; code == SIM_SUCCESS && row < asked->height; row++) {
        if (copy_fill_row(&target, row, asked)) code = copy_no_host_memory(self, asked->name);
    }
    return code;
}
