/* cudaMemcpy, cudaMemset and their kin: what copies and fills do, row by row, between host and devices, all checked
   before the first byte moves; and the commands of a stream that they are.
   Must not know how bytes are kept. */
#include "call.h"

#include <inttypes.h>
#include <string.h>

/* ---- What copies and fills do: where each side lies, whether it is held, the bytes */

typedef struct copy_area {                       /* rows of equal width, pitch bytes from one to the next */
    void  *ptr;
    size_t pitch;
} copy_area;

typedef struct copy_request {
    const char *name;                            /* of the call */
    copy_area   to, from;                        /* from: not of fills */
    size_t      width, height;
    enum cudaMemcpyKind kind;                    /* of copies */
    int         value;                           /* of fills */
} copy_request;

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

/* 1: some side is the host's, so that a call that is not asynchronous waits. */
static int copy_meets_host(const sim *machine, const copy_request *request)
{
    return !copy_find(machine, request->to).device || !copy_find(machine, request->from).device;
}

/* Both answer with a code, as graph_act does; payload: a copy_request. Findings: a side that is no memory of the
   kind's, or not held by one obtain, or leaves its pinned memory; sides that overlap. Rows are at most as wide as
   each pitch, and a pitch of many rows is at most cudaDevAttrMaxPitch, else cudaErrorInvalidPitchValue. Nothing to do
   is always fine. One row: any pitch from its width on will do. */
static int copy_bytes(void *now, const void *payload)
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

static int copy_fill(void *now, const void *payload)
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

/* ---- The commands, and which of them the host waits for */

static copy_area transfer_area(const void *ptr, size_t pitch)
{
    copy_area area = { (void *)(uintptr_t)ptr, pitch };
    return area;
}

static copy_request transfer_rows(const char *name, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind)
{
    copy_request asked = { name, transfer_area(to, to_pitch), transfer_area(from, from_pitch), width, height, kind,
                           0 };
    return asked;
}

static copy_request transfer_line(const char *name, void *to, const void *from, size_t bytes,
                                  enum cudaMemcpyKind kind)
{
    return transfer_rows(name, to, bytes, from, bytes, bytes, 1, kind);
}

static int transfer_issue(call *self, const copy_request *asked, graph_act act, cudaStream_t stream)
{
    return stream_command(self, stream, act, asked, sizeof *asked, asked->name);
}

/* The host waits for what meets its memory, but as little as for other calls while something captures. */
static int transfer_wait(call *self, const copy_request *asked, cudaStream_t stream)
{
    int code;
    stream_queue *found = work_find_stream(self->device, stream, &code);
    capture_scene scene = work_scene(self->device, asked->name);
    code = found ? capture_check_wait(&scene, found) : code;
    code = code == SIM_SUCCESS ? transfer_issue(self, asked, copy_bytes, stream) : code;
    if (code == SIM_SUCCESS && copy_meets_host(self->machine, asked)) {
        code = work_wait_stream(self->device, stream, asked->name, &self->cost_ns);
    }
    return code;
}

static cudaError_t transfer_copy(sim_call kind, copy_request asked, cudaStream_t stream)
{
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream), transfer_wait(&self, &asked, stream));
}

static cudaError_t transfer_copy_async(sim_call kind, copy_request asked, cudaStream_t stream)
{
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream),
              transfer_issue(&self, &asked, copy_bytes, stream));
}

static cudaError_t transfer_fill(sim_call kind, const char *name, copy_area to, int value, size_t width,
                                 size_t height, cudaStream_t stream)
{
    copy_request asked = { name, to, to, width, height, cudaMemcpyDefault, value };
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream),
              transfer_issue(&self, &asked, copy_fill, stream));
}

/* 1: the memory is the device's, held or not. */
static int transfer_is_on(const call *self, const char *name, const void *ptr, int device)
{
    const sim_device *owner = engine_owner(self->machine, (uint64_t)(uintptr_t)ptr);
    if (owner && owner->ordinal == device) return 1;
    judge_report(&self->machine->judge, self->device->ordinal, "%s with device %d for %s", name, device,
                 engine_name(self->device, (uint64_t)(uintptr_t)ptr).text);
    return 0;
}

