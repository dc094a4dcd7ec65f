/** Blocks of values to pixels. */

import { bucketsOf } from './scale';
import type { Block } from './transform';

/** Which cells a map can have; positions count stored ids. */
export interface MaskRule {
  causal: boolean;
  /** Sliding window in keys, the query's own included; 0 for none. */
  window: number;
  queryPositions: readonly number[] | null;
  keyPositions: readonly number[] | null;
  /** Last positions of rows and columns that stand for several. */
  queryEnds?: readonly number[] | null;
  keyEnds?: readonly number[] | null;
  /** 1 for rows and columns that hold nothing: hatched, and not counted as missing cells. */
  emptyRows?: Uint8Array | null;
  emptyColumns?: Uint8Array | null;
  /** The first key is left out, where cells are seen one by one. */
  hideFirst: boolean;
}

const positionAt = (positions: readonly number[] | null, index: number): number =>
  positions ? (positions[Math.min(index, positions.length - 1)] ?? index) : index;

/** Whether a block of `factor` × `factor` cells lies wholly behind the mask. */
export function isMasked(rule: MaskRule, row: number, column: number, factor = 1): boolean {
  if (rule.hideFirst && column === 0 && factor === 1) return true;
  if (!rule.causal && rule.window === 0) return false;
  const lastQuery = positionAt(rule.queryEnds ?? rule.queryPositions, row * factor + factor - 1);
  const firstKey = positionAt(rule.keyPositions, column * factor);
  if (rule.causal && firstKey > lastQuery) return true;
  if (rule.window === 0) return false;
  const firstQuery = positionAt(rule.queryPositions, row * factor);
  const lastKey = positionAt(rule.keyEnds ?? rule.keyPositions, column * factor + factor - 1);
  return lastKey <= firstQuery - rule.window;
}

/** First index of [0, count) for which a test that never turns false again is true. */
function firstWhere(count: number, test: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Columns of a row that the mask leaves: positions ascend, so they are one run. */
function visibleColumns(
  rule: MaskRule,
  row: number,
  column: number,
  columns: number,
  factor: number,
): [begin: number, end: number] {
  const future = { ...rule, window: 0, hideFirst: false };
  const past = { ...rule, causal: false, hideFirst: false };
  const end = rule.causal
    ? firstWhere(columns, (c) => isMasked(future, row, column + c, factor))
    : columns;
  const begin =
    rule.window > 0 ? firstWhere(columns, (c) => !isMasked(past, row, column + c, factor)) : 0;
  const first = rule.hideFirst && column === 0 && factor === 1 ? 1 : 0;
  return [Math.max(begin, first), end];
}

/** Whether all cells that a block stands for are of empty rows (or columns). */
function isEmpty(marks: Uint8Array | null | undefined, index: number, factor: number): boolean {
  if (!marks) return false;
  const end = Math.min(marks.length, (index + 1) * factor);
  for (let at = index * factor; at < end; ++at) if (marks[at] === 0) return false;
  return true;
}

const HATCH_DARK = 0xff6a4fd0;
const HATCH_LIGHT = 0xffd8d0f4;
/** Where nothing can be, also on dark paper. */
const GAP_DARK = 0x80808080;
const GAP_LIGHT = 0x28808080;

export interface Painted {
  canvas: HTMLCanvasElement;
  missing: number;
  /** The first missing cell, at full detail. */
  first: { row: number; column: number } | null;
}

/**
 * Colours a block that begins at (row, column) of its level. Masked cells stay transparent, so
 * that the paper shows; missing ones are hatched and counted.
 */
export function paintBlock(
  block: Block,
  table: Uint32Array,
  rule: MaskRule,
  row: number,
  column: number,
  factor: number,
): Painted {
  const canvas = document.createElement('canvas');
  canvas.width = block.columns;
  canvas.height = block.rows;
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(block.columns, block.rows);
  const pixels = new Uint32Array(image.data.buffer);
  const halves = bucketsOf(block.values);
  let missing = 0;
  let first: Painted['first'] = null;
  const hatched = (r: number, c: number) => ((r + c) % 2 === 0 ? HATCH_DARK : HATCH_LIGHT);
  const gap = (r: number, c: number) => ((r + c) % 2 === 0 ? GAP_DARK : GAP_LIGHT);
  const empty = Array.from({ length: block.columns }, (_, c) =>
    isEmpty(rule.emptyColumns, column + c, factor),
  );
  for (let r = 0; r < block.rows; ++r) {
    const nothing = isEmpty(rule.emptyRows, row + r, factor);
    // Of a row without anything left, the cell that was left out is hatched too.
    const seen = nothing ? { ...rule, hideFirst: false } : rule;
    const [begin, end] = visibleColumns(seen, row + r, column, block.columns, factor);
    for (let c = begin; c < end; ++c) {
      const at = r * block.columns + c;
      let pixel = table[halves[2 * at + 1]!]!;
      if (nothing || empty[c]) pixel = gap(r, c);
      else if (pixel === 0) {
        ++missing;
        first ??= { row: (row + r) * factor, column: (column + c) * factor };
        pixel = hatched(r, c);
      }
      pixels[at] = pixel;
    }
  }
  context.putImageData(image, 0, 0);
  return { canvas, missing, first };
}
