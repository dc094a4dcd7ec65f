/** Queries left, keys right, one line for each of the strongest weights of a query. */

import { fitted } from './axes';
import type { Pen } from './pen';
import type { Ink } from './ink';
import type { Size } from './viewport';

export interface Edge {
  query: number;
  key: number;
  weight: number;
}

export interface BipartiteView {
  /** First visible row, may be fractional, and the height of a row in pixels. */
  top: number;
  rowHeight: number;
}

/** Room for the tokens at either side. */
export const SIDE = 150;
/** Between a token and the lines, and as much at the edge of the picture. */
const GAP = 8;
const LABEL = SIDE - 2 * GAP;
/** Lines that are drawn while things move, and once they rest. */
export const MOVING_EDGES = 2000;
export const RESTING_EDGES = 8000;

export const rowAt = (view: BipartiteView, y: number): number =>
  Math.floor(view.top + y / view.rowHeight);

export interface BipartiteOptions {
  queries: readonly string[];
  keys: readonly string[];
  edges: readonly Edge[];
  /** Weights of the thinnest and of the widest line. */
  range: readonly [low: number, high: number];
  /** The query or key under the pointer, −1 for none: only its lines stay strong. */
  query: number;
  key: number;
  /** At most so many lines, the strongest of those that are visible. */
  limit: number;
}

const shareIn = ([low, high]: readonly [number, number], weight: number): number =>
  Math.min(1, Math.max(0, (weight - low) / (high - low)));

/** Draws what is visible and returns how many lines were left out, the weakest first. */
export function drawBipartite(
  context: Pen,
  ink: Ink,
  size: Size,
  view: BipartiteView,
  options: BipartiteOptions,
): number {
  const { queries, keys, edges, range, query, key, limit } = options;
  const shareOf = ({ weight }: Edge) => shareIn(range, weight);
  const middle = (row: number) => (row + 0.5 - view.top) * view.rowHeight;
  const visible = (row: number) => middle(row) > -view.rowHeight && middle(row) < size.height;
  const isolated = query >= 0 || key >= 0;
  const chosen = (edge: Edge) => (query >= 0 ? edge.query === query : edge.key === key);
  const seen = edges.filter((edge) => visible(edge.query) || visible(edge.key));
  const drawn = seen.length > limit ? seen.slice(0, limit) : seen;
  const [left, right] = [SIDE, size.width - SIDE];
  // Weak lines first, so that strong ones lie on top.
  for (const edge of [...drawn].reverse()) {
    const strong = !isolated || chosen(edge);
    context.globalAlpha = strong ? Math.min(1, 0.08 + shareOf(edge)) : 0.03;
    context.strokeStyle = strong ? ink.accent : ink.muted;
    context.lineWidth = 0.75 + 2.5 * shareOf(edge);
    context.beginPath();
    const [from, to] = [middle(edge.query), middle(edge.key)];
    const bend = (right - left) / 3;
    context.moveTo(left, from);
    context.bezierCurveTo(left + bend, from, right - bend, to, right, to);
    context.stroke();
  }
  context.globalAlpha = 1;
  const weights = new Map<number, number>();
  if (isolated) {
    for (const edge of seen) {
      if (chosen(edge)) weights.set(query >= 0 ? edge.key : edge.query, edge.weight);
    }
  }
  drawSide(
    context,
    ink,
    view,
    size,
    queries,
    left - GAP,
    'right',
    query,
    query >= 0 ? null : weights,
  );
  drawSide(context, ink, view, size, keys, right + GAP, 'left', key, query >= 0 ? weights : null);
  return seen.length - drawn.length;
}

function drawSide(
  context: Pen,
  ink: Ink,
  view: BipartiteView,
  size: Size,
  labels: readonly string[],
  x: number,
  align: 'left' | 'right',
  marked: number,
  weights: Map<number, number> | null,
): void {
  context.textAlign = align;
  context.textBaseline = 'middle';
  const end = Math.min(labels.length, Math.ceil(view.top + size.height / view.rowHeight));
  for (let row = Math.max(0, Math.floor(view.top)); row < end; ++row) {
    const y = (row + 0.5 - view.top) * view.rowHeight;
    const weight = weights?.get(row);
    context.font = `${row === marked ? 'bold ' : ''}12px ${ink.font}`;
    context.fillStyle = row === marked || weight !== undefined ? ink.text : ink.muted;
    const number = weight === undefined ? '' : weight.toFixed(3);
    const room = LABEL - (number === '' ? 0 : context.measureText(`${number} `).width);
    const parts = [fitted(context, labels[row]!, room), number].filter(Boolean);
    context.fillText((align === 'left' ? parts : parts.reverse()).join(' '), x, y);
  }
}
