import assert from 'node:assert/strict';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import {
  capture,
  folder,
  several,
  verdict,
  storedCell,
  without,
  writeMaps,
} from '../support/fixtures';
import { withServer } from '../support/server';

test('the served page reads by ranges and keeps to its policy', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    await withServer({ files: { 'run.h5': capture() } }, async (server) => {
      const failed: string[] = [];
      viewer.page.on('requestfailed', (request) => failed.push(request.url()));
      await viewer.goto(`${server.url}?file=run.h5`);
      assert.equal((await viewer.heads()).heads, 32);
      assert.deepEqual(failed, [], 'no request is dropped half way');
      assert.ok(server.requests.some((line) => line.startsWith('run.h5 bytes=0-')));
      assert.ok(!server.requests.includes('run.h5'), 'never the whole file');
    });
  }),
);

test('a page opens every file that its server lists', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    await withServer(
      {
        files: { 'run.h5': capture(), 'verdict.h5': verdict() },
        faulty: { 'secret.h5': 'permission denied' },
        listed: true,
      },
      async (server) => {
        await viewer.goto(server.url);
        await viewer.page.locator('.failure').waitFor();
        await viewer.page.waitForFunction(() => window.__attnscope.state().files.length === 2);
        const shown = await viewer.heads();
        assert.deepEqual(shown.files, ['run.h5', 'verdict.h5']);
        assert.deepEqual(
          shown.failures.map(({ name, message }) => [name, message]),
          [['secret.h5', 'permission denied']],
        );
        assert.ok(shown.columns.effect, 'the verdict adds its effects');
        assert.match(await viewer.page.locator('.bottom').innerText(), /served file/);
      },
    );
  }),
);

test(
  'while the file that the address names is to come, no other one stands in its place',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const files = { 'run.h5': capture(), 'verdict.h5': verdict(), 'later.h5': several() };
      let answer = () => {};
      let answers = Promise.resolve();
      await page.route('**/files/2', (route) => answers.then(() => route.continue()));
      for (const field of ['fi', 'file']) {
        await withServer({ files, listed: true }, async (server) => {
          answers = new Promise<void>((resolve) => (answer = resolve));
          await viewer.goto(`${server.url}#v=1&s=head&h=1.7&${field}=later.h5`);
          await page.waitForFunction(() => window.__attnscope.state().files.length === 2);
          await page.getByText('Opening later.h5 …').waitFor();
          assert.equal(await page.locator('.tabs, .head-screen, .prompt-text').count(), 0);
          assert.equal(await page.locator('.link-words').count(), 0);
          answer();
          await viewer.heads();
          assert.equal(
            await page.getByRole('combobox', { name: 'File' }).first().inputValue(),
            'later.h5',
          );
          assert.equal((await viewer.state()).screen, 'head');
        });
      }
      // What cannot be opened is waited for no longer, and another file is shown and said to be.
      const faulty = { 'later.h5': 'permission denied' };
      const two = { 'run.h5': capture(), 'verdict.h5': verdict() };
      await withServer({ files: two, faulty, listed: true }, async (server) => {
        await viewer.goto(`${server.url}#v=1&s=head&h=1.7&fi=later.h5`);
        await page.getByText('later.h5 is not open; this is run.h5.').waitFor();
      });
    }),
);

test('a server that lists nothing shows the welcome page, with the demo', () =>
  withViewer(async (viewer) => {
    viewer.expected.push(/404/);
    await withServer({ files: {} }, async (server) => {
      await viewer.goto(server.url);
      await viewer.page.getByRole('button', { name: 'Open the demo' }).click();
      assert.equal((await viewer.heads()).heads, 32);
      await viewer.page.waitForFunction(() => window.__attnscope.state().files.length === 2);
      assert.deepEqual((await viewer.state()).files, ['demo-capture.h5', 'demo-verdict.h5']);
    });
  }));

