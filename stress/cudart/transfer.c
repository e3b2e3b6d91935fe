/* cudaMemcpy, cudaMemset and their kin: the effects of copies and fills, row by row, between host and devices, all
   checked before the first byte moves; and their commands on a stream.
   Must not know how bytes are kept. */
#include "call.h"

/* ---- Effects of copies and fills: where each side lies, whether it is held, the bytes */

typedef struct copy_request {                    /* rows of equal width, a side's pitch from one to the next */
    const char *name;                            /* of the call */
    void       *to;
    size_t      to_pitch;
    const void *from;                            /* not of fills */
    size_t      from_pitch;
    size_t      width, height;
    enum cudaMemcpyKind kind;                    /* of copies */
    int         is_fill, value;
    int         waits;                           /* 1: the host waits if a side is its memory */
    int         names_devices;                   /* 1: the call says whose the sides are: */
    int         to_device, from_device;
} copy_request;

typedef struct copy_side {
    sim_device    *device;                       /* NULL: the host's */
    uint64_t       address, offset;              /* offset: of the device's */
    unsigned char *host;
    uint64_t       pitch;
    uint64_t       bytes;                        /* from the first of the first row to the last of the last */
} copy_side;

typedef struct copy {
    const launch       *now;
    const copy_request *asked;
    copy_side           to, from;
} copy;

/* A finding of this copy. */
#define COPY_REPORT(self, ...) ENGINE_REPORT((self)->now->device, __VA_ARGS__)

/* An address that a device has ever given is a device's, held or not: so memory that was given back is recognized. */
static copy_side copy_find(const sim *machine, const void *ptr, size_t pitch)
{
    uint64_t address = (uint64_t)(uintptr_t)ptr;
    copy_side side = { NULL, address, 0, (unsigned char *)(uintptr_t)ptr, pitch, 0 };
    side.device = engine_owner(machine, address, &side.offset);
    return side;
}

/* Measures a side; or the code of a bad pitch. */
static int copy_measure(const copy *self, copy_side *side)
{
    const uint64_t most = (uint64_t)attributes_of(self->now->device, cudaDevAttrMaxPitch);
    uint64_t width = self->asked->width, height = self->asked->height;
    if (width > side->pitch || (height > 1 && side->pitch > most)) return cudaErrorInvalidPitchValue;
    if (height - 1 > (UINT64_MAX - width) / side->pitch) return SIM_INVALID_VALUE;
    side->bytes = side->pitch * (height - 1) + width;
    return SIM_SUCCESS;
}

static int copy_check_pinned(const copy *self, const char *what, const copy_side *side)
{
    const host_block *block = host_find(side->host);
    uint64_t left = block ? block->bytes - (uint64_t)(side->host - (unsigned char *)block->ptr) : side->bytes;
    if (side->bytes <= left) return SIM_SUCCESS;
    COPY_REPORT(self, "%s %s %" PRIu64 " bytes of pinned memory that ends after %" PRIu64, self->asked->name, what,
                side->bytes, left);
    return SIM_INVALID_VALUE;
}

/* The host's memory is the host's own affair. */
static void copy_use(const copy *self, const copy_side *side)
{
    if (side->device) {
        access_range range = { side->address, side->bytes, access_owner_of(side->device, side->address),
                               self->now->op, 0, 0, 0 };
        access_use(self->now->device, self->now->by, &range);
    }
}

static int copy_check(const copy *self, const char *what, const copy_side *side)
{
    if (!side->device) return side->host ? copy_check_pinned(self, what, side) : SIM_INVALID_VALUE;
    if (devmem_reaches(&side->device->memory, side->offset, side->bytes, self->now->device->ordinal)) {
        return side->device->lost_code;
    }
    if (devmem_reservation(&side->device->memory, side->offset)) {
        copy_use(self, side);                    /* a finding, and the device's end */
        return self->now->device->lost_code;
    }
    ENGINE_REPORT(side->device, "%s %s %" PRIu64 " bytes at %s, which are not held by one cudaMalloc",
                  self->asked->name, what, side->bytes, engine_name(side->device, side->address).text);
    return SIM_INVALID_VALUE;
}

/* Rows of different pitches are not judged: they may pass each other by. */
static int copy_overlaps(const copy *self)
{
    const copy_side *to = &self->to, *from = &self->from;
    uint64_t width = self->asked->width, height = self->asked->height;
    uint64_t apart = to->address > from->address ? to->address - from->address : from->address - to->address;
    if (to->device != from->device || (height > 1 && to->pitch != from->pitch)) return 0;
    uint64_t rows = apart / to->pitch, rest = apart % to->pitch;
    return (rest < width && rows < height) || (to->pitch - rest < width && rows + 1 < height);
}

