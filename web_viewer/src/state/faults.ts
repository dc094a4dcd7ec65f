/** Cells and rows of a map that are not as they should be, and where the first of them is. */

import { computed, signal } from '@preact/signals';
import { TILE } from '../draw/heat_map';
import { positionOf } from '../model/positions';
import { shownTile } from './cells';
import { drawnTile, headMap, isBlend } from './map';
import { means } from './map_means';
import { currentRows } from './rows';
import { arrivals } from './tiles';
import { view } from './view';
import type { MapInfo } from '../format/types';

/** The first cell on screen that is not a number; the painter of the map tells. */
export const firstMissing = signal<{ row: number; column: number } | null>(null);

/** Only maps that are read whole anyway are summed. */
const CHECKED_LENGTH = 1024;
/** Sums of what 32-bit arithmetic made are no closer than this to one. */
const FLOAT_SLACK = 1e-6;

/** How far rows may be from one, by how they are stored (SCHEMA.md). */
function sumTolerance({ mapDtype, floor, shape }: MapInfo): number {
  const rounded = 2 ** -11 + FLOAT_SLACK;
  if (mapDtype === 'f16' || floor > 0) return rounded + shape[2] * 2 ** -24;
  return mapDtype === 'r10' ? rounded : FLOAT_SLACK;
}

/** Whether what is drawn of a row sums to what its stored weights do: so do means over prompts. */
function areWeights(): boolean {
  if (!means.value) return !isBlend.value;
  const { at, hideFirst, weighed } = means.value;
  return view.over.value === 'mean' && !hideFirst && !weighed && at.map.rowSum === 'one';
}

export interface Faults {
  count: number;
  /** Row of the first. */
  first: number;
}

const NONE: Faults = { count: 0, first: -1 };

/** Rows whose weights do not sum to what the file says; none while tiles are on their way. */
export const faultyRows = computed<Faults>(() => {
  const at = headMap.value;
  const [, rows = 0, columns = 0] = at?.map.shape ?? [];
  const learned = currentRows.value?.columns.get('learned_sink');
  const known = at?.map.rowSum === 'one' || (at?.map.rowSum === 'sink' && learned !== undefined);
  if (!at || !known || !areWeights() || at.map.keyPositions) return NONE;
  if (rows > CHECKED_LENGTH || columns > CHECKED_LENGTH) return NONE;
  arrivals.value;
  const sums = new Float64Array(rows);
  for (let row = 0; row * TILE < rows; ++row) {
    for (let column = 0; column * TILE < columns; ++column) {
      const block = means.value ? shownTile(1, row, column) : drawnTile(1, row, column);
      if (!block) return NONE;
      block.values.forEach((value, i) => {
        sums[row * TILE + Math.floor(i / block.columns)]! += value;
      });
    }
  }
  const tolerance = sumTolerance(at.map);
  const sinkOf = (q: number) =>
    at.map.rowSum === 'sink' ? (learned?.[positionOf(at.map.queryPositions, q)] ?? 0) : 0;
  // A row without any mass is one that sees nothing; one with NaN is hatched and counted already.
  const wrong = (sum: number, q: number) => sum !== 0 && Math.abs(sum + sinkOf(q) - 1) > tolerance;
  let found = NONE;
  sums.forEach((sum, q) => {
    if (wrong(sum, q)) found = { count: found.count + 1, first: found.count > 0 ? found.first : q };
  });
  return found;
});
