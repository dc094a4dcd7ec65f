/** Where in a map one looks: crosshair, visible window, found tokens. */

import { batch, computed, signal } from '@preact/signals';
import type { Cross } from '../draw/figure';
import { clampView, fitAll, type Viewport } from '../draw/viewport';
import type { Tokens } from '../format/types';
import { firstPosition, positionsAt, shownAt, shownOf, type Axis } from '../model/axis';
import { textsWords, type SharedToken } from '../model/same_map';
import { findTokens } from '../model/search';
import { wordTexts } from '../model/words';
import { tokenLabel, wordLabel } from '../model/tokens';
import { keyAxis, queryAxis } from './cells';
import { sharedKeys, sharedQueries } from './map_means';
import { adjust, choose, view } from './view';
import { prompt, stack } from './workspace';

/** The cell under the pointer. */
export const pointed = signal<Cross | null>(null);

/** Rows and columns that are shown. */
export const extent = computed(() => ({
  rows: queryAxis.value.count,
  columns: keyAxis.value.count,
}));

export const viewport = computed<Viewport>(() => {
  const { rows, columns } = extent.value;
  const [x, y, width, height] = view.zoom.value;
  if (x === undefined || y === undefined || !width || !height) return fitAll(columns, rows);
  return clampView({ x, y, width, height }, columns, rows);
});

/** The cell that is held. Its positions are kept, so that it stays with its tokens when pieces
 *  become words or another map holds other rows; null where the map has no such cell. */
export const held = computed<Cross | null>(() => {
  const [query, key] = view.cell.value;
  if (query === undefined || key === undefined) return null;
  const [row, column] = [shownAt(queryAxis.value, query), shownAt(keyAxis.value, key)];
  return row < 0 || column < 0 ? null : { row, column };
});

/** The cell that is held, else the one under the pointer. */
export const crosshair = computed<Cross | null>(() => {
  const cross = held.value ?? pointed.value;
  const { rows, columns } = extent.value;
  return cross && cross.row < rows && cross.column < columns ? cross : null;
});

export const hold = ({ row, column }: Cross, change = choose): void =>
  change({ cell: [queryAt(row), keyAt(column)] });

export function setViewport(next: Viewport, final = false): void {
  const { rows, columns } = extent.peek();
  const clamped = clampView(next, columns, rows);
  const whole = clamped.width >= columns && clamped.height >= rows;
  const zoom = whole ? [] : [clamped.x, clamped.y, clamped.width, clamped.height];
  if (final) choose({ zoom });
  else adjust({ zoom });
}

/** Words or their pieces; a window stays over the same part of the text. */
export function showWords(words: boolean): void {
  if (view.zoom.peek().length === 0) return choose({ words });
  const see = viewport.peek();
  const ends = (axis: Axis, begin: number, size: number) =>
    [
      firstPosition(axis, Math.floor(begin)),
      positionsAt(axis, Math.ceil(begin + size) - 1).at(-1)!,
    ] as const;
  const [left, right] = ends(keyAxis.peek(), see.x, see.width);
  const [top, bottom] = ends(queryAxis.peek(), see.y, see.height);
  batch(() => {
    view.words.value = words;
    const [x, y] = [shownAt(keyAxis.peek(), left), shownAt(queryAxis.peek(), top)];
    const width = shownAt(keyAxis.peek(), right) + 1 - x;
    const height = shownAt(queryAxis.peek(), bottom) + 1 - y;
    choose({ words, zoom: [x, y, width, height] });
  });
}

/** Tokens of either side of the attention that is shown. */
export const queryTokens = computed(() => prompt.value?.queryTokens[stack.value?.stack ?? 'self']);
export const keyTokens = computed(() => prompt.value?.keyTokens[stack.value?.stack ?? 'self']);

const textsOf = (shared: readonly SharedToken[] | null, tokens: Tokens | undefined) =>
  shared?.map(({ text }) => text) ?? tokens?.texts ?? [];

/** Texts of all tokens as they are stored, by position; null where prompts differ. */
export const queryPieces = computed(() => textsOf(sharedQueries.value, queryTokens.value));
export const keyPieces = computed(() => textsOf(sharedKeys.value, keyTokens.value));

const labelsOf = (pieces: readonly (string | null)[]): string[] =>
  pieces.map((text, at) => (text === null ? positionLabel(at) : tokenLabel(text)));

/** Labels of all tokens, by position. */
export const queryTexts = computed(() => (stack.value ? labelsOf(queryPieces.value) : []));
export const keyTexts = computed(() => (stack.value ? labelsOf(keyPieces.value) : []));

