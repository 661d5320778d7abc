"""What came of a request, made comparable, and in what two outcomes differ."""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime

from .request import UNORDERED

ISO = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
JAVASCRIPT = re.compile(r"^(\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}) \(.*\)$")
# The name of a file under which the reference server writes until it renames it.
TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")
# Where a structured answer repeats the text.
THE_TEXT = "the text"


@dataclass
class Outcome:
    """An answer of a server, and the files after it if the request could change some."""

    # "a result", "an error result", or "a protocol error".
    form: str
    text: str = ""
    # The kind of each block, and what it holds besides text.
    blocks: list = field(default_factory=list)
    structured: dict | None = None
    files: dict | None = None

    @property
    def failed(self):
        return self.form != "a result"


def outcome(message, request, place, files):
    """An outcome in which nothing is left that cannot be equal, and paths do not depend on where they are."""
    if "error" in message:
        return Outcome("a protocol error", normal(message["error"]["message"], place), files=files)
    result = message["result"]
    form = "an error result" if result.get("isError") else "a result"
    content = result.get("content", [])
    plain = "".join(block["text"] for block in content if block["type"] == "text")
    text = comparable(plain, request, place)
    blocks = [{name: value for name, value in block.items() if name != "text"} for block in content]
    structured = result.get("structuredContent")
    if structured is not None and structured.get("content") == plain:
        structured = {**structured, "content": THE_TEXT}
    return Outcome(form, text, normal(blocks, place), normal(structured, place), files)


def comparable(text, request, place):
    text = normal(text, place)
    if request.tool in UNORDERED:
        text = in_order(text)
    if request.tool == "get_file_info":
        text = "\n".join(map(time_as_kind, text.split("\n")))
    return text


def in_order(text):
    """Entries in one order, be they lines or a tree."""
    if text.startswith("["):
        try:
            return json.dumps(tree_in_order(json.loads(text)), indent=2, ensure_ascii=False)
        except ValueError:
            pass
    return "\n".join(sorted(text.split("\n")))


def tree_in_order(entries):
    for entry in entries:
        if "children" in entry:
            entry["children"] = tree_in_order(entry["children"])
    return sorted(entries, key=lambda entry: entry["name"])


def time_as_kind(line):
    """A line of times with the instant left out where it is the time of the run, and the way of writing it told."""
    name, separator, value = line.partition(": ")
    if ISO.match(value):
        way, moment = "ISO 8601", datetime.fromisoformat(value)
    elif written := JAVASCRIPT.match(value):
        way, moment = "JavaScript", datetime.strptime(written[1], "%a %b %d %Y %H:%M:%S GMT%z")
    else:
        return line
    # The other times are of when the tree was made, or of when it was read.
    instant = moment.timestamp() if name == "modified" else "a time"
    return f"{name}{separator}{instant} in {way}"


def normal(value, place):
    """The same with names in braces for what is another in each run."""
    match value:
        case str():
            for name in ("tree", "outside", "by-link"):
                value = value.replace(str(place.path / name), "{" + name + "}")
            value = value.replace(str(place.path), "{place}")
            return TEMPORARY.sub(".{random}.tmp", value)
        case list():
            return [normal(item, place) for item in value]
        case dict():
            return {name: normal(item, place) for name, item in value.items()}
        case _:
            return value


def differences(reference, ours):
    """In what `ours` differs: each by its kind, with what one and the other have."""
    found = {}
    if reference.failed != ours.failed:
        found["success"] = (shown(reference), shown(ours))
    else:
        if reference.form != ours.form:
            found["form of an error"] = (reference.form, ours.form)
        if reference.text != ours.text:
            kind = "text of an error" if ours.failed else "text"
            found[kind] = (reference.text, ours.text)
        if not ours.failed:
            found |= content_differences(reference, ours)
    if reference.files != ours.files:
        found["files"] = changed(reference.files, ours.files)
    return found


def content_differences(reference, ours):
    found = {}
    if reference.blocks != ours.blocks:
        found["content"] = (json.dumps(reference.blocks), json.dumps(ours.blocks))
    theirs, own = reference.structured or {}, ours.structured or {}
    if (reference.structured is None) != (ours.structured is None):
        found["structured content"] = (str(reference.structured), str(ours.structured))
    for name in theirs.keys() | own.keys():
        if name not in theirs:
            found[f"field {name}"] = ("nothing", json.dumps(own[name]))
        elif theirs[name] != own.get(name):
            found["structured content"] = (json.dumps(theirs[name]), json.dumps(own.get(name)))
    return found


def shown(outcome):
    return f"{outcome.form}: {outcome.text}"


def changed(theirs, own):
    """The entries that are not the same behind the one and the other."""
    names = sorted(name for name in theirs.keys() | own.keys() if theirs.get(name) != own.get(name))
    return tuple("; ".join(f"{name}: {files.get(name, 'nothing')}" for name in names) for files in (theirs, own))


def tool_differences(reference, ours):
    """In what two lists of tools differ: for each tool by its kind, with what one and the other have."""
    found = {}
    for tool in sorted(reference.keys() | ours.keys()):
        theirs, own = described(reference.get(tool)), described(ours.get(tool))
        kinds = {
            kind: (theirs.get(kind, "nothing"), own.get(kind, "nothing"))
            for kind in theirs.keys() | own.keys()
            if theirs.get(kind) != own.get(kind)
        }
        if tool not in reference:
            kinds = {"tool": ("nothing", "a tool")}
        if tool not in ours:
            kinds = {"tool": ("a tool", "nothing")}
        found[f"tools/list: {tool}"] = kinds
    return found


def described(tool):
    """Everything that a client can rely on of a tool, flat; not what is only for people and models to read."""
    if tool is None:
        return {}
    flat = {"title": tool.get("title"), "the schema's type": tool["inputSchema"].get("type")}
    flat |= {f"annotation {name}": value for name, value in tool.get("annotations", {}).items()}
    flat |= properties("argument", tool["inputSchema"])
    flat |= properties("output", tool.get("outputSchema", {}), types=False)
    return flat


def properties(what, schema, types=True):
    flat = {}
    for name, property in schema.get("properties", {}).items():
        one = {key: property[key] for key in ("type", "enum", "default", "minItems") if types and key in property}
        # Whether it is required, and of what kind each item is.
        one |= {"required": True} if name in schema.get("required", []) else {}
        if types and "items" in property:
            one |= {"items": {"type": property["items"].get("type"), **properties("of", property["items"])}}
        flat[f"{what} {name}"] = one
    return flat
