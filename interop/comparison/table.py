"""The differences between the reference server and `serve` that are meant, as the files in `differences` have them.

`shows` names, by kind, the requests at which a difference shows. `has` is a pattern that the text, content or files of
`serve` have at each of them, and `answers` the same for single requests, so that what is expected to differ cannot come
to differ in another way. What no comparison of answers can show names a step of compare.py.
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).with_name("differences")
# In the order of DIFFERENCES.md.
FILES = ["tools", "errors", "paths", "reading", "changing", "finding"]


@dataclass
class Difference:
    """One row of DIFFERENCES.md, and where it shows."""

    # The section, what is different, what the one and the other do, and why `serve` does.
    about: str
    what: str
    reference: str
    serve: str
    why: str
    # By kind, the requests whose outcomes differ in that.
    shows: dict = field(default_factory=dict)
    # A pattern that each of these requests' answers or files has with `serve`, so that they cannot become any other.
    has: str = ""
    # The same for single requests.
    answers: dict = field(default_factory=dict)
    # Steps of `compare.py` that show it, where no comparison can.
    steps: list = field(default_factory=list)


class Table:
    def __init__(self, differences):
        self.differences = differences

    def check(self, request, found):
        """Holds what was found at a request against what is expected of it."""
        expected = {}
        for difference in self.differences:
            for kind, requests in difference.shows.items():
                if request in requests:
                    expected.setdefault(kind, []).append(difference)
        for kind, (reference, ours) in found.items():
            both = f"reference: {shortened(reference)} | serve: {shortened(ours)}"
            if kind not in expected:
                raise AssertionError(f"{kind}: not in the table of differences | {both}")
        for kind, differences in expected.items():
            for difference in differences:
                if kind not in found:
                    raise AssertionError(f"{kind}: no longer different, which the table calls {difference.what!r}")
        for difference in {id(one): one for several in expected.values() for one in several}.values():
            own = "\n".join(str(found[kind][1]) for kind in difference.shows if kind in found)
            pattern = difference.answers.get(request, difference.has)
            if not re.search(pattern, own, re.DOTALL):
                raise AssertionError(f"serve's own answer has nothing like {pattern!r}: {shortened(own)}")

    def check_names(self, requests, steps):
        """Every request and step that the table names must be there, or the table would hold for nothing."""
        for difference in self.differences:
            named = [name for several in difference.shows.values() for name in several]
            if not named and not difference.steps:
                raise AssertionError(f"{difference.what!r} shows nowhere")
            if unknown := [name for name in [*named, *difference.answers] if name not in requests]:
                raise AssertionError(f"{difference.what!r} names requests that are not made: {unknown}")
            if unknown := [name for name in difference.steps if name not in steps]:
                raise AssertionError(f"{difference.what!r} names steps that are not made: {unknown}")
            if named and not difference.has and set(named) - difference.answers.keys():
                raise AssertionError(f"{difference.what!r} does not say what serve answers instead")


def read():
    entries = []
    for name in FILES:
        entries += tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["difference"]
    return Table([Difference(**entry) for entry in entries])


def shortened(value):
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:500]} ... {text[-90:]}"
