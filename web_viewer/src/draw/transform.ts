/** What is drawn of a weight: itself, without the first token, or weighted by its value. */

import { restFactor } from '../format/rest';

export interface Transform {
  /** Weights on key 0 are left out and rows made to sum to one again. */
  hideFirst: boolean;
  rowFactor: Float32Array | null;
  keyFactor: Float32Array | null;
}

export const RAW: Transform = { hideFirst: false, rowFactor: null, keyFactor: null };

/** 1 ÷ what is left of a row without its first key; NaN where nothing is left. */
export function sinkFactors(
  sink: ArrayLike<number>,
  learned: ArrayLike<number> | null,
): Float32Array {
  return Float32Array.from(sink, (mass, row) => restFactor(1 - mass - (learned?.[row] ?? 0)));
}

/** Whether nothing is left of a row without its first key. */
export const nothingLeft = ({ rowFactor }: Transform, row: number): boolean =>
  Number.isNaN(rowFactor?.[row] ?? 1);

/** What stands for several cells: their largest, their mean, or the one farthest from 0. */
export type Pool = 'max' | 'mean' | 'farthest';

/** One factor for each block: the largest, so that nothing large is hidden, or the mean. */
function blockFactors(factors: Float32Array, factor: number, pool: Pool): Float32Array {
  if (factor === 1) return factors;
  return Float32Array.from({ length: Math.ceil(factors.length / factor) }, (_, block) => {
    const some = factors
      .subarray(block * factor, (block + 1) * factor)
      .filter((value) => !Number.isNaN(value));
    if (some.length === 0) return NaN;
    if (pool !== 'mean') return some.reduce((most, value) => Math.max(most, value));
    return some.reduce((sum, value) => sum + value, 0) / some.length;
  });
}

/** One value after the transform; `row` and `key` are indices at full detail. */
export function transformed(t: Transform, value: number, row: number, key: number): number {
  if (t.hideFirst && key === 0) return 0;
  return value * (t.rowFactor?.[row] ?? 1) * (t.keyFactor?.[key] ?? 1);
}

export interface Block {
  values: Float32Array;
  rows: number;
  columns: number;
}

/** The transform of a block of values that begins at (row, column) of its level. */
export function transformBlock(
  t: Transform,
  block: Block,
  row: number,
  column: number,
  factor: number,
  pool: Pool = 'max',
): Block {
  if (!t.hideFirst && !t.rowFactor && !t.keyFactor) return block;
  const rowFactors = t.rowFactor ? blockFactors(t.rowFactor, factor, pool) : null;
  const keyFactors = t.keyFactor ? blockFactors(t.keyFactor, factor, pool) : null;
  const out = new Float32Array(block.values.length);
  for (let r = 0; r < block.rows; ++r) {
    const scale = rowFactors ? rowFactors[row + r]! : 1;
    for (let c = 0; c < block.columns; ++c) {
      const at = r * block.columns + c;
      out[at] = block.values[at]! * scale * (keyFactors ? keyFactors[column + c]! : 1);
    }
    if (t.hideFirst && column === 0) out[r * block.columns] = 0;
  }
  return { ...block, values: out };
}

/** Of two values the one that stands for both; a NaN stays visible. */
const POOLS: Record<Pool, (a: number, b: number) => number> = {
  max: (a, b) => (a > b || Number.isNaN(a) ? a : b),
  mean: (a, b) => (a + b) / 2,
  farthest: (a, b) => (Math.abs(a) > Math.abs(b) || Number.isNaN(a) ? a : b),
};

/** One value for each 2 × 2 cells; at an odd edge the last row or column counts twice. */
export function halve(block: Block, pool: Pool = 'max'): Block {
  const rows = Math.ceil(block.rows / 2);
  const columns = Math.ceil(block.columns / 2);
  const source = block.values;
  const values = new Float32Array(rows * columns);
  const both = POOLS[pool];
  for (let r = 0; r < rows; ++r) {
    const upper = 2 * r * block.columns;
    const lower = Math.min(2 * r + 1, block.rows - 1) * block.columns;
    for (let c = 0; c < columns; ++c) {
      const left = 2 * c;
      const right = Math.min(left + 1, block.columns - 1);
      values[r * columns + c] = both(
        both(source[upper + left]!, source[upper + right]!),
        both(source[lower + left]!, source[lower + right]!),
      );
    }
  }
  return { values, rows, columns };
}