/** Texts of an axis as they are stored, those of the pieces of a word in one list. */
function textsAlong(axis: Axis, tokens: Tokens | undefined): string[][] {
  if (!tokens || tokens.texts.length === 0) return [];
  const texts = wordTexts(tokens, axis.begin ? (prompt.value?.text ?? '') : '');
  return Array.from({ length: axis.count }, (_, at) => texts(positionsAt(axis, at)));
}

/** The same of several prompts: none where they differ. */
const sharedAlong = (axis: Axis, shared: readonly SharedToken[]): string[][] =>
  Array.from({ length: axis.count }, (_, at) => {
    const text = shared[firstPosition(axis, at)]?.text;
    return text === null || text === undefined ? [] : [text];
  });

const rowTexts = computed(() =>
  sharedQueries.value
    ? sharedAlong(queryAxis.value, sharedQueries.value)
    : textsAlong(queryAxis.value, queryTokens.value),
);
const columnTexts = computed(() =>
  sharedKeys.value
    ? sharedAlong(keyAxis.value, sharedKeys.value)
    : textsAlong(keyAxis.value, keyTokens.value),
);

/** Where prompts differ, the position stands for their tokens. */
const labelled = (axis: Axis, texts: readonly string[][]): string[] =>
  texts.map((pieces, at) =>
    pieces.length > 0 ? wordLabel(pieces) : positionLabel(firstPosition(axis, at)),
  );

const positionLabel = (position: number): string => `(${position})`;

/** Labels of the rows and columns of the map. */
export const queryLabels = computed(() => labelled(queryAxis.value, rowTexts.value));
export const keyLabels = computed(() => labelled(keyAxis.value, columnTexts.value));

/** What is shown of a whole text, in a tooltip or to be found. */
const WHOLE = 2000;

/** All of a text; where prompts differ, each of theirs with how many have it. */
function whole(pieces: readonly string[] = [], shared: SharedToken | undefined): string {
  return pieces.length === 0 && shared ? textsWords(shared) : wordLabel(pieces, WHOLE);
}

export const queryWhole = (row: number): string =>
  whole(rowTexts.value[row], sharedQueries.value?.[queryAt(row)]);
export const keyWhole = (column: number): string =>
  whole(columnTexts.value[column], sharedKeys.value?.[keyAt(column)]);

/** Position of a row or column: of a word that of its first piece. */
export const queryAt = (row: number): number => firstPosition(queryAxis.value, row);
export const keyAt = (column: number): number => firstPosition(keyAxis.value, column);

/** All positions of a row or column. */
export const queriesAt = (row: number): number[] => positionsAt(queryAxis.value, row);
export const keysAt = (column: number): number[] => positionsAt(keyAxis.value, column);

/** Rows and columns of the positions that are selected. */
export const selectedRows = computed(() => shownOf(queryAxis.value, view.queries.value));
export const selectedColumns = computed(() => shownOf(keyAxis.value, view.keys.value));

const findIn = (texts: readonly string[][]): number[] =>
  view.search.value === ''
    ? []
    : findTokens(
        texts.map((pieces) => wordLabel(pieces, WHOLE)),
        view.search.value,
      );

/** Rows and columns of the tokens (or words) that are looked for. */
export const found = computed(() => ({
  rows: findIn(rowTexts.value),
  columns: findIn(columnTexts.value),
}));

/** Moves to the next token that was found, or the one before. */
export function stepFound(step: number): void {
  const { columns } = found.peek();
  if (columns.length === 0) return;
  const now = crosshair.peek()?.column ?? -1;
  const next =
    step > 0
      ? (columns.find((at) => at > now) ?? columns[0]!)
      : ([...columns].reverse().find((at) => at < now) ?? columns.at(-1)!);
  const row = Math.min(Math.max(crosshair.peek()?.row ?? next, next), extent.peek().rows - 1);
  moveCrosshair({ row, column: next });
}

/** Holds the crosshair on a cell and scrolls so that it is seen. */
export function moveCrosshair(cross: Cross): void {
  const { rows, columns } = extent.peek();
  const row = Math.min(Math.max(0, cross.row), rows - 1);
  const column = Math.min(Math.max(0, cross.column), columns - 1);
  hold({ row, column }, adjust);
  const now = viewport.peek();
  const follow = (at: number, begin: number, size: number) =>
    at < begin ? at : at + 1 > begin + size ? at + 1 - size : begin;
  const x = follow(column, now.x, now.width);
  const y = follow(row, now.y, now.height);
  if (x !== now.x || y !== now.y) setViewport({ ...now, x, y });
}
