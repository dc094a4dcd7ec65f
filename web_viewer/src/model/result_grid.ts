/** Where the units of an experiment lie: on a grid where they fill one or have places on one. */

import type { StackName } from '../format/schema';
import type { ExperimentData } from '../format/types';
import { unitNames } from './effects';
import { parseUnit } from './units';

export interface ResultGrid {
  methods: string[];
  /** Empty where the units have no places; then they are a list and nothing else. */
  rows: string[];
  columns: string[];
  /** Name of the axis along the columns: head, position … */
  columnAxis: string;
  /** Positions of the columns, where they are positions. */
  positions: number[];
  units: number;
  /** Name of each unit, as on the command line. */
  names: string[];
  /** Index of the unit at a place, −1 where there is none. */
  unitAt(row: number, column: number): number;
}

type Places = Pick<ResultGrid, 'rows' | 'columns' | 'columnAxis' | 'positions' | 'unitAt'>;

const NO_PLACES: Places = {
  rows: [],
  columns: [],
  columnAxis: '',
  positions: [],
  unitAt: () => -1,
};

function axisLabels(data: ExperimentData, axis: string, extent: number): string[] {
  const known: Record<string, [string, number[]]> = {
    layer: ['L', data.layers],
    head: ['', data.heads],
    position: ['', data.positions],
  };
  const [prefix, values] = known[axis] ?? ['', []];
  return Array.from({ length: extent }, (_, i) => `${prefix}${values[i] ?? i}`);
}

/** Cells that fill their axes: rows are all axes but the last. */
function filledGrid(data: ExperimentData, extents: readonly number[]): Places {
  const labels = data.axes.map((axis, i) => axisLabels(data, axis, extents[i] ?? 0));
  const columns = labels.at(-1) ?? [];
  let rows = [''];
  for (const axis of labels.slice(0, -1)) {
    rows = rows.flatMap((row) => axis.map((label) => (row ? `${row}.${label}` : label)));
  }
  const columnAxis = data.axes.at(-1) ?? '';
  return {
    rows,
    columns,
    columnAxis,
    positions: columnAxis === 'position' ? data.positions : [],
    unitAt: (row, column) => row * columns.length + column,
  };
}

interface Place {
  unit: number;
  layer: number;
  /** −1 where the row is a whole layer. */
  head: number;
  column: number;
}

/** Units of a list at their heads of one stack, or at their positions. */
function placesOf(data: ExperimentData, names: readonly string[], stack: StackName) {
  const { layers, heads, positions } = data;
  const byPosition = positions.some((position) => position >= 0);
  let placeable = 0;
  const places: Place[] = [];
  names.forEach((name, unit) => {
    if (byPosition) {
      const [layer = -1, head = -1, column = -1] = [layers[unit], heads[unit], positions[unit]];
      if (layer < 0 || column < 0) return;
      ++placeable;
      places.push({ unit, layer, head, column });
      return;
    }
    const parsed = parseUnit(name);
    if (!parsed) return;
    ++placeable;
    if (parsed.stack === stack) {
      places.push({ unit, layer: parsed.layer, head: -1, column: parsed.head });
    }
  });
  return { places, byPosition, mostAre: placeable > names.length / 2 };
}

const ascending = (values: Iterable<number>): number[] =>
  [...new Set(values)].sort((a, b) => a - b);

/** A list whose units have places: layers of unequal width, some positions, several stacks. Where
 *  most units have none, as sets and neurons, a grid would show the least of it. */
function placedGrid(data: ExperimentData, names: readonly string[], stack: StackName): Places {
  const { places, byPosition, mostAre } = placesOf(data, names, stack);
  if (!mostAre || places.length < 2) return NO_PLACES;
  const rowKey = ({ layer, head }: Place) => (head < 0 ? `L${layer}` : `L${layer}.${head}`);
  const inOrder = [...places].sort((a, b) => a.layer - b.layer || a.head - b.head);
  const rows = [...new Set(inOrder.map(rowKey))];
  const columns = ascending(places.map(({ column }) => column));
  const at = new Map(places.map((place) => [`${rowKey(place)} ${place.column}`, place.unit]));
  return {
    rows,
    columns: columns.map(String),
    columnAxis: byPosition ? 'position' : 'head',
    positions: byPosition ? columns : [],
    unitAt: (row, column) => at.get(`${rows[row]} ${columns[column]}`) ?? -1,
  };
}

/** null where the experiment has no effects. */
export function resultGrid(data: ExperimentData, stack: StackName = 'self'): ResultGrid | null {
  const effect = data.numbers.effect;
  if (!effect || effect.values.length === 0) return null;
  const extents = effect.shape.slice(1);
  const units = extents.reduce((product, extent) => product * extent, 1);
  const known = unitNames(data);
  const names = Array.from({ length: units }, (_, i) => known[i] ?? String(i));
  const places = data.axes.length > 1 ? filledGrid(data, extents) : placedGrid(data, names, stack);
  return {
    methods: data.methods.length > 0 ? data.methods : [''],
    units,
    names,
    ...places,
  };
}
