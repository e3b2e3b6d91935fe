"""Arenas of GPU memory for Python, by ctypes: build/libgpuarena.so (make build/libgpuarena.so) and nothing else.

    import gpuarena
    arena = gpuarena.Arena("limit=4G,backing=paged", device=0)
    ptr = arena.alloc(1 << 20, stream)                   # an address; OutOfMemory, a MemoryError, says why not
    arena.free(ptr)                                      # in the order of the stream of its allocation
    arena.stats()["reserved_bytes"]

    Device().memory_resource = gpuarena.cuda_core_resource(arena)       # cuda.core
    cupy.cuda.set_allocator(gpuarena.cupy_allocator(arena))             # CuPy
    rmm.mr.set_current_device_resource(gpuarena.rmm_resource(arena))    # RMM

A stream is a handle as an integer, an object of cuda.core, CuPy, Numba or PyTorch, or None for the default stream.
The library is looked for in GPUARENA_LIBRARY, beside this file, in build/ two folders up, and where make install
puts it. The allocator for CuPy ran on the simulated device: CuPy 14.2.0, whose module of runtime calls was linked
anew, since its packages have a CUDA runtime of their own. The resource for RMM was never run.
"""
import contextlib
import ctypes
import os

__all__ = ["Arena", "Error", "OutOfMemory", "cuda_core_resource", "cupy_allocator", "rmm_resource"]

_here = os.path.dirname(os.path.abspath(__file__))
_OWN_STREAM = ctypes.c_void_p(-2)                # GPUARENA_OWN_STREAM
_ANY_STREAM = ctypes.c_void_p(-1)                # GPUARENA_ANY_STREAM
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p)
_out_of_memory = -3


def _load():
    places = [os.environ.get("GPUARENA_LIBRARY"), os.path.join(_here, "libgpuarena.so"),
              os.path.join(_here, "..", "..", "build", "libgpuarena.so"),
              os.path.join(_here, "..", "..", "..", "lib", "gpuarena", "libgpuarena.so")]
    for path in filter(None, places):
        if os.path.exists(path):
            return ctypes.CDLL(path)
    raise ImportError("libgpuarena.so: not found; make build/libgpuarena.so, or set GPUARENA_LIBRARY")


class _Whole:
    """A number of C: a number that does not fit is refused, which ctypes alone would cut off."""

    def __init__(self, kind, least, most):
        self.kind, self.least, self.most = kind, least, most

    def from_param(self, number):
        if not self.least <= number <= self.most:
            raise OverflowError(f"expected {self.least} to {self.most}, found {number}")
        return self.kind(number)


class _Address(_Whole):
    """An address or a handle of a stream. None, and a pointer of C, are passed on unchanged."""

    def from_param(self, number):
        return number if number is None or isinstance(number, self.kind) else super().from_param(number)


_lib = _load()
_pointer, _u64, _size, _text = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p
_amount, _device = _Whole(_u64, 0, (1 << 64) - 1), _Whole(ctypes.c_int, -1, (1 << 31) - 1)
_address = _Address(_pointer, 0, (1 << 64) - 1)
for _name, _answer, _arguments in (
        ("create_from", ctypes.c_int, (_device, _text, _text, _pointer, ctypes.POINTER(_pointer))),
        ("destroy", ctypes.c_int, (_pointer,)),
        ("alloc", ctypes.c_int, (_pointer, ctypes.POINTER(_pointer), _amount, _address)),
        ("free", ctypes.c_int, (_pointer, _address, _address)),
        ("use", ctypes.c_int, (_pointer, _address, _address)),
        ("forget", ctypes.c_int, (_pointer, _address)),
        ("trim", ctypes.c_int, (_pointer, _amount, ctypes.POINTER(_u64))),
        ("set_limit", ctypes.c_int, (_pointer, _amount)),
        ("check", ctypes.c_int, (_pointer, _text, _size)),
        ("report", ctypes.c_int, (_pointer, ctypes.c_int, _WRITE, _pointer)),
        ("capture_begin", ctypes.c_int, (_pointer, _address, ctypes.POINTER(_u64))),
        ("capture_end", ctypes.c_int, (_pointer, _address)),
        ("capture_release", ctypes.c_int, (_pointer, _amount, _address)),
        ("reset_peaks", None, (_pointer,)),
        ("result_name", _text, (ctypes.c_int,)),
        ("stats_names", _text, ()),
        ("stats_values", _size, (_pointer, ctypes.POINTER(_u64))),
        ("failure_of", _text, (_pointer, _text, _size))):
    _function = getattr(_lib, "gpuarena_" + _name)
    _function.restype, _function.argtypes = _answer, _arguments

_stats_names = _lib.gpuarena_stats_names().decode().split()


class Error(Exception):
    """A call that failed. str() is the arena's sentence; result and reason are its names, such as "double_free"."""

    def __init__(self, text, result, reason):
        super().__init__(text)
        self.result, self.reason = result, reason


class OutOfMemory(Error, MemoryError):
    """No memory; reason says why: "over_limit", "driver_refused", "fragmented", .."""


def _check(result):
    if result == 0:
        return
    text = ctypes.create_string_buffer(512)
    reason = _lib.gpuarena_failure_of(None, text, len(text)).decode()
    kind = OutOfMemory if result == _out_of_memory else Error
    raise kind(text.value.decode(), _lib.gpuarena_result_name(result).decode(), reason)


