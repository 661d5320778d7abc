"""Requests that change files."""

from .request import REFUSED, Request, at, one_path


def requests():
    return [*writes(), *edits(), *creates(), *moves()]


def writes():
    tool = "write_file"
    paths = {
        "new": "text/new.txt",
        "over a file": "text/lines.txt",
        "over an executable file": "edit/script.sh",
        "over a private file": "edit/private.txt",
        "over a read-only file": "edit/read-only.txt",
        "over a file with two names": "edit/hard.txt",
        "through a link to inside": "links/inside.txt",
        "through a link to a directory inside": "links/directory/new.txt",
        "missing parent": "missing/new.txt",
        "below a file": "text/lines.txt/new.txt",
        "over a directory": "empty",
        "over the allowed directory": "{tree}",
        "a link to nothing outside": "links/dangling-outside.txt",
        "new, outside": "{outside}/new.txt",
        "new, through a link to a directory outside": "links/directory-outside/new.txt",
        ".. that stays inside": "text/../new.txt",
        "a composed name beside a decomposed file": "text/caf\u00e9.txt",
        **REFUSED,
    }
    yield from one_path(tool, paths, content="new text, grüße\n")
    yield Request(f"{tool}: nothing", tool, {"path": "{tree}/text/lines.txt", "content": ""})
    yield Request(f"{tool}: CRLF", tool, {"path": "{tree}/text/new.txt", "content": "a\r\nb\r\n"})
    yield Request(f"{tool}: a relative path", tool, {"path": "text/new.txt", "content": "x"})
    yield Request(f"{tool}: no content", tool, {"path": "{tree}/text/lines.txt"})
    yield Request(f"{tool}: the content is a number", tool, {"path": "{tree}/text/lines.txt", "content": 5})


def edits():
    tool = "edit_file"

    def request(what, path, *pairs, **more):
        edits = [{"oldText": old, "newText": new} for old, new in pairs]
        return Request(f"{tool}: {what}", tool, {"path": at(path), "edits": edits, **more})

    plain = "edit/plain.txt"
    yield request("one", plain, ("two", "2"))
    yield request("a dry run", plain, ("two", "2"), dryRun=True)
    yield request("no dry run, said so", plain, ("two", "2"), dryRun=False)
    yield request("several", plain, ("two", "2"), ("four\n", "4\n"))
    yield request("one upon another", plain, ("two", "2"), ("2", "II"))
    yield request("several lines", plain, ("two\nthree\nfour", "2\n3\n4"))
    yield request("several lines become one", plain, ("two\nthree\nfour\n", "rest\n"))
    yield request("a part of a line", plain, ("hre", "HRE"))
    yield request("lines go", plain, ("two\nthree\n", ""))
    yield request("lines come", plain, ("three\n", "three\nthree and a half\n"))
    yield request("the first line", plain, ("one", "1"))
    yield request("the last line", plain, ("five\n", "5\n"))
    yield request("all goes", plain, ("one\ntwo\nthree\nfour\nfive\n", ""))
    yield request("no change", plain, ("two", "two"))
    yield request("no edits", plain)
    yield request("an empty text to find", plain, ("", "zero\n"))
    yield request("the first of several places", "edit/repeated.txt", ("same", "changed"))
    yield request("the same place twice", "edit/repeated.txt", ("same", "x"), ("same", "y"))
    yield request("a line doubled", "edit/repeated.txt", ("other\n", "same\nother\nsame\n"))
    yield request("no end of the last line", "edit/unfinished.txt", ("three", "3"))
    yield request("an end for the last line", "edit/unfinished.txt", ("three", "three\n"))
    yield request("far apart", "edit/lorem.txt", ("line 3\n", "LINE 3\n"), ("line 30\n", "LINE 30\n"))
    yield request("eight lines apart", "edit/lorem.txt", ("line 10\n", "X\n"), ("line 19\n", "Y\n"))
    yield request("nine lines apart", "edit/lorem.txt", ("line 10\n", "X\n"), ("line 20\n", "Y\n"))
    yield request("lines swapped", "edit/lorem.txt", ("line 5\nline 6\nline 7\n", "line 7\nline 5\nline 6\n"))
    yield request("other space", "edit/code.py", ("if x:\n    return 1", "if x:\n    return 2"))
    yield request("other space, deeper", "edit/code.py", ("  if x:\n    return 1", "  if x:\n      y()\n      return 1"))
    yield request("other space at the end of lines", plain, ("two  \nthree\t", "2\n3"))
    yield request("other space, tabs", "edit/tabs.go", ("if x {\n  return\n}", "if y {\n    return 1\n}"))
    yield request("backticks", "edit/ticks.md", ("code", "```"))
    yield request("five backticks", plain, ("two", "`````"))
    yield request("dollars", plain, ("two", "$& $1 $$ $`"))
    yield request("a pattern is plain text", plain, ("t.o", "2"))
    yield request("CRLF", "edit/crlf.txt", ("two", "2"))
    yield request("CRLF, in a dry run", "edit/crlf.txt", ("two", "2"), dryRun=True)
    yield request("CRLF, several lines", "edit/crlf.txt", ("one\ntwo", "1\n2\n2.5"))
    yield request("CRLF in the edit", plain, ("one\r\ntwo", "1\r\n2"))
    yield request("mixed line ends", "edit/mixed.txt", ("three", "3"))
    yield request("no match", plain, ("missing", "x"))
    yield request("no match for the second", plain, ("two", "2"), ("missing", "x"))
    yield request("not UTF-8", "edit/latin-1.txt", ("plain", "changed"))
    yield request("an empty file", "edit/empty.txt", ("x", "y"))
    yield request("an executable file", "edit/script.sh", ("one", "two"))
    yield request("a private file", "edit/private.txt", ("secret", "known"))
    yield request("a file with two names", "edit/hard.txt", ("shared", "own"))
    yield request("through a link to inside", "edit/linked.txt", ("two", "2"))
    yield request("a link to outside", "links/outside.txt", ("secret", "known"))
    yield request("a link to nothing", "links/dangling.txt", ("a", "b"))
    yield request("missing", "edit/missing.txt", ("a", "b"))
    yield request("a directory", "edit", ("a", "b"))
    yield request("outside", "{outside}/secret.txt", ("secret", "known"))
    yield request("outside, in a dry run", "{outside}/secret.txt", ("secret", "known"), dryRun=True)
    yield Request(f"{tool}: no edits given", tool, {"path": at(plain)})
    yield Request(f"{tool}: an edit without a new text", tool, {"path": at(plain), "edits": [{"oldText": "two"}]})
    yield request("dryRun is a text", plain, ("two", "2"), dryRun="yes")


