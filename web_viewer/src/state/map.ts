/** The map that the Head screen shows: where it is stored, and how its values are drawn. */

import { computed, effect, signal } from '@preact/signals';
import type { MapInfo } from '../format/types';
import { isStale } from '../io/errors';
import { orAbsent } from '../io/run_file';
import { MAX_TILES, TILE } from '../draw/heat_map';
import { BUCKETS, countBuckets, lookupTable, rankFromCounts, type ScaleSpec } from '../draw/scale';
import type { MaskRule } from '../draw/paint';
import { RAW, sinkFactors, transformed, type Block, type Transform } from '../draw/transform';
import { paintThumbnails, type Thumbnails } from '../draw/thumbnails';
import { parseHead, type HeadRef } from '../model/heads';
import { pick, positionOf } from '../model/positions';
import { shownHead } from './selection';
import { arrivals, cellValue, forgetQueuedTiles, tile } from './tiles';
import { view } from './view';
import { failWith, mainRun, prompt, stack } from './workspace';

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
  if (!map) return null;
  const index = map.heads ? map.heads.indexOf(head.head) : head.head;
  if (index < 0 || index >= map.shape[0]) return null;
  return { head, map, index, row: layers.indexOf(head.layer) };
}

export const headMap = computed<HeadMap | null>(() => {
  const data = stack.value;
  const head = shownHead.value;
  return data && head ? findMap(data.maps, data.layers, head) : null;
});

/** The maps that are drawn: that of the head, or those of the tray whose mean is asked for. */
export const drawnMaps = computed<HeadMap[]>(() => {
  const own = headMap.value;
  const data = stack.value;
  if (!own || !data) return [];
  if (!view.trayMean.value) return [own];
  const [, rows, columns] = own.map.shape;
  const all = view.tray.value
    .map(parseHead)
    .map((head) => head && findMap(data.maps, data.layers, head))
    .filter((map) => map !== null)
    // Layers of other windows or subsets have other cells.
    .filter(({ map }) => map.shape[1] === rows && map.shape[2] === columns);
  return all.length > 1 ? all : [own];
});

/** Whether the picture is a mean; values of single heads are then not what is seen. */
export const isMean = computed<boolean>(() => drawnMaps.value.length > 1);

/** A tile of what is drawn. */
export function drawnTile(level: number, row: number, column: number): Block | null {
  const run = mainRun.value;
  const maps = drawnMaps.value;
  if (!run) return null;
  const blocks = maps.map(({ map, index }) => tile(run.file, map, index, level, row, column));
  const [first] = blocks;
  if (!first || blocks.length === 1) return first ?? null;
  const values = new Float32Array(first.values.length);
  for (const block of blocks) {
    if (!block) return null;
    for (let i = 0; i < values.length; ++i) values[i]! += block.values[i]! / blocks.length;
  }
  return { ...first, values };
}

/** Statistics of the rows of one head, by name; null until they are read or if there are none. */
export interface RowData {
  key: string;
  columns: Map<string, Float32Array>;
  keySum: Float32Array | null;
  valueNorm: Float32Array | null;
  topIndex: Int32Array | null;
  topValue: Float32Array | null;
  topCount: number;
}

export const rowData = signal<RowData | null>(null);

const keyOf = (file: number, promptId: string, stackName: string, { layer, head }: HeadRef) =>
  `${file}|${promptId}|${stackName}|${layer}.${head}`;

