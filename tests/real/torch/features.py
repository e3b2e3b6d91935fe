"""What torch.cuda does with gpuarena as its allocator: features.py LIBRARY. A line for each feature: ok or not ok, as TAP has
it. On a device of 24 GiB, and on one where kernels compute nothing."""
import ctypes
import gc
import os
import sys
import tempfile

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from tap import check, done, raised

MIB = 1 << 20


def allocations():
    check(torch.cuda.memory.get_allocator_backend() == "gpuarena", "PyTorch names the allocator")
    x = torch.empty(10 * MIB, dtype=torch.uint8, device="cuda")
    check(torch.cuda.memory_allocated() == 10 * MIB, "memory_allocated counts a tensor")
    check(torch.cuda.memory_reserved() >= 10 * MIB, "memory_reserved covers it")
    host = torch.arange(1000.0)
    check(torch.equal(host.to("cuda").cpu(), host), "a tensor goes to the device and back")
    address = x.data_ptr()
    x.record_stream(torch.cuda.Stream())
    del x
    x = torch.empty(10 * MIB, dtype=torch.uint8, device="cuda")
    check(x.data_ptr() == address, "memory that an idle stream was recorded for is given again")
    del x
    check(torch.cuda.memory_allocated() == 0 and torch.cuda.max_memory_allocated() >= 10 * MIB, "the peak stays")
    torch.cuda.reset_peak_memory_stats()
    check(torch.cuda.max_memory_allocated() == 0, "until it is reset")
    torch.cuda.empty_cache()
    check(torch.cuda.memory_reserved() == 0, "empty_cache gives all back")
    check("GPU reserved memory" in torch.cuda.memory_summary(), "memory_summary prints")


def failures():
    torch.cuda.set_per_process_memory_fraction(0.5)
    total = torch.cuda.mem_get_info()[1]
    inside = torch.empty(total // 2 - 64 * MIB, dtype=torch.uint8, device="cuda")
    e = raised(lambda: torch.empty(128 * MIB, dtype=torch.uint8, device="cuda"))
    check(isinstance(e, torch.OutOfMemoryError), "set_per_process_memory_fraction is the limit, and OutOfMemoryError tells")
    check("torch:0" in str(e) and "limit" in str(e), f"with the arena's sentence: {str(e).splitlines()[0]}")
    check(torch.cuda.memory_stats()["num_ooms"] == 1, "num_ooms counts it")
    del inside
    check(torch.empty(128 * MIB, dtype=torch.uint8, device="cuda").numel() > 0, "after a free there is room")
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.cuda.empty_cache()


def snapshots():
    torch.cuda.memory._record_memory_history()
    x = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
    y = torch.empty(5 * MIB, dtype=torch.uint8, device="cuda")
    del x
    segments = torch.cuda.memory_snapshot()
    blocks = [b for s in segments for b in s["blocks"] if b["state"] == "active_allocated"]
    check([b["requested_size"] for b in blocks] == [5 * MIB], "memory_snapshot has the live block")
    check(any("features.py" in f["filename"] for f in blocks[0]["frames"]), "with the stack that allocated it")
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    actions = [(t["action"], t["size"]) for t in trace]
    check(("alloc", 3 * MIB) in actions and ("free_completed", 3 * MIB) in actions, "the history has allocation and free")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.pickle")
        torch.cuda.memory._dump_snapshot(path)
        check(os.path.getsize(path) > 1000, "and is written as a pickle")
    torch.cuda.memory._record_memory_history(enabled=None)
    check(not torch.cuda.memory._snapshot()["device_traces"][0], "until it is turned off")
    del y


def kernel(stream, tensor, ns=1_000_000):
    """Work on the simulated device that uses a tensor: the judge sees it."""
    address, size = ctypes.c_void_p(tensor.data_ptr()), ctypes.c_uint64(tensor.numel())
    launch = ctypes.CDLL(None).cudart_kernel
    launch.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    assert launch(stream.cuda_stream, ns, ctypes.byref(address), ctypes.byref(size), 1) == 0


def streams():
    side, here = torch.cuda.Stream(), torch.cuda.current_stream()
    x = torch.empty(6 * MIB, dtype=torch.uint8, device="cuda")
    address = x.data_ptr()
    side.wait_stream(here)
    kernel(side, x)
    x.record_stream(side)
    del x
    y = torch.empty(6 * MIB, dtype=torch.uint8, device="cuda")
    kernel(here, y)
    check(y.data_ptr() != address, "memory that a busy stream was recorded for is not given to others")
    torch.cuda.synchronize()
    del y
    torch.cuda.set_per_process_memory_fraction(24 * MIB / torch.cuda.mem_get_info()[1])
    for turn in range(8):                        # more than the limit has room for, unless streams wait for each other
        with torch.cuda.stream(side if turn % 2 else here):
            x = torch.empty(16 * MIB, dtype=torch.uint8, device="cuda")
            kernel(torch.cuda.current_stream(), x)
            del x
    check(torch.cuda.max_memory_reserved() >= 16 * MIB and torch.cuda.memory_allocated() == 0,
          "under a limit streams take each other's memory in order: the judge watches")
    torch.cuda.synchronize()
    torch.cuda.set_per_process_memory_fraction(1.0)


def pools():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
    address = x.data_ptr()
    del x
    y = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
    check(y.data_ptr() != address, "what a MemPool had is not given to others")
    with torch.cuda.use_mem_pool(pool):
        x = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
    check(x.data_ptr() == address, "and is its own again")
    del x, y, pool
    gc.collect()


def graphs():
    graph = torch.cuda.CUDAGraph()
    kept = torch.zeros(MIB, dtype=torch.uint8, device="cuda")
    with torch.cuda.graph(graph):
        between = torch.zeros(2 * MIB, dtype=torch.uint8, device="cuda")
        kept.copy_(between[:MIB])
        address = between.data_ptr()
        del between
        after = torch.empty(2 * MIB, dtype=torch.uint8, device="cuda")
    check(after.data_ptr() == address, "in a capture memory is reused")
    del after
    outside = torch.empty(2 * MIB, dtype=torch.uint8, device="cuda")
    check(outside.data_ptr() != address, "and stays the graph's after it")
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    check(torch.cuda.memory_allocated() >= 3 * MIB, "the graph can be launched")
    graph.reset()
    del graph, kept, outside
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    check(torch.cuda.memory_allocated() == 0 and torch.cuda.memory_reserved() == 0, "when the graph is gone all memory is given back")


def refusals():
    x = torch.empty(MIB, dtype=torch.uint8, device="cuda")
    check(raised(lambda: x.untyped_storage()._share_cuda_()) is not None, "sharing between processes raises: it is not served")


if ctypes.CDLL(sys.argv[1]).gpuarena_torch_install():
    sys.exit(1)
for feature in (allocations, failures, snapshots, streams, pools, graphs, refusals):
    feature()
    gc.collect()
done()
