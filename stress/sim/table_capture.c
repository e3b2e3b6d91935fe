/* The capture group of the driver table: cudaStreamIsCapturing and cudaThreadExchangeStreamCaptureMode.
   Must not know of arenas; what the calls do is work.c's and capture.c's, faults and clock are the engine's.
   Tested by tests/test_sim_capture.c. */
#include "table.h"

#include "work.h"

static int table_active(const gpuarena_driver *self, gpuarena_stream handle, int *active)
{
    sim_device *device = self->user;
    int status, code = engine_begin_call(device, SIM_CALL_STREAM_IS_CAPTURING, 0).code;
    if (code == SIM_SUCCESS) {
        code = active ? work_capture_status(device, handle, &status) : SIM_INVALID_VALUE;
    }
    if (code == SIM_SUCCESS) {
        *active = status != 0;
    }
    return engine_end_call(device, SIM_CALL_STREAM_IS_CAPTURING, code,
                           engine_call_ns(device, SIM_CALL_STREAM_IS_CAPTURING));
}

static int table_exchange_mode(const gpuarena_driver *self, int *mode)
{
    sim_device *device = self->user;
    int code = engine_begin_bare_call(device, SIM_CALL_EXCHANGE_CAPTURE_MODE).code;
    if (code == SIM_SUCCESS) {
        code = capture_exchange_mode(&device->sim->captures, work_thread(device->sim), mode);
    }
    return engine_end_call(device, SIM_CALL_EXCHANGE_CAPTURE_MODE, code,
                           engine_call_ns(device, SIM_CALL_EXCHANGE_CAPTURE_MODE));
}

void table_fill_capture(gpuarena_driver *driver)
{
    driver->capture.active = table_active;
    driver->capture.exchange_mode = table_exchange_mode;
}
