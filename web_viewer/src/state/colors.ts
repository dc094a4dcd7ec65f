/** How the values of the map on screen become colours: scale, ends, and what they stand for. */

import { computed } from '@preact/signals';
import { MAX_TILES, TILE } from '../draw/heat_map';
import { BUCKETS, countBuckets, lookupTable, rankFromCounts, type ScaleSpec } from '../draw/scale';
import { transformBlock, transformed, type Block } from '../draw/transform';
import {
  changes,
  fullTransform,
  isMerged,
  keyAxis,
  queryAxis,
  shownLevels,
  shownTile,
  shownTransform,
} from './cells';
import { headMap, isBlend, pool } from './map';
import { means, meansName } from './map_means';
import { currentRows } from './rows';
import { arrivals } from './tiles';
import { view } from './view';
import { stack } from './workspace';

/** Tiles of the coarsest level of what is shown, as far as they are here. */
function coarseTiles(): Block[] {
  const level = shownLevels.value.at(-1) ?? 1;
  const rows = Math.ceil(queryAxis.value.count / level / TILE);
  const columns = Math.ceil(keyAxis.value.count / level / TILE);
  arrivals.value;
  const out: Block[] = [];
  if (!headMap.value || rows * columns > MAX_TILES) return out;
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const block = shownTile(level, row, column);
      if (!block) continue;
      const [top, left] = [row * TILE, column * TILE];
      out.push(transformBlock(shownTransform.value, block, top, left, level, pool.value));
    }
  }
  return out;
}

/** The largest value that the map can show, after the transform. */
const headMaximum = computed<number>(() => {
  const rows = currentRows.value;
  const top = rows?.topValue;
  let most = 0;
  if (rows && top && !isMerged.value && !isBlend.value && !means.value) {
    for (let at = 0; at < top.length; ++at) {
      const row = Math.floor(at / rows.topCount);
      const value = transformed(fullTransform.value, top[at]!, row, rows.topIndex?.[at] ?? 0);
      if (value > most) most = value;
    }
  } else {
    for (const { values } of coarseTiles()) {
      for (const value of values) if (value > most) most = value;
    }
  }
  return most || 1;
});

/** Largest weight of the heads of a layer, or of all, of which the overview keeps 255·√. */
function overviewMaximum(all: boolean): number | null {
  const data = stack.value;
  const row = headMap.value?.row ?? -1;
  if (!data?.overview || row < 0) return null;
  const { rows, columns, values } = data.overview;
  const layer = data.width * rows * columns;
  const part = all ? values : values.subarray(row * layer, (row + 1) * layer);
  const most = part.reduce((top, value) => Math.max(top, value), 0);
  return most > 0 ? (most / 255) ** 2 : null;
}

/** Whether colours can run to the largest weight of a layer: only stored weights have one. */
export const hasLayerRange = computed<boolean>(
  () => !view.valueWeighted.value && !means.value && overviewMaximum(false) !== null,
);

/** Whether the spread over prompts is drawn. */
export const isSpread = computed<boolean>(() => means.value !== null && view.over.value === 'sd');

/** The ends that were chosen; `largest` is asked only where they run to the largest value. */
export function rangeEnds(largest: () => number): [low: number, high: number] {
  const [low = 0, high = 1] = view.range.value;
  switch (view.domain.value) {
    case 'fixed':
      return high > low ? [low, high] : [0, 1];
    case 'layer':
    case 'all':
      if (!hasLayerRange.value) break;
      return [0, overviewMaximum(view.domain.value === 'all') ?? 1];
    case 'unit':
      // Weighed by value one is no bound, and a spread is far below it.
      if (!view.valueWeighted.value && !isSpread.value) return [0, 1];
      break;
    case 'head':
      break;
  }
  return [0, largest()];
}

const ends = computed(() => rangeEnds(() => headMaximum.value));

export const mapScale = computed<ScaleSpec>(() => ({
  kind: view.scale.value,
  low: ends.value[0],
  high: ends.value[1],
  map: view.color.value,
}));

/** What the numbers of the colour bar are. */
export const scaleWords = computed<string>(() => {
  const parts: string[] = [];
  if (means.value) parts.push(meansName());
  if (changes.value.weighed) {
    parts.push('weight × length of value, 0 to the largest of this head');
  }
  if (changes.value.hideFirst) parts.push('without the first token');
  if (isMerged.value) parts.push('words: sums over keys, means over queries');
  return parts.join('; ');
});

/** Ranks over the tiles that are here. */
const rankOf = computed(() => {
  if (view.scale.value !== 'rank') return undefined;
  const counts = new Uint32Array(BUCKETS);
  for (const { values } of coarseTiles()) countBuckets(values, counts);
  return rankFromCounts(counts);
});

export const mapTable = computed<Uint32Array>(() => lookupTable(mapScale.value, rankOf.value));

/** Changes with everything that changes the colours. */
export const colorVersion = computed<string>(() => {
  const { kind, low, high, map } = mapScale.value;
  return [kind, low, high, map, kind === 'rank' ? arrivals.value : ''].join('|');
});
