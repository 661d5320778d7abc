// A client drives `mcp-roots serve` through changes of its roots. What is the same for every TypeScript
// client is here; how to connect, the one thing in which the SDKs differ, is given by the script that runs it.

import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The whole run takes seconds; whatever takes this long has hung. */
const DEADLINE_MS = 120_000;
/** How long one awaited message may take. */
const PATIENCE_MS = 15_000;

/** What a client's user holds: the roots it exposes, and a record of all that the server sent. */
export class Wire {
  #waiters = new Set();
  received = [];
  roots = [];

  constructor(roots) {
    this.roots = roots;
  }

  /** A transport's `onmessage`: the SDKs keep one that is there before they connect, and call it first. */
  record = (message) => {
    this.received.push(message);
    for (const look of this.#waiters) look();
  };

  /** The answer to `roots/list`, read when it is asked. */
  answer = () => ({ roots: this.roots.map((folder) => ({ uri: uriOf(folder) })) });

  count(method, uri) {
    return this.received.filter((m) => m.method === method && (uri === undefined || m.params?.uri === uri)).length;
  }

  questions() {
    return this.count('roots/list');
  }

  updates(file) {
    return this.count('notifications/resources/updated', uriOf(file));
  }

  /** Waits until a condition on what was received holds. */
  until(what, condition) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new Error(`waited ${PATIENCE_MS} ms in vain for ${what}`));
      }, PATIENCE_MS);
      const look = () => {
        if (!condition()) return;
        clearTimeout(timer);
        this.#waiters.delete(look);
        resolve();
      };
      this.#waiters.add(look);
      look();
    });
  }
}

/**
 * Runs every scenario and ends the process.
 *
 * `connect({ command, args, capabilities, wire })` gives a connected client of the SDK and its transport; if
 * `capabilities` has roots, the client answers `roots/list` with `wire.answer`.
 */
export async function run(client, connect) {
  const [binary] = process.argv.slice(2);
  if (binary === undefined) {
    console.error(`usage: ${client} path/to/mcp-roots`);
    process.exit(2);
  }
  setTimeout(() => {
    console.log(`FAIL ${client}: the run: not over after ${DEADLINE_MS} ms`);
    process.exit(1);
  }, DEADLINE_MS).unref();

  let failed = 0;
  const step = async (name, body) => {
    try {
      await body();
      console.log(`ok ${client}: ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${client}: ${name}: ${String(error?.message ?? error).replaceAll('\n', ' | ')}`);
    }
  };
  const scenario = async (name, { capabilities, roots, args }, body) => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-roots-interop-')));
    const folders = ['a', 'b'].map((letter) => {
      const folder = join(place, `folder-${letter}`);
      mkdirSync(folder);
      writeFileSync(join(folder, 'file.txt'), `text of ${letter}\n`);
      writeFileSync(join(folder, 'other.txt'), 'other\n');
      return folder;
    });
    const wire = new Wire(roots(...folders));
    let session;
    await step(`${name}: connects`, async () => {
      const command = { command: binary, args: ['serve', '--log', 'error', ...args(...folders)] };
      session = await connect({ ...command, capabilities, wire });
    });
    if (session !== undefined) {
      await body((what, check) => step(`${name}: ${what}`, check), session, wire, ...folders);
      await session.client.close();
    }
    rmSync(place, { recursive: true });
  };

  await scenario(
    'a change',
    { capabilities: { roots: { listChanged: true } }, roots: (a) => [a], args: () => [] },
    aChange,
  );
  await scenario('no roots', { capabilities: {}, roots: (a) => [a], args: (a) => [a] }, noRoots);
  await scenario(
    'listChanged undeclared',
    { capabilities: { roots: {} }, roots: (a) => [a], args: () => ['--refresh', 'static'] },
    undeclaredChange,
  );
  process.exit(failed === 0 ? 0 : 1);
}

