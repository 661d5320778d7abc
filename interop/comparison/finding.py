"""Requests for what is there."""

from .request import LEFT_OUT, Request, at, one_path


def requests():
    return [*lists(), *sizes(), *searches(), *trees(), *infos(), *others()]


def lists():
    paths = {
        "a directory": "text",
        "the allowed directory": "{tree}",
        "an empty one": "empty",
        "hidden names": "search",
        "links": "links",
        "through a link to a directory inside": "links/directory",
        "a link to a directory outside": "links/directory-outside",
        "below a .gitignore": "repo",
        "a file": "text/lines.txt",
        "missing": "missing",
        "outside": "{outside}",
    }
    yield from one_path("list_directory", paths)
    for what, path in {"a relative path": "text/..", "a dot": ".", "an empty path": "", "the home directory": "~"}.items():
        yield Request(f"list_directory: {what}", "list_directory", {"path": path})


def sizes():
    tool = "list_directory_with_sizes"
    paths = {
        "a directory": "plain",
        "names that languages order": "sizes",
        "wide names": "wide",
        "an empty one": "empty",
        "links": "links",
        "a file": "text/lines.txt",
        "missing": "missing",
        "outside": "{outside}",
    }
    yield from one_path(tool, paths)
    for order in ("name", "size", "date"):
        arguments = {"path": "{tree}/plain", "sortBy": order}
        yield Request(f"{tool}: by {order}", tool, arguments)
    yield Request(f"{tool}: by size, without directories", tool, {"path": "{tree}/flat", "sortBy": "size"})


def searches():
    tool = "search_files"

    def request(what, pattern, path="search", **more):
        return Request(f"{tool}: {what}", tool, {"path": at(path), "pattern": pattern, **more})

    patterns = {
        "a star stays in the directory": "*.txt",
        "two stars go below": "**/*.txt",
        "a name anywhere": "**/name",
        "a plain name": "name",
        "a path": "docs/deep/x.txt",
        "all": "**",
        "all in the directory": "*",
        "all below a directory": "docs/**",
        "files of a directory": "docs/*",
        "two stars inside": "docs/**/x.txt",
        "hidden names": "**/.*",
        "below hidden names": "**/.config/**",
        "braces": "**/*.{md,TXT}",
        "nested braces": "**/{a,{b,x}}.{txt,md}",
        "a single alternative in braces": "**/{a}.txt",
        "braces in a name": "{{slug}}/*",
        "two slashes": "docs//a.txt",
        "a range in braces": "**/{a..c}.txt",
        "a question mark": "**/?.txt",
        "a question mark is a character": "ü?txt",
        "a question mark for ü": "?.txt",
        "a class": "**/[ab].*",
        "a negated class": "**/[!ab].txt",
        "an escaped bracket": "\\[odd\\].txt",
        "other case": "**/cased.txt",
        "an extended pattern": "**/@(a|b).txt",
        "a negated pattern": "!*.txt",
        "a number sign": "#number.txt",
        "no match": "**/*.nothing",
        "an empty pattern": "",
        "a broken class": "[",
        "a broken brace": "{a",
        "a directory's slash": "docs/",
        "dots": "./a.txt",
        "a full path": "{tree}/search/a.txt",
    }
    for what, pattern in patterns.items():
        yield request(what, pattern)
    yield request("exclude all below a directory", "**/*.txt", excludePatterns=["skip/**"])
    yield request("exclude a directory by name", "**/*.txt", excludePatterns=["skip"])
    yield request("exclude a name that is further down", "**/*.txt", excludePatterns=["deep"])
    yield request("exclude anywhere", "**/*.txt", excludePatterns=["**/deep/**", "**/.*"])
    yield request("exclude several", "**", excludePatterns=["**/*.txt", "**/*.md"])
    yield request("exclude nothing", "*.txt", excludePatterns=[])
    yield request("links", "**", path="links")
    yield request("through a link to a directory inside", "**/*.txt", path="links/directory")
    yield request("below a .gitignore", "**", path="repo")
    yield request("below a .gitignore that does not count", "**", path="repo", respectGitignore=False)
    yield request("in a file", "*", path="text/lines.txt")
    yield request("in a missing directory", "*", path="missing")
    yield request("outside", "*", path="{outside}")
    yield Request(f"{tool}: no pattern", tool, {"path": "{tree}/search"})
    yield request("the excluded is a text", "*", excludePatterns="skip")


def trees():
    tool = "directory_tree"
    paths = {
        "a directory": "search",
        "an empty one": "empty",
        "links": "links",
        "through a link to a directory inside": "links/directory",
        "below a .gitignore": "repo",
        "a file": "text/lines.txt",
        "missing": "missing",
        "outside": "{outside}",
    }
    yield from one_path(tool, paths)
    excluded = {
        "with a star": ["*.txt"],
        "with two stars": ["**/*.txt"],
        "a plain name": ["deep"],
        "a plain name of a file": ["a.txt"],
        "a path": ["docs/deep"],
        "braces": ["{docs,skip}"],
        "a question mark": ["?.md"],
        "several": ["name", ".*", "**/x.*"],
        "all": ["**"],
        "nothing that is there": ["missing"],
    }
    for what, patterns in excluded.items():
        arguments = {"path": "{tree}/search", "excludePatterns": patterns}
        yield Request(f"{tool}: exclude {what}", tool, arguments)
    arguments = {"path": "{tree}/repo", "respectGitignore": False}
    yield Request(f"{tool}: below a .gitignore that does not count", tool, arguments)


def infos():
    paths = {
        "a file": "text/lines.txt",
        "an empty file": "text/empty.txt",
        "an executable file": "edit/script.sh",
        "a private file": "edit/private.txt",
        "a directory": "empty",
        "the allowed directory": "{tree}",
        "a link to inside": "links/inside.txt",
        "a link to a directory inside": "links/directory",
        "a link to outside": "links/outside.txt",
        "a link to nothing": "links/dangling.txt",
        "missing": "text/missing.txt",
        "outside": "{outside}/secret.txt",
    }
    yield from one_path("get_file_info", paths)


def others():
    yield Request("list_allowed_directories: all", "list_allowed_directories", {})
    yield Request("list_allowed_directories: an argument too many", "list_allowed_directories", {"path": "{tree}"})
    yield Request("an unknown tool", "delete_file", {"path": "{tree}/text/lines.txt"})
    yield Request("list_allowed_directories: arguments left out", "list_allowed_directories", LEFT_OUT)
    yield Request("arguments left out", "read_text_file", LEFT_OUT)
    yield Request("arguments that are null", "read_text_file", None)
    yield Request("arguments that are a list", "read_text_file", ["{tree}/text/lines.txt"])
