/** The page as `attnscope view` serves it: who gets in, and that its policy lets the page work. */

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { capture, command, folder, h5py, verdict, without } from '../support/fixtures';
import { withViewer } from '../support/browser';

interface Served {
  address: string;
  process: ChildProcess;
  stop(): Promise<number | null>;
}

/** The command, once it has printed its address. */
async function view(...files: string[]): Promise<Served> {
  const process = spawn(command!, ['view', ...files, '--port', '0', '--no-open']);
  let text = '';
  process.stdout.on('data', (data: Buffer) => (text += data.toString()));
  process.stderr.on('data', (data: Buffer) => (text += data.toString()));
  const ended = new Promise<number | null>((resolve) => process.on('exit', resolve));
  const stopped = ended.then((code) => {
    throw new Error(`attnscope view ended with ${code}: ${text}`);
  });
  stopped.catch(() => undefined);
  while (!/http\S+\s/.test(text)) {
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 20)), stopped]);
  }
  return {
    address: /http\S+/.exec(text)![0],
    process,
    stop: () => {
      process.kill('SIGINT');
      return ended;
    },
  };
}

const CELL = `with h5py.File(sys.argv[1]) as f: print(json.dumps(float(f["prompts/p000000/cache/blocks.0.attn.hook_pattern"][1, 5, 2])))`;

test(
  'a link on another site leads in, and the address no longer holds the token',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const served = await view(capture(), verdict());
      const other = createServer((_, reply) => {
        reply.setHeader('Content-Type', 'text/html');
        reply.end(`<link rel="icon" href="data:,"><a href="${served.address}">here</a>`);
      }).listen(0, '127.0.0.2');
      await new Promise((resolve) => other.once('listening', resolve));
      const { port } = other.address() as AddressInfo;
      await viewer.page.route(`http://127.0.0.2:${port}/**`, (route) => route.continue());
      await viewer.goto(`http://127.0.0.2:${port}/`);
      await viewer.page.getByText('here').click();
      await viewer.page.waitForFunction(() => window.__attnscope?.state().files.length === 2);
      assert.deepEqual((await viewer.heads()).files, ['run.h5', 'verdict.h5']);
      assert.equal(viewer.page.url().split('#')[0], served.address.split('?')[0]);
      await viewer.page.evaluate(() => (location.hash = '#v=1&s=head&h=0.1'));
      assert.equal(await viewer.value(5, 2), h5py<number>(CELL, capture()));
      // A reload needs no token, and neither does the address of before.
      await viewer.page.reload();
      await viewer.ready();
      await viewer.heads();
      await viewer.goto(served.address);
      await viewer.heads();
      other.close();
      assert.equal(await served.stop(), 0);
    }),
);

test(
  'without the token there is a page that says how to get in',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      viewer.expected.push(/401/);
      const served = await view(capture());
      await viewer.goto(served.address.split('?')[0]!);
      assert.match(await viewer.page.locator('body').innerText(), /printed in the terminal/);
      assert.equal(await served.stop(), 0);
    }),
);

test(
  'another site can neither read a file nor show the page in a frame',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const served = await view(capture());
      await viewer.goto(served.address);
      await viewer.heads();
      const origin = new URL(served.address).origin;
      const other = createServer((_, reply) => {
        reply.setHeader('Content-Type', 'text/html');
        reply.end(`<link rel="icon" href="data:,"><iframe src="${origin}/"></iframe>`);
      }).listen(0, '127.0.0.2');
      await new Promise((resolve) => other.once('listening', resolve));
      const { port } = other.address() as AddressInfo;
      await viewer.page.route(`http://127.0.0.2:${port}/**`, (route) => route.continue());
      viewer.expected.push(/CORS|frame|403|Failed to load|refused to connect/i);
      await viewer.goto(`http://127.0.0.2:${port}/`);
      const read = await viewer.page.evaluate(
        async (address) => fetch(address, { credentials: 'include' }).then(String, String),
        `${origin}/files/0`,
      );
      assert.match(read, /TypeError/);
      const shown = await viewer.page.frames()[1]!.evaluate(() => document.body?.innerText ?? '');
      assert.doesNotMatch(shown, /attnscope/);
      assert.equal(await served.stop(), 0);
    }),
);

test('a page with the file inside opens it from disk', { skip: without('command', 'python') }, () =>
  withViewer(async (viewer) => {
    const page = join(folder, 'with-file.html');
    if (existsSync(page)) rmSync(page);
    const named = join(folder, 'a & "b".h5');
    copyFileSync(capture(), named);
    await new Promise((resolve) =>
      spawn(command!, ['view', named, '--html', page]).on('exit', resolve),
    );
    await viewer.goto(`${pathToFileURL(page).href}#v=1&s=head&h=0.1`);
    assert.equal(await viewer.value(5, 2), h5py<number>(CELL, named));
    assert.deepEqual((await viewer.state()).files, ['a & "b".h5']);
  }),
);
