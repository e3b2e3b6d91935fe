/* Peer access: every device reaches every other once it is enabled, one way at a time.
   Must not know of copies: those work between any two devices, enabled or not. */
#include "call.h"

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

CUDART_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    CALL_DOES(call_begin(&self, SIM_CALL_ENABLE_PEER_ACCESS, 0), peers_enable(&self, peer, flags));
}

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
