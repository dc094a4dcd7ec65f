import assert from 'node:assert/strict';
import { test } from 'node:test';
import { align, type Alignment } from '../../src/model/align';

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
  assert.deepEqual([same.by, Array.from(same.a), Array.from(same.b)], ['index', [0, 1], [0, 1]]);
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
