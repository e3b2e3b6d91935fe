#!/usr/bin/env python3
# Turns a PyTorch memory snapshot (a pickle) into `gpuarena-trace 1`, which `stress run -w replay:FILE` reads.
# It must not run or build anything that a pickle names, nor know of policies: it tells what the program asked for.
# Run: stress/import/torch_snapshot.py --help
import argparse
import contextlib
import errno
import gc
import os
import pickle
import re
import resource
import signal
import stat
import sys
import tempfile

ABOUT = """Turns a PyTorch memory snapshot into a trace that `stress run -w replay:FILE` reads.

A snapshot is what torch.cuda.memory._dump_snapshot(FILE) writes after torch.cuda.memory._record_memory_history(),
or torch.cuda.memory._snapshot() by pickle, of any protocol. Every class or function that the pickle names is refused,
so that a file from anywhere may be read."""

NOTES = """What is written: first the blocks that are older than the history, in address order, then `s recording`,
then allocations and frees in their order; sizes are what was requested. Streams are numbered by their first
appearance; 0 is the default stream. Segments, which are PyTorch's own doing, are left out; an allocation that failed
is a comment. A block that other streams use (record_stream) is freed when PyTorch saw them done, unless told
otherwise by --frees.

exit status: 0 written, 2 usage or a file that is not as expected (one line on stderr says what was)"""

LARGEST = 2**64 - 1
PLAIN = "numbers, text, lists and dictionaries alone"
KINDS = {int: "a number", str: "text", list: "a list"}
ALLOCATED = ("active_allocated",)
PENDING = ("active_pending_free", "active_awaiting_free")
SEGMENTS = ("segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot")


class Refused(Exception):
    """The input is not as expected; the text says what is wrong with it, and what was expected."""


class PlainUnpickler(pickle.Unpickler):
    """Numbers, text, lists, tuples and dictionaries, and nothing that has to be imported or called."""

    def find_class(self, module, name):
        raise Refused("it names %s.%s, expected %s" % (ascii(module[:80])[1:-1], ascii(name[:80])[1:-1], PLAIN))

    def persistent_load(self, pid):
        raise Refused("it refers to an object outside itself, expected %s" % PLAIN)


def told(value):
    """A value for a message: short, and safe whatever it is."""
    short = isinstance(value, (int, str)) and sys.getsizeof(value) < 1000
    return ascii(value)[:60] if short else type(value).__name__


@contextlib.contextmanager
def bounded(size):
    """A broken length in a pickle can ask for any memory, and CPython print of its own when it is not there. What an
    honest one needs is bounded by its size: an empty dictionary is one byte there, and 64 here."""
    limits, hook = resource.getrlimit(resource.RLIMIT_AS), sys.excepthook
    most = size * 100 + 2**30
    if limits[0] == resource.RLIM_INFINITY or most < limits[0]:
        resource.setrlimit(resource.RLIMIT_AS, (most, limits[1]))
    sys.excepthook = lambda *what: None
    try:
        yield
    finally:
        sys.excepthook = hook
        resource.setrlimit(resource.RLIMIT_AS, limits)