async function loadRows(wanted: string): Promise<void> {
  const run = mainRun.peek();
  const data = stack.peek();
  const id = prompt.peek()?.id;
  const head = shownHead.peek();
  if (!run || !data || id === undefined || !head) return;
  const row = data.layers.indexOf(head.layer);
  const base = `/prompts/${id}/attention/${data.stack}`;
  const [queries, keys] = await extents(base);
  const options = { lane: 'rows', priority: 5 };
  const at = (count: number[]) => ({
    start: [row, head.head, ...count.map(() => 0)],
    count: [1, 1, ...count],
  });
  const read = (name: string, present: boolean, count: number[]) =>
    present
      ? orAbsent(run.file.numbers(`${base}/${name}`, at(count), options))
      : Promise.resolve(null);
  const names = data.rowStatNames;
  const [rows, keySum, valueNorm, topIndex, topValue] = await Promise.all([
    read('row_stats', names.length > 0, [queries, names.length]),
    read('key_sum', data.hasKeySum, [keys]),
    read('value_norm', data.hasValueNorm, [keys]),
    read('topk_index', data.topCount > 0, [queries, data.topCount]),
    read('topk_value', data.topCount > 0, [queries, data.topCount]),
  ]);
  const columns = new Map<string, Float32Array>();
  names.forEach((name, column) => {
    if (!rows) return;
    columns.set(
      name,
      Float32Array.from({ length: queries }, (_, q) => rows.values[q * names.length + column]!),
    );
  });
  rowData.value = {
    key: wanted,
    columns,
    keySum: keySum ? Float32Array.from(keySum.values) : null,
    valueNorm: valueNorm ? Float32Array.from(valueNorm.values) : null,
    topIndex: topIndex ? Int32Array.from(topIndex.values) : null,
    topValue: topValue ? Float32Array.from(topValue.values) : null,
    topCount: data.topCount,
  };

  async function extents(path: string): Promise<[number, number]> {
    const [rowInfo, keyInfo] = await Promise.all([
      run!.file.describe(`${path}/row_stats`),
      run!.file.describe(`${path}/key_sum`),
    ]);
    return [rowInfo?.shape[2] ?? 0, keyInfo?.shape[2] ?? 0];
  }
}

/** Reads the rows of a head whenever another one is shown; tiles of the old one are forgotten. */
export function followHead(): void {
  effect(() => {
    const run = mainRun.value;
    const data = stack.value;
    const id = prompt.value?.id;
    const head = shownHead.value;
    if (view.screen.value !== 'head' || !run || !data || id === undefined || !head) return;
    const key = keyOf(run.file.id, id, data.stack, head);
    if (rowData.peek()?.key === key) return;
    forgetQueuedTiles();
    loadRows(key).catch((error: unknown) => {
      if (!isStale(error)) failWith(run.summary.name, error);
    });
  });
}

/** Row data only if it is that of the head on screen. */
export const currentRows = computed<RowData | null>(() => {
  const run = mainRun.value;
  const data = stack.value;
  const id = prompt.value?.id;
  const head = shownHead.value;
  if (!run || !data || id === undefined || !head) return null;
  const rows = rowData.value;
  return rows?.key === keyOf(run.file.id, id, data.stack, head) ? rows : null;
});

/** The transform by positions, for what the file keeps of every query: strongest keys, sums. */
export const fullTransform = computed<Transform>(() => {
  if (isMean.value) return RAW;
  const rows = currentRows.value;
  const sink = rows?.columns.get('sink');
  const hideFirst = !view.sink.value && sink !== undefined;
  const keyFactor = view.valueWeighted.value ? (rows?.valueNorm ?? null) : null;
  if (!hideFirst && !keyFactor) return RAW;
  return {
    hideFirst,
    rowFactor: hideFirst ? sinkFactors(sink, rows?.columns.get('learned_sink') ?? null) : null,
    keyFactor,
  };
});

/** The same by rows and columns of the map. */
export const transform = computed<Transform>(() => {
  const full = fullTransform.value;
  const map = headMap.value?.map;
  if (full === RAW || !map) return full;
  const { queryPositions, keyPositions } = map;
  return {
    hideFirst: full.hideFirst && positionOf(keyPositions, 0) === 0,
    rowFactor: full.rowFactor && pick(full.rowFactor, queryPositions),
    keyFactor: full.keyFactor && pick(full.keyFactor, keyPositions),
  };
});

export const maskRule = computed<MaskRule>(() => {
  const map = headMap.value?.map;
  return {
    causal: map?.causal ?? false,
    window: map?.window ?? 0,
    queryPositions: map?.queryPositions ?? null,
    keyPositions: map?.keyPositions ?? null,
    hideFirst: transform.value.hideFirst,
  };
});

/** The largest value that the map can show, after the transform. */
const headMaximum = computed<number>(() => {
  const rows = currentRows.value;
  const top = rows?.topValue;
  if (!rows || !top) return 1;
  let most = 0;
  for (let at = 0; at < top.length; ++at) {
    const row = Math.floor(at / rows.topCount);
    const value = transformed(fullTransform.value, top[at]!, row, rows.topIndex?.[at] ?? 0);
    if (value > most) most = value;
  }
  return most || 1;
});

