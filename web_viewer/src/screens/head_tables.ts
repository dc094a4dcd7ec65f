/** Tables and names of exports: of what is seen, or of what is stored. */

import type { Region } from '../draw/merge';
import { RAW } from '../draw/transform';
import { firstPosition, plainAxis, positionsAt, spanOf, type Axis } from '../model/axis';
import { nameOf } from '../model/heads';
import { changes, isMerged, keyAxis, maskRule, queryAxis, transform } from '../state/cells';
import { csvField } from '../state/export';
import {
  mapTable,
  mayWrite,
  type TableCells,
  type TableFormat,
  type TableOptions,
  type TableSource,
} from '../state/export_map';
import { keyLabels, keyTexts, queryLabels, queryTexts, viewport } from '../state/focus';
import { blendName, drawnMaps, headMap, isBlend } from '../state/map';
import { means, meansName, unchanged } from '../state/map_means';
import { shownHead } from '../state/selection';
import { view } from '../state/view';
import { mainRun, prompt } from '../state/workspace';

/** More heads than this would make a name too long. */
const MAX_NAMED = 6;

/** File, prompt (or how many, and what is made of them) and head, or the heads that one map is made of. */
export function baseName(): string {
  const file = mainRun.peek()?.summary.name.replace(/\.h5$/, '') ?? 'map';
  const drawn = drawnMaps.peek().map(({ head }) => head);
  const own = shownHead.peek();
  const heads = (drawn.length > 0 || !own ? drawn : [own]).map(nameOf);
  const several = heads.length > MAX_NAMED ? `${heads.length}-heads` : heads.join('-');
  const which = heads.length > 1 ? `${blendName()}-of-${several}` : several;
  const of = means.peek() ? meansName().replaceAll(' ', '-') : prompt.peek()?.id;
  return `${file}-${of}-${which}`;
}

/** What was done to the stored weights, as part of a name. */
export function seenName(what = 'seen'): string {
  const { hideFirst, weighed } = changes.peek();
  const modes = [what];
  if (isMerged.peek()) modes.push('words');
  if (hideFirst) modes.push('without-first');
  if (weighed) modes.push('by-value');
  return `${baseName()}-${modes.join('-')}`;
}

/** Whether a table is made of several maps: then none of its numbers is stored anywhere. */
export const isOfSeveral = (): boolean => means.value !== null || isBlend.value;

/** Stored weights, or what is made of them as they are stored. */
export const storedName = (): string =>
  `${baseName()}-${isOfSeveral() ? 'of-stored-weights' : 'stored'}`;

/** Cells for a table, and what its rows and columns are called. */
export interface Table {
  /** Whether it is of weights as they are stored. */
  stored: boolean;
  cells: TableCells;
  region: Region;
  queries: readonly string[];
  keys: readonly string[];
}

/** Rows or columns of an axis of which something is in the window. */
function spanSeen(axis: Axis, begin: number, size: number): [first: number, count: number] {
  const first = Math.max(0, Math.floor(begin));
  return [first, Math.min(axis.count, Math.ceil(begin + size)) - first];
}

/** Cells as they are drawn: of words, without the first token, weighed by value. */
export function seenTable(): Table {
  const see = viewport.peek();
  const [rows, columns] = [queryAxis.peek(), keyAxis.peek()];
  const [row, height] = spanSeen(rows, see.y, see.height);
  const [column, width] = spanSeen(columns, see.x, see.width);
  return {
    stored: false,
    cells: { rows, columns, transform: transform.peek(), mask: maskRule.peek() },
    region: { row, rows: height, column, columns: width },
    queries: queryLabels.peek(),
    keys: keyLabels.peek(),
  };
}

/** Stored weights of the whole map, or of what is in view. */
export function storedTable(whole: 'whole' | 'in view'): Table {
  const { shape, queryPositions, keyPositions } = headMap.peek()!.map;
  const [rows, columns] = [plainAxis(shape[1], queryPositions), plainAxis(shape[2], keyPositions)];
  const region = { row: 0, rows: shape[1], column: 0, columns: shape[2] };
  if (whole === 'in view') {
    const seen = seenTable();
    const span = (axis: Axis, first: number, count: number): [number, number] => {
      const begin = spanOf(axis, first)[0];
      return [begin, spanOf(axis, first + count - 1)[1] - begin];
    };
    const { row, rows: height, column, columns: width } = seen.region;
    [region.row, region.rows] = span(seen.cells.rows, row, height);
    [region.column, region.columns] = span(seen.cells.columns, column, width);
  }
  const labels = (axis: Axis, texts: readonly string[]) =>
    Array.from({ length: axis.count }, (_, at) => texts[firstPosition(axis, at)] ?? '');
  return {
    stored: true,
    cells: { rows, columns, transform: RAW, mask: null },
    region,
    queries: labels(rows, queryTexts.peek()),
    keys: labels(columns, keyTexts.peek()),
  };
}

/** Position of a row or column, or those of a word. */
function positionsName(axis: Axis, at: number): string {
  const positions = positionsAt(axis, at);
  return positions.length > 1 ? `${positions[0]}–${positions.at(-1)}` : `${positions[0]}`;
}

/** Which positions a table is of, as part of a name; nothing if it has all. */
export function regionName({ cells: { rows, columns }, region }: Table): string {
  if (region.rows === rows.count && region.columns === columns.count) return '';
  const part = (axis: Axis, first: number, count: number) =>
    `${firstPosition(axis, first)}-${positionsAt(axis, first + count - 1).at(-1)}`;
  const [queries, keys] = [
    part(rows, region.row, region.rows),
    part(columns, region.column, region.columns),
  ];
  return `-queries-${queries}-keys-${keys}`;
}

/** Positions and tokens around the numbers. */
function tableOptions(table: Table, format: TableFormat): TableOptions {
  const { region, queries, keys } = table;
  const { rows, columns } = table.cells;
  // A tab or line break inside a token would shift a table; labels have symbols for both.
  const field = format === 'csv' ? csvField : String;
  const separator = format === 'csv' ? ',' : '\t';
  const titles = ['query', 'query token'];
  for (let k = region.column; k < region.column + region.columns; ++k) {
    titles.push(field(`${positionsName(columns, k)} ${keys[k] ?? ''}`));
  }
  return {
    format,
    title: titles.join(separator),
    head: (row) =>
      `${positionsName(rows, row)}${separator}${field(queries[row] ?? '')}${separator}`,
  };
}

/** Over prompts, stored weights are averaged as they are, and what is seen as it is drawn. */
function sourceOf({ stored }: Table): TableSource {
  const of = means.peek();
  if (!of) return { maps: drawnMaps.peek() };
  const kind = view.over.peek() === 'sd' ? 'deviation' : 'mean';
  return { means: stored ? unchanged(of) : of, kind };
}

export async function tableOf(table: Table, format: TableFormat): Promise<Blob | null> {
  const run = mainRun.peek();
  const { cells, region } = table;
  if (!run || !mayWrite(region, format)) return null;
  return mapTable(run.file, sourceOf(table), cells, region, tableOptions(table, format));
}
