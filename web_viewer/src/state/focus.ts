/** Where in a map one looks: crosshair, visible window, found tokens. */

import { computed, signal } from '@preact/signals';
import type { Cross } from '../draw/figure';
import { clampView, fitAll, type Size, type Viewport } from '../draw/viewport';
import type { Tokens } from '../format/types';
import { firstPosition, positionsAt, shownOf, type Axis } from '../model/axis';
import { findTokens } from '../model/search';
import { wordTexts } from '../model/words';
import { tokenLabel, wordLabel } from '../model/tokens';
import { keyAxis, queryAxis } from './cells';
import { adjust, choose, view } from './view';
import { prompt, stack } from './workspace';

export const crosshair = signal<Cross | null>(null);

/** Size of the map on the screen, for zooming by keys. */
export const mapSize = signal<Size>({ width: 400, height: 400 });

/** Rows and columns that are shown. */
export const extent = computed(() => ({
  rows: queryAxis.value.count,
  columns: keyAxis.value.count,
}));

export const viewport = computed<Viewport>(() => {
  const { rows, columns } = extent.value;
  const [x, y, width, height] = view.zoom.value;
  if (x === undefined || y === undefined || !width || !height) return fitAll(columns, rows);
  return clampView({ x, y, width, height }, columns, rows, mapSize.value);
});

export function setViewport(next: Viewport, final = false): void {
  const { rows, columns } = extent.peek();
  const clamped = clampView(next, columns, rows, mapSize.peek());
  const whole = clamped.width >= columns && clamped.height >= rows;
  const zoom = whole ? [] : [clamped.x, clamped.y, clamped.width, clamped.height];
  if (final) choose({ zoom });
  else adjust({ zoom });
}

const labelsOf = (tokens: Tokens | undefined): string[] =>
  (tokens?.texts ?? []).map((text) => tokenLabel(text));

/** Tokens of either side of the attention that is shown. */
export const queryTokens = computed(() => prompt.value?.queryTokens[stack.value?.stack ?? 'self']);
export const keyTokens = computed(() => prompt.value?.keyTokens[stack.value?.stack ?? 'self']);

/** Texts of all tokens as they are stored, by position. */
export const queryPieces = computed<readonly string[]>(() => queryTokens.value?.texts ?? []);
export const keyPieces = computed<readonly string[]>(() => keyTokens.value?.texts ?? []);

/** Labels of all tokens, by position. */
export const queryTexts = computed<string[]>(() =>
  stack.value ? labelsOf(queryTokens.value) : [],
);
export const keyTexts = computed<string[]>(() => (stack.value ? labelsOf(keyTokens.value) : []));

/** Texts of an axis as they are stored, those of the pieces of a word in one list. */
function textsAlong(axis: Axis, tokens: Tokens | undefined): string[][] {
  if (!tokens || tokens.texts.length === 0) return [];
  const texts = wordTexts(tokens, axis.begin ? (prompt.value?.text ?? '') : '');
  return Array.from({ length: axis.count }, (_, at) => texts(positionsAt(axis, at)));
}

const rowTexts = computed(() => textsAlong(queryAxis.value, queryTokens.value));
const columnTexts = computed(() => textsAlong(keyAxis.value, keyTokens.value));

/** Labels of the rows and columns of the map. */
export const queryLabels = computed(() => rowTexts.value.map((texts) => wordLabel(texts)));
export const keyLabels = computed(() => columnTexts.value.map((texts) => wordLabel(texts)));

/** What is shown of a whole text, in a tooltip or to be found. */
const WHOLE = 2000;
export const queryWhole = (row: number): string => wordLabel(rowTexts.value[row] ?? [], WHOLE);
export const keyWhole = (column: number): string =>
  wordLabel(columnTexts.value[column] ?? [], WHOLE);

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

/** Puts the crosshair on a cell and scrolls so that it is seen. */
export function moveCrosshair(cross: Cross): void {
  const { rows, columns } = extent.peek();
  const row = Math.min(Math.max(0, cross.row), rows - 1);
  const column = Math.min(Math.max(0, cross.column), columns - 1);
  crosshair.value = { row, column };
  const now = viewport.peek();
  const follow = (at: number, begin: number, size: number) =>
    at < begin ? at : at + 1 > begin + size ? at + 1 - size : begin;
  const x = follow(column, now.x, now.width);
  const y = follow(row, now.y, now.height);
  if (x !== now.x || y !== now.y) setViewport({ ...now, x, y });
}