def load(file):
    """The snapshot, by Python's own unpickler. A large one is millions of dictionaries, none of them garbage, which
    the collector would walk again and again: it is off."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise Refused("it is no regular file, expected a snapshot of PyTorch")
    if file.peek(2)[:2] in (b"PK", b"\x1f\x8b"):
        raise Refused("it is an archive, expected the pickle itself: unpack it first")
    gc.disable()
    try:
        with bounded(status.st_size):
            return PlainUnpickler(file).load()
    except Refused:
        raise
    except (EOFError, pickle.UnpicklingError) as error:
        raise Refused("it is no whole pickle (%s), expected a snapshot of PyTorch" % (str(error)[:80] or "cut off"))
    except MemoryError:
        raise Refused("it asks for more memory than a pickle of its size can need, expected a snapshot of PyTorch")
    except Exception as error:  # whatever an opcode meets on a stack that a broken or hostile file has filled
        raise Refused("it is a broken pickle (%s), expected a snapshot of PyTorch" % type(error).__name__)


def part(holder, key, kind, where):
    if not isinstance(holder, dict):
        raise Refused("%s is %s, expected a dictionary" % (where, told(holder)))
    if key not in holder:
        raise Refused("%s has no '%s'" % (where, key))
    if not isinstance(holder[key], kind):
        raise Refused("%s: '%s' is %s, expected %s" % (where, key, told(holder[key]), KINDS[kind]))
    return holder[key]


def number(holder, key, where, lowest=0, otherwise=None):
    if otherwise is not None and isinstance(holder, dict) and key not in holder:
        return otherwise
    value = part(holder, key, int, where)
    if isinstance(value, bool) or not lowest <= value <= LARGEST:
        raise Refused("%s: '%s' is %s, expected a number from %d to %d" % (where, key, told(value), lowest, LARGEST))
    return value


def word(text):
    """One word of a trace, from the end of the text."""
    return re.sub(r"[^!-~]+", "_", text[-1000:])[-200:] or "_"


def text_of(holder, key):
    """A frame's own text; "" where a broken file has something else."""
    return holder[key] if isinstance(holder.get(key), str) else ""


