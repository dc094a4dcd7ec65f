/** Tables of numbers as coloured cells with labels, several side by side on one scale. */

import type { Verdict } from '../model/effects';
import type { Pen } from './pen';
import { cellTextWithin, MINUS_WIDTH, TWO_DIGITS } from './axes';
import { cssColor, inkOn } from './color';
import type { Ink } from './ink';
import { placeOf, type ScaleSpec } from './scale';
import { drawMark } from './scatter';
import type { Size } from './viewport';

export interface Matrix {
  title: string;
  values: (row: number, column: number) => number;
  verdicts: (row: number, column: number) => Verdict | null;
}

export interface MatrixLayout {
  cell: { width: number; height: number };
  places: { x: number; y: number }[];
  /** Room above each matrix. */
  top: number;
  height: number;
}

/** Left of the names of rows, and between them and the cells. */
const LEFT = 10;
/** Below this a mark would lie on the number; it then stands beside it. */
const MIN_FOR_MARK = 32;
/** Of a cell. */
const MIN_HEIGHT = 14;
/** Right of the number. */
const MARK_ROOM = 7.5;
const MARK_RADIUS = 3;
/** Title and numbers of columns. */
const TOP = 30;
const BOTTOM = 10;
/** Of a letter, about. */
const LETTER = 6.8;
/** Room below for the colour bar. */
const BAR = 34;
/** From here on both tokens of a column stand side by side. */
const MIN_FOR_BOTH = 26;

type Tokens = NonNullable<MatrixLabels['tokens']>;

/** Height of a token that is written upwards. */
const tokenHeight = (text: string): number => (text === '' ? 0 : text.length * LETTER + 6);

/** Room above a matrix for its tokens, the clean one and the corrupt one of each column. */
function tokenRoom(tokens: Tokens, cellWidth: number): number {
  const heights = tokens.map(({ clean, corrupt }) => {
    const [first, second] = [tokenHeight(clean), tokenHeight(corrupt)];
    return cellWidth >= MIN_FOR_BOTH ? Math.max(first, second) : first + second;
  });
  return Math.max(0, ...heights);
}

