/** Token labels along a map, stepped when they would crowd, and the grid of large cells. */

import type { Pen } from './pen';
import type { Ink } from './ink';
import { short } from '../model/numbers';
import type { Size, Viewport } from './viewport';

/** Room for one label across its reading direction. */
const LINE = 15;
const NUMBER_CELL = 34;
const TICK = 5;
/** Height of a number in a cell. */
const DIGIT = 10;

/** Every how many cells a label stands: 1, 2, 5, 10, 20 … */
export function labelStep(cellPixels: number): number {
  const wanted = LINE / cellPixels;
  if (wanted <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= wanted) ?? 10 * power;
}

export interface AxisOptions {
  /** Null where nothing is. */
  labels: readonly (string | null)[];
  /** Numbers of the positions; those of the cells where a map holds some only. */
  positions: readonly number[] | null;
  /** Cells drawn in the accent colour; where they crowd, the first ones have labels, all a tick. */
  marked: ReadonlySet<number>;
  /** Room for labels, in pixels. */
  room: number;
}

/** A text that ends with “…” where there is no room for all of it. */
export function fitted(context: Pen, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let cut = text;
  while (cut.length > 1 && context.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1);
  return `${cut}…`;
}

/** Labels of rows, right-aligned at x = room, from the top of the map down. */
export function drawRowLabels(
  context: Pen,
  ink: Ink,
  view: Viewport,
  screen: Size,
  options: AxisOptions,
): void {
  const tick = (at: number) => context.fillRect(options.room - TICK, at - 1, TICK, 2);
  drawLabels(context, ink, view.y, view.height, screen.height, options, tick, (at, text, style) => {
    context.fillStyle = style;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText(fitted(context, text, options.room - 8), options.room - 6, at);
  });
}

/** Labels of columns, rising from y = room. */
export function drawColumnLabels(
  context: Pen,
  ink: Ink,
  view: Viewport,
  screen: Size,
  options: AxisOptions,
): void {
  const tick = (at: number) => context.fillRect(at - 1, options.room - TICK, 2, TICK);
  drawLabels(context, ink, view.x, view.width, screen.width, options, tick, (at, text, style) => {
    context.save();
    context.translate(at, options.room - 6);
    context.rotate(-Math.PI / 2);
    context.fillStyle = style;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillText(fitted(context, text, options.room - 8), 0, 0);
    context.restore();
  });
}

function drawLabels(
  context: Pen,
  ink: Ink,
  begin: number,
  extent: number,
  pixels: number,
  { labels, positions, marked }: AxisOptions,
  tick: (at: number) => void,
  put: (at: number, text: string, style: string) => void,
): void {
  const cell = pixels / extent;
  const step = labelStep(cell);
  context.font = `12px ${ink.font}`;
  const last = Math.min(labels.length, Math.ceil(begin + extent));
  const placeOf = (i: number) => (i + 0.5 - begin) * cell;
  const isSeen = (i: number) => placeOf(i) >= 0 && placeOf(i) <= pixels;
  const label = (i: number, style: string) => {
    const [number, text] = [positions?.[i] ?? i, labels[i]!];
    if (text !== null) put(placeOf(i), step > 1 ? `${number} ${text}` : text, style);
  };
  const strong = [...marked].filter((i) => i >= 0 && i < last && isSeen(i));
  const placed: number[] = [];
  const crowds = (i: number) => step > 1 && placed.some((m) => Math.abs(m - i) * cell < LINE);
  for (const i of strong) if (!crowds(i)) placed.push(i);
  for (let i = Math.max(0, Math.ceil(begin / step - 1) * step); i < last; i += step) {
    if (isSeen(i) && !marked.has(i) && !crowds(i)) label(i, ink.muted);
  }
  context.fillStyle = ink.accent;
  if (placed.length < strong.length) strong.forEach((i) => tick(placeOf(i)));
  for (const i of placed) label(i, ink.accent);
}

/** The numbers in cells, once there is room; one that the edge would cut is left out. */
export function drawCellNumbers(
  context: Pen,
  view: Viewport,
  screen: Size,
  valueAt: (row: number, column: number) => number | null,
  inkFor: (value: number) => string,
  font: string,
): void {
  const width = screen.width / view.width;
  const height = screen.height / view.height;
  if (width < NUMBER_CELL || height < 18) return;
  context.font = `12px ${font}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let row = Math.floor(view.y); row < view.y + view.height; ++row) {
    for (let column = Math.floor(view.x); column < view.x + view.width; ++column) {
      const value = valueAt(row, column);
      if (value === null || value === 0) continue;
      const text = cellText(value);
      const [x, y] = [(column + 0.5 - view.x) * width, (row + 0.5 - view.y) * height];
      const half = context.measureText(text).width / 2;
      if (x < half || x > screen.width - half) continue;
      if (y < DIGIT / 2 || y > screen.height - DIGIT / 2) continue;
      context.fillStyle = inkFor(value);
      context.fillText(text, x, y);
    }
  }
}

/** Two decimals, without the zero in front; of larger numbers three digits. */
export function cellText(value: number): string {
  if (Number.isNaN(value)) return '';
  const size = Math.abs(value);
  if (size >= 99.95) return short(value);
  if (size >= 9.995) return value.toFixed(1).replace('-', '−');
  const text = value.toFixed(2).replace(/^(-?)0\./, '$1.');
  return text === '.00' || text === '-.00' ? '·' : text.replace('-', '−');
}

const SIGN_WIDTH: Record<string, number> = { '.': 4, '·': 4, '−': 10 };

/** About, of digits and signs at 12 pixels. */
export const cellTextWidth = (text: string): number =>
  [...text].reduce((width, sign) => width + (SIGN_WIDTH[sign] ?? 7.7), 0);

/** Room for two digits, which any number can do with. */
export const TWO_DIGITS = cellTextWidth('.88');
export const MINUS_WIDTH = cellTextWidth('−');

/** The same with two digits where a narrow cell has room for no more, or nothing. The sign does not
 *  count: numbers beside each other have as many digits whether they are above or below 0. */
export function cellTextWithin(value: number, pixels: number): string {
  const size = Math.abs(value);
  const fits = (text: string) => cellTextWidth(text.replace('−', '')) <= pixels;
  const texts = [cellText(value)];
  if (size >= 0.995) texts.push(value.toFixed(size < 9.95 ? 1 : 0).replace('-', '−'));
  return texts.find(fits) ?? '';
}
