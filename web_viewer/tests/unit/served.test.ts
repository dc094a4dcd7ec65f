import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { probe, WHOLE_LIMIT } from '../../src/io/probe';
import { parseListing, servedFiles } from '../../src/io/served';

const BASE = 'http://127.0.0.1:8765/x/';

test('a listing names files of the same server, or why they cannot be had', () => {
  const listing = {
    files: [
      { name: 'run.h5', url: 'files/0', size: 12345 },
      { name: 'b/run.h5', url: 'files/2', size: 5, path: '/a/b/run.h5' },
      { name: 'odd.h5', url: 'files/3', size: 5, path: 7 },
      { name: 'no.h5', error: 'permission denied' },
      { name: 'far.h5', url: 'http://elsewhere.example/far.h5' },
      { name: 'script.h5', url: 'javascript:alert(1)' },
      { url: 'files/1' },
      null,
    ],
  };
  const far = 'it lies on another server than the page';
  assert.deepEqual(parseListing(listing, BASE), [
    { name: 'run.h5', url: `${BASE}files/0` },
    { name: 'b/run.h5', url: `${BASE}files/2`, path: '/a/b/run.h5' },
    { name: 'odd.h5', url: `${BASE}files/3` },
    { name: 'no.h5', error: 'permission denied' },
    { name: 'far.h5', error: far },
    { name: 'script.h5', error: far },
  ]);
  for (const other of [null, 5, 'text', {}, { files: 7 }, []]) {
    assert.deepEqual(parseListing(other, BASE), []);
  }
});

/** A server that gives one answer, whatever is asked. */
async function answering<T>(
  status: number,
  headers: Record<string, string>,
  body: string | Uint8Array,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const server = createServer((_, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await use(`http://127.0.0.1:${port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('a server without a list, or with a page in its place, offers nothing', async () => {
  assert.deepEqual(await answering(404, {}, 'no', servedFiles), []);
  assert.deepEqual(await answering(200, {}, '<!doctype html>', servedFiles), []);
  const one = JSON.stringify({ files: [{ name: 'a', url: 'b' }] });
  assert.equal((await answering(200, {}, one, servedFiles)).length, 1);
});

test('how a file is read follows from the answer to its first byte', async () => {
  const part = { 'Content-Range': 'bytes 0-0/4294967296', ETag: '"one"' };
  await answering(206, part, 'x', async (url) => {
    assert.deepEqual(await probe(url), { kind: 'url', url, size: 2 ** 32, version: '"one"' });
  });
  const more = { ...part, 'Content-Range': 'bytes 0-9/10' };
  await answering(206, more, 'x'.repeat(WHOLE_LIMIT), async (url) => {
    assert.deepEqual(await probe(url), { kind: 'url', url, size: 10, version: '"one"' });
  });
  const empty = await answering(416, { 'Content-Range': 'bytes */0' }, '', probe);
  assert.deepEqual(empty, { kind: 'bytes', bytes: new Uint8Array(0) });
  const whole = await answering(200, {}, 'all of it', probe);
  assert.deepEqual(whole, { kind: 'bytes', bytes: new TextEncoder().encode('all of it') });
  const large = new Uint8Array(WHOLE_LIMIT + 1);
  await assert.rejects(answering(200, {}, large, probe), { code: 'no_range' });
  await assert.rejects(answering(403, {}, 'no', probe), { code: 'locked', message: /403/ });
  await assert.rejects(probe('http://127.0.0.1:1/'), { code: 'offline' });
});
