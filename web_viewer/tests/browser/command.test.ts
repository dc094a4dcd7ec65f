/** The page as `attnscope view` serves it: who gets in, and that its policy lets the page work. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { capture, command, folder, verdict, storedCell, without } from '../support/fixtures';
import { withViewer, type Viewer } from '../support/browser';

/** Runs the command, hands over the address that it prints, and stops it. */
async function withCommand(files: string[], use: (address: string) => Promise<void>) {
  const process = spawn(command!, ['view', ...files, '--port', '0', '--no-open']);
  let text = '';
  process.stdout.on('data', (data: Buffer) => (text += data.toString()));
  process.stderr.on('data', (data: Buffer) => (text += data.toString()));
  const ended = new Promise<number | null>((resolve) => process.on('exit', resolve));
  const stopped = ended.then((code) => {
    throw new Error(`attnscope view ended with ${code}: ${text}`);
  });
  stopped.catch(() => undefined);
  try {
    while (!/http\S+\s/.test(text)) {
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 20)), stopped]);
    }
    await use(/http\S+/.exec(text)![0]);
  } finally {
    process.kill('SIGINT');
  }
  assert.equal(await ended, 0);
}

/** A page of another site, at another address of this machine. */
async function withOtherSite(
  viewer: Viewer,
  body: string,
  use: (address: string) => Promise<void>,
) {
  const site = createServer((_, reply) => {
    reply.setHeader('Content-Type', 'text/html');
    reply.end(`<link rel="icon" href="data:,">${body}`);
  }).listen(0, '127.0.0.2');
  try {
    await new Promise((resolve) => site.once('listening', resolve));
    const address = `http://127.0.0.2:${(site.address() as AddressInfo).port}/`;
    await viewer.page.route(`${address}**`, (route) => route.continue());
    await use(address);
  } finally {
    site.closeAllConnections();
    site.close();
  }
}

test(
  'a link on another site leads in, and the address no longer holds the token',
  { skip: without('command', 'python') },
  () =>
    withViewer((viewer) =>
      withCommand([capture(), verdict()], (address) =>
        withOtherSite(viewer, `<a href="${address}">here</a>`, async (site) => {
          const { page } = viewer;
          await viewer.goto(site);
          await page.getByText('here').click();
          await page.waitForFunction(() => window.__attnscope?.state().files.length === 2);
          assert.deepEqual((await viewer.heads()).files, ['run.h5', 'verdict.h5']);
          assert.equal(page.url().split('#')[0], address.split('?')[0]);
          await page.evaluate(() => (location.hash = '#v=1&s=head&h=0.1'));
          assert.equal(await viewer.value(5, 2), storedCell(capture(), '0.1', 5, 2));
          // A reload needs no token, and neither does the address of before.
          await page.reload();
          await viewer.heads();
          await viewer.goto(address);
          await viewer.heads();
        }),
      ),
    ),
);

test(
  'the view that is written behind the printed address is shown, typed or followed from another site',
  { skip: without('command', 'python') },
  () =>
    withViewer((viewer) =>
      withCommand([capture(), verdict()], async (address) => {
        const hash = '#v=1&s=head&fi=run.h5&h=0.1&q=5';
        const shown = address.split('?')[0] + hash;
        const isShown = async () => {
          await viewer.page.waitForURL(shown);
          await viewer.heads();
          return viewer.value(5, 2);
        };
        await viewer.goto(address + hash);
        assert.equal(await isShown(), storedCell(capture(), '0.1', 5, 2));
        await withOtherSite(viewer, `<a href="${address}${hash}">here</a>`, async (site) => {
          await viewer.goto(site);
          await viewer.page.getByText('here').click();
          assert.equal(await isShown(), storedCell(capture(), '0.1', 5, 2));
        });
      }),
    ),
);

test(
  'without the token there is a page that says how to get in',
  { skip: without('command') },
  () =>
    withViewer((viewer) =>
      withCommand([capture()], async (address) => {
        viewer.expected.push(/401/);
        await viewer.goto(address.split('?')[0]!);
        assert.match(await viewer.page.locator('body').innerText(), /printed in the terminal/);
      }),
    ),
);

test(
  'another site can neither read a file nor show the page in a frame',
  { skip: without('command') },
  () =>
    withViewer((viewer) =>
      withCommand([capture()], async (address) => {
        await viewer.goto(address);
        await viewer.heads();
        const { origin } = new URL(address);
        await withOtherSite(viewer, `<iframe src="${origin}/"></iframe>`, async (site) => {
          viewer.expected.push(/CORS|frame|403|Failed to load|refused to connect/i);
          await viewer.goto(site);
          const read = await viewer.page.evaluate(
            async (file) => fetch(file, { credentials: 'include' }).then(String, String),
            `${origin}/files/0`,
          );
          assert.match(read, /TypeError/);
          const frame = viewer.page.frames()[1]!;
          const shown = await frame.evaluate(() => document.body?.innerText ?? '');
          assert.doesNotMatch(shown, /attnscope/);
        });
      }),
    ),
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
    assert.equal(await viewer.value(5, 2), storedCell(named, '0.1', 5, 2));
    assert.deepEqual((await viewer.state()).files, ['a & "b".h5']);
  }),
);
