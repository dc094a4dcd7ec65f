/** Thumbnails of all heads, coloured once and kept on one canvas. */

import type { Pen } from './pen';
import { colorTable, type ColorMapName } from './color';
import { placeOf, type ScaleKind } from './scale';

export interface Overview {
  rows: number;
  columns: number;
  values: Uint8Array;
}

export interface Thumbnails {
  canvas: HTMLCanvasElement;
  rows: number;
  columns: number;
  /** Thumbnails beside each other on the canvas. */
  across: number;
}

/** An entry of the file is round(255·√w). */
const weightOf = (byte: number): number => (byte / 255) ** 2;

export function paintThumbnails(
  overview: Overview,
  map: ColorMapName,
  scale: ScaleKind,
  causal: boolean,
): Thumbnails {
  const colors = colorTable(map);
  const table = new Uint32Array(256);
  for (let byte = 0; byte < 256; ++byte) {
    const place = placeOf({ kind: scale, low: 0, high: 1, map }, weightOf(byte));
    const at = 3 * Math.round(255 * place);
    table[byte] =
      (0xff000000 | (colors[at + 2]! << 16) | (colors[at + 1]! << 8) | colors[at]!) >>> 0;
  }
  const { rows, columns, values } = overview;
  const size = rows * columns;
  const count = size === 0 ? 0 : values.length / size;
  const across = Math.max(1, Math.ceil(Math.sqrt(count)));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, across * columns);
  canvas.height = Math.max(1, Math.ceil(count / across) * rows);
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let head = 0; head < count; ++head) {
    const left = (head % across) * columns;
    const top = Math.floor(head / across) * rows;
    for (let r = 0; r < rows; ++r) {
      const visible = causal ? Math.min(columns, r + 1) : columns;
      const from = head * size + r * columns;
      const to = (top + r) * canvas.width + left;
      for (let c = 0; c < visible; ++c) pixels[to + c] = table[values[from + c]!]!;
    }
  }
  context.putImageData(image, 0, 0);
  return { canvas, rows, columns, across };
}

export function drawThumbnail(
  context: Pen,
  thumbnails: Thumbnails,
  index: number,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  const { canvas, rows, columns, across } = thumbnails;
  // Enlarged cells stay sharp squares; where there are more cells than pixels, blend.
  context.imageSmoothingEnabled = width < columns;
  context.drawImage(
    canvas,
    (index % across) * columns,
    Math.floor(index / across) * rows,
    columns,
    rows,
    x,
    y,
    width,
    height,
  );
}
