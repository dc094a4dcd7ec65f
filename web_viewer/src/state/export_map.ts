/** The numbers of a map as a file: read band by band, so that the page stays alive. */

import { isStale } from '../io/errors';
import type { RunReader } from '../io/run_file';
import { TILE } from '../draw/heat_map';
import { Merger, type Region } from '../draw/merge';
import { isMasked, type MaskRule } from '../draw/paint';
import { nothingLeft, transformBlock, type Transform } from '../draw/transform';
import { spanOf, type Axis } from '../model/axis';
import { bytes } from '../model/numbers';
import { npyHeader } from './export';
import { blended, type HeadMap } from './map';
import { meanTile, type MapMeans } from './map_means';
import { exportProgress } from './status';
import { client, failWith, say } from './workspace';

/** Which cells a table has, and what becomes of the stored weights in them. */
export interface TableCells {
  rows: Axis;
  columns: Axis;
  transform: Transform;
  /** Cells behind it are 0, whatever is stored there; null for what is stored. */
  mask: MaskRule | null;
}

export type TableFormat = 'csv' | 'tsv' | 'npy';

export interface TableOptions {
  format: TableFormat;
  /** The first line, and what every later one begins with; neither is in an array. */
  title: string;
  head: (row: number) => string;
}

export const LANE = 'export';
/** Above this one is asked first, and above that it is refused. */
const ASK_BYTES = 64e6;
const MOST_BYTES = 1e9;
/** A number and its separator, on average of stored attention. */
const TEXT_BYTES = 12;
/** So many numbers as text at a time, that other reads need not wait for long. */
const LINE_CELLS = 65_536;

const tableBytes = ({ rows, columns }: Region, format: TableFormat): number =>
  rows * columns * (format === 'npy' ? 4 : TEXT_BYTES);

/** Whether a table of this size is wanted: small ones are, large ones are asked about. */
export function mayWrite(region: Region, format: TableFormat): boolean {
  const size = tableBytes(region, format);
  const cells = `${region.rows} × ${region.columns} cells, about ${bytes(size)}`;
  if (size > MOST_BYTES) {
    say(`${cells}, are too many for a file of the browser: zoom in, or read them with h5py.`);
    return false;
  }
  return size <= ASK_BYTES || confirm(`Write ${cells}?`);
}

export function cancelExport(): boolean {
  if (exportProgress.peek() === '') return false;
  client.advance(LANE);
  return true;
}

/** The longest run of rows from `row` on whose stored rows end with a tile, so that none is read twice. */
function bandRows(axis: Axis, row: number, end: number): number {
  const tileEnd = (Math.floor(spanOf(axis, row)[0] / TILE) + 1) * TILE;
  let next = row + 1;
  while (next < end && spanOf(axis, next)[1] <= tileEnd) ++next;
  return next - row;
}

/** Some rows of maps of several heads, of which one is made. */
async function blendedRows(file: RunReader, maps: readonly HeadMap[], box: Region) {
  const options = { lane: LANE, priority: -1 };
  const read = await Promise.all(
    maps.map(({ map, index }) => {
      const slab = { start: [index, box.row, box.column], count: [1, box.rows, box.columns] };
      return file.numbers(map.path, slab, options);
    }),
  );
  const [first] = read;
  return Float32Array.from(first!.values, (value, at) =>
    read.length === 1 ? value : blended(read.map(({ values }) => values[at]!)),
  );
}

/** Some rows of what is averaged over prompts, out of its tiles. */
async function averagedRows(of: MapMeans, kind: 'mean' | 'deviation', box: Region) {
  const out = new Float32Array(box.rows * box.columns);
  const [bottom, right] = [box.row + box.rows, box.column + box.columns];
  for (let row = Math.floor(box.row / TILE); row * TILE < bottom; ++row) {
    for (let column = Math.floor(box.column / TILE); column * TILE < right; ++column) {
      const { values, rows, columns } = (await meanTile(of, row, column, LANE))[kind];
      const [top, left] = [row * TILE, column * TILE];
      const [from, to] = [Math.max(left, box.column), Math.min(left + columns, right)];
      for (let r = Math.max(top, box.row); r < Math.min(top + rows, bottom); ++r) {
        const begin = (r - top) * columns - left;
        const target = (r - box.row) * box.columns + from - box.column;
        out.set(values.subarray(begin + from, begin + to), target);
      }
    }
  }
  return out;
}

