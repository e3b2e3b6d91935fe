# Reads what stress writes by readers of Python's own, and a JSON schema's validator where there is one; says what is not
# consistent. It must not know what rows say, nor how stress made it.
# Run: python3 tests/support/formats_check.py schema SCHEMA JSON.. | csv FILE | junit FILE | perfetto FILE SERIES.csv
#      | memviz FILE; used by tests/cli
import csv
import json
import pickle
import sys
import xml.etree.ElementTree


def schema(schema_path, paths):
    try:
        import jsonschema
    except ImportError:
        return print("skipped: jsonschema is not installed")
    with open(schema_path, encoding="utf-8") as file:
        rules = json.load(file)
    jsonschema.Draft7Validator.check_schema(rules)
    validator = jsonschema.Draft7Validator(rules)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            errors = list(validator.iter_errors(json.load(file)))
        print("%s: %s" % (path.rsplit("/", 1)[-1], errors[0].message[:200] if errors else "valid"))


def rows(path):
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        lines = list(csv.reader(file, strict=True))
    assert all(len(line) == len(lines[0]) for line in lines), "lines of several lengths"
    print("%d rows of %d cells; %s" % (len(lines) - 1, len(lines[0]), json.dumps([line[0] for line in lines[1:]])))


def junit(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    cases = [case for case in root.iter("testcase")]
    suites = [root] if root.tag == "testsuite" else list(root.iter("testsuite"))
    failures = sum(len(case.findall("failure")) for case in cases)
    told = sum(int(suite.get("tests")) for suite in suites), sum(int(suite.get("failures")) for suite in suites)
    assert told == (len(cases), failures), "counts are not those of the cases"
    print("%d cases, %d failures" % told)


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("names %s.%s" % (module, name))


def series_of(path):
    """-> {row: [(now_vns, {counter: bytes})]}"""
    names = {"requested": "requested_bytes", "live": "live_bytes", "reserved": "reserved_bytes",
             "pending": "pending_bytes", "free": "free_bytes", "largest_free": "largest_free_bytes",
             "stranded": "stranded_bytes"}
    rows = {}
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        for line in csv.DictReader(line for line in file if not line.startswith("# partial: ")):
            sample = {key: int(line[column]) for key, column in names.items()}
            rows.setdefault(int(line["row"]), []).append((int(line["now_vns"]), sample))
    return rows


def perfetto_row(number, events, series):
    found, steps = [], []
    for event in events:
        kind = event["ph"]
        if kind == "C":
            found.append((round(event["ts"] * 1000), event["args"]))
        elif kind == "X":
            assert not steps or steps[-1] <= event["ts"] + 1e-3, "steps overlap"
            steps.append(event["ts"] + event["dur"])
    assert found == series, "row %d: the memory counters are not the series" % number
    return "row %d: %d samples, %d steps, %d refusals" % (
        number, len(found), len(steps), sum(event["name"] == "out of memory" for event in events))


def perfetto(path, series_path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    assert document["displayTimeUnit"] == "ns" and document["otherData"]["schema"] == "gpuarena-perfetto/1"
    series, rows = series_of(series_path), {}
    for event in document["traceEvents"]:
        needed = {"M": ("args",), "C": ("ts", "args"), "X": ("ts", "dur", "tid", "args"), "i": ("ts", "tid", "s")}
        assert all(key in event for key in needed[event["ph"]] + ("pid", "name")), event
        assert event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0, event
        rows.setdefault(event["pid"], []).append(event)
    for number in sorted(rows):
        assert rows[number][0]["name"] == "process_name" and rows[number][0]["args"]["name"]
        print(perfetto_row(number - 1, rows[number], series.get(number - 1, [])))


def history(entries):
    """What is live at the end, {address: size}; nothing may be allocated where something lives. Time goes on."""
    live, time = {}, 0
    for entry in entries:
        assert isinstance(entry["frames"], list) and entry["time_us"] >= time, entry
        time = entry["time_us"]
        if entry["action"] == "alloc":
            assert entry["addr"] not in live, "allocated where a block lives"
            live[entry["addr"]] = entry["size"]
        elif entry["action"] == "free_completed":
            assert live.pop(entry["addr"]) == entry["size"], "freed with another size"
    return live


def memviz_row(device, segments, entries):
    assert all(entry["size"] >= 0 and entry["stream"] >= 0 for entry in entries), "a number below 0"
    live, end, used = history(entries), 0, {}
    for segment in segments:
        assert segment["address"] >= end, "segments overlap, or are in no order"
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at and block["size"] > 0, "blocks do not tile their segment"
            at += block["size"]
            if block["state"] == "active_allocated":
                used[block["address"]] = block["requested_size"]
        end = segment["address"] + segment["total_size"]
        assert at == end, "blocks do not tile their segment"
        assert segment["requested_size"] == sum(
            block["requested_size"] for block in segment["blocks"] if block["state"] == "active_allocated")
    assert used == live, "what is live at the end is not what the segments say"
    print("row %d: %d events, %d live, %d bytes in segments, %d oom" % (
        device, len(entries), len(live), sum(segment["total_size"] for segment in segments),
        sum(entry["action"] == "oom" for entry in entries)))


def memviz(path):
    with open(path, "rb") as file:
        assert file.read(2) == b"\x80\x02", "not of protocol 2"
        file.seek(0)
        snapshot = Plain(file).load()
        assert not file.read(1), "something follows"
    for device, entries in enumerate(snapshot["device_traces"]):
        memviz_row(device, [one for one in snapshot["segments"] if one["device"] == device], entries)


if sys.argv[1] == "schema":
    schema(sys.argv[2], sys.argv[3:])
else:
    try:
        {"csv": rows, "junit": junit, "perfetto": perfetto, "memviz": memviz}[sys.argv[1]](*sys.argv[2:])
    except AssertionError as error:
        print("wrong: %s" % error)