async function aChange(step, { client }, wire, a, b) {
  const [inA, inB, otherInB] = [join(a, 'file.txt'), join(b, 'file.txt'), join(b, 'other.txt')];
  let before;

  await step('the first folder is allowed', async () => assert.deepEqual(await allowed(client), [a]));
  await step('a file under it is read', async () => assert.equal(await text(client, inA), 'text of a\n'));
  await step('roots_status is fresh', async () => {
    before = await status(client);
    assert.equal(before.state, 'fresh');
    assert.equal(before.questionsAsked, wire.questions());
  });

  await step('a call right behind the notification is refused under the old folder, naming the new one', async () => {
    wire.roots = [b];
    const announced = client.sendRootsListChanged();
    const refusal = call(client, 'read_text_file', { path: inA });
    await announced;
    assertRefused(await refusal, b);
  });
  await step('a file under the new folder is read', async () => assert.equal(await text(client, inB), 'text of b\n'));
  await step('only the new folder is allowed', async () => assert.deepEqual(await allowed(client), [b]));
  await step('roots_status is fresh again, in a later generation, after another question', async () => {
    const now = await status(client);
    assert.equal(now.state, 'fresh');
    assert.ok(now.generation > before.generation, `the generation went from ${before.generation} to ${now.generation}`);
    assert.ok(now.questionsAsked > before.questionsAsked, `${now.questionsAsked} questions`);
    assert.equal(now.questionsAsked, wire.questions());
    assert.deepEqual(now.roots.map((root) => root.uri), [uriOf(b)]);
  });

  await step('a change of a subscribed file is told', async () => {
    await client.subscribeResource({ uri: uriOf(inB) });
    await client.subscribeResource({ uri: uriOf(otherInB) });
    await rewrite(wire, inB, 'second text of b');
    // The second file's update comes behind whatever else the first file's change led to.
    await rewrite(wire, otherInB, 'second other');
  });
  await step('a subscription has one last update when its folder leaves, before the new set is seen', async () => {
    const told = wire.updates(inB);
    wire.roots = [a];
    await client.sendRootsListChanged();
    assert.deepEqual(await allowed(client), [a]);
    assert.equal(wire.updates(inB), told + 1);
  });
  await step('and is silent after it', async () => {
    const told = wire.updates(inB);
    await client.subscribeResource({ uri: uriOf(inA) });
    for (const round of ['third', 'fourth', 'fifth']) {
      writeFileSync(inB, `${round} text of b, which nobody is told of`);
      await rewrite(wire, inA, `${round} text of a`);
    }
    assert.equal(wire.updates(inB), told);
  });
  await step('the resource that left is refused', async () => {
    await assert.rejects(client.readResource({ uri: uriOf(inB) }), (error) => error.message.includes(a));
  });
  await step('an empty set allows nothing, and the session lives on', async () => {
    wire.roots = [];
    await client.sendRootsListChanged();
    assert.deepEqual(await allowed(client), []);
    const refusal = await call(client, 'read_text_file', { path: inA });
    assert.equal(refusal.isError, true);
    await client.ping();
  });
}

async function noRoots(step, { client, transport }, wire, a, b) {
  await step('the directory of the command line is served', async () => {
    assert.deepEqual(await allowed(client), [a]);
    assert.equal(await text(client, join(a, 'file.txt')), 'text of a\n');
  });
  await step('what is outside is refused', async () => {
    assertRefused(await call(client, 'read_text_file', { path: join(b, 'file.txt') }), a);
  });
  await step('roots_status says that roots are unsupported', async () => {
    assert.equal((await status(client)).state, 'unsupported');
  });
  await step('a notification all the same is discarded, and nobody is asked', async () => {
    await announceUndeclared(transport);
    assert.deepEqual(await allowed(client), [a]);
    const now = await status(client);
    assert.equal(now.notificationsDiscarded, 1);
    assert.equal(now.questionsAsked, 0);
    assert.equal(wire.questions(), 0);
  });
}

async function undeclaredChange(step, { client, transport }, wire, a, b) {
  await step('the folder is allowed', async () => assert.deepEqual(await allowed(client), [a]));
  await step('a notification all the same is discarded', async () => {
    const before = await status(client);
    wire.roots = [b];
    await announceUndeclared(transport);
    const now = await status(client);
    assert.equal(now.notificationsDiscarded, 1);
    assert.equal(now.generation, before.generation);
    assert.equal(now.questionsAsked, before.questionsAsked);
    assert.deepEqual(await allowed(client), [a]);
    assert.equal(wire.questions(), before.questionsAsked);
  });
}

/** The SDKs refuse to send a notification that they did not declare, so this goes past them. */
function announceUndeclared(transport) {
  return transport.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
}

function call(client, name, args = {}) {
  return client.callTool({ name, arguments: args });
}

async function text(client, path) {
  const result = await call(client, 'read_text_file', { path });
  assert.ok(!result.isError, textOf(result));
  return textOf(result);
}

async function allowed(client) {
  const result = await call(client, 'list_allowed_directories');
  assert.ok(!result.isError, textOf(result));
  const [title, ...folders] = textOf(result).split('\n');
  assert.equal(title, 'Allowed directories:');
  return folders.filter((folder) => folder !== '');
}

async function status(client) {
  const result = await call(client, 'roots_status');
  assert.ok(result.structuredContent, 'roots_status has no structured content');
  return result.structuredContent;
}

async function rewrite(wire, file, contents) {
  const told = wire.updates(file);
  writeFileSync(file, contents);
  await wire.until(`an update of ${file}`, () => wire.updates(file) > told);
}

function assertRefused(result, folder) {
  assert.equal(result.isError, true, `it was served: ${textOf(result)}`);
  assert.ok(textOf(result).includes(folder), `the message does not name ${folder}: ${textOf(result)}`);
}

function textOf(result) {
  return (result.content ?? []).map((block) => block.text ?? '').join('');
}

function uriOf(path) {
  return pathToFileURL(path).href;
}