/* Memory that is wherever it is used. */
static int copy_is_managed(const copy_side *side)
{
    const host_block *block = side->device ? NULL : host_find(side->host);
    return block && block->kind == HOST_MANAGED;
}

/* Checks that the sides are where the kind says. */
static int copy_check_kind(const copy *self)
{
    const copy_side *to = &self->to, *from = &self->from;
    enum cudaMemcpyKind kind = self->asked->kind;
    int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault || copy_is_managed(to) || copy_is_managed(from)
        || (to_device == (to->device != NULL) && from_device == (from->device != NULL))) {
        return SIM_SUCCESS;
    }
    COPY_REPORT(self, "%s of kind %d to an address of %s from one of %s", self->asked->name, (int)kind,
                to->device ? "a device" : "no device", from->device ? "a device" : "no device");
    return SIM_INVALID_VALUE;
}

static int copy_check_fill(const copy *self)
{
    const copy_side *to = &self->to;
    if (to->device || !to->host || host_find(to->host)) return copy_check(self, "of", to);
    COPY_REPORT(self, "%s of %" PRIu64 " bytes at an address that is neither a device's nor pinned",
                self->asked->name, to->bytes);
    return SIM_INVALID_VALUE;
}

/* All that may be wrong, before the first byte moves. */
static int copy_check_all(copy *self)
{
    int code = copy_measure(self, &self->to);
    if (code == SIM_SUCCESS && self->asked->is_fill) return copy_check_fill(self);
    if (code == SIM_SUCCESS) code = copy_measure(self, &self->from);
    if (code == SIM_SUCCESS) code = copy_check_kind(self);
    if (code == SIM_SUCCESS) code = copy_check(self, "to", &self->to);
    if (code == SIM_SUCCESS) code = copy_check(self, "from", &self->from);
    if (code != SIM_SUCCESS || !copy_overlaps(self)) return code;
    COPY_REPORT(self, "%s of %" PRIu64 " bytes between areas that overlap", self->asked->name,
                (uint64_t)(self->asked->width * self->asked->height));
    return SIM_INVALID_VALUE;
}

/* -1: no host memory. */
static int copy_row(const copy *self, uint64_t row)
{
    const copy_side *to = &self->to, *from = &self->from;
    uint64_t target = row * to->pitch, source = row * from->pitch, width = self->asked->width;
    if (self->asked->is_fill && to->device) {
        return devmem_set(&to->device->memory, to->offset + target, width, (unsigned char)self->asked->value);
    }
    if (to->device && from->device) {
        return devmem_copy(&to->device->memory, to->offset + target, &from->device->memory, from->offset + source,
                           width);
    }
    if (to->device) return devmem_write(&to->device->memory, to->offset + target, width, from->host + source);
    if (self->asked->is_fill) {
        memset(to->host + target, self->asked->value, width);
    } else if (from->device) {
        devmem_read(&from->device->memory, from->offset + source, width, to->host + target);
    } else {
        memmove(to->host + target, from->host + source, width);
    }
    return 0;
}

/* A graph_act; payload: a copy_request. Findings: a side that is no memory of the kind's, or not held by one obtain,
   or leaves its pinned memory; sides that overlap. Rows are at most as wide as each pitch, and a pitch of many rows
   is at most cudaDevAttrMaxPitch, else cudaErrorInvalidPitchValue. Nothing to do is always fine. One row: any pitch
   from its width on will do. */
