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
    limit = total // 2
    sentence = (f"CUDA out of memory. torch:0: {128 * MIB} bytes (128.00 MiB) would pass the limit of {limit} bytes "
                f"({limit / 1024 ** 3:.2f} GiB); raise it by {64 * MIB} bytes (64.00 MiB), or free as much")
    check(str(e) == sentence, f"with the arena's sentence, to the letter: {e}")
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


def arena_stats():
    """Every statistic of the arena of device 0, by name."""
    text = ctypes.create_string_buffer(1 << 14)
    assert library.gpuarena_torch_stats(0, text, ctypes.c_size_t(len(text))) == 0
    return {name: int(value) for name, value in (line.split() for line in text.value.decode().splitlines())}


def differing():
    """The statistics of torch.cuda that are not the arena's, with both values."""
    torch_has, arena_has = torch.cuda.memory_stats(), arena_stats()
    same = {"allocation.all.current": "live_count", "active.all.current": "live_count",
            "requested_bytes.all.current": "requested_bytes", "requested_bytes.all.peak": "requested_peak_bytes",
            "allocated_bytes.all.current": "live_bytes", "allocated_bytes.all.peak": "live_peak_bytes",
            "active_bytes.all.current": "live_bytes", "active_bytes.all.peak": "live_peak_bytes",
            "inactive_split_bytes.all.current": "stranded_bytes",
            "reserved_bytes.all.current": "reserved_bytes", "reserved_bytes.all.peak": "reserved_peak_bytes"}
    return {theirs: (torch_has[theirs], arena_has[ours]) for theirs, ours in same.items() if torch_has[theirs] != arena_has[ours]}


def statistics():
    side = torch.cuda.Stream()
    kept = [torch.empty(100_001 * n, dtype=torch.uint8, device="cuda") for n in range(1, 40)]
    del kept[::3]
    kept[0].record_stream(side)
    kernel(side, kept[0])
    del kept[0]
    check(arena_stats()["pending_bytes"] > 0, "a freed tensor that a stream still uses is pending")
    check(differing() == {}, f"with live, pending and cached memory torch.cuda's statistics are the arena's: {differing()}")
    check(torch.cuda.memory_allocated() == sum(b["size"] for s in torch.cuda.memory_snapshot() for b in s["blocks"]
                                               if b["state"] == "active_allocated"), "and the snapshot's sum")
    check(all(s["active_size"] == s["allocated_size"] for s in torch.cuda.memory_snapshot()), "which calls nothing else active")
    torch.cuda.synchronize()


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
    del x
    inner = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        with torch.cuda.use_mem_pool(inner):
            z = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
        x = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
    check(z.data_ptr() != address and x.data_ptr() == address, "of pools within each other the inner one serves")
    del x, y, z, pool, inner
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
    check(library.gpuarena_torch_install() == 1 and arena_stats()["live_count"] == 1, "a second install is refused, and changes nothing")


def end():
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    left = {name: value for name, value in arena_stats().items() if value and name in (
        "requested_bytes", "live_bytes", "pending_bytes", "cached_bytes", "reserved_bytes", "live_count")}
    check(left == {} and differing() == {}, f"in the end the arena holds no byte: {left}")


library = ctypes.CDLL(sys.argv[1])
if library.gpuarena_torch_install():
    sys.exit(1)
for feature in (allocations, failures, snapshots, statistics, streams, pools, graphs, refusals, end):
    feature()
    gc.collect()
done()
