// A server as most are: the official SDK's, with one tool, which knows nothing of roots.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'no-roots', version: '1' });
server.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'hello' }] }));
await server.connect(new StdioServerTransport());