def creates():
    paths = {
        "new": "made",
        "nested": "made/of/several",
        "there already": "empty",
        "the allowed directory": "{tree}",
        "a file is there": "text/lines.txt",
        "below a file": "text/lines.txt/made",
        "through a link to a directory inside": "links/directory/made",
        "through a link to a directory outside": "links/directory-outside/made",
        "a link to a directory inside": "links/directory",
        "a link to nothing": "links/dangling.txt",
        "outside": "{outside}/made",
        "outside, by ..": "{tree}/../outside/made",
        "a slash at the end": "made/",
    }
    yield from one_path("create_directory", paths)
    yield Request("create_directory: a relative path", "create_directory", {"path": "made/relative"})


def moves():
    tool = "move_file"

    def request(what, source, destination):
        return Request(f"{tool}: {what}", tool, {"source": at(source), "destination": at(destination)})

    yield request("a new name", "move/from.txt", "move/renamed.txt")
    yield request("another directory", "move/from.txt", "move/dir/from.txt")
    yield request("an executable file", "move/script.sh", "move/dir/script.sh")
    yield request("a directory", "move/dir", "move/empty/dir")
    yield request("a directory into itself", "move/dir", "move/dir/below")
    yield request("the destination exists", "move/from.txt", "move/to.txt")
    yield request("the destination is an empty directory", "move/dir", "move/empty")
    yield request("the destination is a directory", "move/from.txt", "move/dir")
    yield request("the destination is a link", "move/from.txt", "move/link.txt")
    yield request("the destination is a link to nothing", "move/from.txt", "move/dangling.txt")
    yield request("the destination is a link to outside", "move/from.txt", "move/link-outside.txt")
    yield request("onto itself", "move/from.txt", "move/from.txt")
    yield request("the source is missing", "move/missing.txt", "move/new.txt")
    yield request("the destination's directory is missing", "move/from.txt", "missing/new.txt")
    yield request("a link", "move/link.txt", "move/moved-link.txt")
    yield request("a link to outside", "move/link-outside.txt", "move/moved-link.txt")
    yield request("a link to nothing", "move/dangling.txt", "move/moved-link.txt")
    yield request("through a link to a directory inside", "move/from.txt", "links/directory/from.txt")
    yield request("to outside", "move/from.txt", "{outside}/from.txt")
    yield request("to outside through a link", "move/from.txt", "links/directory-outside/from.txt")
    yield request("from outside", "{outside}/secret.txt", "move/secret.txt")
    yield request("the allowed directory", "{tree}", "{tree}/move/tree")
    yield Request(f"{tool}: no destination", tool, {"source": "{tree}/move/from.txt"})
