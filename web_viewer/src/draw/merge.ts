/** Cells of words out of those of pieces: sums over keys, means over queries. */

import { spanOf, type Axis } from '../model/axis';
import { TILE } from './heat_map';
import type { Block } from './transform';

/** Rows and columns as they are shown. */
export interface Region {
  row: number;
  rows: number;
  column: number;
  columns: number;
}

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

/** Gathers stored cells into a region of shown ones. */
export class Merger {
  /** The stored rows and columns that are needed. */
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
  readonly #region: Region;
  readonly #rowOf: Int32Array;
  readonly #columnOf: Int32Array;
  readonly #sums: Float64Array;
  /** Stored queries of each row; those of which nothing is left are no part of a mean. */
  readonly #queries: Float64Array;
  readonly #isEmptyRow: (row: number) => boolean;

  constructor(rows: Axis, columns: Axis, region: Region, isEmptyRow: (row: number) => boolean) {
    const span = (axis: Axis, first: number, count: number): [number, number] => [
      spanOf(axis, first)[0],
      spanOf(axis, first + count - 1)[1],
    ];
    [this.top, this.bottom] = span(rows, region.row, region.rows);
    [this.left, this.right] = span(columns, region.column, region.columns);
    this.#region = region;
    this.#isEmptyRow = isEmptyRow;
    this.#rowOf = places(rows, region.row, this.top, this.bottom);
    this.#columnOf = places(columns, region.column, this.left, this.right);
    this.#sums = new Float64Array(region.rows * region.columns);
    this.#queries = new Float64Array(region.rows);
    for (let q = this.top; q < this.bottom; ++q) {
      if (!isEmptyRow(q)) ++this.#queries[this.#rowOf[q - this.top]!]!;
    }
  }

  /** Adds what is needed of a block that begins at a stored row and column. */
  add(block: Block, firstRow: number, firstColumn: number): void {
    const [top, left] = [this.top, this.left];
    const [fromQ, toQ] = [Math.max(top, firstRow), Math.min(this.bottom, firstRow + block.rows)];
    const fromK = Math.max(left, firstColumn);
    const toK = Math.min(this.right, firstColumn + block.columns);
    for (let q = fromQ; q < toQ; ++q) {
      if (this.#isEmptyRow(q)) continue;
      const line = this.#rowOf[q - top]! * this.#region.columns;
      const source = (q - firstRow) * block.columns - firstColumn;
      for (let k = fromK; k < toK; ++k) {
        this.#sums[line + this.#columnOf[k - left]!]! += block.values[source + k]!;
      }
    }
  }

  /** NaN in rows of which nothing is left. */
  values(): Float32Array<ArrayBuffer> {
    const { columns } = this.#region;
    return Float32Array.from(
      this.#sums,
      (sum, at) => sum / this.#queries[Math.floor(at / columns)]!,
    );
  }
}

/** The block of words that begins at (row, column), from tiles of pieces; null while one is on its way. */
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
  const merger = new Merger(
    rows,
    columns,
    { row, rows: height, column, columns: width },
    isEmptyRow,
  );
  let complete = true;
  for (let r = Math.floor(merger.top / TILE); r * TILE < merger.bottom; ++r) {
    for (let c = Math.floor(merger.left / TILE); c * TILE < merger.right; ++c) {
      const block = tileAt(r, c);
      if (!block) complete = false;
      else merger.add(block, r * TILE, c * TILE);
    }
  }
  return complete ? { values: merger.values(), rows: height, columns: width } : null;
}
