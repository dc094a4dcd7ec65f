/** The cells that are shown of a map: stored ones or those of words, and what is drawn of each. */

import { computed } from '@preact/signals';
import { Lru } from '../draw/lru';
import { mergedBlock } from '../draw/merge';
import { TILE } from '../draw/heat_map';
import { isMasked, type MaskRule } from '../draw/paint';
import {
  nothingLeft,
  RAW,
  sinkFactors,
  transformBlock,
  transformed,
  type Block,
  type Transform,
} from '../draw/transform';
import { restFactor } from '../format/rest';
import { endsOf, plainAxis, spanOf, wordAxis, type Axis } from '../model/axis';
import { pick, positionOf, type Positions } from '../model/positions';
import { wordNumbers } from '../model/words';
import type { Tokens } from '../format/types';
import { drawnLevels, drawnMaps, drawnTile, headMap, isBlend, storedValue } from './map';
import { knownMeanTile, means, shownMeanTile, type MapMeans, type MeanTile } from './map_means';
import { currentRows, type RowData } from './rows';
import { canSumRows, restSums } from './row_sums';
import { arrivals } from './tiles';
import { view } from './view';
import { mainRun, prompt, stack } from './workspace';

function wordsOf(tokens: Tokens | undefined): Int32Array | null {
  // Other prompts have other words.
  if (!view.words.value || !tokens || means.value) return null;
  return wordNumbers(tokens, prompt.value?.text ?? '');
}

/** Number of the word of every piece on either side; null where pieces are not merged. */
export const wordsOfSides = computed(() => {
  const name = stack.value?.stack ?? 'self';
  const [own, other] = [prompt.value?.queryTokens[name], prompt.value?.keyTokens[name]];
  const queries = wordsOf(own);
  return { queries, keys: own === other ? queries : wordsOf(other) };
});

/** An axis that stays the same object while it is the same, so that its labels do too. */
function axisMaker(): (count: number, stored: Positions, words: Int32Array | null) => Axis {
  let made: { of: unknown[]; axis: Axis } | null = null;
  return (count, stored, words) => {
    const of = [count, stored, words];
    if (made && of.every((part, at) => part === made!.of[at])) return made.axis;
    const axis =
      words && words.length > 0 ? wordAxis(count, stored, words) : plainAxis(count, stored);
    made = { of, axis };
    return axis;
  };
}

const makeQueryAxis = axisMaker();
const makeKeyAxis = axisMaker();

export const queryAxis = computed<Axis>(() => {
  const map = headMap.value?.map;
  return makeQueryAxis(map?.shape[1] ?? 0, map?.queryPositions ?? null, wordsOfSides.value.queries);
});

export const keyAxis = computed<Axis>(() => {
  const map = headMap.value?.map;
  return makeKeyAxis(map?.shape[2] ?? 0, map?.keyPositions ?? null, wordsOfSides.value.keys);
});

export const isMerged = computed<boolean>(
  () => queryAxis.value.begin !== null || keyAxis.value.begin !== null,
);

/** By position: from the stored rows themselves where they are at hand, else from their statistics. */
function firstKeyFactors(sink: Float32Array, rows: RowData): Float32Array {
  const factors = sinkFactors(sink, rows.columns.get('learned_sink') ?? null);
  const stored = headMap.value?.map.queryPositions ?? null;
  restSums.value?.forEach((sum, row) => {
    // A row with a cell that is not a number has no sum.
    if (!Number.isNaN(sum)) factors[positionOf(stored, row)] = restFactor(sum);
  });
  return factors;
}

/** The transform by positions, for what the file keeps of every query: strongest keys, sums. */
export const fullTransform = computed<Transform>(() => {
  if (isBlend.value || means.value) return RAW;
  const rows = currentRows.value;
  const sink = rows?.columns.get('sink');
  const hideFirst = !view.sink.value && sink !== undefined;
  const keyFactor = view.valueWeighted.value ? (rows?.valueNorm ?? null) : null;
  if (!rows || (!hideFirst && !keyFactor)) return RAW;
  return { hideFirst, rowFactor: hideFirst ? firstKeyFactors(sink, rows) : null, keyFactor };
});

/** Whether what was asked for is drawn only when more has been read. */
export const transformPending = computed<boolean>(() => {
  if (isBlend.value || means.value || (view.sink.value && !view.valueWeighted.value)) return false;
  if (!currentRows.value) return true;
  return fullTransform.value.hideFirst && canSumRows.value && restSums.value === null;
});

/** The same by rows and columns that are stored. */
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

/** Whether nothing is left of a stored row without its first key. */
const isEmptyRow = (row: number): boolean => nothingLeft(transform.value, row);

/** What becomes of stored weights before they are drawn, or before they are averaged. */
export const changes = computed<{ hideFirst: boolean; weighed: boolean }>(() => {
  const { hideFirst, keyFactor } = transform.value;
  return means.value ?? { hideFirst, weighed: keyFactor !== null };
});

/** Rows of which nothing is left in any prompt, as far as their tiles are here. */
function emptyMeanRows(of: MapMeans): Uint8Array | null {
  arrivals.value;
  const [, rows, columns] = of.at.map.shape;
  const marks = new Uint8Array(rows);
  for (let row = 0; row < rows; row += TILE) {
    const known = Array.from({ length: Math.ceil(columns / TILE) }, (_, column) =>
      knownMeanTile(of, row / TILE, column),
    ).find((tile) => tile && tile.counts.length > 0);
    known?.counts.forEach((count, at) => (marks[row + at] = count === 0 ? 1 : 0));
  }
  return marks.includes(1) ? marks : null;
}

