// The official TypeScript SDK, version 2, as a client of `mcp-roots serve`.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { run } from './change.mjs';

await run('ts-v2', async ({ command, args, capabilities, wire }) => {
  const client = new Client({ name: 'interop-ts-v2', version: '1' }, { capabilities });
  if (capabilities.roots) client.setRequestHandler('roots/list', wire.answer);
  const transport = new StdioClientTransport({ command, args });
  transport.onmessage = wire.record;
  await client.connect(transport);
  return { client, transport };
});
