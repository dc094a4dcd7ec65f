/** Tables of numbers as coloured cells with labels, several side by side on one scale. */

import type { Verdict } from '../model/effects';
import type { Pen } from './pen';
import { cellText } from './axes';
import { cssColor, inkOn } from './color';
import type { Ink } from './ink';
import { placeOf, type ScaleSpec } from './scale';
import { drawMark } from './scatter';

export interface Matrix {
  title: string;
  values: (row: number, column: number) => number;
  verdicts: (row: number, column: number) => Verdict | null;
}

export interface MatrixLayout {
  cell: { width: number; height: number };
  places: { x: number; y: number }[];
  height: number;
}

const LEFT = 52;
/** Below this a mark would lie on the number. */
const MIN_FOR_MARK = 32;
const TOP = 30;
const BOTTOM = 14;
/** Of a letter, about. */
const LETTER = 6.8;
/** Room below for the colour bar. */
const BAR = 34;

/** Height of a token that is written upwards. */
const tokenHeight = (text: string): number => text.length * LETTER + 6;

/** Room below a matrix for its tokens: the corrupt one stands below the clean one. */
export const tokenRoom = (tokens: MatrixLabels['tokens']): number =>
  BOTTOM +
  Math.max(
    ...tokens.map(
      ({ clean, corrupt }) => tokenHeight(clean) + (corrupt === '' ? 0 : tokenHeight(corrupt)),
    ),
  );

/** Beside each other while cells stay wide enough, else below each other. */
export function matrixLayout(
  count: number,
  rows: number,
  columns: number,
  width: number,
  height: number,
  bottomRoom = BOTTOM,
): MatrixLayout {
  let best: MatrixLayout | null = null;
  for (let across = count; across >= 1; --across) {
    const down = Math.ceil(count / across);
    const cellWidth = Math.min(64, Math.floor((width / across - LEFT - 10) / columns));
    const roomY = (height - BAR) / down - TOP - bottomRoom;
    const cellHeight = Math.max(16, Math.min(cellWidth, 40, Math.floor(roomY / rows)));
    const size = { width: Math.max(6, cellWidth), height: cellHeight };
    const stepY = TOP + rows * cellHeight + bottomRoom;
    const layout: MatrixLayout = {
      cell: size,
      places: Array.from({ length: count }, (_, i) => ({
        x: LEFT + (i % across) * (LEFT + columns * size.width + 10),
        y: TOP + Math.floor(i / across) * stepY,
      })),
      height: down * stepY + BAR,
    };
    if (!best || size.width > best.cell.width) best = layout;
    if (size.width >= 30) break;
  }
  return best!;
}

export interface MatrixCell {
  matrix: number;
  row: number;
  column: number;
}

export function cellAt(
  layout: MatrixLayout,
  rows: number,
  columns: number,
  x: number,
  y: number,
): MatrixCell | null {
  for (let matrix = 0; matrix < layout.places.length; ++matrix) {
    const place = layout.places[matrix]!;
    const column = Math.floor((x - place.x) / layout.cell.width);
    const row = Math.floor((y - place.y) / layout.cell.height);
    if (column >= 0 && row >= 0 && column < columns && row < rows) return { matrix, row, column };
  }
  return null;
}

export interface MatrixLabels {
  rows: readonly string[];
  columns: readonly string[];
  /** Tokens below the columns, where they are positions; the corrupt one where it differs. */
  tokens: readonly { clean: string; corrupt: string }[];
}

export function drawMatrices(
  context: Pen,
  ink: Ink,
  layout: MatrixLayout,
  matrices: readonly Matrix[],
  labels: MatrixLabels,
  scale: ScaleSpec,
  marked: MatrixCell | null,
): void {
  const { width, height } = layout.cell;
  const stepX = Math.ceil(24 / width);
  context.textBaseline = 'middle';
  matrices.forEach((matrix, at) => {
    const place = layout.places[at]!;
    context.font = `600 13px ${ink.font}`;
    context.textAlign = 'left';
    context.fillStyle = ink.text;
    context.fillText(matrix.title, place.x, place.y - 22);
    context.font = `12px ${ink.font}`;
    context.fillStyle = ink.muted;
    labels.columns.forEach((label, column) => {
      if (column % stepX !== 0) return;
      context.textAlign = 'center';
      context.fillText(label, place.x + (column + 0.5) * width, place.y - 8);
    });
    labels.rows.forEach((label, row) => {
      context.textAlign = 'right';
      context.fillStyle = ink.muted;
      context.fillText(label, place.x - 6, place.y + (row + 0.5) * height);
      for (let column = 0; column < labels.columns.length; ++column) {
        const value = matrix.values(row, column);
        const [x, y] = [place.x + column * width, place.y + row * height];
        const share = placeOf(scale, value);
        const background = Number.isNaN(value) ? ink.masked : cssColor(scale.map, share);
        context.fillStyle = background;
        context.fillRect(x, y, width - 1, height - 1);
        if (width >= 32 && height >= 16 && !Number.isNaN(value)) {
          context.fillStyle = inkOn(scale.map, share);
          context.textAlign = 'center';
          context.fillText(cellText(value), x + (width - 1) / 2, y + height / 2);
        }
        const verdict = matrix.verdicts(row, column);
        if (verdict && width >= MIN_FOR_MARK && height >= MIN_FOR_MARK) {
          // The cell and its number show the sign; a mark in the colour of the sign would drown.
          const color = Number.isNaN(value) ? ink.text : inkOn(scale.map, share);
          drawMark(context, verdict, x + width - 6, y + 5, color, background, 3);
        }
      }
    });
    const bottom = place.y + labels.rows.length * height + 6;
    const upright = (text: string, column: number, y: number, color: string) => {
      context.save();
      context.translate(place.x + (column + 0.5) * width, y);
      context.rotate(-Math.PI / 2);
      context.textAlign = 'right';
      context.fillStyle = color;
      context.fillText(text, 0, 0);
      context.restore();
    };
    labels.tokens.forEach(({ clean, corrupt }, column) => {
      upright(clean, column, bottom, ink.muted);
      if (corrupt !== '') upright(corrupt, column, bottom + tokenHeight(clean), ink.positive);
    });
    if (marked?.matrix === at) {
      context.strokeStyle = ink.accent;
      context.lineWidth = 2;
      context.strokeRect(
        place.x + marked.column * width - 1,
        place.y + marked.row * height - 1,
        width + 1,
        height + 1,
      );
    }
  });
}
