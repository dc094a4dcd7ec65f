import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  align,
  alignMaps,
  alignmentSentence,
  isAsStored,
  type Alignment,
} from '../../src/model/align';

/** Length of the longest common subsequence, by the table of all prefixes. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; ++i) {
    for (let j = 1; j <= b.length; ++j) {
      table[i]![j] =
        a[i - 1] === b[j - 1]
          ? table[i - 1]![j - 1]! + 1
          : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
    }
  }
  return table[a.length]![b.length]!;
}

/** Every token of either list is there once, in order, and pairs are equal. */
function checkWhole(
  { a, b }: Alignment,
  left: readonly string[],
  right: readonly string[],
): number {
  assert.equal(a.length, b.length);
  assert.deepEqual(
    Array.from(a).filter((at) => at >= 0),
    left.map((_, at) => at),
  );
  assert.deepEqual(
    Array.from(b).filter((at) => at >= 0),
    right.map((_, at) => at),
  );
  let pairs = 0;
  a.forEach((x, row) => {
    if (x < 0 || b[row]! < 0) return;
    assert.equal(left[x], right[b[row]!]);
    ++pairs;
  });
  return pairs;
}

test('a script pairs as many tokens as the longest common subsequence', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  for (let round = 0; round < 400; ++round) {
    const letters = 1 + random(5);
    const list = () => Array.from({ length: random(13) }, () => 'abcdef'[random(letters)]!);
    const [left, right] = [list(), list()];
    const found = align(left, right);
    const pairs = checkWhole(found, left, right);
    assert.equal(pairs, longestCommon(left, right), `${left.join('')} ${right.join('')}`);
    assert.equal(found.onlyA, left.length - pairs);
    assert.equal(found.onlyB, right.length - pairs);
  }
});

test('equal texts are aligned by index, and so are those that have too little in common', () => {
  const same = align(['x', 'y'], ['x', 'y']);
  assert.deepEqual([same.by, Array.from(same.a), Array.from(same.b)], ['equal', [0, 1], [0, 1]]);
  const far = (name: string) => Array.from({ length: 1500 }, (_, at) => `${name}${at}`);
  const apart = align(far('a'), [...far('b'), 'end']);
  assert.equal(apart.by, 'limit');
  assert.deepEqual([apart.onlyA, apart.onlyB, apart.b.at(-1), apart.a.at(-1)], [0, 1, 1500, -1]);
});

test('one inserted token leaves all others in their pairs', () => {
  const found = align(['the', 'cat', 'sat'], ['the', 'old', 'cat', 'sat']);
  assert.deepEqual(Array.from(found.a), [0, -1, 1, 2]);
  assert.deepEqual(Array.from(found.b), [0, 1, 2, 3]);
});

test('what is said of an alignment is how it came about', () => {
  const words = ['the', 'cat', 'sat'];
  const other = ['the', 'dog', 'sat'];
  const of = (a: string[], b: string[], wanted: 'tokens' | 'position', lengths = [3, 3]) =>
    alignMaps([lengths[0]!, lengths[1]!], a, b, wanted);
  const said = (...axes: Alignment[]) => alignmentSentence(...axes);
  for (const wanted of ['tokens', 'position'] as const) {
    assert.equal(said(of(words, [...words], wanted)), '');
    // A map whose tokens are not known is not called one of another text.
    for (const [a, b] of [
      [[], []],
      [words, []],
      [words.slice(1), other],
    ] as [string[], string[]][]) {
      const pairs = of(a, b, wanted);
      assert.deepEqual([pairs.by, Array.from(pairs.b)], ['unknown', [0, 1, 2]]);
      assert.ok(isAsStored(pairs));
      assert.match(said(pairs), /^The tokens of A or B are not stored; equal positions stand/);
    }
  }
  assert.match(said(of(words, other, 'tokens')), /^The texts differ; equal tokens stand/);
  assert.equal(isAsStored(of(words, other, 'tokens')), false);
  const placed = of(words, other, 'position');
  assert.match(said(placed), /^The texts differ; equal positions stand/);
  assert.ok(isAsStored(placed));
  assert.equal(isAsStored(of(words, ['the'], 'position', [3, 1])), false);
  // Rows and columns of one text need no more than one sentence.
  assert.equal(said(placed, placed), said(placed));
});
