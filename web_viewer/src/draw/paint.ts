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
  /** The first key is left out, where cells are seen one by one. */
  hideFirst: boolean;
}

const positionAt = (positions: readonly number[] | null, index: number): number =>
  positions ? (positions[Math.min(index, positions.length - 1)] ?? index) : index;

/** Whether a block of `factor` × `factor` cells lies wholly behind the mask. */
export function isMasked(rule: MaskRule, row: number, column: number, factor = 1): boolean {
  if (rule.hideFirst && column === 0 && factor === 1) return true;
  if (!rule.causal && rule.window === 0) return false;
  const lastQuery = positionAt(rule.queryPositions, row * factor + factor - 1);
  const firstKey = positionAt(rule.keyPositions, column * factor);
  if (rule.causal && firstKey > lastQuery) return true;
  if (rule.window === 0) return false;
  const firstQuery = positionAt(rule.queryPositions, row * factor);
  const lastKey = positionAt(rule.keyPositions, column * factor + factor - 1);
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

const HATCH_DARK = 0xff6a4fd0;
const HATCH_LIGHT = 0xffd8d0f4;

export interface Painted {
  canvas: HTMLCanvasElement;
  missing: number;
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
  for (let r = 0; r < block.rows; ++r) {
    const [begin, end] = visibleColumns(rule, row + r, column, block.columns, factor);
    for (let c = begin; c < end; ++c) {
      const at = r * block.columns + c;
      let pixel = table[halves[2 * at + 1]!]!;
      if (pixel === 0) {
        ++missing;
        pixel = (r + c) % 2 === 0 ? HATCH_DARK : HATCH_LIGHT;
      }
      pixels[at] = pixel;
    }
  }
  context.putImageData(image, 0, 0);
  return { canvas, missing };
}
