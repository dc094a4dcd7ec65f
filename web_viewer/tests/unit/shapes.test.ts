import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrayFault, mapFault } from '../../src/format/shapes';
import { readPrompt } from '../../src/io/read_prompt';
import { readSummary } from '../../src/io/run_file';
import {
  capture,
  encoderDecoder,
  half,
  long,
  packedMaps,
  several,
  without,
} from '../support/fixtures';
import { openedRun } from '../support/reader';

const heads = { stored: 2, expected: 2 };
const all = (stored: number, tokens: number | null) => ({ stored, positions: null, tokens });

test('a map is one only if its rows, columns and heads are those of the prompt', () => {
  assert.equal(mapFault(heads, all(9, 9), all(9, 9)), null);
  assert.equal(mapFault(heads, all(3, 3), all(4, 4)), null, 'of two texts');
  assert.equal(mapFault(heads, all(9, null), all(7, null)), null, 'nothing to check against');
  assert.equal(mapFault({ stored: 2, expected: null }, all(9, 9), all(9, 9)), null);
  assert.equal(mapFault(heads, all(5, 9), all(9, 9)), '5 rows for 9 tokens');
  assert.equal(mapFault(heads, all(9, 9), all(10, 9)), '10 columns for 9 tokens');
  assert.equal(mapFault({ stored: 3, expected: 2 }, all(9, 9), all(9, 9)), 'maps of 3 heads for 2');
});

test('kept positions are as many as the rows, and lie in the prompt', () => {
  const kept = (stored: number, positions: number[]) =>
    mapFault(heads, { stored, positions, tokens: 9 }, all(9, 9));
  assert.equal(kept(2, [1, 8]), null);
  assert.equal(kept(3, [1, 8]), '3 rows for 2 kept positions');
  assert.equal(kept(2, [1, 9]), 'rows of position 9, and 9 tokens');
  assert.equal(kept(2, [-1, 8]), 'rows of position -1, and 9 tokens');
  assert.equal(kept(2, [0.5, 8]), 'rows of position 0.5, and 9 tokens');
});

test('arrays over layers and heads have as many of each as the file says', () => {
  assert.equal(arrayFault([4, 8, 12], [4, 8, 12]), null);
  assert.equal(arrayFault([4, 8, 12], [4, null, 12]), null);
  assert.equal(arrayFault([4, 7, 12], [4, 8, 12]), '4 × 7 × 12 values in place of 4 × 8 × 12');
  assert.equal(arrayFault([4, 8], [4, 8, 12]), '4 × 8 values in place of 4 × 8 × 12');
});

test(
  'of what attnscope writes, nothing is left out',
  { skip: without('command', 'library') },
  async () => {
    for (const path of [capture(), half(), several(), packedMaps(), encoderDecoder(), long(1024)]) {
      const file = await openedRun(path);
      const { summary } = await readSummary(file);
      assert.ok(summary.promptIds.length > 0, path);
      for (const id of summary.promptIds) {
        const { stacks } = await readPrompt(file, id);
        assert.ok(stacks.length > 0, path);
        assert.deepEqual(
          stacks.flatMap(({ faults }) => faults),
          [],
          path,
        );
      }
    }
  },
);
