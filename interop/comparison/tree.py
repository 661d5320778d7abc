"""The files on which both servers work, always at the same path and always the same."""

import os
import shutil
import stat

# A whole second, since the reference server shows no parts of one.
MODIFIED = 1_709_294_400
# Longer than one answer of `serve`.
LARGE = "".join(f"{number:06} of a file that is longer than one answer holds\n" for number in range(1, 25_001))
# Characters of several bytes, so that whoever reads in blocks comes to cut one.
LONG = "".join(f"line {number:04}: grüße, 日本語, 🦀\n" for number in range(1, 301))
LOREM = "".join(f"line {number}\n" for number in range(1, 41))
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000") + bytes(range(256))

FILES = {
    "text/lines.txt": "one\ntwo\nthree\nfour\nfive\n",
    "text/unfinished.txt": "one\ntwo\nthree",
    "text/empty.txt": "",
    "text/blank-lines.txt": "one\n\n\n",
    "text/crlf.txt": "one\r\ntwo\r\nthree\r\n",
    "text/utf-8.txt": "grüße\n日本語\n🦀 end\n",
    "text/latin-1.txt": b"caf\xe9\nplain\n",
    "text/bom.txt": "\ufefffirst\nsecond\n",
    "text/nul.bin": b"a\0b\n",
    "text/long.txt": LONG,
    "text/large.txt": LARGE,
    "text/ein Brief für dich.txt": "hello\n",
    # The accent is a character of its own here, as on a Mac.
    "text/cafe\u0301.txt": "decomposed\n",
    "media/pixel.png": PNG,
    "media/photo.jpg": b"\xff\xd8\xff\xe0jpeg",
    "media/LOUD.JPEG": b"\xff\xd8\xff\xe0jpeg",
    "media/drawing.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
    "media/still.gif": b"GIF89a",
    "media/still.webp": b"RIFF....WEBP",
    "media/still.bmp": b"BM......",
    "media/sound.mp3": b"ID3\x04",
    "media/sound.wav": b"RIFF....WAVE",
    "media/sound.ogg": b"OggS",
    "media/sound.flac": b"fLaC",
    "media/two words.bin": bytes(range(256)),
    "media/notes.txt": "plain text\n",
    "media/no-extension": "nothing\n",
    "media/empty.png": "",
    "edit/plain.txt": "one\ntwo\nthree\nfour\nfive\n",
    "edit/unfinished.txt": "one\ntwo\nthree",
    "edit/code.py": "def f(x):\n    if x:\n        return 1\n    return 2\n",
    "edit/tabs.go": "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n",
    "edit/crlf.txt": "one\r\ntwo\r\nthree\r\n",
    "edit/mixed.txt": "one\r\ntwo\nthree\n",
    "edit/ticks.md": "# Title\n\n```\ncode\n```\n\n````\nmore\n````\n",
    "edit/repeated.txt": "same\nsame\nother\nsame\n",
    "edit/lorem.txt": LOREM,
    "edit/latin-1.txt": b"caf\xe9\nplain\n",
    "edit/empty.txt": "",
    "edit/script.sh": "#!/bin/sh\necho one\n",
    "edit/private.txt": "secret\n",
    "edit/read-only.txt": "fixed\n",
    "edit/hard.txt": "shared\n",
    "search/a.txt": "a\n",
    "search/b.md": "b\n",
    "search/Cased.TXT": "c\n",
    "search/.hidden.txt": "h\n",
    "search/#number.txt": "n\n",
    "search/[odd].txt": "o\n",
    "search/ü.txt": "u\n",
    "search/{{slug}}/t.py": "t\n",
    "search/.config/settings.txt": "s\n",
    "search/docs/a.txt": "a\n",
    "search/docs/deep/name": "n\n",
    "search/docs/deep/x.txt": "x\n",
    "search/docs/deep/y.md": "y\n",
    "search/name/inner.txt": "i\n",
    "search/skip/a.txt": "a\n",
    "search/skip/deep/b.txt": "b\n",
    "sizes/a.txt": "12345",
    "sizes/B.txt": "x" * 1023,
    "sizes/c.txt": "x" * 1024,
    "sizes/d.txt": "x" * 1536,
    "sizes/_e.txt": "",
    "sizes/a-name-that-is-longer-than-thirty-letters.txt": "x" * 99_999,
    "sizes/sub/inside.txt": "not counted\n",
    "plain/a.txt": "1",
    "plain/b.txt": "22",
    "plain/c.txt": "333",
    "plain/sub/d.txt": "4444",
    "flat/a.txt": "1",
    "flat/b.txt": "333",
    "flat/c.txt": "22",
    "wide/grüße.txt": "1",
    "wide/🦀.txt": "22",
    "repo/.git/config": "[core]\n",
    "repo/.gitignore": "target/\n*.log\n",
    "repo/build.log": "log\n",
    "repo/src/main.rs": "fn main() {}\n",
    "repo/target/out.txt": "out\n",
    "move/from.txt": "from\n",
    "move/to.txt": "to\n",
    "move/script.sh": "#!/bin/sh\n",
    "move/dir/inner.txt": "inner\n",
}
DIRECTORIES = ["empty", "move/empty", "media/directory.png"]
MODES = {"edit/script.sh": 0o755, "edit/private.txt": 0o600, "edit/read-only.txt": 0o444, "move/script.sh": 0o750}
HARD_LINKS = {"edit/hard-too.txt": "edit/hard.txt"}
LINKS = {
    "links/inside.txt": "../text/lines.txt",
    "links/outside.txt": "../../outside/secret.txt",
    "links/dangling.txt": "missing.txt",
    "links/dangling-outside.txt": "../../outside/missing.txt",
    "links/absolute.txt": "{tree}/text/lines.txt",
    "links/directory": "../search/docs",
    "links/directory-outside": "../../outside",
    "links/loop": "loop",
    "edit/linked.txt": "plain.txt",
    "move/link.txt": "from.txt",
    "move/link-outside.txt": "../../outside/secret.txt",
    "move/dangling.txt": "missing.txt",
}
OUTSIDE = {"secret.txt": "secret\n", "sub/inside.txt": "inside\n"}


