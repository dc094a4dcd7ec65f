/** Where in a map one looks: crosshair, visible window, found tokens. */

import { computed, signal } from '@preact/signals';
import type { Cross } from '../draw/figure';
import { clampView, fitAll, type Size, type Viewport } from '../draw/viewport';
import type { Tokens } from '../format/types';
import { indexOf, indicesOf, pickTexts, positionOf } from '../model/positions';
import { findTokens } from '../model/search';
import { tokenLabel } from '../model/tokens';
import { headMap } from './map';
import { adjust, choose, view } from './view';
import { prompt, stack } from './workspace';

export const crosshair = signal<Cross | null>(null);

/** Size of the map on the screen, for zooming by keys. */
export const mapSize = signal<Size>({ width: 400, height: 400 });

export const extent = computed(() => {
  const shape = headMap.value?.map.shape;
  return { rows: shape?.[1] ?? 0, columns: shape?.[2] ?? 0 };
});

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

/** Labels of all tokens, by position. */
export const queryTexts = computed<string[]>(() => {
  const name = stack.value?.stack;
  return name ? labelsOf(prompt.value?.queryTokens[name]) : [];
});

export const keyTexts = computed<string[]>(() => {
  const name = stack.value?.stack;
  return name ? labelsOf(prompt.value?.keyTokens[name]) : [];
});

const stored = computed(() => ({
  queries: headMap.value?.map.queryPositions ?? null,
  keys: headMap.value?.map.keyPositions ?? null,
}));

/** Labels of the rows and columns of the map. */
export const queryLabels = computed(() => pickTexts(queryTexts.value, stored.value.queries));
export const keyLabels = computed(() => pickTexts(keyTexts.value, stored.value.keys));

/** Position of a row or column. */
export const queryAt = (row: number): number => positionOf(stored.value.queries, row);
export const keyAt = (column: number): number => positionOf(stored.value.keys, column);

/** Row of a position, −1 where it is not stored. */
export const rowOfQuery = (query: number): number => indexOf(stored.value.queries, query);

/** Rows and columns of the positions that are selected. */
export const selectedRows = computed(() => indicesOf(stored.value.queries, view.queries.value));
export const selectedColumns = computed(() => indicesOf(stored.value.keys, view.keys.value));

export const found = computed(() => ({
  rows: findTokens(queryLabels.value, view.search.value),
  columns: findTokens(keyLabels.value, view.search.value),
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
