"""Requests that read files."""

from .request import REFUSED, Request, at, one_path


def requests():
    return [*reads(), *several(), *media()]


def reads():
    tool = "read_text_file"
    files = {
        "a file": "text/lines.txt",
        "no end of the last line": "text/unfinished.txt",
        "an empty file": "text/empty.txt",
        "CRLF": "text/crlf.txt",
        "UTF-8": "text/utf-8.txt",
        "not UTF-8": "text/latin-1.txt",
        "a byte order mark": "text/bom.txt",
        "a zero byte": "text/nul.bin",
        "a long file": "text/long.txt",
        "a file longer than one answer": "text/large.txt",
        "a name with spaces": "text/ein Brief für dich.txt",
        "a composed name of a decomposed file": "text/caf\u00e9.txt",
        "a link to inside": "links/inside.txt",
        "an absolute link to inside": "links/absolute.txt",
        "through a link to a directory inside": "links/directory/a.txt",
        ".. that stays inside": "text/../text/lines.txt",
        ".. after a link": "links/directory/../a.txt",
        "slashes and dots": "text//./lines.txt",
        "a slash at the end": "text/lines.txt/",
        "missing": "text/missing.txt",
        "missing, in a missing directory": "missing/missing.txt",
        "below a file": "text/lines.txt/below",
        "a directory": "text",
        "the allowed directory": "{tree}",
        **REFUSED,
    }
    yield from one_path(tool, files)
    for what, path in {
        "a relative path": "text/lines.txt",
        "a relative path to outside": "../outside/secret.txt",
        "an empty path": "",
        "a path from the home directory": "~/text/lines.txt",
        "a path of Windows": "C:\\text\\lines.txt",
        "a path in spaces": " {tree}/text/lines.txt ",
        "a file URI": "file://{tree}/text/lines.txt",
    }.items():
        yield Request(f"{tool}: {what}", tool, {"path": path})

    def part(what, path, **more):
        return Request(f"{tool}: {what}", tool, {"path": at(path), **more})

    yield part("the first lines", "text/lines.txt", head=2)
    yield part("the first lines, more than there are", "text/lines.txt", head=99)
    yield part("the first lines of CRLF", "text/crlf.txt", head=2)
    yield part("the first lines of UTF-8", "text/long.txt", head=150)
    yield part("the first lines of what is not UTF-8", "text/latin-1.txt", head=1)
    yield part("the first lines with no end of the last", "text/unfinished.txt", head=3)
    yield part("the first lines of an empty file", "text/empty.txt", head=3)
    yield part("the first lines, blank ones", "text/blank-lines.txt", head=2)
    yield part("the first 0 lines", "text/lines.txt", head=0)
    yield part("the first -1 lines", "text/lines.txt", head=-1)
    yield part("the first 1.5 lines", "text/lines.txt", head=1.5)
    yield part("the first lines of a missing file", "text/missing.txt", head=1)
    yield part("the first lines of a directory", "text", head=1)
    yield part("the last lines", "text/lines.txt", tail=2)
    yield part("the last lines, more than there are", "text/lines.txt", tail=99)
    yield part("the last lines of CRLF", "text/crlf.txt", tail=2)
    yield part("the last lines of UTF-8", "text/long.txt", tail=150)
    yield part("the last lines of what is not UTF-8", "text/latin-1.txt", tail=2)
    yield part("the last lines with no end of the last", "text/unfinished.txt", tail=2)
    yield part("the last lines of an empty file", "text/empty.txt", tail=2)
    yield part("the last lines, blank ones", "text/blank-lines.txt", tail=2)
    yield part("the last 0 lines", "text/lines.txt", tail=0)
    yield part("the last -1 lines", "text/lines.txt", tail=-1)
    yield part("the last lines of a missing file", "text/missing.txt", tail=1)
    yield part("first and last lines", "text/lines.txt", head=1, tail=1)
    yield part("the first 0 and the last lines", "text/unfinished.txt", head=0, tail=2)
    yield part("head is a text", "text/lines.txt", head="2")
    yield part("head is null", "text/lines.txt", head=None)
    yield part("an argument too many", "text/lines.txt", encoding="utf-8")
    yield Request(f"{tool}: no path", tool, {})
    yield Request(f"{tool}: the path is a number", tool, {"path": 5})
    yield Request(f"{tool}: the path is null", tool, {"path": None})

    tool = "read_file"
    yield part("a file", "text/lines.txt")
    yield part("the first lines", "text/lines.txt", head=2)
    yield part("the last lines", "text/unfinished.txt", tail=2)
    yield part("missing", "text/missing.txt")


def several():
    tool = "read_multiple_files"

    def request(what, *paths):
        return Request(f"{tool}: {what}", tool, {"paths": list(paths)})

    good = ["{tree}/text/lines.txt", "{tree}/text/utf-8.txt"]
    bad = ["{tree}/text/missing.txt", "{tree}/text", "{outside}/secret.txt", "{tree}/links/outside.txt"]
    yield request("one", good[0])
    yield request("two", *good)
    yield request("the same twice", good[0], good[0])
    yield request("empty and unfinished ones", "{tree}/text/empty.txt", "{tree}/text/unfinished.txt")
    yield request("a relative path and a link", "text/lines.txt", "{tree}/links/inside.txt")
    yield request("CRLF and what is not UTF-8", "{tree}/text/crlf.txt", "{tree}/text/latin-1.txt")
    yield request("some fail", good[0], *bad, good[1])
    yield request("all fail", *bad)
    yield request("more than one answer holds", good[0], "{tree}/text/large.txt", good[1])
    yield request("none")
    yield Request(f"{tool}: the paths are a text", tool, {"paths": good[0]})
    yield Request(f"{tool}: no paths", tool, {})


def media():
    tool = "read_media_file"
    files = {
        "png": "media/pixel.png",
        "jpg": "media/photo.jpg",
        "JPEG in capitals": "media/LOUD.JPEG",
        "svg": "media/drawing.svg",
        "gif": "media/still.gif",
        "webp": "media/still.webp",
        "bmp": "media/still.bmp",
        "mp3": "media/sound.mp3",
        "wav": "media/sound.wav",
        "ogg": "media/sound.ogg",
        "flac": "media/sound.flac",
        "another type": "media/two words.bin",
        "a text": "media/notes.txt",
        "no extension": "media/no-extension",
        "an empty file": "media/empty.png",
        "a link to inside": "links/inside.txt",
        "a link to outside": "links/outside.txt",
        "missing": "media/missing.png",
        "a directory": "media/directory.png",
        "outside": "{outside}/secret.txt",
    }
    yield from one_path(tool, files)
    yield Request(f"{tool}: no path", tool, {})
