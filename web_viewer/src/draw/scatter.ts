/** Heads as dots: a statistic across, the effect up, intervals as bars. */

import type { Pen } from './pen';
import type { Verdict } from '../model/effects';
import { short } from '../model/numbers';
import type { Ink } from './ink';
import { ticks } from './scale';
import type { Size } from './viewport';

export interface Dot {
  x: number;
  y: number;
  low: number;
  high: number;
  verdict: Verdict | null;
  dimmed: boolean;
  name: string;
}

export interface ScatterRange {
  x: [number, number];
  y: [number, number];
}

export const MARGIN = { left: 58, right: 12, top: 10, bottom: 40 };
const RADIUS = 4;

function padded(low: number, high: number): [number, number] {
  const span = high - low || Math.abs(high) || 1;
  return [low - 0.05 * span, high + 0.05 * span];
}

/** The range that holds all dots and the line of no effect. */
export function rangeOf(dots: readonly Dot[]): ScatterRange {
  const known = dots.filter((dot) => !Number.isNaN(dot.x) && !Number.isNaN(dot.y));
  const xs = known.map((dot) => dot.x);
  const ys = known.flatMap((dot) => [dot.y, dot.low, dot.high]).filter((y) => !Number.isNaN(y));
  return {
    x: padded(Math.min(0, ...xs), Math.max(...xs, 0)),
    y: padded(Math.min(0, ...ys), Math.max(0, ...ys)),
  };
}

const share = (value: number, [low, high]: [number, number]) => (value - low) / (high - low);

function pointOf(range: ScatterRange, size: Size, x: number, y: number) {
  return {
    x: MARGIN.left + share(x, range.x) * (size.width - MARGIN.left - MARGIN.right),
    y: MARGIN.top + (1 - share(y, range.y)) * (size.height - MARGIN.top - MARGIN.bottom),
  };
}

export function valueAt(range: ScatterRange, size: Size, px: number, py: number) {
  const sx = (px - MARGIN.left) / (size.width - MARGIN.left - MARGIN.right);
  const sy = 1 - (py - MARGIN.top) / (size.height - MARGIN.top - MARGIN.bottom);
  return {
    x: range.x[0] + sx * (range.x[1] - range.x[0]),
    y: range.y[0] + sy * (range.y[1] - range.y[0]),
  };
}

const scaled = ([low, high]: [number, number], at: number, factor: number): [number, number] => [
  at + (low - at) * factor,
  at + (high - at) * factor,
];

/** `range` with the value at a place kept where it is; never more than `all`. */
export function zoomRange(
  range: ScatterRange,
  at: { x: number; y: number },
  factor: number,
  all: ScatterRange,
): ScatterRange {
  const wide = (range.x[1] - range.x[0]) * factor >= all.x[1] - all.x[0];
  if (wide) return all;
  return { x: scaled(range.x, at.x, factor), y: scaled(range.y, at.y, factor) };
}

export const moveRange = ({ x, y }: ScatterRange, dx: number, dy: number): ScatterRange => ({
  x: [x[0] + dx, x[1] + dx],
  y: [y[0] + dy, y[1] + dy],
});

const within = (value: number, [low, high]: [number, number]): boolean =>
  value >= low && value <= high;

/** Whether a dot has a place in the window; NaN has none. */
const inWindow = (dot: Dot, range: ScatterRange): boolean =>
  within(dot.x, range.x) && within(dot.y, range.y);

/** The dot nearest to a pixel, −1 if none is near. */
export function dotAt(
  dots: readonly Dot[],
  range: ScatterRange,
  size: Size,
  px: number,
  py: number,
): number {
  let best = -1;
  let nearest = 12 ** 2;
  dots.forEach((dot, i) => {
    if (!inWindow(dot, range)) return;
    const point = pointOf(range, size, dot.x, dot.y);
    const distance = (point.x - px) ** 2 + (point.y - py) ** 2;
    if (distance < nearest) {
      nearest = distance;
      best = i;
    }
  });
  return best;
}

