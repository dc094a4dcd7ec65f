/** Cells of words out of those of pieces: sums over keys, means over queries. */

import { spanOf, type Axis } from '../model/axis';
import { TILE } from './heat_map';
import type { Block } from './transform';

/** Which of the shown ones from `first` on holds each stored one of [begin, end). */
function places(axis: Axis, first: number, begin: number, end: number): Int32Array {
  const out = new Int32Array(end - begin);
  let at = first;
  for (let i = begin; i < end; ++i) {
    while (i >= spanOf(axis, at)[1]) ++at;
    out[i - begin] = at - first;
  }
  return out;
}

/**
 * The block of words that begins at (row, column), from tiles of pieces; null while one is on its
 * way. Queries of which nothing is left are no part of a mean.
 */
export function mergedBlock(
  rows: Axis,
  columns: Axis,
  row: number,
  column: number,
  tileAt: (row: number, column: number) => Block | null,
  isEmptyRow: (row: number) => boolean,
): Block | null {
  const height = Math.min(TILE, rows.count - row);
  const width = Math.min(TILE, columns.count - column);
  const [top, bottom] = [spanOf(rows, row)[0], spanOf(rows, row + height - 1)[1]];
  const [left, right] = [spanOf(columns, column)[0], spanOf(columns, column + width - 1)[1]];
  const rowOf = places(rows, row, top, bottom);
  const columnOf = places(columns, column, left, right);
  const sums = new Float64Array(height * width);
  const queries = new Float64Array(height);
  for (let q = top; q < bottom; ++q) if (!isEmptyRow(q)) ++queries[rowOf[q - top]!]!;

  let complete = true;
  for (let tileRow = Math.floor(top / TILE); tileRow * TILE < bottom; ++tileRow) {
    for (let tileColumn = Math.floor(left / TILE); tileColumn * TILE < right; ++tileColumn) {
      const block = tileAt(tileRow, tileColumn);
      if (!block) complete = false;
      else addTile(block, tileRow * TILE, tileColumn * TILE);
    }
  }
  if (!complete) return null;
  const values = Float32Array.from(sums, (sum, at) => sum / queries[Math.floor(at / width)]!);
  return { values, rows: height, columns: width };

  function addTile(block: Block, firstRow: number, firstColumn: number): void {
    const [fromQ, toQ] = [Math.max(top, firstRow), Math.min(bottom, firstRow + block.rows)];
    const fromK = Math.max(left, firstColumn);
    const toK = Math.min(right, firstColumn + block.columns);
    for (let q = fromQ; q < toQ; ++q) {
      if (isEmptyRow(q)) continue;
      const line = rowOf[q - top]! * width;
      const source = (q - firstRow) * block.columns - firstColumn;
      for (let k = fromK; k < toK; ++k) {
        sums[line + columnOf[k - left]!]! += block.values[source + k]!;
      }
    }
  }
}
