"""A request of the comparison, and what many requests have in common."""

from dataclasses import dataclass

CHANGING = {"write_file", "edit_file", "create_directory", "move_file"}
# Tools that give entries in the order in which the disk has them, so that the order says nothing.
UNORDERED = {"list_directory", "directory_tree", "search_files"}
# In place of arguments: the request has none, not even an empty object.
LEFT_OUT = "left out"


@dataclass
class Request:
    """A call of a tool. In the arguments {tree}, {outside} and {by-link} stand for paths."""

    name: str
    tool: str
    arguments: object

    @property
    def changes(self):
        return self.tool in CHANGING

    def for_place(self, place):
        paths = {"{tree}": place.tree, "{outside}": place.outside, "{by-link}": place.by_link}
        return filled(self.arguments, paths)


def filled(value, paths):
    match value:
        case str():
            for name, path in paths.items():
                value = value.replace(name, str(path))
            return value
        case list():
            return [filled(item, paths) for item in value]
        case dict():
            return {name: filled(item, paths) for name, item in value.items()}
        case _:
            return value


def one_path(tool, paths, **more):
    """A request for each path; a path below the tree unless it says otherwise."""
    for what, path in paths.items():
        yield Request(f"{tool}: {what}", tool, {"path": at(path), **more})


def at(path):
    return path if path.startswith(("{", "/")) else "{tree}/" + path


# What may be wrong with a path, for whichever tool gets it.
REFUSED = {
    "outside": "{outside}/secret.txt",
    "outside, by ..": "{tree}/../outside/secret.txt",
    "a link to outside": "links/outside.txt",
    "through a link to a directory outside": "links/directory-outside/secret.txt",
    "a link to nothing": "links/dangling.txt",
    "a link to itself": "links/loop",
    "a name with a zero byte": "text/a\0b",
}