def _handle(stream):
    if stream is None or isinstance(stream, (int, _pointer)):
        return stream or None
    if hasattr(stream, "__cuda_stream__"):       # the protocol of cuda.core, which RMM has too
        return stream.__cuda_stream__()[1] or None
    for name in ("ptr", "cuda_stream", "handle"):        # of CuPy, PyTorch, Numba
        if hasattr(stream, name):
            value = getattr(stream, name)
            return int(getattr(value, "value", value) or 0) or None
    raise TypeError(f"not a stream: {stream!r}")


class Arena:
    """A pool of device memory with a limit. conf: keys of GPUARENA_CONF. parent: an arena whose limit counts, too.

    An arena holds its memory until it is closed, by close or a with block, or the process ends."""

    def __init__(self, conf="", device=-1, name="python", parent=None):
        arena = _pointer()
        self._arena, self.parent = None, parent
        if "\0" in conf + name:
            raise ValueError("conf and name end at a NUL for the library, expected none in them")
        if parent and not parent._arena:
            raise ValueError("the parent is closed, expected an open arena")
        above = parent._arena if parent else None
        _check(_lib.gpuarena_create_from(device, conf.encode(), name.encode(), above, ctypes.byref(arena)))
        self._arena = arena

    def alloc(self, bytes, stream=None):
        """The address of memory for use on a stream; 0 for 0 bytes."""
        ptr = _pointer()
        _check(_lib.gpuarena_alloc(self._arena, ctypes.byref(ptr), bytes, _handle(stream)))
        return ptr.value or 0

    def free(self, ptr, stream=_OWN_STREAM):
        """Gives a block back in the order of a stream, by default its allocation's. For further streams see use."""
        _check(_lib.gpuarena_free(self._arena, ptr, _handle(stream)))

    def use(self, ptr, stream):
        """Names a further stream that uses the block, before it is freed: PyTorch's record_stream."""
        _check(_lib.gpuarena_use(self._arena, ptr, _handle(stream)))

    def forget(self, stream):
        """Call it before a stream is destroyed."""
        _check(_lib.gpuarena_forget(self._arena, _handle(stream)))

    def trim(self, keep=0):
        """Gives idle memory back to the driver until only `keep` bytes are reserved. Returns the bytes given back."""
        released = _u64()
        _check(_lib.gpuarena_trim(self._arena, keep, ctypes.byref(released)))
        return released.value

    def set_limit(self, bytes):
        _check(_lib.gpuarena_set_limit(self._arena, bytes))

    def stats(self):
        """All statistics by name."""
        values = (_u64 * len(_stats_names))()
        _lib.gpuarena_stats_values(self._arena, values)
        return dict(zip(_stats_names, values))

    def reset_peaks(self):
        _lib.gpuarena_reset_peaks(self._arena)

    def report(self, json=False):
        """The arena's sums and its memory, as text for people or as JSON."""
        pieces = []

        @_WRITE
        def write(text, bytes, user):
            pieces.append(text[:bytes])
            return 0
        _check(_lib.gpuarena_report(self._arena, int(json), write, None))
        return b"".join(pieces).decode()

    def check(self):
        """Verifies the arena's own data."""
        _check(_lib.gpuarena_check(self._arena, None, 0))

    @contextlib.contextmanager
    def capture(self, stream, set=0):
        """Allocations of a stream in the block belong to a capture set. Yields its number, for release_capture."""
        number = _amount.from_param(set)
        _check(_lib.gpuarena_capture_begin(self._arena, _handle(stream), ctypes.byref(number)))
        try:
            yield number.value
        finally:
            _check(_lib.gpuarena_capture_end(self._arena, _handle(stream)))

    def release_capture(self, set):
        """Call it when the set's graphs are gone and the GPU is done with them."""
        _check(_lib.gpuarena_capture_release(self._arena, set, _ANY_STREAM))

    def close(self):
        """Gives all memory back. Live blocks are an Error, and the arena stays."""
        if self._arena:
            _check(_lib.gpuarena_destroy(self._arena))
            self._arena = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        try:
            self.close()
        except Error:
            if kind is None:                     # an exception of the block goes before an error of close
                raise


def cuda_core_resource(arena, device=None):
    """A MemoryResource of cuda.core; device: a cuda.core Device, by default the current one."""
    from cuda.core import Buffer, Device, MemoryResource

    class Resource(MemoryResource):
        is_device_accessible = property(lambda self: True)
        is_host_accessible = property(lambda self: False)
        device_id = property(lambda self: self._device)

        def __init__(self):
            self._device = (device or Device()).device_id
            self.arena = arena

        def allocate(self, size, *, stream=None):
            return Buffer.from_handle(ptr=arena.alloc(size, stream), size=size, mr=self)

        def deallocate(self, ptr, size, *, stream=None):
            if int(ptr):
                arena.free(int(ptr), _OWN_STREAM if stream is None else stream)

    return Resource()


def cupy_allocator(arena):
    """For cupy.cuda.set_allocator: allocates for the stream that is current at the call."""
    import cupy

    def malloc(size, device):
        return arena.alloc(size, cupy.cuda.get_current_stream())

    def free(ptr, device):
        arena.free(ptr)

    return cupy.cuda.PythonFunctionAllocator(malloc, free).malloc


def rmm_resource(arena):
    """A resource of RMM's Python."""
    import rmm
    return rmm.mr.CallbackMemoryResource(arena.alloc, lambda ptr, size, stream: arena.free(ptr, stream))
