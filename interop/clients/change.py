"""A client drives `mcp-roots serve` through work and through changes of its roots.

What is the same for every Python client is here; how to connect, and how the SDKs call things, is given by the
script that runs it, as a connection with the methods `tools`, `call`, `read`, `subscribe`, `ping` and
`announce`.
"""

import asyncio
import base64
import contextlib
import os
import sys
import tempfile
from pathlib import Path

# The whole run takes seconds; whatever takes this long has hung.
DEADLINE_S = 120
# How long one awaited message may take.
PATIENCE_S = 15
# What a picture begins with; no server looks further.
IMAGE = bytes.fromhex("89504e470d0a1a0a")


class Wire:
    """What a client's user holds: the folders it exposes, and a record of all that the server sent."""

    def __init__(self, roots):
        self.roots = roots
        self.received = []
        self._news = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def recorded(self, transport):
        """A transport of the SDK, whose inbound messages are recorded."""
        async with transport as (read, write):
            yield Tap(read, self._record), write

    async def _record(self, item):
        if isinstance(item, Exception):
            return
        message = getattr(item.message, "root", item.message)
        async with self._news:
            self.received.append((getattr(message, "method", None), getattr(message, "params", None) or {}))
            self._news.notify_all()

    def questions(self):
        return sum(method == "roots/list" for method, _ in self.received)

    def updates(self, file):
        told = ("notifications/resources/updated", file.as_uri())
        return sum((method, params.get("uri")) == told for method, params in self.received)

    async def until(self, what, condition):
        try:
            async with asyncio.timeout(PATIENCE_S), self._news:
                await self._news.wait_for(condition)
        except TimeoutError:
            raise AssertionError(f"waited {PATIENCE_S} s in vain for {what}") from None


class Tap:
    """A read stream that shows each message to an observer before it hands it on."""

    def __init__(self, stream, observe):
        self._stream = stream
        self._observe = observe

    def __getattr__(self, name):
        return getattr(self._stream, name)

    async def __aenter__(self):
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error):
        return await self._stream.__aexit__(*error)

    def __aiter__(self):
        return self

    async def __anext__(self):
        item = await self._stream.__anext__()
        await self._observe(item)
        return item


def run(client, connect):
    """Runs every scenario and ends the process.

    `connect(command, args, wire, declares)` is an async context manager of a connection. If the client
    `declares` roots, it answers `roots/list` with `wire.roots` and announces changes; that is all or nothing in
    these SDKs.
    """
    if len(sys.argv) != 2:
        sys.exit(f"usage: {client} path/to/mcp-roots")
    steps = Steps(client)
    try:
        asyncio.run(asyncio.wait_for(_scenarios(steps, connect, sys.argv[1]), DEADLINE_S))
    except TimeoutError:
        print(f"FAIL {client}: the run: not over after {DEADLINE_S} s", flush=True)
        # Whatever hangs is not waited for again.
        os._exit(1)
    sys.exit(1 if steps.failed else 0)


class Steps:
    """Runs the steps of a scenario, and says how each went."""

    def __init__(self, client):
        self.client = client
        self.scenario = ""
        self.failed = 0

    @contextlib.contextmanager
    def step(self, name):
        try:
            yield
        except Exception as error:
            why = str(error).replace("\n", " | ") or type(error).__name__
            self.failed += 1
            print(f"FAIL {self.client}: {self.scenario}: {name}: {why}", flush=True)
        else:
            print(f"ok {self.client}: {self.scenario}: {name}", flush=True)


async def _scenarios(steps, connect, binary):
    await _scenario(steps, connect, binary, "a change", True, lambda a: [], _a_change)
    await _scenario(steps, connect, binary, "no roots", False, lambda a: [str(a)], _no_roots)
    await _scenario(steps, connect, binary, "a working session", True, lambda a: ["--write"], _a_working_session)


async def _scenario(steps, connect, binary, name, declares, more, body):
    steps.scenario = name
    async with contextlib.AsyncExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mcp-roots-interop-"))).resolve()
        a, b = place / "folder-a", place / "folder-b"
        for folder in (a, b):
            folder.mkdir()
            (folder / "file.txt").write_text(f"text of {folder.name[-1]}\n")
            (folder / "other.txt").write_text("other\n")
        wire = Wire([a])
        connection = None
        with steps.step("connects"):
            args = ["serve", "--era", "legacy", "--log", "error", *more(a)]
            connection = await stack.enter_async_context(connect(binary, args, wire, declares))
        if connection is not None:
            await body(steps.step, connection, wire, a, b)


