/** The largest value of every row and the sum of every column, out of tiles. */

import { TILE } from './heat_map';
import type { Block } from './transform';

export interface Margins {
  largest: Float32Array;
  sums: Float32Array;
}

/** Null while a tile is on its way. Cells that are not numbers add nothing. */
export function marginsOf(
  rows: number,
  columns: number,
  tileAt: (row: number, column: number) => Block | null,
): Margins | null {
  const largest = new Float32Array(rows);
  const sums = new Float64Array(columns);
  let complete = true;
  for (let row = 0; row * TILE < rows; ++row) {
    for (let column = 0; column * TILE < columns; ++column) {
      const block = tileAt(row, column);
      if (!block) complete = false;
      block?.values.forEach((value, at) => {
        if (Number.isNaN(value)) return;
        const q = row * TILE + Math.floor(at / block.columns);
        if (value > largest[q]!) largest[q] = value;
        sums[column * TILE + (at % block.columns)]! += value;
      });
    }
  }
  return complete ? { largest, sums: Float32Array.from(sums) } : null;
}
