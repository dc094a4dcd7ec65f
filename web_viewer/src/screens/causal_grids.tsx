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
import { effectTable } from '../model/effect_table';
import { verdictName } from '../model/effects';
import { short } from '../model/numbers';
import { pairTokens, type PairToken } from '../model/pair_tokens';
import type { ResultGrid } from '../model/result_grid';
import { arrayLabel, describeUnit, isSigned, ofUnit } from '../model/results';
import { safeText, tokenLabel } from '../model/tokens';
import { parseUnit } from '../model/units';
import { csv, download, downloadSvg, svgPen } from '../state/export';
import { divergingMap } from '../state/theme';
import { choose, view } from '../state/view';
import { stackNames, type NamedExperiment, type OpenRun } from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';

export interface Listed extends NamedExperiment {
  grid: ResultGrid;
}

/** Tokens of the first prompt of a file, for the axes of positions. */
const firstTokens = signal<{ run: number; tokens: PairToken[] }>({ run: 0, tokens: [] });

export async function loadTokens(run: OpenRun): Promise<void> {
  const { texts, corrupt } = await readFirstPair(run.file, run.summary.promptIds[0]);
  firstTokens.value = { run: run.id, tokens: pairTokens(texts, corrupt) };
}

export function tokensOver({ run, grid }: Listed): PairToken[] {
  const { run: owner, tokens } = firstTokens.value;
  if (owner !== run.id) return [];
  return grid.positions.map((position) => {
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
  return isSigned(data, array)
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
  const at = (name: string, cell: MatrixCell) => {
    const offset = offsetIn(grid, cell);
    return offset < 0 ? NaN : ofUnit(data, grid, name, offset);
  };
  const matrices = grid.methods.map((title, matrix) => ({
    title: safeText(title) || arrayLabel(data, array),
    values: (row: number, column: number) => at(array, { matrix, row, column }),
    verdicts: (row: number, column: number) => verdictName(at('verdict', { matrix, row, column })),
  }));
  const labels = { rows: grid.rows, columns: grid.columns, tokens: tokensOver(item) };
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

/** Place of a cell in the arrays, −1 where no unit is there. */
function offsetIn(grid: ResultGrid, { matrix, row, column }: MatrixCell): number {
  const unit = grid.unitAt(row, column);
  return unit < 0 ? -1 : matrix * grid.units + unit;
}

function layoutOf(item: Listed, size: Size): MatrixLayout {
  const { methods, rows, columns } = item.grid;
  return matrixLayout(methods.length, { rows, columns, tokens: tokensOver(item) }, size);
}

/** The same as a picture for a paper. */
export function exportTables(item: Listed, array: string): void {
  const layout = layoutOf(item, { width: 1000, height: 600 });
  const size = { width: 1000, height: layout.height + 10 };
  const pen = svgPen(size.width, size.height);
  drawTables(pen, LIGHT_INK, size, layout, { item, array, diverging: 'blue-orange', marked: null });
  downloadSvg(`${item.data.name}-${array}.svg`, pen);
}

/** Every unit under every method, with intervals and all else that is stored of it. */
export function exportEffects({ run, data, grid }: Listed): void {
  const file = run.summary.name.replace(/\.h5$/, '');
  const text = csv(effectTable(data, grid));
  download(`${file}-${data.name}-effects.csv`, new Blob([text], { type: 'text/csv' }));
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
  const offset = cell ? offsetIn(grid, cell) : -1;
  const lines = offset >= 0 ? describeUnit(data, grid, offset) : [];
  const name = offset >= 0 ? grid.names[offset % grid.units]! : '';
  const unit = parseUnit(name);
  const open = (screen?: 'head') => {
    if (unit?.kind !== 'head' || !stackNames.value.includes(unit.stack)) return;
    const head = `${unit.layer}.${unit.head}`;
    choose({ stack: unit.stack, head, ...(screen && { screen }) });
  };
  return (
    <div class="causal-grids" style={{ minHeight: `${layout.value.height}px` }}>
      <Canvas
        draw={draw}
        label={`${arrayLabel(data, array)} of ${grid.units} units under ${grid.methods.join(', ')}`}
        onPointerMove={(event) => {
          pointer.value = offsetOf(event);
          const { x, y } = pointer.value;
          at.value = cellAt(layout.value, grid.rows.length, grid.columns.length, x, y);
        }}
        onPointerLeave={() => (at.value = null)}
        onClick={() => open()}
        onDblClick={() => open('head')}
      />
      {cell && name && (
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
