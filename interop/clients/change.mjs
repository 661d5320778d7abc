// A client drives `mcp-roots serve` through work and through changes of its roots. What is the same for every TypeScript
// client is here; how to connect, the one thing in which the SDKs differ, is given by the script that runs it.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The whole run takes seconds; whatever takes this long has hung. */
const DEADLINE_MS = 120_000;
/** How long one awaited message may take. */
const PATIENCE_MS = 15_000;
/** What a picture begins with; no server looks further. */
const IMAGE = Buffer.from('89504e470d0a1a0a', 'hex');

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
      const command = { command: binary, args: ['serve', '--era', 'legacy', '--log', 'error', ...args(...folders)] };
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
  await scenario(
    'a working session',
    { capabilities: { roots: { listChanged: true } }, roots: (a) => [a], args: () => ['--write'] },
    aWorkingSession,
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

async function aWorkingSession(step, { client }, wire, a, b) {
  const [inA, inB, image] = [join(a, 'file.txt'), join(b, 'file.txt'), join(a, 'image.png')];
  const [lines, missing, late] = [join(a, 'lines.md'), join(a, 'missing.txt'), join(a, 'late.txt')];
  const drafts = join(a, 'docs', 'drafts');
  const [draft, moved] = [join(drafts, 'new.md'), join(a, 'docs', 'moved.md')];
  const edits = [{ oldText: 'two\nthree', newText: '2\n3' }];
  writeFileSync(lines, 'one\ntwo\nthree\nfour\n');
  writeFileSync(image, IMAGE);

  await step('the tools that change files are offered', async () => {
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    for (const name of ['write_file', 'edit_file', 'create_directory', 'move_file']) assert.ok(names.includes(name), name);
  });
  await step('a text is read, its first lines and its last', async () => {
    assert.equal(await done(client, 'read_text_file', { path: lines }), 'one\ntwo\nthree\nfour\n');
    assert.equal(await done(client, 'read_text_file', { path: lines, head: 2 }), 'one\ntwo');
    assert.equal(await done(client, 'read_text_file', { path: lines, tail: 2 }), 'three\nfour');
  });
  await step('several files are read, and a missing one does not spoil it', async () => {
    const said = await done(client, 'read_multiple_files', { paths: [inA, missing, lines] });
    const [first, second, third] = said.split('\n---\n');
    assert.equal(first, `${inA}:\ntext of a\n\n`);
    assert.ok(second.startsWith(`${missing}: Error - `), second);
    assert.equal(third, `${lines}:\none\ntwo\nthree\nfour\n\n`);
  });
  await step('an image is read', async () => {
    const { structuredContent } = await call(client, 'read_media_file', { path: image });
    const block = { type: 'image', data: IMAGE.toString('base64'), mimeType: 'image/png' };
    assert.deepEqual(structuredContent, { content: [block] });
  });
  await step('files are found by a pattern', async () => {
    const said = await done(client, 'search_files', { path: a, pattern: '**/*.txt' });
    assert.deepEqual(said.split('\n').sort(), [inA, join(a, 'other.txt')]);
  });
  await step('text is found, with its line', async () => {
    const result = await call(client, 'search_text', { path: a, pattern: 't(ext of|wo)' });
    assert.ok(!result.isError, textOf(result));
    const found = result.structuredContent.matches.toSorted((one, other) => (one.path < other.path ? -1 : 1));
    const wanted = [
      { path: inA, line: 1, text: 'text of a' },
      { path: lines, line: 2, text: 'two' },
    ];
    assert.deepEqual(found, wanted);
    const said = textOf(result).split('\n');
    for (const { path, line, text } of wanted) assert.ok(said.includes(`${path}:${line}:${text}`), textOf(result));
  });

  await step('directories are made, and a file is written', async () => {
    await done(client, 'create_directory', { path: drafts });
    await done(client, 'write_file', { path: draft, content: 'grüße\n' });
    assert.equal(contents(draft), 'grüße\n');
    assert.equal(await done(client, 'read_text_file', { path: draft }), 'grüße\n');
  });
  let preview;
  await step('an edit is shown before it is made', async () => {
    preview = await done(client, 'edit_file', { path: lines, edits, dryRun: true });
    assert.ok(preview.includes('\n one\n-two\n-three\n+2\n+3\n four\n'), preview);
    assert.equal(contents(lines), 'one\ntwo\nthree\nfour\n');
  });
  await step('and is made as it was shown', async () => {
    assert.equal(await done(client, 'edit_file', { path: lines, edits }), preview);
    assert.equal(contents(lines), 'one\n2\n3\nfour\n');
  });
  await step('an edit that fits nowhere changes nothing, be it behind one that fits', async () => {
    const both = [{ oldText: 'one', newText: '1' }, ...edits];
    const refusal = await call(client, 'edit_file', { path: lines, edits: both });
    assert.equal(refusal.isError, true);
    assert.ok(textOf(refusal).includes('two\nthree'), textOf(refusal));
    assert.equal(contents(lines), 'one\n2\n3\nfour\n');
  });
  await step('a file is moved', async () => {
    await done(client, 'move_file', { source: draft, destination: moved });
    assert.equal(existsSync(draft), false);
    assert.equal(contents(moved), 'grüße\n');
  });
  await step('but not over another', async () => {
    const refusal = await call(client, 'move_file', { source: moved, destination: inA });
    assert.equal(refusal.isError, true);
    assert.ok(textOf(refusal).includes(inA), textOf(refusal));
    assert.deepEqual([contents(moved), contents(inA)], ['grüße\n', 'text of a\n']);
  });
  await step('nothing is written outside', async () => {
    assertRefused(await call(client, 'write_file', { path: inB, content: 'x' }), a);
    assertRefused(await call(client, 'move_file', { source: moved, destination: join(b, 'moved.md') }), a);
    assert.deepEqual([contents(inB), existsSync(join(b, 'moved.md'))], ['text of b\n', false]);
  });

  await step('a write right behind the notification is refused under the old folder, and nothing is there', async () => {
    wire.roots = [b];
    const announced = client.sendRootsListChanged();
    const refusal = call(client, 'write_file', { path: late, content: 'too late' });
    await announced;
    assertRefused(await refusal, b);
    assert.equal(existsSync(late), false);
  });
  await step('so are an edit, a move, a read and a search', async () => {
    const fits = [{ oldText: 'one', newText: '1' }];
    assertRefused(await call(client, 'edit_file', { path: lines, edits: fits }), b);
    assertRefused(await call(client, 'move_file', { source: lines, destination: join(b, 'lines.md') }), b);
    assertRefused(await call(client, 'read_text_file', { path: lines }), b);
    assertRefused(await call(client, 'search_text', { path: a, pattern: 'one' }), b);
    assert.equal(contents(lines), 'one\n2\n3\nfour\n');
  });
  await step('the new folder is read, searched and written', async () => {
    assert.equal(await text(client, inB), 'text of b\n');
    await done(client, 'edit_file', { path: inB, edits: [{ oldText: 'text', newText: 'new text' }] });
    assert.equal(contents(inB), 'new text of b\n');
    const { structuredContent } = await call(client, 'search_text', { path: b, pattern: '^new' });
    assert.deepEqual(structuredContent.matches, [{ path: inB, line: 1, text: 'new text of b' }]);
  });
}

/** The SDKs refuse to send a notification that they did not declare, so this goes past them. */
function announceUndeclared(transport) {
  return transport.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
}

function call(client, name, args = {}) {
  return client.callTool({ name, arguments: args });
}

/** Calls a tool that is to succeed, and gives its text. */
async function done(client, name, args) {
  const result = await call(client, name, args);
  assert.ok(!result.isError, textOf(result));
  return textOf(result);
}

function text(client, path) {
  return done(client, 'read_text_file', { path });
}

function contents(path) {
  return readFileSync(path, 'utf8');
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
