"""What both servers are asked: every promise of the reference server's README, tool by tool, and what is near it."""

from . import finding, reading, writing
from .request import Request


def requests():
    return unique([*reading.requests(), *writing.requests(), *finding.requests()])


def requests_by_link():
    """What servers are asked whose allowed directory was given through a link."""

    def request(what, tool, **arguments):
        return Request(f"given by a link: {what}", tool, arguments)

    return unique([
        request("the allowed directories", "list_allowed_directories"),
        request("a file by the link", "read_text_file", path="{by-link}/text/lines.txt"),
        request("a file by its own path", "read_text_file", path="{tree}/text/lines.txt"),
        request("a relative path", "read_text_file", path="text/lines.txt"),
        request("outside", "read_text_file", path="{outside}/secret.txt"),
        request("outside, by ..", "read_text_file", path="{by-link}/../outside/secret.txt"),
        request("a new file by the link", "write_file", path="{by-link}/text/new.txt", content="new\n"),
        request("an edit by the link", "edit_file", path="{by-link}/edit/plain.txt",
                edits=[{"oldText": "two", "newText": "2"}]),
        request("a search by the link", "search_files", path="{by-link}/search", pattern="**/a.txt"),
        request("a tree by the link", "directory_tree", path="{by-link}/plain"),
    ])


def unique(found):
    names = [request.name for request in found]
    assert len(set(names)) == len(names), "two requests have the same name"
    return found
