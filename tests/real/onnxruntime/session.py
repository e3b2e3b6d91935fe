"""ONNX Runtime on the simulated device, its CUDA provider with gpuarena for allocator: examples/onnxruntime. What it computes
is not looked at, since kernels are skipped. TAP. Arguments: the adapter, the names of the statistics."""
import ctypes
import gc
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import numpy as np
import onnxruntime as ort
from tap import check, done, raised

MIB = 1 << 20
if hasattr(ort, "disable_telemetry_events"):
    ort.disable_telemetry_events()
ort.set_default_logger_severity(4)
lib = ctypes.CDLL(sys.argv[1])
lib.gpuarena_ort_why.restype = ctypes.c_char_p


# ---- a model as bytes: a message is fields, each a number or bytes (protobuf); y = Relu(x + w)

def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, numbers):
    return field(1, len(numbers)) + field(2, 1) + field(8, name) + field(9, struct.pack(f"<{len(numbers)}f", *numbers))


def value(name, count):
    shape = field(2, field(1, field(1, count)))
    return field(1, name) + field(2, field(1, field(1, 1) + shape))


def node(operator, inputs, output):
    return b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, operator)


def model(count):
    graph = (field(1, node("Add", ["x", "w"], "s")) + field(1, node("Relu", ["s"], "y")) + field(2, "g")
             + field(5, tensor("w", [1.0] * count)) + field(11, value("x", count)) + field(12, value("y", count)))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


# ---- what the arena says

NAMES = sys.argv[2].split()


def stats():
    values = (ctypes.c_uint64 * len(NAMES))()
    lib.gpuarena_ort_stats(ctypes.byref(values))
    return dict(zip(NAMES, values))


def session(count):
    options = {"gpu_external_" + name: str(ctypes.cast(getattr(lib, "gpuarena_ort_" + name), ctypes.c_void_p).value)
               for name in ("alloc", "free", "empty_cache")}
    return ort.InferenceSession(model(count), providers=[("CUDAExecutionProvider", options)])


def run(one, count):
    return one.run(None, {"x": np.arange(count, dtype=np.float32)})[0]


def plain():
    one = session(MIB)
    check(one.get_providers()[0] == "CUDAExecutionProvider", "the CUDA provider takes the addresses of the adapter")
    out = run(one, MIB)
    check(out.shape == (MIB,) and stats()["live_bytes"] >= 4 * MIB, f"its weights are the arena's: {stats()['live_bytes']} bytes")
    for _ in range(10):
        run(one, MIB)
    first = stats()
    for _ in range(20):
        run(one, MIB)
    last = stats()
    check(last["alloc_count"] >= first["alloc_count"] + 20, "runs allocate from the arena")
    check(first["reserved_peak_bytes"] == last["limit_bytes"], "which grows to its limit before anything waits")
    waits = last["gpu_wait_count"] - first["gpu_wait_count"]
    check(last["driver_call_count"] == first["driver_call_count"] and waits <= 3,
          f"from then on no run calls the driver, and one in several waits: {waits} of 20")
    del one
    gc.collect()
    check(stats()["live_count"] == 0, f"with the session all of it ends: {stats()['live_count']} blocks are live")


def too_much():
    e = raised(lambda: run(session(64 * MIB), 64 * MIB))
    why = lib.gpuarena_ort_why().decode()
    check(e is not None, f"what does not fit fails: {type(e).__name__}")
    check("would pass the limit of 134217728 bytes" in why, f"and the arena says why: {why}")


plain()
too_much()
done()

