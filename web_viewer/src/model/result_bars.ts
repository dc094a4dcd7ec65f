/** The scale that the bars of a list of effects share. */

import type { ExperimentData } from '../format/types';
import { numberAttribute } from './effects';
import type { ResultGrid } from './result_grid';
import { ofUnit } from './results';

export interface BarScale {
  low: number;
  high: number;
  /** The same without the room at both ends. */
  least: number;
  most: number;
}

/** Holds every effect, both ends of its interval, 0 and ±δ, so that no bar is cut; only what is
 *  infinite has no place. */
export function barScale(
  data: ExperimentData,
  grid: ResultGrid,
  offsets: readonly number[],
  ends: readonly string[],
): BarScale {
  const delta = numberAttribute(data, 'delta') || 0;
  let [least, most] = [-delta, delta];
  for (const name of ['effect', ...ends]) {
    for (const offset of offsets) {
      const value = ofUnit(data, grid, name, offset);
      if (!Number.isFinite(value)) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  }
  const room = 0.04 * (most - least) || 1;
  return { low: least - room, high: most + room, least, most };
}
