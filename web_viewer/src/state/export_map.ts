/** The stored numbers of a map as a file: read band by band, so that the page stays alive. */

import { signal } from '@preact/signals';
import { isStale } from '../io/errors';
import type { RunReader } from '../io/run_file';
import { TILE } from '../draw/heat_map';
import { bytes } from '../model/numbers';
import { npyHeader } from './export';
import { blended, type HeadMap } from './map';
import { client, failWith, say } from './workspace';

/** Stored rows and columns. */
export interface Region {
  row: number;
  rows: number;
  column: number;
  columns: number;
}

export type TableFormat = 'csv' | 'tsv' | 'npy';

export interface TableOptions {
  format: TableFormat;
  /** The first line, and what every later one begins with; neither is in an array. */
  title: string;
  head: (row: number) => string;
}

/** What is being written; empty when nothing is. */
export const exportProgress = signal('');

const LANE = 'export';
/** Above this one is asked first, and above that it is refused. */
const ASK_BYTES = 64e6;
const MOST_BYTES = 1e9;
/** A number and its separator, on average of stored attention. */
const TEXT_BYTES = 12;
/** So many numbers as text at a time, that other reads need not wait for long. */
const LINE_CELLS = 65_536;

export const tableBytes = ({ rows, columns }: Region, format: TableFormat): number =>
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

/** Rows of the stored maps, or of what is made of several. */
async function band(
  file: RunReader,
  maps: readonly HeadMap[],
  region: Region,
  row: number,
  rows: number,
): Promise<Float32Array<ArrayBuffer>> {
  const options = { lane: LANE, priority: -1 };
  const read = await Promise.all(
    maps.map(({ map, index }) => {
      const slab = { start: [index, row, region.column], count: [1, rows, region.columns] };
      return file.numbers(map.path, slab, options);
    }),
  );
  const [first] = read;
  if (read.length === 1) return Float32Array.from(first!.values);
  return Float32Array.from(first!.values, (_, at) =>
    blended(read.map(({ values }) => values[at]!)),
  );
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

/** A region as a file; null if it was cancelled or could not be read. */
export async function mapTable(
  file: RunReader,
  maps: readonly HeadMap[],
  region: Region,
  options: TableOptions,
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
    // Bands end where stored tiles do, so that none is read twice.
    for (let row = region.row; row < end;) {
      const rows = Math.min(end, (Math.floor(row / TILE) + 1) * TILE) - row;
      const done = Math.floor((100 * (row - region.row)) / region.rows);
      exportProgress.value = `${format.toUpperCase()}: ${done} % written (Esc stops)`;
      const values = await band(file, maps, region, row, rows);
      if (format === 'npy') parts.push(values);
      else parts.push(...(await textOf(values, row, region.columns, options)));
      row += rows;
    }
    return new Blob(parts, { type: format === 'npy' ? 'application/octet-stream' : 'text/plain' });
  } catch (error) {
    if (isStale(error)) say('The export was stopped.');
    else failWith(file.name, error);
    return null;
  } finally {
    exportProgress.value = '';
  }
}