async def _a_change(step, client, wire, a, b):
    in_a, in_b, other_in_b = a / "file.txt", b / "file.txt", b / "other.txt"
    before = {}

    with step("the first folder is allowed"):
        equal(await allowed(client), [str(a)])
    with step("a file under it is read"):
        equal(await text(client, in_a), "text of a\n")
    with step("roots_status is fresh"):
        before = await status(client)
        equal(before["state"], "fresh")
        equal(before["questionsAsked"], wire.questions())

    with step("a call right behind the notification is refused under the old folder, naming the new one"):
        wire.roots = [b]
        await client.announce()
        refused(await client.call("read_text_file", {"path": str(in_a)}), b)
    with step("a file under the new folder is read"):
        equal(await text(client, in_b), "text of b\n")
    with step("only the new folder is allowed"):
        equal(await allowed(client), [str(b)])
    with step("roots_status is fresh again, in a later generation, after another question"):
        now = await status(client)
        equal(now["state"], "fresh")
        rose(before["generation"], now["generation"])
        rose(before["questionsAsked"], now["questionsAsked"])
        equal(now["questionsAsked"], wire.questions())
        equal([root["uri"] for root in now["roots"]], [b.as_uri()])

    with step("a change of a subscribed file is told"):
        await client.subscribe(in_b.as_uri())
        await client.subscribe(other_in_b.as_uri())
        await rewrite(wire, in_b, "second text of b")
        # The second file's update comes behind whatever else the first file's change led to.
        await rewrite(wire, other_in_b, "second other")
    with step("a subscription has one last update when its folder leaves, before the new set is seen"):
        told = wire.updates(in_b)
        wire.roots = [a]
        await client.announce()
        equal(await allowed(client), [str(a)])
        equal(wire.updates(in_b), told + 1)
    with step("and is silent after it"):
        told = wire.updates(in_b)
        await client.subscribe(in_a.as_uri())
        for number in ("third", "fourth", "fifth"):
            in_b.write_text(f"{number} text of b, which nobody is told of")
            await rewrite(wire, in_a, f"{number} text of a")
        equal(wire.updates(in_b), told)
    with step("the resource that left is refused"):
        try:
            await client.read(in_b.as_uri())
        except Exception as error:
            holds(str(a) in str(error), f"the message does not name {a}: {error}")
        else:
            raise AssertionError("it was served")
    with step("an empty set allows nothing, and the session lives on"):
        wire.roots = []
        await client.announce()
        equal(await allowed(client), [])
        is_error, said, _ = await client.call("read_text_file", {"path": str(in_a)})
        holds(is_error, f"it was served: {said}")
        await client.ping()


async def _no_roots(step, client, wire, a, b):
    with step("the directory of the command line is served"):
        equal(await allowed(client), [str(a)])
        equal(await text(client, a / "file.txt"), "text of a\n")
    with step("what is outside is refused"):
        refused(await client.call("read_text_file", {"path": str(b / "file.txt")}), a)
    with step("roots_status says that roots are unsupported"):
        equal((await status(client))["state"], "unsupported")
    with step("a notification all the same is discarded, and nobody is asked"):
        await client.announce()
        equal(await allowed(client), [str(a)])
        now = await status(client)
        equal(now["notificationsDiscarded"], 1)
        equal(now["questionsAsked"], 0)
        equal(wire.questions(), 0)


