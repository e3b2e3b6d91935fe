/* Devices: which there are, which is current, what they are, which reach each other, and their end.
   Must not know how memory is held. */
#include <cuda_profiler_api.h>
#include <stdio.h>
#include <string.h>

#include "../sim/memory.h"
#include "call.h"

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

static int devices_attribute(const call *self, int *value, int attribute, int device)
{
    const sim_device *found = call_find_device(self, device);
    if (!found) return cudaErrorInvalidDevice;
    return value && attributes_read(found, attribute, value) ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

CUDART_FUNCTION(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
                call_begin_bare(&self, SIM_CALL_DEVICE_GET_ATTRIBUTE),
                devices_attribute(&self, value, (int)attribute, device))

static int devices_bus(const call *self, char *text, int bytes, int device)
{
    char address[16];
    int length = snprintf(address, sizeof address, "0000:%02X:00.0", ((unsigned)device + 1) & 0xFF);
    if (!call_find_device(self, device)) return cudaErrorInvalidDevice;
    if (!text || bytes <= length) return SIM_INVALID_VALUE;
    memcpy(text, address, (size_t)length + 1);
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaDeviceGetPCIBusId, (char *text, int bytes, int device),
                call_begin_bare(&self, SIM_CALL_DEVICE_GET_PCI_BUS_ID), devices_bus(&self, text, bytes, device))

CUDART_FUNCTION(cudaDeviceSynchronize, (void), call_begin(&self, SIM_CALL_DEVICE_SYNCHRONIZE, 0),
                work_wait_device(self.device, "cudaDeviceSynchronize", &self.cost_ns))

static int devices_reset(sim_device *device)
{
    work_reset(device);
    memory_reset(device);
    host_reset(device);
    device->has_context = 0;
    device->runtime_flags = 0;
    device->runtime_peers = 0;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaDeviceReset, (void), call_begin(&self, SIM_CALL_DEVICE_RESET, 0), devices_reset(self.device))

/* There is no profiler. */
CUDART_EXPORT cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

CUDART_EXPORT cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}

static int devices_set_flags(sim_device *device, unsigned flags)
{
    if (!devices_flags_fit(flags)) return SIM_INVALID_VALUE;
    device->runtime_flags = flags;
    return SIM_SUCCESS;
}

static int devices_get_flags(const sim_device *device, unsigned *flags)
{
    if (flags) *flags = device->runtime_flags;
    return flags ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

CUDART_FUNCTION(cudaSetDeviceFlags, (unsigned int flags), call_begin(&self, SIM_CALL_SET_DEVICE_FLAGS, 0),
                devices_set_flags(self.device, flags))
CUDART_FUNCTION(cudaGetDeviceFlags, (unsigned int *flags), call_begin(&self, SIM_CALL_GET_DEVICE_FLAGS, 0),
                devices_get_flags(self.device, flags))

/* ---- Peers: every device reaches every other once it is enabled, one way at a time. Copies need none of it */

static int peers_can(const call *self, int *can, int device, int peer)
{
    if (!call_find_device(self, device) || !call_find_device(self, peer)) return cudaErrorInvalidDevice;
    return call_put(can, device != peer);
}

CUDART_FUNCTION(cudaDeviceCanAccessPeer, (int *can, int device, int peer),
                call_begin_bare(&self, SIM_CALL_CAN_ACCESS_PEER), peers_can(&self, can, device, peer))

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

static int peers_disable(call *self, int peer)
{
    unsigned bit = peers_bit(self, peer), was = self->device->runtime_peers;
    self->device->runtime_peers &= ~bit;
    return !bit ? cudaErrorInvalidDevice : was & bit ? SIM_SUCCESS : cudaErrorPeerAccessNotEnabled;
}

CUDART_FUNCTION(cudaDeviceDisablePeerAccess, (int peer), call_begin(&self, SIM_CALL_DISABLE_PEER_ACCESS, 0),
                peers_disable(&self, peer))
