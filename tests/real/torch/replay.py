"""Replays gpuarena-traces through an allocator of PyTorch: replay.py LIBRARY TRACE.., with LIBRARY libtorch_gpuarena.so, or
- for PyTorch's own. A line a trace: its peak of requested bytes, and the allocator's peak of reserved bytes."""
import ctypes
import sys

import torch


def replay(path):
    alloc, free = torch._C._cuda_cudaCachingAllocator_raw_alloc, torch._C._cuda_cudaCachingAllocator_raw_delete
    live, requested, peak = {}, 0, 0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for line in open(path):
        word = line.split()
        if word and word[0] == "a":
            size = int(word[2])
            live[word[1]] = (alloc(size, 0) if size else 0, size)
            requested += size
            peak = max(peak, requested)
        elif word and word[0] == "f":
            ptr, size = live.pop(word[1])
            requested -= size
            if ptr:
                free(ptr)
    reserved = torch.cuda.memory_stats()["reserved_bytes.all.peak"]
    for ptr, size in live.values():
        if ptr:
            free(ptr)
    torch.cuda.empty_cache()
    print(peak, reserved, torch.cuda.memory_reserved(), flush=True)


if sys.argv[1] != "-" and ctypes.CDLL(sys.argv[1]).gpuarena_torch_install():
    sys.exit(1)
torch.cuda.init()
for trace in sys.argv[2:]:
    replay(trace)
