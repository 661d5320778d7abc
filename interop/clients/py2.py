"""The official Python SDK, version 2, as a client of `mcp-roots serve`."""

import warnings
from contextlib import asynccontextmanager

from mcp import Client, MCPDeprecationWarning
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import ListRootsResult, Root

import change

# Roots are deprecated in the protocol, and they are what this run is about.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning)


@asynccontextmanager
async def connect(command, args, wire, declares):
    async def answer(_context):
        return ListRootsResult(roots=[Root(uri=folder.as_uri()) for folder in wire.roots])

    server = stdio_client(StdioServerParameters(command=command, args=args))
    # The SDK's default: it asks for the modern era first, and falls back to `initialize`.
    async with Client(wire.recorded(server), list_roots_callback=answer if declares else None) as client:
        yield Connection(client)


class Connection:
    def __init__(self, client):
        self._client = client
        self.announce = client.send_roots_list_changed
        self.read = client.read_resource
        self.subscribe = client.subscribe_resource
        self.ping = client.send_ping

    async def tools(self):
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, name, arguments):
        result = await self._client.call_tool(name, arguments)
        return result.is_error, change.text_of(result), result.structured_content


change.run("py2", connect)
