import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JoinedFile, joinedSummary, shardOf } from '../../src/io/joined_file';
import type { RunReader } from '../../src/io/run_file';
import type { RunSummary } from '../../src/format/types';

/** A file that answers with what it was asked for. */
function fake(id: number, name: string): RunReader {
  const echo = (path: string) => Promise.resolve([`${name}:${path}`]);
  return {
    id,
    name,
    size: 10,
    origin: (path) => ({ file: name, path }),
    close: () => Promise.resolve(),
    numbers: () => Promise.reject(new Error('not asked for')),
    texts: echo,
    names: (path) =>
      Promise.resolve(path === '/prompts' ? ['p000000', 'p000001', 'note'] : [`${name}:${path}`]),
    list: () => Promise.resolve([]),
    describe: () => Promise.resolve(null),
    attributes: (path) => Promise.resolve({ asked: `${name}:${path}` }),
  };
}

const joined = () =>
  new JoinedFile([
    { file: fake(2, 'b.h5'), shard: [2, 3], promptIds: ['p000000'] },
    { file: fake(1, 'a.h5'), shard: [0, 3], promptIds: ['p000000', 'p000001'] },
  ]);

test('prompts of all parts in the order of the run, each read from its own file', async () => {
  const file = joined();
  assert.deepEqual([file.id, file.name, file.size], [1, 'a.h5', 20]);
  assert.deepEqual(file.promptIds, ['p000000', 'p000001', 'p000002']);
  assert.deepEqual(await file.names('/prompts'), ['p000000', 'p000001', 'p000002', 'note']);
  assert.deepEqual(await file.texts('/prompts/p000001/text'), ['a.h5:/prompts/p000001/text']);
  assert.deepEqual(await file.texts('/prompts/p000002/text'), ['b.h5:/prompts/p000000/text']);
  assert.deepEqual(await file.attributes('/prompts/p000002'), { asked: 'b.h5:/prompts/p000000' });
  assert.deepEqual(await file.names('/model'), ['a.h5:/model']);
  assert.deepEqual(file.origin('/prompts/p000002/cache/x'), {
    file: 'b.h5',
    path: '/prompts/p000000/cache/x',
  });
});

test('only parts of captures with prompts of their own are joined', () => {
  const summary = (root: RunSummary['root']) => ({ root, promptIds: ['p000000'] }) as RunSummary;
  const root = { kind: 'capture', layout: 'per_prompt', shard: [1, 3] };
  assert.deepEqual(shardOf(summary(root)), [1, 3]);
  assert.equal(shardOf(summary({ ...root, layout: 'packed' })), null);
  assert.equal(shardOf(summary({ ...root, kind: 'ablate' })), null);
  assert.equal(shardOf(summary({ kind: 'capture', layout: 'per_prompt' })), null);
  assert.equal(joinedSummary(summary(root), joined()).promptIds.length, 3);
});