static int copy_act(const launch *now, const void *payload)
{
    const copy_request *asked = payload;
    const sim *machine = now->device->sim;
    copy self = { now, asked, copy_find(machine, asked->to, asked->to_pitch),
                  copy_find(machine, asked->from, asked->from_pitch) };
    if ((unsigned)asked->kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (asked->width == 0 || asked->height == 0) return SIM_SUCCESS;
    int code = copy_check_all(&self);
    if (code != SIM_SUCCESS) return code;
    copy_use(&self, &self.to);
    if (!asked->is_fill) copy_use(&self, &self.from);
    for (uint64_t row = 0; row < asked->height; row++) {
        if (copy_row(&self, row)) {
            COPY_REPORT(&self, "no host memory left to simulate %s", asked->name);
            return SIM_UNKNOWN;
        }
    }
    return SIM_SUCCESS;
}

/* ---- The commands, and which of them the host waits for */

/* Tells whether the memory is the device's, held or not; if it is not, that is a finding. */
static int transfer_is_on(const call *self, const char *name, const void *ptr, int device)
{
    const sim_device *owner = engine_owner(self->machine, (uint64_t)(uintptr_t)ptr, NULL);
    if (owner && owner->ordinal == device) return 1;
    ENGINE_REPORT(self->device, "%s with device %d for %s", name, device,
                  engine_name(self->device, (uint64_t)(uintptr_t)ptr).text);
    return 0;
}

/* While something captures, the host waits as little as for other calls. */
static int transfer_serve(call *self, const copy_request *asked)
{
    int code = asked->waits ? capture_check_wait(self, self->stream) : SIM_SUCCESS;
    if (asked->names_devices) {
        const sim *machine = self->machine;
        if (!engine_device(machine, asked->to_device) || !engine_device(machine, asked->from_device)) {
            return cudaErrorInvalidDevice;
        }
        if (asked->width > 0 && (!transfer_is_on(self, asked->name, asked->to, asked->to_device)
                                 || !transfer_is_on(self, asked->name, asked->from, asked->from_device))) {
            return SIM_INVALID_VALUE;
        }
    }
    if (code == SIM_SUCCESS) {
        code = launch_command(self, self->machine->runtime_work_ns, copy_act, asked, sizeof *asked);
    }
    if (code == SIM_SUCCESS && asked->waits
        && (!engine_owner(self->machine, (uint64_t)(uintptr_t)asked->to, NULL)
            || !engine_owner(self->machine, (uint64_t)(uintptr_t)asked->from, NULL))) {
        code = work_wait_stream(self, 1);
    }
    return code;
}

static cudaError_t transfer(sim_call kind, copy_request asked, cudaStream_t stream)
{
    CALL_DOES(stream_begin(&self, kind, stream), transfer_serve(&self, &asked));
}

/* The arguments of transfer, in words of a call's parameters. */
#define TRANSFER_COPY(name, waits) \
    SIM_CALL_OF_##name, (copy_request){ #name, to, bytes, from, bytes, bytes, 1, kind, 0, 0, waits, 0, 0, 0 }
#define TRANSFER_COPY_2D(name, waits) \
    SIM_CALL_OF_##name, \
    (copy_request){ #name, to, to_pitch, from, from_pitch, width, height, kind, 0, 0, waits, 0, 0, 0 }
#define TRANSFER_FILL(name, waits) \
    SIM_CALL_OF_##name, \
    (copy_request){ #name, to, bytes, NULL, 0, bytes, 1, cudaMemcpyDefault, 1, value, waits, 0, 0, 0 }
#define TRANSFER_FILL_2D(name, waits) \
    SIM_CALL_OF_##name, \
    (copy_request){ #name, to, pitch, NULL, 0, width, height, cudaMemcpyDefault, 1, value, waits, 0, 0, 0 }
#define TRANSFER_PEERS(name) \
    SIM_CALL_OF_##name, \
    (copy_request){ #name, to, bytes, from, bytes, bytes, 1, cudaMemcpyDefault, 0, 0, 0, 1, to_device, from_device }

/* A copy or fill that names no stream. Its form for programs with per-thread default streams has the thread's. */
#define TRANSFER_FUNCTION(name, what, waits, parameters) \
    CUDART_EXPORT cudaError_t name parameters { return transfer(what(name, waits), NULL); } \
    CUDART_THREAD_FORM(name, name##_ptds) parameters { return transfer(what(name, waits), cudaStreamPerThread); }
TRANSFER_FUNCTION(cudaMemcpy, TRANSFER_COPY, 1,
                  (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind))
TRANSFER_FUNCTION(cudaMemcpy2D, TRANSFER_COPY_2D, 1,
                  (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                   enum cudaMemcpyKind kind))
TRANSFER_FUNCTION(cudaMemset, TRANSFER_FILL, 0, (void *to, int value, size_t bytes))
TRANSFER_FUNCTION(cudaMemset2D, TRANSFER_FILL_2D, 0,
                  (void *to, size_t pitch, int value, size_t width, size_t height))

/* A copy or fill that names a stream. */
#define TRANSFER_ASYNC_FUNCTION(name, what, parameters) \
    CUDART_EXPORT cudaError_t name parameters { return transfer(what(name, 0), stream); } \
    CUDART_THREAD_FORM(name, name##_ptsz) parameters { return transfer(what(name, 0), stream_of_thread(stream)); }
TRANSFER_ASYNC_FUNCTION(cudaMemcpyAsync, TRANSFER_COPY,
                        (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream))
TRANSFER_ASYNC_FUNCTION(cudaMemcpy2DAsync, TRANSFER_COPY_2D,
                        (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind, cudaStream_t stream))
TRANSFER_ASYNC_FUNCTION(cudaMemsetAsync, TRANSFER_FILL, (void *to, int value, size_t bytes, cudaStream_t stream))
TRANSFER_ASYNC_FUNCTION(cudaMemset2DAsync, TRANSFER_FILL_2D,
                        (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream))

CUDART_EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return transfer(TRANSFER_PEERS(cudaMemcpyPeer), NULL);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                              size_t bytes, cudaStream_t stream)
{
    return transfer(TRANSFER_PEERS(cudaMemcpyPeerAsync), stream);
}