/** What a table is of: maps of one prompt, or one map of many. */
export type TableSource =
  { maps: readonly HeadMap[] } | { means: MapMeans; kind: 'mean' | 'deviation' };

/** Some rows of a table. */
async function band(
  file: RunReader,
  source: TableSource,
  cells: TableCells,
  region: Region,
): Promise<Float32Array<ArrayBuffer>> {
  const { rows, columns, transform, mask } = cells;
  const merger = new Merger(rows, columns, region, (row) => nothingLeft(transform, row));
  const { top, bottom, left, right } = merger;
  const size = { rows: bottom - top, columns: right - left };
  const box = { row: top, column: left, ...size };
  const stored =
    'maps' in source
      ? await blendedRows(file, source.maps, box)
      : await averagedRows(source.means, source.kind, box);
  merger.add(transformBlock(transform, { ...size, values: stored }, top, left, 1), top, left);
  const out = merger.values();
  if (mask) leaveOutMasked(out, mask, region);
  return out;
}

function leaveOutMasked(values: Float32Array, mask: MaskRule, region: Region): void {
  for (let row = 0; row < region.rows; ++row) {
    if (mask.emptyRows?.[region.row + row] === 1) continue;
    for (let column = 0; column < region.columns; ++column) {
      if (!isMasked(mask, region.row + row, region.column + column)) continue;
      values[row * region.columns + column] = 0;
    }
  }
}

async function textOf(
  values: Float32Array,
  row: number,
  columns: number,
  { format, head }: TableOptions,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const step = Math.max(1, Math.floor(LINE_CELLS / columns));
  const rows = values.length / columns;
  for (let from = 0; from < rows; from += step) {
    const count = Math.min(step, rows - from);
    const args = {
      values: values.slice(from * columns, (from + count) * columns),
      columns,
      heads: Array.from({ length: count }, (_, i) => head(row + from + i)),
      separator: format === 'csv' ? ',' : '\t',
    };
    const lines = await client.ask('lines', 0, args, { lane: LANE, priority: -1 });
    parts.push(lines.values as Uint8Array<ArrayBuffer>);
  }
  return parts;
}

/** A region of a map as a file; null if it was cancelled or could not be read. */
export const mapTable = (
  file: RunReader,
  source: TableSource,
  cells: TableCells,
  region: Region,
  options: TableOptions,
): Promise<Blob | null> =>
  writtenTable(region, options, {
    name: file.name,
    bandRows: (row, end) => bandRows(cells.rows, row, end),
    band: (part) => band(file, source, cells, part),
  });

export interface TableBands {
  /** Of the file that is read. */
  name: string;
  /** How many rows from `row` on are read at once. */
  bandRows: (row: number, end: number) => number;
  band: (region: Region) => Promise<Float32Array<ArrayBuffer>>;
}

/** A region as a file, made of bands of rows; null if it was cancelled or could not be read. */
export async function writtenTable(
  region: Region,
  options: TableOptions,
  bands: TableBands,
): Promise<Blob | null> {
  const { format, title } = options;
  if (exportProgress.peek() !== '') {
    say('Another export is being written; Esc stops it.');
    return null;
  }
  const parts: BlobPart[] = [
    format === 'npy' ? npyHeader([region.rows, region.columns]) : `${title}\n`,
  ];
  const end = region.row + region.rows;
  try {
    for (let row = region.row; row < end;) {
      const rows = bands.bandRows(row, end);
      const done = Math.floor((100 * (row - region.row)) / region.rows);
      exportProgress.value = `${format.toUpperCase()}: ${done} % written (Esc stops)`;
      const values = await bands.band({ ...region, row, rows });
      if (format === 'npy') parts.push(values);
      else parts.push(...(await textOf(values, row, region.columns, options)));
      row += rows;
    }
    return new Blob(parts, { type: format === 'npy' ? 'application/octet-stream' : 'text/plain' });
  } catch (error) {
    if (isStale(error)) say('The export was stopped.');
    else failWith(bands.name, error);
    return null;
  } finally {
    exportProgress.value = '';
  }
}
