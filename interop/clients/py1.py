"""The official Python SDK, version 1, as a client of `mcp-roots serve`."""

from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import ListRootsResult, Root
from pydantic import AnyUrl, FileUrl

import change


@asynccontextmanager
async def connect(command, args, wire, declares):
    async def answer(_context):
        return ListRootsResult(roots=[Root(uri=FileUrl(folder.as_uri())) for folder in wire.roots])

    server = stdio_client(StdioServerParameters(command=command, args=args))
    async with (
        wire.recorded(server) as (read, write),
        ClientSession(read, write, list_roots_callback=answer if declares else None) as session,
    ):
        await session.initialize()
        yield Connection(session)


class Connection:
    def __init__(self, session):
        self._session = session
        self.announce = session.send_roots_list_changed
        self.ping = session.send_ping

    async def tools(self):
        return [tool.name for tool in (await self._session.list_tools()).tools]

    async def call(self, name, arguments):
        result = await self._session.call_tool(name, arguments)
        return result.isError, change.text_of(result), result.structuredContent

    async def read(self, uri):
        return await self._session.read_resource(AnyUrl(uri))

    async def subscribe(self, uri):
        await self._session.subscribe_resource(AnyUrl(uri))


change.run("py1", connect)
