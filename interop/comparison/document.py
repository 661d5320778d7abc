"""DIFFERENCES.md, as it follows from the table."""

from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "DIFFERENCES.md"
HEAD = """\
# How `serve` differs from the reference filesystem server

`mcp-roots serve --write` has the tools, arguments and results of the reference server (npm package
`@modelcontextprotocol/server-filesystem`, at the version in `package.json`). Each run of `compare.py` asks both the
same, and fails if they differ in anything that is not below, or no longer differ in something that is.

This file is made from the tables in `comparison/differences`: change those, and run `python3 interop/compare.py --document`.
"""
FOOT = """\
## What is not compared

- The order of entries where the reference server gives them as the disk does.
- The instants at which a file was made and last read, which are not the same in two runs.
- What tools and arguments say of themselves in their descriptions.
"""


def write(table):
    FILE.write_text(text(table), encoding="utf-8")


def check(table):
    if FILE.read_text(encoding="utf-8") != text(table):
        raise AssertionError("it is not: run compare.py --document")


def text(table):
    sections = {}
    for difference in table.differences:
        sections.setdefault(difference.about, []).append(row(difference))
    parts = [HEAD]
    for about, rows in sections.items():
        head = ["| | the reference server | `serve` | why |", "| --- | --- | --- | --- |"]
        parts.append("\n".join([f"## {about}", "", *head, *rows]) + "\n")
    return "\n".join([*parts, FOOT])


def row(difference):
    cells = [difference.what, difference.reference, difference.serve, difference.why]
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