test(
  'a file that changed on the server is told, and read anew where it was',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const path = join(folder, 'replaced.h5');
      writeMaps(path, 1);
      await withServer({ files: { 'replaced.h5': path }, listed: true }, async (server) => {
        await viewer.goto(`${server.url}#v=1&s=head&h=0.0`);
        await viewer.value(5, 2);
        writeMaps(path, 2);
        await viewer.page.evaluate(() => (location.hash = '#v=1&s=head&h=0.3'));
        await viewer.page.locator('.failure[data-code=changed]').waitFor();
        assert.ok(!server.requests.includes('0'), 'never the whole file');
        await viewer.page.getByRole('button', { name: 'Reload' }).click();
        await viewer.page.locator('.failure').waitFor({ state: 'detached' });
        assert.equal(await viewer.value(300, 20), storedCell(path, '0.3', 300, 20));
        const { files, head } = await viewer.state();
        assert.deepEqual([files, head], [['replaced.h5'], '0.3']);
      });
    }),
);

test(
  'a server without ranges gives a small file whole; a large one is refused with the way out',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const heavy = join(folder, 'heavy.h5');
      writeFileSync(heavy, '');
      truncateSync(heavy, 65 * 2 ** 20);
      const files = { 'run.h5': capture(), 'heavy.h5': heavy };
      await withServer({ files, withoutRanges: true }, async (server) => {
        await viewer.goto(`${server.url}?file=run.h5&file=heavy.h5`);
        await viewer.page.locator('.failure[data-code=no_range]').waitFor();
        assert.match(await viewer.page.locator('.failure').innerText(), /attnscope view heavy\.h5/);
        assert.equal((await viewer.heads()).heads, 32);
      });
    }),
);

test('the served page has no script of its own inside', () => {
  const served = join(VIEWER_ROOT, 'dist/served');
  const page = readFileSync(join(served, 'index.html'), 'utf8');
  const scripts = page.match(/<script[^>]*>/g) ?? [];
  assert.deepEqual(scripts, ['<script type="module" src="app.js">']);
  assert.doesNotMatch(page, /<style|\son[a-z]+=/);
  for (const name of ['app.js', 'worker.js']) {
    assert.doesNotMatch(readFileSync(join(served, name), 'utf8'), /\beval\(|new Function\(/);
  }
});

test('what a page asks of another machine is caught, whoever asks for it', () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    viewer.expected.push(/evil\.example/, /ERR_/);
    const server = createServer((request, response) => {
      const isWorker = request.url === '/worker.js';
      response.setHeader('Content-Type', isWorker ? 'text/javascript' : 'text/html');
      response.end(
        isWorker ? "fetch('http://evil.example/worker').catch(() => {})" : '<!doctype html><p>',
      );
    });
    try {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.evaluate(() => {
        new Image().src = 'http://evil.example/image';
        // No route sees it. A preconnect would do as well, but not every browser makes one.
        new WebSocket('wss://evil.example').onerror = () => {};
        return navigator.serviceWorker.register('/worker.js').catch(() => {});
      });
      const wanted = [/evil\.example\/image/, /evil\.example\/worker/, /CONNECT evil\.example/];
      const told = () => [...viewer.faults, ...viewer.caught].join('\n');
      for (let wait = 0; wait < 600 && !wanted.every((one) => one.test(told())); ++wait) {
        await page.waitForTimeout(50);
      }
      for (const one of wanted) assert.match(told(), one);
      viewer.faults.length = 0;
      viewer.caught.length = 0;
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }));

test(
  'the page has no service worker, and starts no request of its own',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await withServer({ files: { 'run.h5': capture() }, listed: true }, async (server) => {
        await viewer.goto(server.url);
        await viewer.heads();
        const workers = await viewer.page.evaluate(() =>
          navigator.serviceWorker.getRegistrations(),
        );
        assert.equal(workers.length, 0);
        const asked = new Set(server.requests.map((line) => line.split(' ')[0]));
        assert.deepEqual([...asked].sort(), [
          '0',
          'app.css',
          'app.js',
          'chunk.js',
          'files.json',
          'hdf5.wasm',
          'index.html',
          'later.js',
          'worker.js',
        ]);
      });
    }),
);