def tag_of(frames):
    """Where the program asked for it: the innermost of its own Python frames, else the innermost frame at all."""
    frames = [frame for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else []
    python = [frame for frame in frames if text_of(frame, "filename").endswith(".py")]
    own = [frame for frame in python if "/torch/" not in frame["filename"]] or python
    if own:
        return " " + word("%s:%s" % (os.path.basename(own[0]["filename"]), told(own[0].get("line", 0))))
    return " " + word(text_of(frames[0], "name")) if frames else ""


class Trace:
    """What one device's history says that the program did. `live` has what is allocated now, by address; `older` what
    was before the history began, known by its free or as a block that is still there at the end."""

    def __init__(self, frees, tags):
        self.freed_by, self.tags, self.tag_by_frames = frees, tags, {}
        self.streams, self.live, self.ended = {0: 0}, {}, set()
        self.older, self.lines, self.next_id, self.placed = [], [], 0, set()
        self.counts = dict.fromkeys(("allocations", "frees", "lost", "repeated", "failures", "unknown"), 0)

    def stream(self, holder, where):
        return self.streams.setdefault(number(holder, "stream", where, -2**63, 0), len(self.streams))

    def new_id(self):
        self.next_id += 1
        return self.next_id - 1

    def add_older(self, address, size, stream, tag):
        block = self.new_id()
        self.older.append((address, "a %d %d %d%s\n" % (block, size, stream, tag)))
        return block, stream

    def tag(self, entry):
        """Frames are looked at once: a pickle refers to one list of them from many entries."""
        frames = entry.get("frames")
        if self.tags and id(frames) not in self.tag_by_frames:
            self.tag_by_frames[id(frames)] = tag_of(frames)
        return self.tag_by_frames[id(frames)] if self.tags else ""

    def alloc(self, entry, where):
        address, size = number(entry, "addr", where), number(entry, "size", where)
        if address in self.live:  # its free was not recorded, and yet it must have been before this
            self.lines.append("f %d\n" % self.live[address][0])
            self.counts["lost"] += 1
        block, stream = self.new_id(), self.stream(entry, where)
        self.lines.append("a %d %d %d%s\n" % (block, size, stream, self.tag(entry)))
        self.live[address] = (block, stream)
        self.ended.discard(address)
        self.counts["allocations"] += 1

    def free(self, entry, where):
        address, size, stream = number(entry, "addr", where), number(entry, "size", where), self.stream(entry, where)
        if address in self.ended:
            self.counts["repeated"] += 1
            return
        block = self.live.pop(address, None) or self.add_older(address, size, stream, "")
        self.lines.append("f %d\n" % block[0] if block[1] == stream else "f %d %d\n" % (block[0], stream))
        self.ended.add(address)
        self.counts["frees"] += 1

    def failure(self, entry, where):
        size = number(entry, "size", where)
        free = number(entry, "device_free", where, 0, number(entry, "addr", where, 0, 0))
        self.lines.append("# out of memory: %d bytes were asked for, %d were free on the device\n" % (size, free))
        self.counts["failures"] += 1

    def event(self, entry, where):
        action = part(entry, "action", str, where)
        if action == "alloc":
            self.alloc(entry, where)
        elif action == self.freed_by:
            self.free(entry, where)
        elif action == "oom":
            self.failure(entry, where)
        elif action not in SEGMENTS and action not in ("free_requested", "free_completed"):
            self.counts["unknown"] += 1

    def segment(self, segment, where):
        """Blocks in use that the history knows nothing of. Blocks tile their segment; early versions of PyTorch gave
        them no addresses of their own."""
        address, stream = number(segment, "address", where), self.stream(segment, where)
        in_use = ALLOCATED if self.freed_by == "free_requested" else ALLOCATED + PENDING
        for index, block in enumerate(part(segment, "blocks", list, where)):
            here = "%s, block %d" % (where, index)
            size = number(block, "size", here)
            address = number(block, "address", here, 0, address)
            if size and address in self.placed:
                raise Refused("%s: its address %d is another block's too" % (here, address))
            self.placed.add(address)
            if part(block, "state", str, here) in in_use and address not in self.live and address not in self.ended:
                self.add_older(address, number(block, "requested_size", here, 0, size), stream, self.tag(block))
            address += size

    def write(self, out):
        out.write("gpuarena-trace 1\n")
        if self.older:
            out.write("# blocks older than the recording come first, in address order\n")
        out.writelines(line for address, line in sorted(self.older))
        out.write("s recording\n")
        out.writelines(self.lines)


def labels_of(snapshot, device):
    """The program's own annotations that begin something, by time: [(time, line)]"""
    found = []
    notes = part(snapshot, "external_annotations", list, "it") if snapshot.get("external_annotations") else []
    for index, note in enumerate(notes):
        where = "external_annotations[%d]" % index
        if part(note, "stage", str, where) == "START" and number(note, "device", where, -2**31, device) == device:
            label = "s %s\n" % word(part(note, "name", str, where))
            found.append((number(note, "time_us", where), label))
    return sorted(found, key=lambda pair: pair[0], reverse=True)


def choose_device(histories, asked):
    """The one device that has a history, or the one that was asked for."""
    used = [device for device, history in enumerate(histories) if history]
    names = ", ".join(map(str, used))
    if not used:
        raise Refused("it has no history: record with torch.cuda.memory._record_memory_history() before the work")
    if asked is None and len(used) > 1:
        raise Refused("it has a history of devices %s, expected --device to choose one" % names)
    if asked is not None and asked not in used:
        raise Refused("it has no history of device %d, only of %s" % (asked, names))
    return used[0] if asked is None else asked


def completes(history):
    """Whether the end of frees was recorded; a history can leave it out, and then their beginning has to do."""
    return any(isinstance(entry, dict) and entry.get("action") == "free_completed" for entry in history)


def convert(snapshot, options):
    if isinstance(snapshot, list):
        raise Refused("it is a list of segments without a history, expected what _dump_snapshot writes")
    histories = part(snapshot, "device_traces", list, "it")
    for device, history in enumerate(histories):
        if not isinstance(history, list):
            raise Refused("device_traces[%d] is %s, expected a list" % (device, told(history)))
    device = choose_device(histories, options.device)
    history = histories[device]
    requested = options.frees == "requested" or not completes(history)
    trace = Trace("free_requested" if requested else "free_completed", options.tags)
    labels = labels_of(snapshot, device) if options.steps else []
    for index, entry in enumerate(history):
        where = "device_traces[%d][%d]" % (device, index)
        while labels and labels[-1][0] <= number(entry, "time_us", where):
            trace.lines.append(labels.pop()[1])
        trace.event(entry, where)
    trace.lines.extend(line for time, line in reversed(labels))
    for index, segment in enumerate(part(snapshot, "segments", list, "it")):
        where = "segments[%d]" % index
        if number(segment, "device", where, 0, 0) == device:
            trace.segment(segment, where)
    return device, trace


def summary(device, trace):
    counts, doubts = trace.counts, []
    text = "device %d: %d allocations, %d frees, %d blocks older than the history, %d streams" % (
        device, counts["allocations"], counts["frees"], len(trace.older), len(trace.streams))
    if counts["failures"]:
        text += ", %d out of memory" % counts["failures"]
    for name, meaning in (("lost", "allocations where a block was live, which is freed first"),
                          ("repeated", "frees of what was free, left out"),
                          ("unknown", "events of unknown kinds, left out")):
        if counts[name]:
            doubts.append("%d %s" % (counts[name], meaning))
    return text + ("; doubtful: " + ", ".join(doubts) if doubts else "")


def write_file(trace, path):
    """Whole or not at all; into what is no regular file, as it is, for it must not be replaced."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="ascii", newline="\n") as out:
            trace.write(out)
        return
    descriptor, partial = tempfile.mkstemp(prefix=".torch_snapshot.", dir=os.path.dirname(path))
    try:
        with open(descriptor, "w", encoding="ascii", newline="\n") as out:
            trace.write(out)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def parse(words):
    parser = argparse.ArgumentParser(prog="torch_snapshot.py", description=ABOUT, epilog=NOTES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", help="the pickle")
    parser.add_argument("--out", "-o", metavar="PATH", default="-", help="the trace; - is stdout, the default")
    parser.add_argument("--device", type=int, metavar="N", help="which device's history; default: the only one")
    parser.add_argument("--frees", choices=("completed", "requested"), default="completed",
                        help="when a block is freed: when all streams were done with it (default), or when the "
                             "program let go of it")
    parser.add_argument("--tags", action="store_true", help="tag allocations with the line of Python that made them")
    parser.add_argument("--steps", action="store_true", help="annotations of the program (record_function) as steps")
    parser.add_argument("--quiet", "-q", action="store_true", help="no summary on stderr")
    return parser.parse_args(words)


def convert_file(options):
    try:
        with open(options.snapshot, "rb") as file:
            device, trace = convert(load(file), options)
        if options.out != "-":
            write_file(trace, options.out)
        elif not sys.stdout:
            raise OSError(errno.EBADF, "stdout is closed")
        else:
            trace.write(sys.stdout)
            sys.stdout.flush()
        if not options.quiet:
            sys.stderr.write("torch_snapshot.py: %s\n" % summary(device, trace))
    except Refused as error:
        sys.stderr.write("torch_snapshot.py: %s: %s\n" % (options.snapshot, error))
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read the trace has had enough
        return 0
    except OSError as error:
        name = options.snapshot if error.filename == options.snapshot else options.out  # not the partial file's
        sys.stderr.write("torch_snapshot.py: %s: %s\n" % (name, error.strerror))
        return 2
    except MemoryError:
        sys.stderr.write("torch_snapshot.py: %s: there is too little memory to convert it\n" % options.snapshot)
        return 2
    return 0


def apart(options):
    """In a child: some pickles end CPython itself, such as one whose key is a tuple in a million tuples."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        return convert_file(options)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it has it too
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    name = signal.Signals(os.WTERMSIG(status)).name
    sys.stderr.write("torch_snapshot.py: %s: reading it was ended by %s, expected a snapshot of PyTorch\n" % (
        options.snapshot, name))
    return 2


def main(words):
    return convert_file(parse(words))


if __name__ == "__main__":
    sys.exit(apart(parse(sys.argv[1:])))
