"""The reference filesystem server and `mcp-roots serve --write` are asked the same, and must answer the same.

Each works on the same files at the same path, one after the other, for a client without roots. A difference that is
not in the table in `comparison/differences` fails, and so does one that is there and does not occur. DIFFERENCES.md is
made from that table: `compare.py --document` writes it, and each run holds it against the table.
"""

import json
import os
import sys
import tempfile
import threading
from pathlib import Path

from comparison import document, observe, table
from comparison.request import CHANGING
from comparison.requests import requests, requests_by_link
from comparison.session import Session
from comparison.tree import Place

HERE = Path(__file__).resolve().parent
REFERENCE = ["node", HERE / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"]
# The whole run takes seconds; whatever takes this long has hung.
DEADLINE_S = 150
# What a schema may say of a text; there are none for numbers.
FORMATS = {"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid"}


class Steps:
    """Runs checks, each of which says what is wrong by raising, and says how they went."""

    def __init__(self):
        self.names = []
        self.failed = 0

    def step(self, name, check, *arguments):
        self.names.append(name)
        try:
            check(*arguments)
        except Exception as error:
            self.failed += 1
            why = (str(error) or type(error).__name__).replace("\n", " | ")
            print(f"FAIL compare: {name}: {why}", flush=True)
        else:
            print(f"ok compare: {name}", flush=True)


def session(command, place, allowed):
    # A home directory of its own, so that a path that begins with ~ leads to the same place everywhere.
    return Session([*command, allowed], {**os.environ, "HOME": str(place.tree), "TZ": "UTC"})


def asked(command, place):
    """All that a server answers: its tools, and the outcomes by the names of the requests."""
    with session(command, place, place.tree) as server:
        place.restore()
        tools = server.tools()
        outcomes = answers(server, place, requests())
    with session(command, place, place.by_link) as server:
        return tools, outcomes | answers(server, place, requests_by_link())


def answers(server, place, wanted):
    outcomes = {}
    for request in wanted:
        message = server.call(request.tool, request.for_place(place))
        files = None
        if request.changes:
            files = place.files()
            place.restore()
        outcomes[request.name] = observe.outcome(message, request, place, files)
    return outcomes


def compared(reference, ours):
    """All differences, by the name of the request."""
    found = observe.tool_differences(reference[0], ours[0])
    for name, outcome in reference[1].items():
        found[name] = observe.differences(outcome, ours[1][name])
    return found


def same(reference, again):
    """What the reference server does by itself, such as numbers by chance, must not count as a difference."""
    for name, differences in compared(reference, again).items():
        for kind, (one, other) in differences.items():
            raise AssertionError(f"{name}: {kind}: {one!r}, then {other!r}")


def changes_only_if_allowed(serve, place):
    before = place.files()
    with session(serve, place, place.tree) as server:
        offered = CHANGING & server.tools().keys()
        assert not offered, f"it offers {sorted(offered)}"
        for request in requests():
            if request.changes:
                message = server.call(request.tool, request.for_place(place))
                outcome = observe.outcome(message, request, place, None)
                assert outcome.failed, f"{request.name}: it was served: {outcome.text}"
    assert place.files() == before, "files have changed"


def formats_are_known(serve, place):
    """A validator that does not know a format says so on its user's screen, for each place where it is."""
    with session([*serve, "--write"], place, place.tree) as server:
        strange = sorted({f"{name}: {form}" for name, tool in server.tools().items() for form in formats(tool)})
    assert not strange, ", ".join(strange)


def formats(schema):
    """The formats in a schema that JSON Schema does not have."""
    if isinstance(schema, list):
        return set().union(*map(formats, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["format"]} if isinstance(schema.get("format"), str) else set()
    return (own - FORMATS).union(*map(formats, schema.values()))


def in_order_of_names(serve, place):
    with session(serve, place, place.tree) as server:

        def text(tool, **arguments):
            return server.call(tool, arguments)["result"]["structuredContent"]["content"]

        tree = str(place.tree / "search")
        names = [line.split("] ", 1)[1] for line in text("list_directory", path=tree).split("\n")]
        assert names == sorted(names) and len(names) > 5, f"list_directory: {names}"
        parsed = json.loads(text("directory_tree", path=tree))
        assert parsed == observe.tree_in_order(parsed), f"directory_tree: {parsed}"


def main():
    match sys.argv[1:]:
        case ["--document"]:
            document.write(table.read())
            return
        case [binary]:
            pass
        case _:
            sys.exit("usage: compare.py path/to/mcp-roots | --document")
    watchdog = threading.Timer(DEADLINE_S, too_late)
    watchdog.daemon = True
    watchdog.start()
    # The mode bits of new files.
    os.umask(0o022)
    expected = table.read()
    steps = Steps()
    serve = [binary, "serve", "--log", "error"]
    with tempfile.TemporaryDirectory(prefix="mcp-roots-interop-") as path:
        place = Place(Path(path).resolve())
        reference = asked(REFERENCE, place)
        found = compared(reference, asked([*serve, "--write"], place))
        steps.step("the reference server answers the same twice", same, reference, asked(REFERENCE, place))
        for name, differences in found.items():
            steps.step(name, expected.check, name, differences)
        steps.step("what changes files is offered only with --write", changes_only_if_allowed, serve, place)
        steps.step("the schemas have formats that validators know", formats_are_known, serve, place)
        steps.step("entries are in the order of their names", in_order_of_names, serve, place)
    steps.step("the table names requests and steps that there are", expected.check_names, found, steps.names)
    steps.step("DIFFERENCES.md is made from the table", document.check, expected)
    sys.exit(1 if steps.failed else 0)


def too_late():
    print(f"FAIL compare: the run: not over after {DEADLINE_S} s", flush=True)
    os._exit(1)


if __name__ == "__main__":
    main()
