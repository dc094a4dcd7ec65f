/** What the stored rows of a head sum to without their first key: what is left is rescaled by that. */

import { computed } from '@preact/signals';
import { Lru } from '../draw/lru';
import { TILE } from '../draw/heat_map';
import { positionOf } from '../model/positions';
import { headMap, isBlend, type HeadMap } from './map';
import { means } from './map_means';
import { arrivals, tile } from './tiles';
import { view } from './view';
import { mainRun } from './workspace';

/** Longer maps are not read whole, and statistics of their rows have to do. */
const MAX_LENGTH = 2048;

const known = new Lru<Float64Array>(4 * 1024 * 1024);

/** Whether whole rows can be at hand. */
export const canSumRows = computed<boolean>(() => {
  const map = headMap.value?.map;
  if (!map || isBlend.value || means.value) return false;
  return !map.keyPositions && map.shape[1] <= MAX_LENGTH && map.shape[2] <= MAX_LENGTH;
});

/** Sums over all keys but the first, by stored row; null while tiles are on their way. */
function sumRows(file: Parameters<typeof tile>[0], { map, index }: HeadMap): Float64Array | null {
  const [, rows, columns] = map.shape;
  const sums = new Float64Array(rows);
  let complete = true;
  for (let row = 0; row * TILE < rows; ++row) {
    const lastQuery = positionOf(map.queryPositions, Math.min(rows, (row + 1) * TILE) - 1);
    for (let column = 0; column * TILE < columns; ++column) {
      if (map.causal && column * TILE > lastQuery) break;
      const block = tile(file, map, index, 1, row, column);
      if (!block) complete = false;
      block?.values.forEach((value, at) => {
        const key = column * TILE + (at % block.columns);
        if (key > 0) sums[row * TILE + Math.floor(at / block.columns)]! += value;
      });
    }
  }
  return complete ? sums : null;
}

/** Those of the head on screen, read once they are needed. */
export const restSums = computed<Float64Array | null>(() => {
  const run = mainRun.value;
  const at = headMap.value;
  if (view.sink.value || !run || !at || !canSumRows.value) return null;
  const key = `${run.file.id}|${at.map.path}|${at.index}`;
  const before = known.get(key);
  if (before) return before;
  arrivals.value;
  const sums = sumRows(run.file, at);
  if (sums) known.set(key, sums, sums.byteLength);
  return sums;
});
