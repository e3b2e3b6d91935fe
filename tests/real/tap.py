"""What the Python tests print: TAP."""
count = 0


def check(passed, name):
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {name}", flush=True)


def raised(what):
    """The exception that a call raises; None: it raises none."""
    try:
        what()
    except Exception as e:
        return e
    return None


def done():
    print(f"1..{count}")
