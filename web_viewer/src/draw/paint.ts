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

export const NO_MASK: MaskRule = {
  causal: false,
  window: 0,
  queryPositions: null,
  keyPositions: null,
  hideFirst: false,
};

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
  const maskable = rule.causal || rule.window > 0 || rule.hideFirst;
  let missing = 0;
  for (let r = 0; r < block.rows; ++r) {
    for (let c = 0; c < block.columns; ++c) {
      const at = r * block.columns + c;
      if (maskable && isMasked(rule, row + r, column + c, factor)) continue;
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
