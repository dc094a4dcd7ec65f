import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JoinedFile, joinedSummary, type Part } from '../../src/io/joined_file';
import { isSameRun, partialWords, shardOf, type PartKind } from '../../src/io/parts';
import type { RunReader } from '../../src/io/run_file';
import type { NumberData, RunSummary } from '../../src/format/types';

/** A file that answers with what it was asked for. */
function fake(id: number, name: string, rows: Record<string, number[]> = {}): RunReader {
  const echo = (path: string) => Promise.resolve([`${name}:${path}`]);
  return {
    id,
    name,
    size: 10,
    origin: (path, row) => (row === undefined ? { file: name, path } : { file: name, path, row }),
    place: (path) => ({ file: id, path }),
    close: () => Promise.resolve(),
    numbers: (path, slab): Promise<NumberData> => {
      const all = rows[path]!;
      const [begin, count] = [slab?.start[0] ?? 0, slab?.count[0] ?? all.length];
      const values = Float64Array.from(all.slice(begin, begin + count));
      return Promise.resolve({ dtype: 'f64', shape: [values.length], values });
    },
    texts: echo,
    names: (path) =>
      Promise.resolve(path === '/prompts' ? ['p000000', 'p000001', 'note'] : [`${name}:${path}`]),
    list: () => Promise.resolve({ nodes: [], total: 0 }),
    describe: (path) =>
      Promise.resolve(
        rows[path] ? { dtype: 'f64', shape: [rows[path].length], chunks: null, filters: [] } : null,
      ),
    attributes: (path) => Promise.resolve({ asked: `${name}:${path}` }),
  };
}

function part(file: RunReader, index: number, kind: PartKind, own: Partial<RunSummary>): Part {
  const summary = { name: file.name, promptIds: [], packedPrompts: 0, ...own } as unknown;
  return { file, shard: { index, total: 3, kind }, summary: summary as RunSummary };
}

const joined = () =>
  new JoinedFile([
    part(fake(2, 'b.h5'), 2, 'prompts', { promptIds: ['p000000'] }),
    part(fake(1, 'a.h5'), 0, 'prompts', { promptIds: ['p000000', 'p000001'] }),
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
  assert.deepEqual(file.place('/prompts/p000002/cache/x'), {
    file: 2,
    path: '/prompts/p000000/cache/x',
  });
  assert.deepEqual(file.origin('/prompts/p000002/cache/x'), {
    file: 'b.h5',
    path: '/prompts/p000000/cache/x',
  });
  assert.equal(joinedSummary(file).promptIds.length, 3);
});

test('rows of packed parts one after the other, and offsets that go on', async () => {
  const column = '/prompts/label';
  const file = new JoinedFile([
    part(fake(1, 'a.h5', { [column]: [1, 2], '/offsets': [0, 3, 5] }), 0, 'rows', {
      packedPrompts: 2,
      promptIds: ['p000001'],
    }),
    part(fake(2, 'b.h5', { [column]: [3, 4, 5], '/offsets': [0, 1, 4, 6] }), 1, 'rows', {
      packedPrompts: 3,
      promptIds: ['p000002'],
    }),
  ]);
  const numbers = async (path: string, start?: number, count = 0) =>
    Array.from(
      (
        await file.numbers(
          path,
          start === undefined ? undefined : { start: [start], count: [count] },
        )
      ).values,
    );
  assert.deepEqual(await numbers('/offsets'), [0, 3, 5, 6, 9, 11]);
  assert.deepEqual(await numbers('/offsets', 2, 2), [5, 6]);
  assert.deepEqual((await file.describe('/offsets'))!.shape, [6]);
  assert.deepEqual(await numbers(column), [1, 2, 3, 4, 5]);
  assert.deepEqual(await numbers(column, 1, 3), [2, 3, 4]);
  assert.deepEqual(await numbers(column, 3, 2), [4, 5]);
  assert.deepEqual(await numbers(column, 5, 0), []);
  await assert.rejects(file.numbers(column, { start: [4], count: [2] }), { code: 'unsupported' });
  assert.deepEqual((await file.describe(column))!.shape, [5]);
  // A prompt of the second part has its maps in a group there, and rows of its own.
  assert.deepEqual(file.promptIds, ['p000001', 'p000004']);
  assert.deepEqual(file.origin('/prompts/p000004/cache/x'), {
    file: 'b.h5',
    path: '/prompts/p000002/cache/x',
  });
  assert.deepEqual(file.origin(column, 3), { file: 'b.h5', path: column, row: 1 });
  assert.equal(joinedSummary(file).packedPrompts, 5);
});

test('what a part holds follows from its kind, and only parts of one run belong together', () => {
  const summary = (root: RunSummary['root'], experiments: string[] = []) =>
    ({ root, promptIds: ['p000000'], experiments }) as unknown as RunSummary;
  const root = { kind: 'capture', layout: 'per_prompt', shard: [1, 3], run_id: 'x' };
  assert.deepEqual(shardOf(summary(root)), { index: 1, total: 3, kind: 'prompts' });
  assert.equal(shardOf(summary({ ...root, layout: 'packed' }))!.kind, 'rows');
  assert.equal(shardOf(summary({ ...root, kind: 'ablate' }, ['ablate']))!.kind, 'cells');
  assert.equal(shardOf(summary({ ...root, kind: 'ablate' }, ['rows']))!.kind, 'measurements');
  assert.equal(shardOf(summary({ kind: 'capture', layout: 'per_prompt' })), null);
  assert.equal(shardOf(summary({ ...root, shard: [3, 3] })), null);
  assert.equal(isSameRun(summary(root), summary({ ...root, shard: [0, 3] })), true);
  assert.equal(isSameRun(summary(root), summary({ ...root, run_id: 'y' })), false);
  assert.equal(isSameRun(summary(root), summary({ ...root, layout: 'packed' })), false);
  assert.deepEqual(
    [partialWords(1, 3), partialWords(3, 3)],
    ['partial: 1 of 3 parts', 'all 3 parts'],
  );
});