function drawFrame(
  context: Pen,
  ink: Ink,
  size: Size,
  range: ScatterRange,
  labels: { x: string; y: string },
): void {
  context.font = `12px ${ink.font}`;
  context.lineWidth = 1;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const y of ticks(...range.y, 5)) {
    const at = pointOf(range, size, range.x[0], y);
    context.strokeStyle = y === 0 ? ink.muted : ink.line;
    context.beginPath();
    context.moveTo(MARGIN.left, Math.round(at.y) + 0.5);
    context.lineTo(size.width - MARGIN.right, Math.round(at.y) + 0.5);
    context.stroke();
    context.fillStyle = ink.muted;
    context.fillText(short(y), MARGIN.left - 6, at.y);
  }
  context.textAlign = 'center';
  const bottom = size.height - MARGIN.bottom;
  for (const x of ticks(...range.x, 5)) {
    const at = pointOf(range, size, x, range.y[0]);
    context.fillStyle = ink.muted;
    context.fillText(short(x), at.x, bottom + 11);
  }
  context.fillStyle = ink.text;
  context.fillText(labels.x, (MARGIN.left + size.width - MARGIN.right) / 2, size.height - 9);
  context.save();
  context.translate(11, (MARGIN.top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(labels.y, 0, 0);
  context.restore();
}

function drawBand(context: Pen, ink: Ink, size: Size, range: ScatterRange, delta: number): void {
  const [low, high] = range.y;
  if (low >= delta || high <= -delta) return;
  const top = pointOf(range, size, range.x[0], Math.min(delta, high)).y;
  const bottom = pointOf(range, size, range.x[0], Math.max(-delta, low)).y;
  context.fillStyle = ink.masked;
  context.fillRect(MARGIN.left, top, size.width - MARGIN.left - MARGIN.right, bottom - top);
}

/** The two corners where the statistic misleads. */
function drawCorners(context: Pen, ink: Ink, size: Size, range: ScatterRange): void {
  if (!within(0, range.y)) return;
  const zero = pointOf(range, size, range.x[0], 0).y;
  const down = Math.abs(range.y[0]) > Math.abs(range.y[1]);
  const far = down ? size.height - MARGIN.bottom - 9 : MARGIN.top + 9;
  context.fillStyle = ink.muted;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  const above = zero - MARGIN.top > 24 ? -10 : 10;
  context.fillText('high, no effect', size.width - MARGIN.right - 4, zero + above);
  context.textAlign = 'left';
  context.fillText('low, effect', MARGIN.left + 6, far);
}

/** Causal is filled, no effect crossed, undetermined hollow; without verdicts a plain dot. */
export function drawMark(
  context: Pen,
  verdict: Verdict | null,
  x: number,
  y: number,
  color: string,
  paper: string,
  radius = RADIUS,
): void {
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.beginPath();
  if (verdict === 'no effect') {
    const r = radius * 0.9;
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x + r, y - r);
    context.lineTo(x - r, y + r);
    context.stroke();
    return;
  }
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = verdict === 'causal' || verdict === null ? color : paper;
  context.fill();
  context.stroke();
}

export interface ScatterOptions {
  labels: { x: string; y: string };
  /** Effects up to this size are too small to be of interest; NaN where nothing says so. */
  delta: number;
  /** Indices of dots with a ring around them. */
  highlighted: readonly number[];
  brush: ScatterRange | null;
}

export function drawScatter(
  context: Pen,
  ink: Ink,
  size: Size,
  dots: readonly Dot[],
  range: ScatterRange,
  { labels, delta, highlighted, brush }: ScatterOptions,
): void {
  if (delta > 0) drawBand(context, ink, size, range, delta);
  drawFrame(context, ink, size, range, labels);
  drawCorners(context, ink, size, range);
  const passes = [true, false];
  for (const dimmed of passes) {
    for (const dot of dots) {
      if (dot.dimmed !== dimmed || !inWindow(dot, range)) continue;
      const at = pointOf(range, size, dot.x, dot.y);
      const color = dimmed ? ink.line : dot.y < 0 ? ink.negative : ink.positive;
      if (!dimmed && !Number.isNaN(dot.low)) {
        context.strokeStyle = color;
        context.globalAlpha = 0.45;
        context.lineWidth = 1;
        context.beginPath();
        const [bottom, top] = range.y;
        context.moveTo(at.x, pointOf(range, size, dot.x, Math.max(dot.low, bottom)).y);
        context.lineTo(at.x, pointOf(range, size, dot.x, Math.min(dot.high, top)).y);
        context.stroke();
        context.globalAlpha = 1;
      }
      drawMark(context, dot.verdict, at.x, at.y, color, ink.paper);
    }
  }
  for (const index of highlighted) {
    const dot = dots[index];
    if (!dot || !inWindow(dot, range)) continue;
    const at = pointOf(range, size, dot.x, dot.y);
    context.strokeStyle = ink.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(at.x, at.y, RADIUS + 4, 0, 2 * Math.PI);
    context.stroke();
    context.fillStyle = ink.text;
    context.textBaseline = 'middle';
    const right = at.x < size.width - 60;
    context.textAlign = right ? 'left' : 'right';
    context.fillText(dot.name, at.x + (right ? RADIUS + 8 : -RADIUS - 8), at.y);
  }
  if (brush) {
    const clamp = (value: number, [low, high]: [number, number]) =>
      Math.min(high, Math.max(low, value));
    const a = pointOf(range, size, clamp(brush.x[0], range.x), clamp(brush.y[1], range.y));
    const b = pointOf(range, size, clamp(brush.x[1], range.x), clamp(brush.y[0], range.y));
    context.fillStyle = ink.accent;
    context.globalAlpha = 0.1;
    context.fillRect(a.x, a.y, b.x - a.x, b.y - a.y);
    context.globalAlpha = 1;
    context.strokeStyle = ink.accent;
    context.lineWidth = 1;
    context.strokeRect(a.x, a.y, b.x - a.x, b.y - a.y);
  }
}
