/** The map that the Head screen shows: where it is stored, and the tiles of it or of the tray. */

import { computed } from '@preact/signals';
import type { MapInfo } from '../format/types';
import { TILE } from '../draw/heat_map';
import type { Block, Pool } from '../draw/transform';
import { paintThumbnails, type Thumbnails } from '../draw/thumbnails';
import type { HeadRef } from '../model/heads';
import { shownHead, trayHeads } from './selection';
import { cellValue, tile } from './tiles';
import { view } from './view';
import { mainRun, stack } from './workspace';

/** A head's map in a file. */
export interface HeadMap {
  head: HeadRef;
  map: MapInfo;
  /** Index along the first axis of the dataset. */
  index: number;
  /** Row of the layer in the arrays of its stack. */
  row: number;
}

export function findMap(
  maps: readonly MapInfo[],
  layers: readonly number[],
  head: HeadRef,
): HeadMap | null {
  const map = maps.find((candidate) => candidate.layer === head.layer);
  if (!map || map.fault !== null) return null;
  const index = map.heads ? map.heads.indexOf(head.head) : head.head;
  if (index < 0 || index >= map.shape[0]) return null;
  return { head, map, index, row: layers.indexOf(head.layer) };
}

export const headMap = computed<HeadMap | null>(() => {
  const data = stack.value;
  const head = shownHead.value;
  return data && head ? findMap(data.maps, data.layers, head) : null;
});

/** The maps that are drawn: that of the head, or those of the tray of which one is made. */
export const drawnMaps = computed<HeadMap[]>(() => {
  const own = headMap.value;
  if (!own) return [];
  const blends = view.trayMode.value !== 'off' && view.over.value === 'off';
  if (!blends || view.view.value !== 'map') return [own];
  return trayMaps.value.length > 1 ? trayMaps.value : [own];
});

/** The maps of the tray that can be drawn as one with that of the head. */
export const trayMaps = computed<HeadMap[]>(() => {
  const own = headMap.value;
  const data = stack.value;
  if (!own || !data) return [];
  const [, rows, columns] = own.map.shape;
  return (
    trayHeads.value
      .map((head) => findMap(data.maps, data.layers, head))
      .filter((map) => map !== null)
      // Layers of other windows or subsets have other cells.
      .filter(({ map }) => map.shape[1] === rows && map.shape[2] === columns)
  );
});

/** Whether the picture is of several heads; values of single ones are then not what is seen. */
export const isBlend = computed<boolean>(() => drawnMaps.value.length > 1);

export const blendName = (): string => (view.trayMode.value === 'max' ? 'largest' : 'mean');

/** One value of those of several heads. */
export function blended(values: readonly number[]): number {
  if (values.length === 1) return values[0]!;
  const most = view.trayMode.value === 'max';
  let out = most ? -Infinity : 0;
  for (const value of values) out = most ? Math.max(out, value) : out + value / values.length;
  return out;
}

/** What a pixel shows that stands for several cells; levels of means are not in every file. */
export const pool = computed<Pool>(() => {
  const levels = headMap.value?.map.levels;
  const known = levels && (levels.mean.length > 0 || levels.max.length === 0);
  return view.pool.value === 'mean' && known ? 'mean' : 'max';
});

/** Coarser levels of what is drawn; the largest of several heads has none of means. */
export const drawnLevels = computed<readonly number[]>(() => {
  const levels = headMap.value?.map.levels;
  if (!levels || (isBlend.value && blendName() !== blendOf(pool.value))) return [];
  return pool.value === 'mean' ? levels.mean : levels.max;
});

const blendOf = (kind: Pool): string => (kind === 'mean' ? 'mean' : 'largest');

/** A tile of the stored map of one prompt, or of those of the tray. */
export function drawnTile(level: number, row: number, column: number): Block | null {
  const run = mainRun.value;
  const maps = drawnMaps.value;
  if (!run) return null;
  const kind = pool.value;
  const blocks = maps.map(({ map, index }) => tile(run.file, map, index, level, row, column, kind));
  const [first] = blocks;
  if (!first || blocks.length === 1) return first ?? null;
  if (blocks.some((block) => !block)) return null;
  const values = Float32Array.from(first.values, (_, at) =>
    blended(blocks.map((block) => block!.values[at]!)),
  );
  return { ...first, values };
}

/** Exact stored value of a cell (of several heads: their mean or largest), null while it is read. */
export function storedValue(row: number, column: number): number | null {
  const run = mainRun.value;
  const maps = drawnMaps.value;
  if (!run || maps.length === 0) return null;
  const values = maps.map(({ map, index }) => cellValue(run.file, map, index, row, column));
  return values.some((value) => value === null) ? null : blended(values as number[]);
}

/** The overview of the head on screen alone: for the minimap, and while tiles are on their way. */
export const preview = computed<Thumbnails | null>(() => {
  const data = stack.value;
  const at = headMap.value;
  // It is of all positions, a subset of which looks otherwise.
  if (!data?.overview || !at || isBlend.value) return null;
  if (at.map.queryPositions || at.map.keyPositions) return null;
  const { rows, columns, values } = data.overview;
  const size = rows * columns;
  const begin = (at.row * data.width + at.head.head) * size;
  const own = { rows, columns, values: values.subarray(begin, begin + size) };
  return paintThumbnails(own, view.color.value, view.scale.value, at.map.causal);
});

/** Maps up to this length are read ahead: 16 tiles a head. */
const PREFETCH_LENGTH = 1024;

/** Reads the map of the next head while nothing else is wanted, so that stepping does not wait. */
export function prefetchNext(): void {
  const at = headMap.peek();
  const run = mainRun.peek();
  if (!at || !run || at.map.shape[1] > PREFETCH_LENGTH || at.map.shape[2] > PREFETCH_LENGTH) return;
  const next = at.index + 1;
  if (next >= at.map.shape[0]) return;
  for (let row = 0; row * TILE < at.map.shape[1]; ++row) {
    for (let column = 0; column * TILE < at.map.shape[2]; ++column) {
      // Tiles that lie wholly behind a causal mask are not stored either.
      if (at.map.causal && column > row) continue;
      tile(run.file, at.map, next, 1, row, column, 'max', -1);
    }
  }
}
