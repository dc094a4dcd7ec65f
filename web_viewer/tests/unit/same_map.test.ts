import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PromptMap } from '../../src/format/types';
import { addMaps, restSums } from '../../src/io/moments';
import type { MapOfPrompt, Moments } from '../../src/io/protocol';
import type { Hdf5Reader } from '../../src/io/reader';
import { sharedTokens, textsWords, whyNoMean } from '../../src/model/same_map';

function mapOf(id: string, tokens: number, change: Partial<PromptMap> = {}): PromptMap {
  const texts = Array.from({ length: tokens }, (_, at) => `t${at}`);
  return {
    id,
    map: { shape: [4, tokens, tokens], heads: null, queryPositions: null, keyPositions: null },
    queries: texts,
    keys: texts,
    length: `${tokens}`,
    ...change,
  };
}

test('prompts have a mean where all of their maps are alike, or it is said why not', () => {
  const here = mapOf('p0', 5);
  const why = (...others: PromptMap[]) => whyNoMean(others, here);
  assert.equal(why(here, mapOf('p1', 5)), '');
  assert.match(why(here), /two prompts or more; the list finds 1\.$/);
  assert.match(why(), /the list finds 0/);
  assert.match(
    why(here, mapOf('p1', 5, { map: null }), mapOf('p2', 5)),
    /^1 of the 3 prompts found have no map of this head/,
  );
  assert.match(
    why(here, mapOf('p1', 5), mapOf('p2', 6), mapOf('p3', 9)),
    /^The 4 prompts found do not have the same number of tokens: 2 prompts of 5, as on screen, and 2 other lengths\.$/,
  );
  assert.match(why(mapOf('p1', 6), mapOf('p2', 6)), /found have 6 tokens, the one on screen 5\./);
  const kept = (queryPositions: number[]) => ({
    shape: [4, 2, 5] as [number, number, number],
    heads: null,
    queryPositions,
    keyPositions: null,
  });
  const subset = mapOf('p0', 5, { map: kept([1, 2]) });
  assert.equal(whyNoMean([subset, mapOf('p1', 5, { map: kept([1, 2]) })], subset), '');
  assert.match(
    whyNoMean([subset, mapOf('p1', 5, { map: kept([1, 3]) })], subset),
    /^Only 1 of the 2 prompts found have a map like this one/,
  );
  const long = mapOf('p0', 2049);
  assert.match(whyNoMean([long, long], long), /more than 2048 tokens/);
});

test('a position has a token only where all prompts agree', () => {
  const shared = sharedTokens([
    ['a', ' Tom', 'x'],
    ['a', ' Anna', 'x'],
    ['a', ' Tom', 'x'],
  ]);
  assert.deepEqual(
    shared.map(({ text }) => text),
    ['a', null, 'x'],
  );
  assert.equal(textsWords(shared[1]!), '·Tom ×2, ·Anna ×1');
  const many = sharedTokens(Array.from({ length: 20 }, (_, at) => [`n${at}`]));
  assert.match(textsWords(many[0]!), /^n0 ×1, .* and 8 more$/);
});

/** A reader that has one map for each path. */
const readerOf = (maps: Record<string, number[][]>): Pick<Hdf5Reader, 'numbers'> => ({
  numbers(_file, path, slab) {
    const { start, count } = slab!;
    const values = Float32Array.from(
      maps[path]!.slice(start[1], start[1]! + count[1]!).flatMap((row) =>
        row.slice(start[2], start[2]! + count[2]!),
      ),
    );
    return { shape: count, dtype: 'f32', values };
  },
});

const plain = (path: string): MapOfPrompt => ({
  file: 1,
  path,
  index: 0,
  rests: null,
  keyFactor: null,
});

test('means and spread over prompts do not depend on how many are added at a time', () => {
  const reader = readerOf({ a: [[1, 2]], b: [[2, 2]], c: [[6, NaN]] });
  const region = { row: 0, rows: 1, column: 0, columns: 2 };
  const step = (before: Moments | null, ...paths: string[]) =>
    addMaps(reader, { maps: paths.map(plain), region, before });
  for (const moments of [step(null, 'a', 'b', 'c'), step(step(step(null, 'a'), 'b'), 'c')]) {
    assert.deepEqual([...moments.counts], [3]);
    assert.equal(moments.means[0], 3);
    // (1 − 3)² + (2 − 3)² + (6 − 3)²
    assert.equal(moments.squares[0], 14);
    assert.ok(Number.isNaN(moments.means[1]), 'a cell that is no number in one has no mean');
  }
});

test('the first token is left out of each prompt before the mean, and empty rows of it too', () => {
  const maps: Record<string, number[][]> = {
    a: [
      [1, 0],
      [0.5, 0.5],
    ],
    b: [
      [0.75, 0.25],
      [0.2, 0.8],
    ],
    c: [
      [NaN, 0.25],
      [0.2, NaN],
    ],
  };
  const reader = readerOf(maps);
  const rests = (path: string) => restSums(reader, 1, { path, index: 0, rows: 2, columns: 2 });
  assert.deepEqual([...rests('a')], [0, 0.5]);
  const of = (paths: string[]) =>
    addMaps(reader, {
      maps: paths.map((path) => ({
        ...plain(path),
        rests: rests(path),
        keyFactor: Float32Array.of(1, 4),
      })),
      region: { row: 0, rows: 2, column: 0, columns: 2 },
      before: null,
    });
  const both = of(['a', 'b']);
  // All of row 0 of a is on the first token, so only b has something left there.
  assert.deepEqual([...both.counts], [1, 2]);
  assert.deepEqual([...both.means], [0, 4, 0, 4]);
  const broken = of(['b', 'c']);
  assert.deepEqual([...broken.counts], [2, 2]);
  assert.ok(Number.isNaN(broken.means[3]), 'a row without a sum has no rescaled cells');
});
