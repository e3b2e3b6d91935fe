/* Devices: which there are, which is current, what they are, which reach each other, and their end.
   Must not know how memory is held. */
#include <cuda_profiler_api.h>
#include <stdio.h>
#include <string.h>

#include "../sim/memory.h"
#include "../sim/work.h"
#include "call.h"
#include "host.h"

CUDART_FUNCTION(cudaGetDeviceCount, (int *count), call_begin_bare(&self, SIM_CALL_GET_DEVICE_COUNT),
                call_put(count, self.machine->device_count))
CUDART_FUNCTION(cudaGetDevice, (int *device), call_begin_bare(&self, SIM_CALL_GET_DEVICE),
                call_put(device, self.thread->device))

/* From CUDA 12 on this is where a context is created, and where a lost device shows. */
static int devices_select(call *self, int ordinal)
{
    sim_device *found = call_find_device(self, ordinal);
    if (!found) return cudaErrorInvalidDevice;
    if (CUDART_VERSION >= 12000) {
        if (found->lost_code) return found->lost_code;
        engine_open_context(found);
        self->thread->has_context = 1;
    }
    self->thread->device = ordinal;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaSetDevice, (int device), call_begin_bare(&self, SIM_CALL_SET_DEVICE),
                devices_select(&self, device))

/* One way to wait at most, and nothing that is unknown. */
static int devices_flags_fit(unsigned flags)
{
    unsigned schedule = flags & cudaDeviceScheduleMask;
    return (flags & ~(unsigned)cudaDeviceMask) == 0 && (schedule & (schedule - 1)) == 0;
}

#if CUDART_VERSION >= 12000
static int devices_initialise(const call *self, int ordinal, unsigned device_flags, unsigned flags)
{
    sim_device *found = call_find_device(self, ordinal);
    if (!found) return cudaErrorInvalidDevice;
    if (flags & ~(unsigned)cudaInitDeviceFlagsAreValid || !devices_flags_fit(device_flags)) {
        return SIM_INVALID_VALUE;
    }
    if (flags & cudaInitDeviceFlagsAreValid) found->runtime_flags = device_flags;
    engine_open_context(found);
    return found->lost_code;
}

CUDART_FUNCTION(cudaInitDevice, (int device, unsigned int device_flags, unsigned int flags),
                call_begin_bare(&self, SIM_CALL_INIT_DEVICE), devices_initialise(&self, device, device_flags, flags))
#endif

CUDART_EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_DEVICE_GET_ATTRIBUTE)) {
        const sim_device *found = call_find_device(&self, device);
        if (!found) {
            self.code = cudaErrorInvalidDevice;
        } else if (!value || !attributes_read(found, (int)attribute, value)) {
            self.code = SIM_INVALID_VALUE;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_DEVICE_GET_PCI_BUS_ID)) {
        char address[16];
        int length = snprintf(address, sizeof address, "0000:%02X:00.0", ((unsigned)device + 1) & 0xFF);
        if (!call_find_device(&self, device)) {
            self.code = cudaErrorInvalidDevice;
        } else if (!text || bytes <= length) {
            self.code = SIM_INVALID_VALUE;
        } else {
            memcpy(text, address, (size_t)length + 1);
        }
    }
    return call_end(&self);
}

CUDART_FUNCTION(cudaDeviceSynchronize, (void), call_begin(&self, SIM_CALL_DEVICE_SYNCHRONIZE, 0),
                work_wait_device(self.device, "cudaDeviceSynchronize", &self.cost_ns))

CUDART_EXPORT cudaError_t cudaDeviceReset(void)
{
    call self;
    if (call_begin(&self, SIM_CALL_DEVICE_RESET, 0)) {
        work_reset(self.device);
        memory_reset(self.device);
        host_reset(self.device);
        self.device->has_context = 0;
        self.device->runtime_flags = 0;
        self.device->runtime_peers = 0;
    }
    return call_end(&self);
}

/* There is no profiler. */
CUDART_EXPORT cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    call self;
    if (call_begin(&self, SIM_CALL_SET_DEVICE_FLAGS, 0)) {
        if (!devices_flags_fit(flags)) {
            self.code = SIM_INVALID_VALUE;
        } else {
            self.device->runtime_flags = flags;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    call self;
    if (call_begin(&self, SIM_CALL_GET_DEVICE_FLAGS, 0)) {
        self.code = flags ? SIM_SUCCESS : SIM_INVALID_VALUE;
        if (flags) *flags = self.device->runtime_flags;
    }
    return call_end(&self);
}

/* ---- Peers: every device reaches every other once it is enabled, one way at a time. Copies need none of it */

CUDART_EXPORT cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_CAN_ACCESS_PEER)) {
        if (!call_find_device(&self, device) || !call_find_device(&self, peer)) {
            self.code = cudaErrorInvalidDevice;
        } else if (!can) {
            self.code = SIM_INVALID_VALUE;
        } else {
            *can = device != peer;
        }
    }
    return call_end(&self);
}

/* The peer's bit, or 0: not a peer of the current device. */
static unsigned peers_bit(const call *self, int peer)
{
    return call_find_device(self, peer) && peer != self->device->ordinal ? 1u << peer : 0;
}

static int peers_enable(call *self, int peer, unsigned flags)
{
    unsigned bit = peers_bit(self, peer);
    if (!bit || flags != 0) return bit ? SIM_INVALID_VALUE : cudaErrorInvalidDevice;
    if (self->device->runtime_peers & bit) return cudaErrorPeerAccessAlreadyEnabled;
    self->device->runtime_peers |= bit;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaDeviceEnablePeerAccess, (int peer, unsigned int flags),
                call_begin(&self, SIM_CALL_ENABLE_PEER_ACCESS, 0), peers_enable(&self, peer, flags))

CUDART_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    call self;
    if (call_begin(&self, SIM_CALL_DISABLE_PEER_ACCESS, 0)) {
        unsigned bit = peers_bit(&self, peer);
        if (!bit) {
            self.code = cudaErrorInvalidDevice;
        } else if (!(self.device->runtime_peers & bit)) {
            self.code = cudaErrorPeerAccessNotEnabled;
        }
        self.device->runtime_peers &= ~bit;
    }
    return call_end(&self);
}
