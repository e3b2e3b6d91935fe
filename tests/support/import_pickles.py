# Writes the pickles that tests/cli/cases/import.case converts: small histories with every kind of event, by Python's pickle and as
# libtorch's pickler writes them, and files that are broken or hostile; and converts many in one process.
# Run: python3 tests/support/import_pickles.py make FOLDER | convert SCRIPT <words, a line each | mutate SCRIPT FOLDER COUNT
import contextlib
import io
import os
import pickle
import random
import runpy
import struct
import sys

KIB = 1024
SIDE, OTHER = 0x7F3A5C00, 0x7F3A6D00


def event(action, addr, size, stream=0, **more):
    return dict({"action": action, "addr": addr, "size": size, "stream": stream, "frames": [], "time_us": 0}, **more)


def freed(addr, size, stream=0):
    return [event("free_requested", addr, size, stream), event("free_completed", addr, size, stream)]


def segment(address, blocks, device=0, stream=0, expandable=False, addresses=True):
    """blocks: (size, requested, state)"""
    listed, at = [], address
    for size, requested, state in blocks:
        block = {"size": size, "requested_size": requested, "state": state, "frames": []}
        if addresses:
            block["address"] = at
        listed.append(block)
        at += size
    return {"device": device, "address": address, "total_size": at - address, "allocated_size": 0, "active_size": 0,
            "stream": stream, "segment_type": "large", "is_expandable": expandable, "frames": [], "blocks": listed}


def snapshot(segments, *histories, **more):
    return dict({"segments": segments, "device_traces": list(histories), "allocator_settings": {}}, **more)


def expandable():
    """Two mapped ranges of one expandable segment; the hole between them was unmapped."""
    history = [event("segment_map", 0x10000000, 20 << 20), event("alloc", 0x10000000, 3000000)]
    history += [event("segment_map", 0x11400000, 20 << 20), event("alloc", 0x11400000, 5000000)]
    history += freed(0x10000000, 3000000) + [event("segment_unmap", 0x10000000, 2 << 20)]
    history += [event("segment_map", 0x10000000, 2 << 20), event("alloc", 0x10000000, 1000)]
    return snapshot([segment(0x10000000, [(KIB, 1000, "active_allocated"), (KIB, 700, "active_allocated"),
                                          (KIB, 9, "inactive")], expandable=True),
                     segment(0x11400000, [(5000192, 5000000, "active_allocated")], expandable=True)], history)


def streams():
    """Three streams of two devices; on the first one a block that is used by another stream when it is let go of."""
    first = [event("alloc", 0x1000, 512), event("alloc", 0x2000, 600, SIDE), event("alloc", 0x3000, 700, OTHER)]
    first += [event("free_requested", 0x2000, 600, SIDE)] + freed(0x1000, 512)
    first += [event("free_completed", 0x2000, 600, SIDE), event("free_requested", 0x3000, 700, OTHER)]
    second = [event("alloc", 0x1000, 1 << 40, OTHER), event("snapshot", 0, 1 << 40)] + freed(0x1000, 1 << 40, OTHER)
    return snapshot([segment(0x3000, [(1024, 700, "active_pending_free")], 0, OTHER),
                     segment(0x9000, [(512, 1, "active_awaiting_free")], 0, SIDE),
                     segment(0x3000, [(512, 5, "active_allocated")], 1)], first, second, [])


def older(addresses=True):
    """What was there before: freed by the history, or still there; a failure; a segment obtained and given back."""
    history = freed(0x8000, 300) + [event("segment_alloc", 0x40000, 2 << 20), event("alloc", 0x8000, 200)]
    history += [{"action": "oom", "size": 1 << 30, "stream": 0, "device_free": 4096, "frames": [], "time_us": 0}]
    history += freed(0x6000, 100, SIDE) + [event("segment_free", 0x40000, 2 << 20)]
    blocks = [(512, 80, "active_allocated"), (512, 8, "inactive"), (1024, 900, "active_allocated")]
    return snapshot([segment(0x4000, blocks, addresses=addresses)], history)