export const mapScale = computed<ScaleSpec>(() => ({
  kind: view.scale.value,
  low: 0,
  high: view.domain.value === 'head' || view.valueWeighted.value ? headMaximum.value : 1,
  map: view.color.value,
}));

/** Ranks over the tiles that are here; the status line says so where that is not the whole map. */
const rankOf = computed(() => {
  if (view.scale.value !== 'rank') return undefined;
  const at = headMap.value;
  const run = mainRun.value;
  arrivals.value;
  const counts = new Uint32Array(BUCKETS);
  if (at && run) {
    const level = at.map.levels.at(-1) ?? 1;
    const rows = Math.ceil(at.map.shape[1] / level / 256);
    const columns = Math.ceil(at.map.shape[2] / level / 256);
    if (rows * columns > MAX_TILES) return undefined;
    for (let r = 0; r < rows; ++r) {
      for (let c = 0; c < columns; ++c) {
        const block = tile(run.file, at.map, at.index, level, r, c);
        if (block) countBuckets(block.values, counts);
      }
    }
  }
  return rankFromCounts(counts);
});

export const mapTable = computed<Uint32Array>(() => lookupTable(mapScale.value, rankOf.value));

/** Changes with everything that changes the values that are drawn. */
export const dataVersion = computed<string>(() => {
  const at = headMap.value;
  const parts: unknown[] = [mainRun.value?.file.id, at?.map.path, at?.index];
  if (isMean.value) parts.push(...drawnMaps.value.map(({ map, index }) => `${map.path}.${index}`));
  if (transform.value !== RAW) {
    parts.push(currentRows.value?.key, view.sink.value, view.valueWeighted.value);
  }
  return parts.join('|');
});

/** Changes with everything that changes their colours. */
export const colorVersion = computed<string>(() => {
  const { kind, high, map } = mapScale.value;
  return [kind, high, map, kind === 'rank' ? arrivals.value : ''].join('|');
});

/** Exact stored value of a cell (of a mean: the mean of those), null while it is read. */
export function storedValue(row: number, column: number): number | null {
  const run = mainRun.value;
  const maps = drawnMaps.value;
  if (!run || maps.length === 0) return null;
  let sum = 0;
  for (const { map, index } of maps) {
    const value = cellValue(run.file, map, index, row, column);
    if (value === null) return null;
    sum += value;
  }
  return sum / maps.length;
}

/** The overview of the head on screen alone: for the minimap, and while tiles are on their way. */
export const preview = computed<Thumbnails | null>(() => {
  const data = stack.value;
  const at = headMap.value;
  // It is of all positions, a subset of which looks otherwise.
  if (!data?.overview || !at || isMean.value) return null;
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
      tile(run.file, at.map, next, 1, row, column, -1);
    }
  }
}

/** Rows of a stored pattern sum to one, up to the rounding of the coarsest kind of map. */
const SUM_TOLERANCE = 5e-3;
const CHECKED_LENGTH = 1024;

/** Rows whose weights do not sum to what the file says; only of maps that are read whole. */
export const faultyRows = computed<number>(() => {
  const at = headMap.value;
  const [, rows = 0, columns = 0] = at?.map.shape ?? [];
  const learned = currentRows.value?.columns.get('learned_sink');
  const known = at?.map.rowSum === 'one' || (at?.map.rowSum === 'sink' && learned !== undefined);
  if (!at || !known || isMean.value || at.map.keyPositions) return 0;
  if (rows > CHECKED_LENGTH || columns > CHECKED_LENGTH) return 0;
  arrivals.value;
  const sums = new Float64Array(rows);
  for (let row = 0; row * TILE < rows; ++row) {
    for (let column = 0; column * TILE < columns; ++column) {
      const block = drawnTile(1, row, column);
      if (!block) return 0;
      block.values.forEach((value, i) => {
        sums[row * TILE + Math.floor(i / block.columns)]! += value;
      });
    }
  }
  const sinkOf = (q: number) =>
    at.map.rowSum === 'sink' ? (learned?.[positionOf(at.map.queryPositions, q)] ?? 0) : 0;
  const wrong = (sum: number, q: number) => Math.abs(sum + sinkOf(q) - 1) > SUM_TOLERANCE;
  // A row without any mass is one that sees nothing; one with NaN is hatched and counted already.
  return sums.filter((sum, q) => sum !== 0 && wrong(sum, q)).length;
});
