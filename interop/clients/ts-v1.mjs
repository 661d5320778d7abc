// The official TypeScript SDK, version 1, as a client of `mcp-roots serve`.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { run } from './change.mjs';

await run('ts-v1', async ({ command, args, capabilities, wire }) => {
  const client = new Client({ name: 'interop-ts-v1', version: '1' }, { capabilities });
  if (capabilities.roots) client.setRequestHandler(ListRootsRequestSchema, wire.answer);
  const transport = new StdioClientTransport({ command, args });
  transport.onmessage = wire.record;
  await client.connect(transport);
  return { client, transport };
});
