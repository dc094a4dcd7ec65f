import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergedBlock } from '../../src/draw/merge';
import { TILE } from '../../src/draw/heat_map';
import {
  endsOf,
  plainAxis,
  positionsAt,
  shownAt,
  shownOf,
  sumsOver,
  wordAxis,
} from '../../src/model/axis';
import { wordNumbers, wordTexts } from '../../src/model/words';

const tokens = (texts: string[], offsets: number[] | null = null) => ({
  texts,
  ids: null,
  steps: null,
  offsets: offsets && Int32Array.from(offsets),
});

/** Pieces with a bar between words. */
const split = (texts: string[], words: Int32Array) =>
  texts.map((text, at) => (at > 0 && words[at] !== words[at - 1] ? `|${text}` : text)).join('');

test('marks of a vocabulary tell where words begin', () => {
  const cases: [string[], string][] = [
    [['The', 'Ġun', 'bel', 'iev', 'able', ',', 'Ġcat'], 'The|Ġunbelievable,|Ġcat'],
    [
      ['<s>', '▁The', '▁un', 'believ', '<0xE2>', '<0x82>', '</s>'],
      '<s>|▁The|▁unbeliev<0xE2><0x82>|</s>',
    ],
    [['[CLS]', 'un', '##believ', '##able', 'cat', '[SEP]'], '[CLS]|un##believ##able|cat|[SEP]'],
    [[' river', '\n', '\t', 'Tom', 'my'], ' river|\n|\t|Tommy'],
    [['<|begin|>', 'Words', ':', ' river'], '<|begin|>|Words:| river'],
  ];
  for (const [texts, expected] of cases) {
    assert.equal(split(texts, wordNumbers(tokens(texts), '')), expected);
  }
});

test('the text itself tells it better, also for pieces of one character', () => {
  const text = 'Ströme — 日🙂 un\u00a0happy';
  const texts = ['<s>', 'Str', 'ö', 'me', ' —', ' �', '�', '�', '🙂', ' un', '\u00a0', 'happy'];
  const offsets = [
    ...[-1, -1, 0, 3, 3, 4, 4, 6, 6, 8, 8, 10, 9, 10, 9, 10],
    ...[10, 11, 11, 14, 14, 15, 15, 20],
  ];
  const words = wordNumbers(tokens(texts, offsets), text);
  assert.equal(split(texts, words), '<s>|Ströme| —| ���🙂| un|\u00a0|happy');
  const read = wordTexts(tokens(texts, offsets), text);
  assert.deepEqual(read([4, 5, 6, 7, 8].slice(1)), [' 日🙂'], 'pieces of a character, together');
  assert.deepEqual(read([1, 2, 3]), ['Str', 'ö', 'me']);
  // Offsets beyond the text are of another text.
  const other = wordNumbers(tokens(['a', 'b'], [0, 1, 1, 90]), 'ab');
  assert.deepEqual(Array.from(other), [0, 0]);
});

test('an axis of words keeps positions', () => {
  const words = [0, 0, 1, 2, 2, 2, 3];
  const all = wordAxis(7, null, words);
  assert.deepEqual([all.count, positionsAt(all, 2), shownAt(all, 5)], [4, [3, 4, 5], 2]);
  assert.deepEqual(shownOf(all, [0, 1, 6]), [0, 3]);
  assert.deepEqual(Array.from(sumsOver(all, [1, 2, 4, 8, 16, 32, 64])), [3, 4, 56, 64]);
  // Of stored rows 1, 3, 5 and 6 the middle two are of one word.
  const some = wordAxis(4, [1, 3, 5, 6], words);
  assert.deepEqual([some.count, positionsAt(some, 1), shownAt(some, 2)], [3, [3, 5], -1]);
  assert.deepEqual(endsOf(some), { first: [1, 3, 6], last: [1, 5, 6] });
  assert.equal(plainAxis(4, null).count, 4);
});

test('merged cells are sums over keys and means over queries, across tiles', () => {
  const size = TILE + 44;
  const value = (q: number, k: number) => ((q * 31 + k * 17) % 97) / 97;
  const words = Array.from({ length: size }, (_, at) => Math.floor(at / 3));
  const axis = wordAxis(size, null, words);
  const block = mergedBlock(
    axis,
    axis,
    0,
    0,
    (row, column) => {
      const [rows, columns] = [row, column].map((at) => Math.min(TILE, size - at * TILE));
      const at = (i: number) =>
        value(row * TILE + Math.floor(i / columns!), column * TILE + (i % columns!));
      const values = Float32Array.from({ length: rows! * columns! }, (_, i) => at(i));
      return { values, rows: rows!, columns: columns! };
    },
    (row) => row === 0,
  )!;
  assert.deepEqual([block.rows, block.columns], [axis.count, axis.count]);
  for (const [r, c] of [
    [0, 0],
    [0, 7],
    [85, 85],
    [85, 3],
    [99, 99],
  ] as const) {
    const queries = positionsAt(axis, r).filter((q) => q !== 0);
    const keys = positionsAt(axis, c);
    const sum = queries.flatMap((q) => keys.map((k) => value(q, k))).reduce((a, b) => a + b, 0);
    const found = block.values[r * block.columns + c]!;
    assert.ok(Math.abs(found - sum / queries.length) < 1e-6, `${r},${c}`);
  }
});