async def _a_working_session(step, client, wire, a, b):
    in_a, in_b, image = a / "file.txt", b / "file.txt", a / "image.png"
    lines, missing, late = a / "lines.md", a / "missing.txt", a / "late.txt"
    drafts = a / "docs" / "drafts"
    draft, moved = drafts / "new.md", a / "docs" / "moved.md"
    edits = [{"oldText": "two\nthree", "newText": "2\n3"}]
    lines.write_text("one\ntwo\nthree\nfour\n")
    image.write_bytes(IMAGE)

    with step("the tools that change files are offered"):
        names = await client.tools()
        for name in ("write_file", "edit_file", "create_directory", "move_file"):
            holds(name in names, name)
    with step("a text is read, its first lines and its last"):
        equal(await done(client, "read_text_file", path=lines), "one\ntwo\nthree\nfour\n")
        equal(await done(client, "read_text_file", path=lines, head=2), "one\ntwo")
        equal(await done(client, "read_text_file", path=lines, tail=2), "three\nfour")
    with step("several files are read, and a missing one does not spoil it"):
        said = await done(client, "read_multiple_files", paths=[str(in_a), str(missing), str(lines)])
        first, second, third = said.split("\n---\n")
        equal(first, f"{in_a}:\ntext of a\n\n")
        holds(second.startswith(f"{missing}: Error - "), second)
        equal(third, f"{lines}:\none\ntwo\nthree\nfour\n\n")
    with step("an image is read"):
        _, _, structured = await call(client, "read_media_file", path=image)
        block = {"type": "image", "data": base64.b64encode(IMAGE).decode(), "mimeType": "image/png"}
        equal(structured, {"content": [block]})
    with step("files are found by a pattern"):
        said = await done(client, "search_files", path=a, pattern="**/*.txt")
        equal(sorted(said.split("\n")), [str(in_a), str(a / "other.txt")])
    with step("text is found, with its line"):
        is_error, said, structured = await call(client, "search_text", path=a, pattern="t(ext of|wo)")
        holds(not is_error, said)
        wanted = [
            {"path": str(in_a), "line": 1, "text": "text of a"},
            {"path": str(lines), "line": 2, "text": "two"},
        ]
        equal(sorted(structured["matches"], key=lambda match: match["path"]), wanted)
        for match in wanted:
            holds("{path}:{line}:{text}".format(**match) in said.split("\n"), said)

    with step("directories are made, and a file is written"):
        await done(client, "create_directory", path=drafts)
        await done(client, "write_file", path=draft, content="grüße\n")
        equal(contents(draft), "grüße\n")
        equal(await done(client, "read_text_file", path=draft), "grüße\n")
    preview = None
    with step("an edit is shown before it is made"):
        preview = await done(client, "edit_file", path=lines, edits=edits, dryRun=True)
        holds("\n one\n-two\n-three\n+2\n+3\n four\n" in preview, preview)
        equal(contents(lines), "one\ntwo\nthree\nfour\n")
    with step("and is made as it was shown"):
        equal(await done(client, "edit_file", path=lines, edits=edits), preview)
        equal(contents(lines), "one\n2\n3\nfour\n")
    with step("an edit that fits nowhere changes nothing, be it behind one that fits"):
        both = [{"oldText": "one", "newText": "1"}, *edits]
        is_error, said, _ = await call(client, "edit_file", path=lines, edits=both)
        holds(is_error and "two\nthree" in said, said)
        equal(contents(lines), "one\n2\n3\nfour\n")
    with step("a file is moved"):
        await done(client, "move_file", source=draft, destination=moved)
        equal((draft.exists(), contents(moved)), (False, "grüße\n"))
    with step("but not over another"):
        is_error, said, _ = await call(client, "move_file", source=moved, destination=in_a)
        holds(is_error and str(in_a) in said, said)
        equal((contents(moved), contents(in_a)), ("grüße\n", "text of a\n"))
    with step("nothing is written outside"):
        refused(await call(client, "write_file", path=in_b, content="x"), a)
        refused(await call(client, "move_file", source=moved, destination=b / "moved.md"), a)
        equal((contents(in_b), (b / "moved.md").exists()), ("text of b\n", False))

    with step("a write right behind the notification is refused under the old folder, and nothing is there"):
        wire.roots = [b]
        await client.announce()
        refused(await call(client, "write_file", path=late, content="too late"), b)
        holds(not late.exists(), "it was written")
    with step("so are an edit, a move, a read and a search"):
        fits = [{"oldText": "one", "newText": "1"}]
        refused(await call(client, "edit_file", path=lines, edits=fits), b)
        refused(await call(client, "move_file", source=lines, destination=b / "lines.md"), b)
        refused(await call(client, "read_text_file", path=lines), b)
        refused(await call(client, "search_text", path=a, pattern="one"), b)
        equal(contents(lines), "one\n2\n3\nfour\n")
    with step("the new folder is read, searched and written"):
        equal(await text(client, in_b), "text of b\n")
        await done(client, "edit_file", path=in_b, edits=[{"oldText": "text", "newText": "new text"}])
        equal(contents(in_b), "new text of b\n")
        _, said, structured = await call(client, "search_text", path=b, pattern="^new")
        holds(structured, said)
        equal(structured["matches"], [{"path": str(in_b), "line": 1, "text": "new text of b"}])


def call(client, name, **arguments):
    """Calls a tool; paths become text."""
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}
    return client.call(name, plain)


async def done(client, name, **arguments):
    """Calls a tool that is to succeed, and gives its text."""
    is_error, said, _ = await call(client, name, **arguments)
    holds(not is_error, said)
    return said


def contents(path):
    return path.read_text(encoding="utf-8")


async def text(client, path):
    return await done(client, "read_text_file", path=path)


async def allowed(client):
    is_error, said, _ = await client.call("list_allowed_directories", {})
    holds(not is_error, said)
    title, *folders = said.split("\n")
    equal(title, "Allowed directories:")
    return [folder for folder in folders if folder]


async def status(client):
    _, said, structured = await client.call("roots_status", {})
    holds(structured, f"roots_status has no structured content: {said}")
    return structured


async def rewrite(wire, file, contents):
    told = wire.updates(file)
    file.write_text(contents)
    await wire.until(f"an update of {file}", lambda: wire.updates(file) > told)


def refused(outcome, folder):
    is_error, said, _ = outcome
    holds(is_error, f"it was served: {said}")
    holds(str(folder) in said, f"the message does not name {folder}: {said}")


def text_of(result):
    return "".join(getattr(block, "text", "") for block in result.content)


def equal(got, wanted):
    holds(got == wanted, f"got {got!r}, wanted {wanted!r}")


def rose(before, now):
    holds(now > before, f"it went from {before} to {now}")


def holds(condition, why):
    if not condition:
        raise AssertionError(why)