/** Rows that are shown of which nothing is left; null if there is none. */
export const emptyRows = computed<Uint8Array | null>(() => {
  if (means.value) return means.value.hideFirst ? emptyMeanRows(means.value) : null;
  if (!transform.value.rowFactor) return null;
  const axis = queryAxis.value;
  const marks = Uint8Array.from({ length: axis.count }, (_, at) => {
    const [first, end] = spanOf(axis, at);
    for (let row = first; row < end; ++row) if (!isEmptyRow(row)) return 0;
    return 1;
  });
  return marks.includes(1) ? marks : null;
});

export const maskRule = computed<MaskRule>(() => {
  const map = headMap.value?.map;
  const [queries, keys] = [endsOf(queryAxis.value), endsOf(keyAxis.value)];
  const single = keyAxis.value.count > 0 && spanOf(keyAxis.value, 0)[1] === 1;
  return {
    causal: map?.causal ?? false,
    window: map?.window ?? 0,
    queryPositions: queries.first,
    queryEnds: queries.last,
    keyPositions: keys.first,
    keyEnds: keys.last,
    hideFirst: changes.value.hideFirst && single && positionOf(map?.keyPositions ?? null, 0) === 0,
    emptyRows: emptyRows.value,
  };
});

/** Changes with everything that changes the values that are drawn. */
export const dataVersion = computed<string>(() => {
  const at = headMap.value;
  const parts: unknown[] = [mainRun.value?.file.id, at?.map.path, at?.index];
  if (means.value) parts.push(means.value.key, view.over.value);
  if (isBlend.value) {
    parts.push(view.trayMode.value);
    parts.push(...drawnMaps.value.map(({ map, index }) => `${map.path}.${index}`));
  }
  if (transform.value !== RAW) {
    parts.push(currentRows.value?.key, view.sink.value, view.valueWeighted.value);
    parts.push(restSums.value !== null);
  }
  if (isMerged.value) parts.push('words');
  return parts.join('|');
});

const merged = new Lru<Block>(16 * 1024 * 1024);

/** A tile of words, whose pieces have been transformed one by one. */
function mergedTile(row: number, column: number): Block | null {
  const key = `${dataVersion.value}|${row}|${column}`;
  const known = merged.get(key);
  if (known) return known;
  const pieces = (r: number, c: number): Block | null => {
    const block = drawnTile(1, r, c);
    return block && transformBlock(transform.value, block, r * TILE, c * TILE, 1);
  };
  const [rows, columns] = [queryAxis.value, keyAxis.value];
  const block = mergedBlock(rows, columns, row * TILE, column * TILE, pieces, isEmptyRow);
  if (block) merged.set(key, block, block.values.byteLength);
  return block;
}

/** Mean or spread over prompts. */
const ofMeans = ({ mean, deviation }: MeanTile): Block =>
  view.over.value === 'sd' ? deviation : mean;

/** The value of a cell without anything done to it; over prompts what is drawn of it. */
export function plainValue(row: number, column: number): number | null {
  if (!means.value) return storedValue(row, column);
  const tile = shownMeanTile(means.value, Math.floor(row / TILE), Math.floor(column / TILE));
  if (!tile) return null;
  const { values, columns } = ofMeans(tile);
  return values[(row % TILE) * columns + (column % TILE)] ?? null;
}

export interface CellMoments {
  mean: number;
  deviation: number;
  /** Prompts that have something left in this row. */
  count: number;
}

/** All that is known of a cell over prompts; null where it is masked, or not read yet. */
export function momentsAt(row: number, column: number): CellMoments | null {
  const of = means.value;
  if (!of || isMasked(maskRule.value, row, column)) return null;
  const tile = knownMeanTile(of, Math.floor(row / TILE), Math.floor(column / TILE));
  if (!tile) return null;
  const at = (row % TILE) * tile.mean.columns + (column % TILE);
  return {
    mean: tile.mean.values[at]!,
    deviation: tile.deviation.values[at]!,
    count: tile.counts[row % TILE] ?? of.ids.length,
  };
}

/** A tile of what is shown, before `shownTransform`. */
export function shownTile(level: number, row: number, column: number): Block | null {
  if (means.value) {
    const made = shownMeanTile(means.value, row, column);
    return made && ofMeans(made);
  }
  return isMerged.value ? mergedTile(row, column) : drawnTile(level, row, column);
}

export const shownTransform = computed<Transform>(() => (isMerged.value ? RAW : transform.value));

/** Neither words nor means over prompts have coarser levels in a file. */
export const shownLevels = computed<readonly number[]>(() =>
  isMerged.value || means.value ? [] : drawnLevels.value,
);

/** What is drawn of a cell; null if masked or unread, NaN where nothing is left of its row. */
export function shownValue(row: number, column: number): number | null {
  const nothing = emptyRows.value?.[row] === 1;
  const rule = nothing ? { ...maskRule.value, hideFirst: false } : maskRule.value;
  if (isMasked(rule, row, column)) return null;
  if (nothing) return NaN;
  if (!isMerged.value) {
    const value = plainValue(row, column);
    return value === null ? null : transformed(transform.value, value, row, column);
  }
  const block = mergedTile(Math.floor(row / TILE), Math.floor(column / TILE));
  return block ? block.values[(row % TILE) * block.columns + (column % TILE)]! : null;
}
