/** What is drawn of a weight: itself, without the first token, or weighted by its value. */

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
  return Float32Array.from(sink, (mass, row) => {
    const left = 1 - mass - (learned?.[row] ?? 0);
    return left > 1e-6 ? 1 / left : NaN;
  });
}

/** Largest factor of each block, so that a coarse picture never hides a large value. */
function blockMax(factors: Float32Array, factor: number): Float32Array {
  if (factor === 1) return factors;
  const out = new Float32Array(Math.ceil(factors.length / factor)).fill(NaN);
  factors.forEach((value, i) => {
    const block = Math.floor(i / factor);
    if (!(value <= out[block]!)) out[block] = Number.isNaN(value) ? out[block]! : value;
  });
  return out;
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
): Block {
  if (!t.hideFirst && !t.rowFactor && !t.keyFactor) return block;
  const rowFactors = t.rowFactor ? blockMax(t.rowFactor, factor) : null;
  const keyFactors = t.keyFactor ? blockMax(t.keyFactor, factor) : null;
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

/** The larger of two values; a NaN stays visible. */
const larger = (a: number, b: number): number => (a > b || Number.isNaN(a) ? a : b);

/** The largest value of each 2 × 2 cells; at an odd edge the last row or column counts twice. */
export function halve(block: Block): Block {
  const rows = Math.ceil(block.rows / 2);
  const columns = Math.ceil(block.columns / 2);
  const source = block.values;
  const values = new Float32Array(rows * columns);
  for (let r = 0; r < rows; ++r) {
    const upper = 2 * r * block.columns;
    const lower = Math.min(2 * r + 1, block.rows - 1) * block.columns;
    for (let c = 0; c < columns; ++c) {
      const left = 2 * c;
      const right = Math.min(left + 1, block.columns - 1);
      values[r * columns + c] = larger(
        larger(source[upper + left]!, source[upper + right]!),
        larger(source[lower + left]!, source[lower + right]!),
      );
    }
  }
  return { values, rows, columns };
}