def named():
    """Frames and annotations."""
    torch = {"filename": "/lib/torch/nn/module.py", "name": "call", "line": 7}
    own = {"filename": "/home/me/my model.py", "name": "forward", "line": 42}
    inner = {"filename": "??", "name": "at::empty<int, 2>(long)", "line": 0}
    history = [event("alloc", 0x1000, 1, frames=[inner, torch, own], time_us=10),
               event("alloc", 0x2000, 2, frames=[inner, torch], time_us=20),
               event("alloc", 0x3000, 3, frames=[inner], time_us=20), event("alloc", 0x4000, 4, time_us=30)]
    notes = [{"stage": "START", "name": "late", "device": 0, "time_us": 99},
             {"stage": "END", "name": "x", "time_us": 15},
             {"stage": "START", "name": "step 1\n", "device": 0, "time_us": 20},
             {"stage": "START", "name": "elsewhere", "device": 1, "time_us": 20}]
    return snapshot([], history, external_annotations=notes)


def doubtful():
    """A free that was not recorded, one that came twice, and an event of a later version."""
    return snapshot([], [event("alloc", 0x1000, 1), event("alloc", 0x1000, 2)] + freed(0x1000, 2) + freed(0x1000, 2) +
                    [event("segment_shrink", 0x1000, 2)])


def odd():
    """Frames that no PyTorch writes."""
    frames = [7, [3], [{"filename": 5, "name": [1]}], [{"filename": "a.py", "line": [1]}],
              [{"filename": "b.py", "line": 1 << 20000}]]
    return snapshot([], [event("alloc", 0x1000 * (at + 1), 1, frames=value) for at, value in enumerate(frames)])


def nest():
    """A dictionary whose key is a tuple in a tuple and so on: CPython takes its hash by recursion, without a bound."""
    return b"\x80\x02})" + b"\x85" * 2000000 + b"K\x01s."


def libtorch(value):
    """As torch::jit's Pickler writes it: protocol 2, containers by mark, a memo for text, numbers of 4 or 8 bytes."""
    out, memo = bytearray(b"\x80\x02"), {}

    def put(item):
        if isinstance(item, bool):
            out.extend(b"\x88" if item else b"\x89")
        elif isinstance(item, int):
            out.extend(b"J" + struct.pack("<i", item) if abs(item) < 2**31 else b"\x8a\x08" + struct.pack("<q", item))
        elif isinstance(item, str) and item in memo:
            out.extend(b"h" + bytes([memo[item]]))
        elif isinstance(item, str):
            text, memo[item] = item.encode(), len(memo)
            out.extend(b"X" + struct.pack("<I", len(text)) + text + b"q" + bytes([memo[item]]))
        elif isinstance(item, list):
            out.extend(b"](")
            for one in item:
                put(one)
            out.extend(b"e")
        else:
            out.extend(b"}(")
            for key in item:
                put(key)
                put(item[key])
            out.extend(b"u")

    put(value)
    return bytes(out) + b"."


