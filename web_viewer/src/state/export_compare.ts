/** The numbers of a comparison as files: of A, of B, or their difference, row for row as shown. */

import { TILE } from '../draw/heat_map';
import type { Region } from '../draw/merge';
import { nameOf } from '../model/heads';
import {
  comparedView,
  panelAxes,
  pairing,
  sideA,
  sideB,
  type PanelAxis,
  type PanelName,
  type Side,
} from './compare';
import { csvField } from './export';
import { LANE, mayWrite, writtenTable, type TableFormat, type TableOptions } from './export_map';

/** Whole cells of the window. */
export function comparedRegion(): Region {
  const { x, y, width, height } = comparedView.peek();
  const [row, column] = [Math.floor(y), Math.floor(x)];
  return {
    row,
    rows: Math.ceil(y + height) - row,
    column,
    columns: Math.ceil(x + width) - column,
  };
}

/** Where the indices that there are begin and end; they ascend. */
function spanOf(indices: Int32Array): [first: number, end: number] {
  const first = indices.find((index) => index >= 0) ?? 0;
  return [first, Math.max(first, indices.reduce((most, index) => Math.max(most, index), -1) + 1)];
}

/** Stored weights of some rows and columns; NaN where the side has none. */
async function sideCells(
  { run, at }: Side,
  rows: Int32Array,
  columns: Int32Array,
): Promise<Float32Array<ArrayBuffer>> {
  const out = new Float32Array(rows.length * columns.length).fill(NaN);
  const [[top, bottom], [left, right]] = [spanOf(rows), spanOf(columns)];
  if (bottom === top || right === left) return out;
  const slab = { start: [at.index, top, left], count: [1, bottom - top, right - left] };
  const { values } = await run.file.numbers(at.map.path, slab, { lane: LANE, priority: -1 });
  rows.forEach((q, r) => {
    columns.forEach((k, c) => {
      if (q < 0 || k < 0) return;
      out[r * columns.length + c] = values[(q - top) * (right - left) + k - left]!;
    });
  });
  return out;
}

async function panelCells(panel: PanelName, region: Region): Promise<Float32Array<ArrayBuffer>> {
  const pairs = pairing.peek()!;
  const of = (name: 'a' | 'b') => {
    const rows = pairs.rows[name].subarray(region.row, region.row + region.rows);
    const columns = pairs.columns[name].subarray(region.column, region.column + region.columns);
    return sideCells((name === 'a' ? sideA : sideB).peek()!, rows, columns);
  };
  if (panel !== 'difference') return of(panel);
  const [a, b] = await Promise.all([of('a'), of('b')]);
  return a.map((value, at) => value - b[at]!);
}

const sideName = ({ run, prompt, at }: Side): string =>
  `${run.summary.name.replace(/\.h5$/, '')}-${prompt.id}-${nameOf(at.head)}`;

/** “run-p000000-1.7-vs-other-p000000-1.7”, and which positions of A if not all. */
export function comparedName(): string {
  const { row, rows, column, columns } = comparedRegion();
  const { a } = panelAxes.peek()!;
  const part = ({ positions }: PanelAxis, first: number, count: number) =>
    count === positions.length ? '' : `${positions[first]}-${positions[first + count - 1]}`;
  const [queries, keys] = [part(a.rows, row, rows), part(a.columns, column, columns)];
  const region = queries || keys ? `-queries-${queries || 'all'}-keys-${keys || 'all'}` : '';
  return `${sideName(sideA.peek()!)}-vs-${sideName(sideB.peek()!)}${region}`;
}

/** Position in A or B, or both where they differ; nothing where the panel has no such token. */
function positionName(panel: PanelName, axis: 'rows' | 'columns', at: number): string {
  const axes = panelAxes.peek()!;
  if (axes[panel][axis].labels[at] === null) return '';
  const [a, b] = [axes.a[axis].positions[at], axes.b[axis].positions[at]];
  if (panel !== 'difference') return String(panel === 'a' ? a : b);
  return a === b ? String(a) : `${a} / ${b}`;
}

function tableOptions(panel: PanelName, region: Region, format: TableFormat): TableOptions {
  const axes = panelAxes.peek()![panel];
  const label = (axis: 'rows' | 'columns', at: number) => axes[axis].labels[at] ?? '';
  const titles = ['query', 'query token'];
  for (let k = region.column; k < region.column + region.columns; ++k) {
    titles.push(csvField(`${positionName(panel, 'columns', k)} ${label('columns', k)}`.trim()));
  }
  return {
    format,
    title: titles.join(','),
    head: (row) => `${positionName(panel, 'rows', row)},${csvField(label('rows', row))},`,
  };
}

/** What a panel shows, as it is stored; null if it was cancelled or could not be read. */
export async function comparedTable(panel: PanelName, format: TableFormat): Promise<Blob | null> {
  const region = comparedRegion();
  if (!mayWrite(region, format)) return null;
  return writtenTable(region, tableOptions(panel, region, format), {
    name: sideA.peek()!.run.file.name,
    bandRows: (row, end) => Math.min(TILE, end - row),
    band: (part) => panelCells(panel, part),
  });
}
