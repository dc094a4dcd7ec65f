/** Files that the page writes: pictures drawn anew at the wanted size, and exact numbers. */

import { LIGHT_INK } from '../draw/ink';
import { SvgPen } from '../draw/svg';

export function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A pen for a picture of this size on white paper. */
export function svgPen(width: number, height: number): SvgPen {
  const pen = new SvgPen(width, height, document.createElement('canvas').getContext('2d')!);
  pen.fillStyle = LIGHT_INK.paper;
  pen.fillRect(0, 0, width, height);
  return pen;
}

export const downloadSvg = (name: string, pen: SvgPen): void =>
  download(name, new Blob([pen.toString()], { type: 'image/svg+xml' }));

/** One field of a CSV line. */
export function csvField(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: (string | number)[][]): string =>
  rows.map((row) => `${row.map(csvField).join(',')}\n`).join('');

/** What a file of NumPy begins with, version 1.0, for little-endian 32-bit floats. */
export function npyHeader(shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const dictionary = `{'descr': '<f4', 'fortran_order': False, 'shape': (${extents}), }`;
  // Magic, version and length take 10 bytes; data begins at a multiple of 64.
  const length = Math.ceil((10 + dictionary.length + 1) / 64) * 64 - 10;
  const out = new Uint8Array(10 + length);
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 0xff, length >> 8]);
  out.set(new TextEncoder().encode(`${dictionary.padEnd(length - 1)}\n`), 10);
  return out;
}
