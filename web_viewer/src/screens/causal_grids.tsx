/** Results of an experiment as coloured tables, one for each method. */

import { signal, useComputed, useSignal } from '@preact/signals';
import type { ExperimentData } from '../format/types';
import { readFirstPair } from '../io/read_experiment';
import type { ColorMapName } from '../draw/color';
import { drawColorBar } from '../draw/figure';
import { LIGHT_INK, type Ink } from '../draw/ink';
import {
  cellAt,
  drawMatrices,
  matrixLayout,
  type MatrixCell,
  type MatrixLayout,
} from '../draw/matrix';
import type { Pen } from '../draw/pen';
import type { ScaleSpec } from '../draw/scale';
import type { Size } from '../draw/viewport';
import { short } from '../model/numbers';
import { pairTokens, type PairToken } from '../model/pair_tokens';
import { arrayLabel, describeUnit, isSigned, ofUnit, type ResultGrid } from '../model/results';
import { safeText, tokenLabel } from '../model/tokens';
import { downloadSvg, svgPen } from '../state/export';
import { table } from '../state/heads';
import { divergingMap } from '../state/theme';
import { choose, view } from '../state/view';
import type { OpenRun } from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';

export interface Listed {
  id: string;
  run: OpenRun;
  data: ExperimentData;
  grid: ResultGrid;
}

const TOKEN_ROOM = 78;
/** Further room for the tokens of the corrupt prompt. */
const CORRUPT_ROOM = 66;

/** Tokens of the first prompt of a file, for the axes of positions. */
const firstTokens = signal<{ run: number; tokens: PairToken[] }>({ run: 0, tokens: [] });

export async function loadTokens(run: OpenRun): Promise<void> {
  const { texts, corrupt } = await readFirstPair(run.file, run.summary.promptIds[0]);
  firstTokens.value = { run: run.id, tokens: pairTokens(texts, corrupt) };
}

export function tokensUnder({ run, grid, data }: Listed): PairToken[] {
  const { run: owner, tokens } = firstTokens.value;
  if (grid.columnAxis !== 'position' || owner !== run.id) return [];
  return data.positions.map((position) => {
    const { clean, corrupt } = tokens[position] ?? { clean: '', corrupt: '' };
    return {
      clean: tokenLabel(clean, 10),
      corrupt: corrupt === '' ? '' : tokenLabel(corrupt, 10),
    };
  });
}

function scaleOf(data: ExperimentData, array: string, diverging: ColorMapName): ScaleSpec {
  const values = data.numbers[array]?.values ?? new Float64Array(0);
  let top = 0;
  for (const value of values) if (Math.abs(value) > top) top = Math.abs(value);
  return isSigned(array)
    ? { kind: 'linear', low: -top, high: top, map: diverging, diverging: true }
    : { kind: 'linear', low: 0, high: top, map: view.color.value };
}

/** Tables of all methods, on one scale, with a bar that explains it. */
function drawTables(
  pen: Pen,
  ink: Ink,
  place: Size,
  layout: MatrixLayout,
  { item, array, diverging, marked }: Tables,
): void {
  const { data, grid } = item;
  const scale = scaleOf(data, array, diverging);
  const matrices = grid.methods.map((title, matrix) => ({
    title: safeText(title) || arrayLabel(array),
    values: (row: number, column: number) =>
      ofUnit(data, grid, array, offsetIn(grid, { matrix, row, column })),
  }));
  const labels = { rows: grid.rows, columns: grid.columns, tokens: tokensUnder(item) };
  drawMatrices(pen, ink, layout, matrices, labels, scale, marked);
  const bar = { x: place.width - 196, y: place.height - 30, width: 180, height: 8 };
  drawColorBar(pen, ink, bar, scale, (value) => short(value));
}

interface Tables {
  item: Listed;
  array: string;
  diverging: ColorMapName;
  marked: MatrixCell | null;
}

const offsetIn = (grid: ResultGrid, { matrix, row, column }: MatrixCell): number =>
  matrix * grid.units + row * grid.columns.length + column;

function layoutOf(item: Listed, { width, height }: Size): MatrixLayout {
  const { methods, rows, columns } = item.grid;
  const tokens = tokensUnder(item);
  const differs = tokens.some(({ corrupt }) => corrupt !== '');
  const room = tokens.length > 0 ? TOKEN_ROOM + (differs ? CORRUPT_ROOM : 0) : undefined;
  return matrixLayout(methods.length, rows.length, columns.length, width, height, room);
}

/** The same as a picture for a paper. */
export function exportTables(item: Listed, array: string): void {
  const layout = layoutOf(item, { width: 1000, height: 600 });
  const size = { width: 1000, height: layout.height + 10 };
  const pen = svgPen(size.width, size.height);
  drawTables(pen, LIGHT_INK, size, layout, { item, array, diverging: 'blue-orange', marked: null });
  downloadSvg(`${item.data.name}-${array}.svg`, pen);
}

export function Grids({ item, array }: { item: Listed; array: string }) {
  const size = useSignal<Size>({ width: 600, height: 400 });
  const at = useSignal<MatrixCell | null>(null);
  const pointer = useSignal({ x: 0, y: 0 });
  const { data, grid } = item;
  const layout = useComputed(() => layoutOf(item, size.value));
  const draw = (context: CanvasRenderingContext2D, place: Size, ink: Ink) => {
    if (place.width !== size.peek().width) size.value = place;
    const tables = { item, array, diverging: divergingMap(), marked: at.value };
    drawTables(context, ink, place, layout.value, tables);
  };
  const cell = at.value;
  const lines = cell ? describeUnit(data, grid, offsetIn(grid, cell)) : [];
  const name = cell ? grid.names[offsetIn(grid, cell) % grid.units]! : '';
  return (
    <div class="causal-grids" style={{ minHeight: `${layout.value.height}px` }}>
      <Canvas
        draw={draw}
        label={`${arrayLabel(array)} of ${grid.units} units under ${grid.methods.join(', ')}`}
        onPointerMove={(event) => {
          pointer.value = offsetOf(event);
          const { x, y } = pointer.value;
          at.value = cellAt(layout.value, grid.rows.length, grid.columns.length, x, y);
        }}
        onPointerLeave={() => (at.value = null)}
        onClick={() => {
          if (name && table.value.index.has(name)) choose({ head: name });
        }}
        onDblClick={() => {
          if (name && table.value.index.has(name)) choose({ head: name, screen: 'head' });
        }}
      />
      {cell && (
        <div
          class="tip"
          style={{
            left: `${Math.min(pointer.value.x + 14, size.value.width - 250)}px`,
            top: `${pointer.value.y + 14}px`,
            width: '240px',
          }}
        >
          <strong>{safeText(name)}</strong> {safeText(grid.methods[cell.matrix] ?? '')}
          {lines.map((line) => (
            <div key={line}>{line}</div>
          ))}
        </div>
      )}
    </div>
  );
}