class Place:
    """A directory that the servers may use, `tree`, beside one that they may not, `outside`."""

    def __init__(self, path):
        self.path = path
        self.tree = path / "tree"
        self.outside = path / "outside"
        self.by_link = path / "by-link"
        self.tree.mkdir()
        self.by_link.symlink_to("tree")

    def restore(self):
        """Makes everything anew, except for the allowed directory itself, which a server may hold open."""
        for entry in self.tree.iterdir():
            remove(entry)
        remove(self.outside)
        for name, content in FILES.items():
            write(self.tree / name, content)
        for name, content in OUTSIDE.items():
            write(self.outside / name, content)
        for name in DIRECTORIES:
            (self.tree / name).mkdir(parents=True)
        for name, target in LINKS.items():
            link = self.tree / name
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(target.format(tree=self.tree))
        for name, target in HARD_LINKS.items():
            (self.tree / name).hardlink_to(self.tree / target)
        for name, mode in MODES.items():
            (self.tree / name).chmod(mode)
        for where, _, files in os.walk(self.tree):
            for name in [*files, "."]:
                os.utime(os.path.join(where, name), (MODIFIED, MODIFIED), follow_symlinks=False)

    def files(self):
        """What is there now: the kind, the mode bits and the content of each entry, by its name."""
        found = {}
        for where, directories, files in os.walk(self.path):
            for name in directories + files:
                path = os.path.join(where, name)
                found[os.path.relpath(path, self.path)] = entry(path)
        return found


def entry(path):
    status = os.lstat(path)
    mode = oct(stat.S_IMODE(status.st_mode))
    if stat.S_ISLNK(status.st_mode):
        return f"a link to {os.readlink(path)}"
    if stat.S_ISDIR(status.st_mode):
        return f"a directory {mode}"
    with open(path, "rb") as file:
        return f"a file {mode} {file.read()!r}"


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()
