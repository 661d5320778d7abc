"""`mcp-roots host` drives the official reference servers, as a script does: commands on its standard input."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE / "node_modules" / "@modelcontextprotocol"
# The whole run takes seconds; whatever takes this long has hung.
DEADLINE_S = 120
# How long one command may take, and how long a server may take to apply an answer.
PATIENCE_S = 20


class Host:
    """A running `mcp-roots host --json`."""

    def __init__(self, binary, dirs, server):
        command = [binary, "host", "--json", "--log", "error", *map(str, dirs), "--", *map(str, server)]
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, bufsize=1
        )
        self._lines = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        # What was shown since the last command.
        self.events = []

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, *kinds):
        """The next event of one of these kinds, and before it, in `events`, the others."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                line = self._lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {' or '.join(kinds)} for {PATIENCE_S} s") from None
            holds(line is not None, f"the host has gone: {self.said()}")
            event = json.loads(line)
            if event["event"] in kinds:
                return event
            self.events.append(event)

    def do(self, command):
        """Carries out a command, and gives what came of it."""
        self.events = []
        self._process.stdin.write(command + "\n")
        outcome = self.until("result", "error")
        equal(outcome["command"], command)
        return outcome

    def ok(self, command):
        outcome = self.do(command)
        holds(outcome["event"] == "result", f"{command}: {outcome.get('message')}")
        return outcome["value"]

    def call(self, tool, **arguments):
        return "".join(block.get("text", "") for block in self.ok(f"call {tool} {json.dumps(arguments)}")["content"])

    def until_told(self, tool, condition):
        """Calls a tool until its text is as wanted: the servers apply an answer some time after they got it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            text = self.call(tool)
            if condition(text):
                return
            holds(time.monotonic() < deadline, f"{tool} still says {text!r} after {PATIENCE_S} s")

    def shown(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def quit(self):
        """Ends the session, and gives the exit code."""
        self._process.stdin.write("quit\n")
        self._process.stdin.close()
        return self._process.wait(PATIENCE_S)

    def said(self):
        self._log.seek(0)
        return self._log.read().strip().replace("\n", " | ")

    def kill(self):
        self._process.kill()
        self._process.wait()


def file_server(step, host, a, b):
    def allowed(*folders):
        return lambda text: text.split("\n")[1:] == [str(folder) for folder in folders]

    with step("connects"):
        equal(host.until("connected")["server"], "secure-filesystem-server")
    with step("the folder given at the start is allowed"):
        host.until_told("list_allowed_directories", allowed(a))
    with step("a folder added is announced, asked for, told and allowed"):
        host.ok(f"add {b}")
        changed(host, told=[a, b], added=[b], removed=[])
        host.until_told("list_allowed_directories", allowed(a, b))
        equal(host.call("read_text_file", path=str(b / "file.txt")), "text of b\n")
    with step("adding it again announces nothing"):
        host.ok(f"add {b}")
        equal((host.shown("notified"), len(host.shown("unchanged"))), ([], 1))
    with step("a folder removed is allowed no longer"):
        host.ok(f"remove {a}")
        changed(host, told=[b], added=[], removed=[a])
        host.until_told("list_allowed_directories", allowed(b))
        outcome = host.do(f"call read_text_file {json.dumps({'path': str(a / 'file.txt')})}")
        equal(outcome["event"], "error")
        holds("outside allowed directories" in outcome["message"], outcome["message"])
    with step("status says that the server follows roots"):
        status = host.ok("status")
        equal((status["ignoresRoots"], status["announced"], status["unheeded"]), (False, 2, 0))
    with step("the exit code says that a command failed"):
        equal(host.quit(), 1)


def everything_server(step, host, a, b):
    with step("connects"):
        equal(host.until("connected")["server"], "mcp-servers/everything")
    with step("the server has asked for the folder given at the start"):
        host.until_told("get-roots-list", lambda text: a.as_uri() in text)
        holds(host.ok("status")["asked"] >= 1, "it has not asked")
    with step("a folder added is announced, asked for and told, with its name"):
        host.ok(f"add {b} second")
        changed(host, told=[a, b], added=[b], removed=[])
        host.until_told("get-roots-list", lambda text: a.as_uri() in text and f"second\n   URI: {b.as_uri()}" in text)
    with step("a folder removed is gone from the server's list"):
        host.ok(f"remove {a}")
        changed(host, told=[b], added=[], removed=[a])
        host.until_told("get-roots-list", lambda text: a.as_uri() not in text and b.as_uri() in text)
    with step("the exit code says that all went well"):
        equal(host.quit(), 0)


def server_without_roots(step, host, a, b):
    with step("connects"):
        equal(host.until("connected")["server"], "no-roots")
    with step("a server that ignores roots is shown as such, and works"):
        host.ok(f"add {b}")
        equal((len(host.shown("notified")), len(host.shown("unheeded")), host.shown("asked")), (1, 1, []))
        equal(host.ok("status")["ignoresRoots"], True)
        equal(host.call("hello"), "hello")
    with step("the exit code says that all went well"):
        equal(host.quit(), 0)


def changed(host, *, told, added, removed):
    """A change led to one announcement, to the server's question, and to the answer."""
    notified = host.shown("notified")
    equal([(event["added"], event["removed"]) for event in notified], [(uris(added), uris(removed))])
    holds(host.shown("asked"), "the server has not asked")
    equal(host.shown("answered")[-1]["roots"], uris(told))


SCENARIOS = {
    "the reference filesystem server": (["node", PEERS / "server-filesystem" / "dist" / "index.js"], file_server),
    "the reference everything server": (
        ["node", PEERS / "server-everything" / "dist" / "index.js", "stdio"],
        everything_server,
    ),
    "a server without roots": (["node", HERE / "servers" / "no-roots.mjs"], server_without_roots),
}


class Step:
    """Runs a step of a scenario, and says how it went."""

    failed = 0

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, _kind, error, _trace):
        if error is None:
            print(f"ok host: {self.name}", flush=True)
            return False
        if not isinstance(error, Exception):
            return False
        Step.failed += 1
        why = (str(error) or type(error).__name__).replace("\n", " | ")
        print(f"FAIL host: {self.name}: {why}", flush=True)
        return True


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: host_peers.py path/to/mcp-roots")
    watchdog = threading.Timer(DEADLINE_S, too_late)
    watchdog.daemon = True
    watchdog.start()
    for name, (server, scenario) in SCENARIOS.items():
        with tempfile.TemporaryDirectory(prefix="mcp-roots-interop-") as place:
            a, b = (Path(place).resolve() / f"folder-{letter}" for letter in "ab")
            for folder in (a, b):
                folder.mkdir()
                (folder / "file.txt").write_text(f"text of {folder.name[-1]}\n")
            host = Host(sys.argv[1], [a], server)
            try:
                scenario(lambda what, name=name: Step(f"{name}: {what}"), host, a, b)
            finally:
                host.kill()
    sys.exit(1 if Step.failed else 0)


def too_late():
    print(f"FAIL host: the run: not over after {DEADLINE_S} s", flush=True)
    os._exit(1)


def uris(folders):
    return [folder.as_uri() for folder in folders]


def equal(got, wanted):
    holds(got == wanted, f"got {got!r}, wanted {wanted!r}")


def holds(condition, why):
    if not condition:
        raise AssertionError(why)


main()
