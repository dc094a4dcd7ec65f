/** One experiment of several parts of a sweep, each of which measured other cells on all prompts. */

import type { ExperimentData, NumberArray, NumberData } from '../format/types';

/** What a test says of all cells of a method together. From some of them it would be too sure. */
const OF_ALL_CELLS = ['ci_sim_low', 'ci_sim_high', 'p_adjusted'];

/** Axes of a cell, in the order in which they span a grid. */
const PLACES = ['layer', 'head', 'position'] as const;
type Place = Record<(typeof PLACES)[number], number>;

interface Cell {
  name: string;
  place: Place;
  part: number;
  /** Its number within its part. */
  unit: number;
}

const unitsOf = (data: ExperimentData): number =>
  data.shape.slice(1).reduce((product, extent) => product * extent, 1);

const indicesOf = (data: ExperimentData): Record<keyof Place, number[]> => ({
  layer: data.layers,
  head: data.heads,
  position: data.positions,
});

/** Where a cell of a part lies: along the axes of a grid, or by a list that places each cell. */
function placeOf(data: ExperimentData, unit: number): Place {
  const indices = indicesOf(data);
  const place: Place = { layer: -1, head: -1, position: -1 };
  if (data.axes.length > 1) {
    let rest = unit;
    for (let axis = data.axes.length - 1; axis >= 0; --axis) {
      const extent = data.shape[axis + 1] ?? 1;
      const name = data.axes[axis] as keyof Place;
      place[name] = indices[name]?.[rest % extent] ?? -1;
      rest = Math.floor(rest / extent);
    }
    return place;
  }
  for (const name of PLACES) place[name] = indices[name][unit] ?? -1;
  return place;
}

function cellsOf(parts: readonly ExperimentData[]): Cell[] {
  return parts.flatMap((data, part) =>
    Array.from({ length: unitsOf(data) }, (_, unit) => ({
      name: data.cells[unit] ?? String(unit),
      place: placeOf(data, unit),
      part,
      unit,
    })),
  );
}

interface Layout {
  axes: string[];
  extents: number[];
  /** The cell at each place of the grid, null where no part at hand has measured it. */
  cells: (Cell | null)[];
  indices: Partial<Record<keyof Place, number[]>>;
}

/** A list, for cells that span no grid. */
function listOf(cells: Cell[]): Layout {
  return {
    axes: ['cell'],
    extents: [cells.length],
    cells,
    indices: Object.fromEntries(
      PLACES.map((axis) => [axis, cells.map(({ place }) => place[axis])]),
    ),
  };
}

/** The grid over which the cells lie, as the whole run would have it. */
function layoutOf(cells: Cell[]): Layout {
  const axes = PLACES.filter((axis) => cells.every(({ place }) => place[axis] >= 0));
  const partly = PLACES.some(
    (axis) => !axes.includes(axis) && cells.some(({ place }) => place[axis] >= 0),
  );
  if (axes.length < 2 || partly) return listOf(cells);
  const values = axes.map((axis) =>
    [...new Set(cells.map(({ place }) => place[axis]))].sort((a, b) => a - b),
  );
  const extents = values.map(({ length }) => length);
  const spots: (Cell | null)[] = new Array<Cell | null>(
    extents.reduce((product, extent) => product * extent, 1),
  ).fill(null);
  for (const cell of cells) {
    const spot = axes.reduce(
      (at, axis, i) => at * extents[i]! + values[i]!.indexOf(cell.place[axis]),
      0,
    );
    // Two kinds of cells at one place, as sites of a patch: a list keeps both.
    if (spots[spot]) return listOf(cells);
    spots[spot] = cell;
  }
  return {
    axes,
    extents,
    cells: spots,
    indices: Object.fromEntries(axes.map((axis, i) => [axis, values[i]!])),
  };
}

/** Whether an array goes over methods and cells, over cells alone, or over neither. */
function spanOf(data: ExperimentData, name: string): 'method units' | 'units' | null {
  const dims = data.dims[name] ?? [];
  const units = data.axes.join(' ');
  if (dims.join(' ') === `method ${units}`) return 'method units';
  return dims.join(' ') === units ? 'units' : null;
}

function joinArray(
  parts: readonly ExperimentData[],
  name: string,
  layout: Layout,
): NumberData | null {
  const first = parts[0]!.numbers[name]!;
  const span = spanOf(parts[0]!, name);
  if (span === null) return first;
  if (parts.some((data) => data.numbers[name] === undefined)) return null;
  const methods = span === 'units' ? 1 : (first.shape[0] ?? 0);
  // What was not measured is missing, so integers become numbers that can say so.
  const gaps = layout.cells.includes(null);
  const values: NumberArray = gaps
    ? new Float64Array(methods * layout.cells.length).fill(NaN)
    : new Float64Array(methods * layout.cells.length);
  for (let method = 0; method < methods; ++method) {
    layout.cells.forEach((cell, spot) => {
      if (!cell) return;
      const data = parts[cell.part]!;
      const from = method * unitsOf(data) + cell.unit;
      values[method * layout.cells.length + spot] = data.numbers[name]!.values[from]!;
    });
  }
  const shape = span === 'units' ? layout.extents : [methods, ...layout.extents];
  return { shape, dtype: first.dtype, values };
}

/** Differences that were measured are the largest of the parts, as `attnscope merge` has them. */
const LARGEST = [
  'noise_floor',
  'rounding',
  'rerun_difference',
  'batch_difference',
  'verify_max_difference',
];

function joinAttributes(parts: readonly ExperimentData[]): ExperimentData['attributes'] {
  const joined = { ...parts[0]!.attributes };
  for (const name of LARGEST) {
    const values = parts.map(({ attributes }) => attributes[name]);
    if (values.every((value) => typeof value === 'number')) joined[name] = Math.max(...values);
  }
  return joined;
}

/** The effects of all parts at hand, without what can only be said of all cells of the run. */
export function joinExperiment(parts: readonly ExperimentData[]): ExperimentData {
  const first = parts[0]!;
  if (!first.numbers.effect) return first;
  const layout = layoutOf(cellsOf(parts));
  const joined = Object.keys(first.numbers)
    .filter((name) => !OF_ALL_CELLS.includes(name))
    .filter((name) => !['layers', 'heads', 'positions'].includes(name))
    .map((name) => [name, joinArray(parts, name, layout)] as const);
  const numbers: Record<string, NumberData> = {};
  for (const [name, data] of joined) if (data) numbers[name] = data;
  const cells = layout.cells.map((cell) => cell?.name ?? '');
  return {
    ...first,
    attributes: joinAttributes(parts),
    axes: layout.axes,
    shape: numbers.effect?.shape ?? [],
    layers: layout.indices.layer ?? [],
    heads: layout.indices.head ?? [],
    positions: layout.indices.position ?? [],
    cells,
    numbers,
    texts: { ...first.texts, cells },
    dims: Object.fromEntries(
      Object.entries(first.dims).map(([name, dims]) => {
        const span = spanOf(first, name);
        if (span === null) return [name, dims];
        return [name, span === 'units' ? layout.axes : ['method', ...layout.axes]];
      }),
    ),
  };
}
