/** Bars of effects and the numbers above them. Pure arithmetic, in pixels. */

import { short } from '../model/numbers';
import type { BarScale } from '../model/result_bars';
import { cellTextWidth } from './axes';
import { roundBelow, ticks } from './scale';

export const BAR = { width: 132, height: 16 };
const EDGE = 4;
/** Between two labels. */
const GAP = 6;

export const placeOn = ({ low, high }: BarScale, x: number): number =>
  EDGE + Math.min(1, Math.max(0, (x - low) / (high - low))) * (BAR.width - 2 * EDGE);

export interface BarTick {
  at: number;
  /** Empty where there is no room for it. */
  label: string;
}

/** Round numbers. A side of 0 on which something is seen has one of its own, which goes before that
 *  of 0: every bar has a line there. */
export function barTicks(scale: BarScale): BarTick[] {
  const { low, high, least, most } = scale;
  const values = ticks(low, high, 3);
  for (const end of [least, most]) {
    const isSeen = Math.abs(placeOn(scale, end) - placeOn(scale, 0)) >= 1;
    if (isSeen && !values.some((value) => value * end > 0)) {
      values.push(Math.sign(end) * roundBelow(Math.abs(end)));
    }
  }
  const taken: { from: number; to: number }[] = [];
  const outermost = [...values].sort((a, b) => Math.abs(b) - Math.abs(a));
  // The largest on each side, then what there is room for.
  const ends = [outermost.find((value) => value < 0), outermost.find((value) => value > 0)];
  const first = ends.filter((value) => value !== undefined);
  const labels = new Map<number, string>();
  for (const value of [...first, ...outermost.filter((one) => !first.includes(one))]) {
    const label = short(value);
    const half = (cellTextWidth(label) + GAP) / 2;
    const [from, to] = [placeOn(scale, value) - half, placeOn(scale, value) + half];
    if (taken.some((other) => from < other.to && to > other.from)) continue;
    taken.push({ from, to });
    labels.set(value, label);
  }
  return values
    .sort((a, b) => a - b)
    .map((value) => ({ at: placeOn(scale, value), label: labels.get(value) ?? '' }));
}
