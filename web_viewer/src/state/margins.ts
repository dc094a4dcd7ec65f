/** What each row has at most and each key gets in all, of cells that the file keeps no sums of. */

import { computed } from '@preact/signals';
import { marginsOf, type Margins } from '../draw/margins';
import { RAW, transformBlock } from '../draw/transform';
import { TILE } from '../draw/heat_map';
import {
  keyAxis,
  queryAxis,
  shownTile,
  shownTransform,
  transform,
  transformPending,
} from './cells';
import { drawnTile, headMap, isBlend } from './map';
import { means } from './map_means';
import { currentRows } from './rows';
import { arrivals } from './tiles';

/** Only maps that are read whole anyway are summed. */
const MAX_LENGTH = 1024;

const summed = (rows: number, columns: number): boolean =>
  rows > 0 && columns > 0 && rows <= MAX_LENGTH && columns <= MAX_LENGTH;

/** Of the cells as they are drawn; null while tiles are on their way, and of long maps. */
export const shownMargins = computed<Margins | null>(() => {
  const [rows, columns] = [queryAxis.value.count, keyAxis.value.count];
  if (!headMap.value || !summed(rows, columns)) return null;
  arrivals.value;
  return marginsOf(rows, columns, (row, column) => {
    const block = shownTile(1, row, column);
    return block && transformBlock(shownTransform.value, block, row * TILE, column * TILE, 1);
  });
});

/** What each key gets in all, by position; null where it is not known. */
const keySums = computed<Float32Array | null>(() => {
  const rows = currentRows.value;
  const { hideFirst, keyFactor } = transform.value;
  if (isBlend.value || transformPending.value) return null;
  // The length of a value is a factor of all that its key gets.
  if (rows?.keySum && !hideFirst && (!keyFactor || rows.valueNorm)) {
    return keyFactor ? rows.keySum.map((sum, key) => sum * rows.valueNorm![key]!) : rows.keySum;
  }
  const map = headMap.value?.map;
  if (!map || map.queryPositions || map.keyPositions) return null;
  if (!summed(map.shape[1], map.shape[2])) return null;
  arrivals.value;
  const margins = marginsOf(map.shape[1], map.shape[2], (row, column) => {
    const block = drawnTile(1, row, column);
    return block && transformBlock(transform.value, block, row * TILE, column * TILE, 1);
  });
  return margins?.sums ?? null;
});

/** What each key gets on average from the rows that see it, by position. */
export const keyMeans = computed<Float32Array | null>(() => {
  const sums = keySums.value;
  const map = headMap.value?.map;
  if (!sums || !map) return null;
  const { rowFactor } = transform.value;
  const queries = currentRows.value?.queries ?? map.shape[1];
  // Rows up to each of which something is left.
  const before = new Float64Array(queries + 1);
  for (let q = 0; q < queries; ++q) {
    before[q + 1] = before[q]! + (rowFactor && Number.isNaN(rowFactor[q]!) ? 0 : 1);
  }
  return sums.map((sum, key) => {
    const first = map.causal ? Math.min(key, queries) : 0;
    const end = map.window > 0 ? Math.min(queries, key + map.window) : queries;
    const count = before[end]! - before[first]!;
    return count > 0 ? sum / count : 0;
  });
});

/** Whether the file itself keeps the sums of what is drawn. */
export const isRaw = computed<boolean>(
  () => !isBlend.value && !means.value && transform.value === RAW,
);
