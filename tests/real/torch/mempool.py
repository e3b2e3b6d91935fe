"""Memory pools of PyTorch whose segments come from gpuarena: mempool.py LIBRARY. A line for each feature, as TAP has it."""
import ctypes
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from tap import check, done, raised

MIB = 1 << 20
library = ctypes.CDLL(sys.argv[1])
library.gpuarena_mempool_bytes.restype = ctypes.c_ulonglong
library.gpuarena_mempool_why.restype = ctypes.c_char_p
memory = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "gpuarena_mempool_alloc", "gpuarena_mempool_free")


def tensor(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def held():
    reserved = ctypes.c_ulonglong()
    return library.gpuarena_mempool_bytes(0, ctypes.byref(reserved)), reserved.value


outside = tensor(30)
check(held() == (0, 0), "a tensor outside of the pools is PyTorch's own")
pool = torch.cuda.MemPool(memory.allocator())
with torch.cuda.use_mem_pool(pool):
    inside = [tensor(30), tensor(3)]
live, reserved = held()
check(live >= 33 * MIB and live == sum(s["total_size"] for s in pool.snapshot()), "a pool's segments are blocks of the arena")
check(reserved >= live, "which has memory for them")
address = inside[0].data_ptr()
del inside[0]
check(held()[0] == live, "PyTorch keeps a freed tensor's segment")
with torch.cuda.use_mem_pool(pool):
    inside.append(tensor(30))
check(inside[-1].data_ptr() == address, "and gives it again")
with torch.cuda.use_mem_pool(pool):
    refusal = raised(lambda: tensor(200))
check(isinstance(refusal, torch.cuda.OutOfMemoryError), "beyond the arena's limit a pool gets an OutOfMemoryError")
check(b"limit" in library.gpuarena_mempool_why(), "and the arena says why: " + library.gpuarena_mempool_why().decode())
check(tensor(200).numel() == 200 * MIB, "memory outside of the pools is not limited by it")
other = torch.cuda.MemPool(memory.allocator())
inside.clear()
del pool
torch.cuda.empty_cache()
check(held()[0] == 0, "a pool that ends gives its segments back")
reserved = held()[1]
with torch.cuda.use_mem_pool(other):
    inside.append(tensor(30))
check(held()[1] == reserved, "and the next pool has them, without growth")
inside.clear()
del other
torch.cuda.empty_cache()
check(held()[0] == 0, "no byte is live in the end")
done()