def broken():
    """Name -> what is no snapshot."""
    whole = pickle.dumps(older(), protocol=2)
    entry = older()
    wrong = lambda **change: snapshot([], [dict(event("alloc", 0x1000, 1), **change)])
    without = {key: value for key, value in event("alloc", 1, 1).items() if key != "addr"}
    plain = {
        "list": [segment(0x1000, [])], "number": 7, "no_history": snapshot([], [], []), "no_devices": snapshot([]),
        "no_segments": {"device_traces": [[event("alloc", 1, 1)]]}, "no_traces": {"segments": []},
        "history_dict": snapshot([], {"action": "alloc"}), "entry_number": snapshot([], [3]),
        "no_address": snapshot([], [without]), "size_text": wrong(size="12"), "size_negative": wrong(size=-1),
        "size_true": wrong(size=True), "size_huge": wrong(size=2**64), "size_enormous": wrong(size=1 << 200000),
        "action_none": wrong(action=None), "stream_text": wrong(stream="main"), "blocks_none": snapshot(
            [dict(segment(1, []), blocks=None)], entry["device_traces"][0]), "block_text": snapshot(
            [dict(segment(1, []), blocks=["x"])], entry["device_traces"][0]),
        "blocks_shared": snapshot([segment(0x1000, [(512, 1, "active_allocated")] * 2)] * 2, [event("alloc", 1, 1)]),
        "notes_number": snapshot([], [event("alloc", 1, 1)], external_annotations=7),
        "state_number": snapshot([segment(0x1000, [(1, 1, 4)])], entry["device_traces"][0]),
    }
    raw = {
        "empty": b"", "text": b"gpuarena-trace 1\na 1 2 0\n", "cut_off": whole[:len(whole) // 2],
        "zip": b"PK\x03\x04" + whole, "gzip": b"\x1f\x8b\x08" + whole, "protocol_9": b"\x80\x09" + whole[2:],
        "huge_text": b"\x80\x02X\xff\xff\xff\x7fa.", "huge_frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        "no_stack": b"\x80\x02u.", "unhashable": b"\x80\x02}](]u.", "persistent": b"\x80\x02U\x01aQ.",
        "missing": b"\x80\x02h\x07.", "extension": b"\x80\x02\x82\x01.", "buffer": b"\x80\x05\x97.",
        "memory": b"\x80\x02]r\xff\xff\xff\x3f.", "system": b"cos\nsystem\n(S'touch HOSTILE'\ntR.",
        "old_class": b"(S'touch HOSTILE'\nios\nsystem\n.", "global_4": b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.",
        "ordered": b"\x80\x02ccollections\nOrderedDict\n)R.", "call_text": b"\x80\x02U\x01a)R.",
        "deep": b"\x80\x02" + b"]" * 200000 + b"a" * 199999 + b".", "itself": b"\x80\x02}q\x00U\x08segmentsh\x00s.",
    }
    return dict({name: pickle.dumps(value, protocol=2) for name, value in plain.items()}, **raw)


def write(folder):
    good = {"expandable": expandable(), "streams": streams(), "older": older(), "tiles": older(False),
            "named": named(), "doubtful": doubtful(), "odd": odd()}
    files = {"%s.%d" % (name, protocol): pickle.dumps(value, protocol=protocol)
             for name, value in good.items() for protocol in (2, 3, 4, 5)}
    files.update({name + ".libtorch": libtorch(value) for name, value in good.items() if name not in ("named", "odd")})
    files["nest"] = nest()
    files.update({"broken." + name: bytes_ for name, bytes_ in broken().items()})
    for name, bytes_ in files.items():
        with open(os.path.join(folder, name + ".pickle"), "wb") as file:
            file.write(bytes_)


def call(main, words):
    """-> exit status, stdout, stderr"""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
    return code, out.getvalue(), err.getvalue()


def convert(script):
    """What each line of words is answered; the exit status where it is neither success nor one line that refuses."""
    main = runpy.run_path(script)["main"]
    for line in sys.stdin:
        code, out, err = call(main, line.split())
        sys.stdout.write(out + err)
        if code and (code != 2 or out or err.count("\n") != 1):
            print("exit status %s" % code)


def mutate(script, folder, count):
    """Each of so many mutations of good files is written or refused by one line; nothing else may happen."""
    main, draw, codes = runpy.run_path(script)["main"], random.Random(1), {0: 0, 2: 0}
    path, trace = os.path.join(folder, "mutation.pickle"), os.path.join(folder, "mutation.trace")
    sources = [pickle.dumps(value, protocol=protocol) for value in (streams(), named()) for protocol in (2, 4)]
    for _ in range(count):
        bytes_ = bytearray(draw.choice(sources))
        for _ in range(draw.randint(1, 4)):
            bytes_[draw.randrange(len(bytes_))] = draw.randrange(256)
        with open(path, "wb") as file:
            file.write(bytes_[:draw.choice((len(bytes_), len(bytes_), draw.randrange(len(bytes_))))])
        code, out, err = call(main, [path, "--out", trace, "--steps", "--tags", "--device", "0"])
        if code not in codes or err.count("\n") != 1:
            return print("exit %s: %s" % (code, err))
        codes[code] += 1
    print("converted" if codes[0] and codes[2] else "always the same: %s" % codes)


if sys.argv[1] == "make":
    write(sys.argv[2])
elif sys.argv[1] == "convert":
    convert(sys.argv[2])
else:
    mutate(sys.argv[2], sys.argv[3], int(sys.argv[4]))
