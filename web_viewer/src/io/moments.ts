/** Means and spread of the same map of many prompts, cell by cell, some prompts at a time. */

import { restFactor } from '../format/rest';
import type { MapOfPrompt, Moments, MomentsArguments, RestSums } from './protocol';
import type { Hdf5Reader } from './reader';

/** Rows that are summed at a time. */
const BAND = 256;

/** Sums of the stored rows of a map without their first key. */
export function restSums(
  reader: Pick<Hdf5Reader, 'numbers'>,
  file: number,
  { path, index, rows, columns }: RestSums,
): Float64Array {
  const sums = new Float64Array(rows);
  for (let top = 0; top < rows; top += BAND) {
    const count = Math.min(BAND, rows - top);
    const slab = { start: [index, top, 0], count: [1, count, columns] };
    reader.numbers(file, path, slab).values.forEach((value, at) => {
      if (at % columns > 0) sums[top + Math.floor(at / columns)]! += value;
    });
  }
  return sums;
}

function empty(rows: number, columns: number): Moments {
  return {
    counts: new Uint32Array(rows),
    means: new Float64Array(rows * columns),
    squares: new Float64Array(rows * columns),
  };
}

/** What a row is multiplied by; null where nothing is left of it. A sum that is no number comes of a
 *  cell that is none, and then no cell of the row is one. */
function rowFactor({ rests }: MapOfPrompt, row: number): number | null {
  if (!rests) return 1;
  const factor = restFactor(rests[row]!);
  return Number.isNaN(factor) && !Number.isNaN(rests[row]!) ? null : factor;
}

/** Adds maps to what was summed before, by Welford's update, which does not subtract large sums. */
export function addMaps(
  reader: Pick<Hdf5Reader, 'numbers'>,
  { maps, region, before }: MomentsArguments,
): Moments {
  const { row, rows, column, columns } = region;
  const { counts, means, squares } = before ?? empty(rows, columns);
  for (const map of maps) {
    const slab = { start: [map.index, row, column], count: [1, rows, columns] };
    const { values } = reader.numbers(map.file, map.path, slab);
    for (let r = 0; r < rows; ++r) {
      const factor = rowFactor(map, row + r);
      if (factor === null) continue;
      const count = ++counts[r]!;
      for (let c = 0; c < columns; ++c) {
        const at = r * columns + c;
        const left = map.rests && column + c === 0 ? 0 : values[at]! * factor;
        const value = left * (map.keyFactor?.[column + c] ?? 1);
        const step = value - means[at]!;
        means[at]! += step / count;
        squares[at]! += step * (value - means[at]!);
      }
    }
  }
  return { counts, means, squares };
}
