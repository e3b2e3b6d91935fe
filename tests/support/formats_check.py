# Reads what stress writes by readers of Python's own, and a JSON schema's validator where there is one.
# It must not know what rows say.
# Run: python3 tests/support/formats_check.py schema SCHEMA JSON.. | csv FILE | junit FILE; used by tests/cli/formats.t
import csv
import json
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


if sys.argv[1] == "schema":
    schema(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "csv":
    rows(sys.argv[2])
else:
    junit(sys.argv[2])