static int transfer_check_peers(const call *self, const copy_request *asked, int to_device, int from_device)
{
    if (!call_find_device(self, to_device) || !call_find_device(self, from_device)) {
        return cudaErrorInvalidDevice;
    }
    if (asked->width > 0 && (!transfer_is_on(self, asked->name, asked->to.ptr, to_device)
                             || !transfer_is_on(self, asked->name, asked->from.ptr, from_device))) {
        return SIM_INVALID_VALUE;
    }
    return SIM_SUCCESS;
}

static cudaError_t transfer_peers(sim_call kind, copy_request asked, int to_device, int from_device,
                                  cudaStream_t stream)
{
    call self;
    if (call_begin(&self, kind, 0) && stream_check(&self, stream)) {
        int code = transfer_check_peers(&self, &asked, to_device, from_device);
        self.code = code == SIM_SUCCESS ? transfer_issue(&self, &asked, copy_bytes, stream) : code;
    }
    return call_end(&self);
}

/* A copy or fill that names no stream. Its form for programs with per-thread default streams has the thread's. */
#define TRANSFER_FUNCTION(name, form, parameters, answer) \
    CUDART_EXPORT cudaError_t name parameters { const cudaStream_t stream = NULL; return answer; } \
    CUDART_THREAD_FORM(name, form) parameters { const cudaStream_t stream = cudaStreamPerThread; return answer; }
TRANSFER_FUNCTION(cudaMemcpy, cudaMemcpy_ptds, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
                  transfer_copy(SIM_CALL_MEMCPY, transfer_line("cudaMemcpy", to, from, bytes, kind), stream))
TRANSFER_FUNCTION(cudaMemcpy2D, cudaMemcpy2D_ptds,
                  (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                   enum cudaMemcpyKind kind),
                  transfer_copy(SIM_CALL_MEMCPY_2D,
                                transfer_rows("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind),
                                stream))
TRANSFER_FUNCTION(cudaMemset, cudaMemset_ptds, (void *to, int value, size_t bytes),
                  transfer_fill(SIM_CALL_MEMSET, "cudaMemset", transfer_area(to, bytes), value, bytes, 1, stream))
TRANSFER_FUNCTION(cudaMemset2D, cudaMemset2D_ptds, (void *to, size_t pitch, int value, size_t width, size_t height),
                  transfer_fill(SIM_CALL_MEMSET_2D, "cudaMemset2D", transfer_area(to, pitch), value, width, height,
                                stream))

/* Likewise of a stream that is named. */
#define TRANSFER_ASYNC_FUNCTION(name, parameters, answer) \
    CUDART_EXPORT cudaError_t name parameters { return answer; } \
    CUDART_THREAD_FORM(name, name##_ptsz) parameters { stream = stream_of_thread(stream); return answer; }
TRANSFER_ASYNC_FUNCTION(cudaMemcpyAsync,
                        (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
                        transfer_copy_async(SIM_CALL_MEMCPY_ASYNC,
                                            transfer_line("cudaMemcpyAsync", to, from, bytes, kind), stream))
TRANSFER_ASYNC_FUNCTION(cudaMemcpy2DAsync,
                        (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind, cudaStream_t stream),
                        transfer_copy_async(SIM_CALL_MEMCPY_2D_ASYNC,
                                            transfer_rows("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width,
                                                          height, kind), stream))
TRANSFER_ASYNC_FUNCTION(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream),
                        transfer_fill(SIM_CALL_MEMSET_ASYNC, "cudaMemsetAsync", transfer_area(to, bytes), value,
                                      bytes, 1, stream))
TRANSFER_ASYNC_FUNCTION(cudaMemset2DAsync,
                        (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
                        transfer_fill(SIM_CALL_MEMSET_2D_ASYNC, "cudaMemset2DAsync", transfer_area(to, pitch), value,
                                      width, height, stream))

CUDART_EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return transfer_peers(SIM_CALL_MEMCPY_PEER, transfer_line("cudaMemcpyPeer", to, from, bytes, cudaMemcpyDefault),
                          to_device, from_device, NULL);
}

CUDART_EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                              size_t bytes, cudaStream_t stream)
{
    return transfer_peers(SIM_CALL_MEMCPY_PEER_ASYNC,
                          transfer_line("cudaMemcpyPeerAsync", to, from, bytes, cudaMemcpyDefault), to_device,
                          from_device, stream);
}
