import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_BYTES, BlockCache, type ByteSource } from '../../src/io/blocks';
import { Client, type WorkerLike } from '../../src/io/client';
import type { FromWorker, Request, ToWorker } from '../../src/io/protocol';
import { RequestQueue } from '../../src/io/queue';

function request(id: number, priority: number, lane = '', generation = 0): Request {
  return {
    type: 'request',
    id,
    file: 1,
    name: 'names',
    args: { path: '/' },
    priority,
    lane,
    generation,
  };
}

test('urgent requests first, equal ones in order, stale ones never', () => {
  const queue = new RequestQueue();
  for (const item of [request(1, 0), request(2, 5), request(3, 5), request(4, 9, 'tiles', 0)]) {
    queue.push(item);
  }
  queue.advance('tiles', 1);
  const first = queue.take();
  assert.equal(first.next?.id, 2);
  assert.deepEqual(
    first.stale.map(({ id }) => id),
    [4],
  );
  assert.deepEqual([queue.take().next?.id, queue.take().next?.id, queue.take().next], [3, 1, null]);
});

class Counting implements ByteSource {
  readonly size = 10 * BLOCK_BYTES + 17;
  reads = 0;

  read(offset: number, length: number): Uint8Array {
    ++this.reads;
    const end = Math.min(this.size, offset + length);
    return Uint8Array.from({ length: end - offset }, (_, i) => (offset + i) % 251);
  }
}

test('blocks are read once, joined over their edges, and bounded', () => {
  const source = new Counting();
  const cache = new BlockCache(3 * BLOCK_BYTES);
  const target = new Uint8Array(40);
  const at = 2 * BLOCK_BYTES - 20;
  assert.equal(cache.read(1, source, at, target, 0, 40), 40);
  assert.deepEqual(
    Array.from(target),
    Array.from({ length: 40 }, (_, i) => (at + i) % 251),
  );
  assert.equal(source.reads, 2);
  cache.read(1, source, at, target, 0, 40);
  assert.equal(source.reads, 2);
  for (let block = 0; block < 10; ++block) cache.read(1, source, block * BLOCK_BYTES, target, 0, 1);
  assert.ok(cache.bytes <= 3 * BLOCK_BYTES);
  assert.equal(cache.read(1, source, source.size - 5, target, 0, 40), 5, 'the end of the file');
  cache.forget(1);
  assert.equal(cache.bytes, 0);
});

class FakeWorker implements WorkerLike {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly seen: ToWorker[] = [];
  ended = false;

  postMessage(message: ToWorker): void {
    this.seen.push(message);
  }

  terminate(): void {
    this.ended = true;
  }

  say(message: FromWorker): void {
    this.onmessage?.({ data: message } as MessageEvent<FromWorker>);
  }

  requests(): Request[] {
    return this.seen.filter((message) => message.type === 'request');
  }
}

function clientWithWorkers(patience?: number) {
  const workers: FakeWorker[] = [];
  const client = new Client(
    {
      createWorker: () => {
        const worker = new FakeWorker();
        workers.push(worker);
        return worker;
      },
      wasm: () => new Promise(() => {}),
    },
    patience,
  );
  return { client, workers };
}

test('answers of an earlier generation reach nobody', async () => {
  const { client, workers } = clientWithWorkers();
  const old = client.ask('names', 1, { path: '/' }, { lane: 'tiles' });
  client.advance('tiles');
  const fresh = client.ask('names', 1, { path: '/' }, { lane: 'tiles' });
  const [first, second] = workers[0]!.requests();
  workers[0]!.say({ type: 'result', id: first!.id, value: ['old'] });
  workers[0]!.say({ type: 'result', id: second!.id, value: ['new'] });
  await assert.rejects(old, { code: 'stale' });
  assert.deepEqual(await fresh, ['new']);
});

test('after a crash a new worker opens the same files under the same numbers', async () => {
  const { client, workers } = clientWithWorkers();
  const source = { kind: 'bytes' as const, bytes: new Uint8Array(1) };
  const opening = client.open(source);
  workers[0]!.say({ type: 'result', id: workers[0]!.requests()[0]!.id, value: { size: 1 } });
  const { file } = await opening;
  const bad = client.open({ kind: 'bytes', bytes: new Uint8Array(2) });
  const waiting = client.ask('names', file, { path: '/' });
  workers[0]!.say({
    type: 'error',
    id: workers[0]!.requests()[1]!.id,
    code: 'crashed',
    message: 'trap',
  });
  await assert.rejects(bad, { code: 'crashed', message: 'trap' });
  await assert.rejects(waiting, { code: 'crashed' });
  assert.equal(workers[0]!.ended, true);
  const reopened = workers[1]!.requests();
  assert.deepEqual(
    reopened.map(({ name, file: number }) => [name, number]),
    [['open', file]],
  );
  // Whatever is asked meanwhile, and however urgently, is read of an open file.
  const urgent = client.ask('describe', file, { path: '/x' }, { priority: 99 });
  const queue = new RequestQueue();
  for (const request of workers[1]!.requests()) queue.push(request);
  assert.equal(queue.take().next?.name, 'open');
  workers[1]!.say({ type: 'result', id: workers[1]!.requests()[1]!.id, value: null });
  assert.equal(await urgent, null);
  workers[1]!.say({ type: 'result', id: reopened[0]!.id, value: { size: 1 } });
  const again = client.ask('names', file, { path: '/' });
  workers[1]!.say({ type: 'result', id: workers[1]!.requests()[2]!.id, value: ['prompts'] });
  assert.deepEqual(await again, ['prompts']);
});

test('a worker that does not answer is given up', async () => {
  const { client, workers } = clientWithWorkers(5);
  const asked = client.ask('names', 1, { path: '/' });
  await assert.rejects(asked, { code: 'timeout' });
  assert.equal(workers[0]!.ended, true);
});

test('a slow source is waited for while its bytes come in', async () => {
  const { client, workers } = clientWithWorkers(60);
  const asked = client.ask('names', 1, { path: '/' });
  for (let i = 0; i < 5; ++i) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    workers[0]!.say({ type: 'alive' });
  }
  assert.equal(workers[0]!.ended, false);
  // Asking for more is no sign of life.
  const more = client.ask('names', 1, { path: '/x' });
  await assert.rejects(asked, { code: 'timeout' });
  await assert.rejects(more, { code: 'timeout' });
});
