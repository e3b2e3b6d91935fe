"""examples/python/gpuarena.py on the simulated device: arenas, statistics, failures as exceptions, streams; and cuda.core's
resource, where cuda.core is. TAP."""
import gc
import importlib.util
import json
import os
import sys

folder = os.path.dirname(__file__)
sys.path[:0] = [os.path.join(folder, ".."), os.path.join(folder, "..", "..", "..", "examples", "python")]
import gpuarena
from tap import check, done, raised

MIB = 1 << 20


def arenas():
    with gpuarena.Arena("limit=64M", name="first") as arena:
        ptr = arena.alloc(10 * MIB)
        check(ptr != 0 and arena.stats()["requested_bytes"] == 10 * MIB, "an arena allocates, and counts what was asked for")
        check(arena.stats()["limit_bytes"] == 64 * MIB, "its configuration is the text's")
        check(arena.alloc(0) == 0, "0 bytes are address 0")
        for call in (lambda: arena.alloc((1 << 64) + 5), lambda: arena.alloc(-1), lambda: arena.set_limit(1 << 64), lambda: gpuarena.Arena(device=1 << 32)):
            check("found" in str(raised(call)), "a number that C cannot have is refused, not cut off")
        for call in (lambda: arena.free(ptr + (1 << 64)), lambda: arena.alloc(1, -1), lambda: arena.alloc(1, (1 << 64) + 2),
                     lambda: arena.capture(2, set=1 << 64).__enter__()):
            check("found" in str(raised(call)), "nor is an address, a stream or a set cut off")
        check(raised(lambda: arena.free("text")) is not None and arena.free(None) is None, "a text is no address, None is one")
        check(isinstance(raised(lambda: gpuarena.Arena("limit=4M\0,x")), ValueError), "and so is a text with a NUL")
        arena.check()
        report = json.loads(arena.report(json=True))
        check(report["name"] == "first" and report["stats"]["live_count"] == 1, "the report is JSON")
        check("first" in arena.report(), "or text")
        e = raised(lambda: arena.alloc(64 * MIB))
        check(isinstance(e, gpuarena.OutOfMemory) and isinstance(e, MemoryError), "what does not fit is a MemoryError")
        check(e.reason == "over_limit" and e.result == "out_of_memory" and str(e).startswith("first: "), f"with a reason: {e}")
        arena.set_limit(128 * MIB)
        other = arena.alloc(64 * MIB)
        arena.free(other)
        check(arena.trim() > 0, "trim gives idle memory back")
        e = raised(arena.close)
        check(isinstance(e, gpuarena.Error) and e.result == "still_in_use", "an arena with a live block does not close")
        arena.free(ptr)
        e = raised(lambda: arena.free(ptr))
        check(isinstance(e, gpuarena.Error) and e.result in ("double_free", "foreign_pointer"), f"a block is freed once: {e}")
        arena.reset_peaks()
        check(arena.stats()["live_peak_bytes"] == 0, "peaks are reset")
    e = raised(lambda: gpuarena.Arena("limit=nonsense"))
    check(isinstance(e, gpuarena.Error) and e.result == "invalid_config" and "limit" in str(e), f"a wrong text is an Error: {e}")
    with gpuarena.Arena("limit=100M") as parent, gpuarena.Arena("limit=50M", parent=parent, name="child") as child:
        ptr = child.alloc(20 * MIB)
        check(parent.stats()["children_bytes"] >= 20 * MIB, "a child's memory counts in its parent")
        child.free(ptr)
    e = raised(lambda: gpuarena.Arena("limit=50M", parent=parent))
    check(isinstance(e, ValueError), f"a closed arena is no parent, and no reason for an arena without one: {e}")


def ends_early():
    with gpuarena.Arena("limit=4M") as arena:
        arena.alloc(MIB)
        arena.alloc(1 << 30)


def streams():
    with gpuarena.Arena("backing=segments") as arena:
        first, second = 0x2, None                # the calling thread's own, and the default stream
        ptr = arena.alloc(MIB, first)
        arena.use(ptr, second)
        arena.free(ptr)
        check(arena.stats()["live_count"] == 0, "a block that two streams used is freed")
        check(isinstance(raised(lambda: arena.alloc(1, "stream")), TypeError), "a stream is a number or an object of a library's")
        with arena.capture(first) as captured:
            ptr = arena.alloc(MIB, first)
        arena.free(ptr, first)
        arena.release_capture(captured)
        check(captured > 0 and arena.trim() > 0, "a capture set is held until it is released")


def cuda_core():
    from cuda.core import Device
    device = Device()
    device.set_current()
    stream = device.create_stream()
    arena = gpuarena.Arena("limit=1G", name="core")
    resource = gpuarena.cuda_core_resource(arena)
    buffer = resource.allocate(MIB, stream=stream)
    check(buffer.size == MIB and arena.stats()["live_count"] == 1, "cuda.core allocates from the arena")
    device.memory_resource = resource
    second = device.allocate(MIB, stream=stream)
    second.copy_from(buffer, stream=stream)
    stream.sync()
    check(arena.stats()["live_count"] == 2, "as does its Device")
    check(isinstance(raised(lambda: resource.allocate(2 << 30, stream=stream)), MemoryError), "and hears why there is no memory")
    buffer.close(stream)
    second.close(stream)
    check(arena.stats()["live_count"] == 0, "its buffers go back")
    arena.forget(stream)
    arena.close()


arenas()
check(isinstance(raised(ends_early), MemoryError), "an exception in a with block is not replaced by that of its live blocks")
streams()
if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.core"):
    cuda_core()
else:
    check(True, "cuda.core # SKIP not installed")
gc.collect()
done()