/** Beside each other while cells stay wide enough, else below each other. */
export function matrixLayout(
  count: number,
  { rows, columns, tokens }: MatrixLabels,
  { width, height }: Size,
): MatrixLayout {
  const left = LEFT + Math.ceil(7.7 * Math.max(2, ...rows.map((label) => label.length)));
  let best: MatrixLayout | null = null;
  for (let across = count; across >= 1; --across) {
    const down = Math.ceil(count / across);
    const cellWidth = Math.min(64, Math.floor((width / across - left - 10) / columns.length));
    const top = TOP + tokenRoom(tokens ?? [], cellWidth);
    const roomY = (height - BAR) / down - top - BOTTOM;
    const fitting = Math.min(cellWidth, 40, Math.floor(roomY / rows.length));
    const cellHeight = Math.max(MIN_HEIGHT, fitting);
    const size = { width: Math.max(6, cellWidth), height: cellHeight };
    const stepY = top + rows.length * cellHeight + BOTTOM;
    const layout: MatrixLayout = {
      cell: size,
      places: Array.from({ length: count }, (_, i) => ({
        x: left + (i % across) * (left + columns.length * size.width + 10),
        y: top + Math.floor(i / across) * stepY,
      })),
      top,
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
  /** Tokens above the columns, where they are positions; the corrupt one where it differs. */
  tokens?: readonly { clean: string; corrupt: string }[];
}

/** Number and mark of one cell; the mark is there in cells of any size. */
function drawInside(pen: Pen, ink: Ink, box: Box, matrix: Matrix, scale: ScaleSpec): void {
  const { x, y, width, height, row, column } = box;
  const value = matrix.values(row, column);
  const share = placeOf(scale, value);
  const background = Number.isNaN(value) ? ink.masked : cssColor(scale.map, share);
  pen.fillStyle = background;
  pen.fillRect(x, y, width - 1, height - 1);
  // The cell and its number show the sign; a mark in the colour of the sign would drown.
  const color = Number.isNaN(value) ? ink.text : inkOn(scale.map, share);
  const verdict = matrix.verdicts(row, column);
  const beside = verdict && (width < MIN_FOR_MARK || height < MIN_FOR_MARK);
  const room = width - 1 - (beside ? MARK_ROOM : 0);
  const forDigits = room - (scale.diverging ? MINUS_WIDTH : 0);
  const written = forDigits >= TWO_DIGITS && !Number.isNaN(value);
  if (written) {
    pen.fillStyle = color;
    pen.textAlign = 'center';
    pen.fillText(cellTextWithin(value, forDigits), x + room / 2, y + height / 2);
  }
  if (!verdict) return;
  if (!beside) {
    drawMark(pen, verdict, x + width - 6, y + 5, color, background, MARK_RADIUS);
    return;
  }
  const radius = Math.max(1.5, Math.min(written ? 2.5 : MARK_RADIUS, (width - 5) / 2));
  const center = written ? width - 4.5 : (width - 1) / 2;
  drawMark(pen, verdict, x + center, y + (height - 1) / 2, color, background, radius);
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  row: number;
  column: number;
}

/** Above the numbers of the columns, upwards. */
function drawTokens(
  pen: Pen,
  ink: Ink,
  place: { x: number; y: number },
  width: number,
  tokens: Tokens,
): void {
  const base = place.y - 18;
  const upright = (text: string, x: number, y: number, color: string) => {
    pen.save();
    pen.translate(x, y);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = 'left';
    pen.fillStyle = color;
    pen.fillText(text, 0, 0);
    pen.restore();
  };
  tokens.forEach(({ clean, corrupt }, column) => {
    const x = place.x + (column + 0.5) * width;
    const apart = corrupt !== '' && width >= MIN_FOR_BOTH ? 7 : 0;
    upright(clean, x - apart, base, ink.muted);
    if (corrupt === '') return;
    upright(corrupt, x + apart, base - (apart > 0 ? 0 : tokenHeight(clean)), ink.positive);
  });
}

export function drawMatrices(
  pen: Pen,
  ink: Ink,
  layout: MatrixLayout,
  matrices: readonly Matrix[],
  labels: MatrixLabels,
  scale: ScaleSpec,
  marked: MatrixCell | null,
): void {
  const { width, height } = layout.cell;
  const stepX = Math.ceil(24 / width);
  pen.textBaseline = 'middle';
  matrices.forEach((matrix, at) => {
    const place = layout.places[at]!;
    pen.font = `600 13px ${ink.font}`;
    pen.textAlign = 'left';
    pen.fillStyle = ink.text;
    pen.fillText(matrix.title, place.x, place.y - layout.top + 8);
    pen.font = `12px ${ink.font}`;
    pen.fillStyle = ink.muted;
    labels.columns.forEach((label, column) => {
      if (column % stepX !== 0) return;
      pen.textAlign = 'center';
      pen.fillText(label, place.x + (column + 0.5) * width, place.y - 8);
    });
    labels.rows.forEach((label, row) => {
      pen.textAlign = 'right';
      pen.fillStyle = ink.muted;
      pen.fillText(label, place.x - 6, place.y + (row + 0.5) * height);
      for (let column = 0; column < labels.columns.length; ++column) {
        const box = { x: place.x + column * width, y: place.y + row * height, row, column };
        drawInside(pen, ink, { ...box, width, height }, matrix, scale);
      }
    });
    drawTokens(pen, ink, place, width, labels.tokens ?? []);
    if (marked?.matrix === at) {
      pen.strokeStyle = ink.accent;
      pen.lineWidth = 2;
      pen.strokeRect(
        place.x + marked.column * width - 1,
        place.y + marked.row * height - 1,
        width + 1,
        height + 1,
      );
    }
  });
}
