/** The arrays of an experiment as grids and ranked lists, whatever its units are. */

import type { ExperimentData } from '../format/types';
import { verdictName } from './effects';
import { interval, plural, short, signed } from './numbers';

export interface ResultGrid {
  methods: string[];
  rows: string[];
  columns: string[];
  /** Name of the axis along the columns: head, position … */
  columnAxis: string;
  units: number;
  /** Name of each unit, as on the command line. */
  names: string[];
}

/** What can be shown of every unit, with how it is called. */
const ARRAYS: readonly [name: string, label: string][] = [
  ['effect', 'effect'],
  ['recovery', 'recovery'],
  ['direct', 'direct effect'],
  ['placebo', 'effect on the placebo metric'],
  ['random_percentile', 'share of random changes that do less'],
  ['minimal_detectable', 'smallest effect that could be seen'],
  ['p_adjusted', 'p, adjusted'],
  ['n', 'prompts'],
];

/** Arrays that tell a sign; others begin at 0. */
export const isSigned = (array: string): boolean =>
  ['effect', 'recovery', 'direct', 'placebo'].includes(array);

export const arrayLabel = (name: string): string =>
  ARRAYS.find(([known]) => known === name)?.[1] ?? name;

export function arraysOf(data: ExperimentData): string[] {
  const effect = data.numbers.effect;
  if (!effect) return [];
  return ARRAYS.map(([name]) => name).filter((name) => {
    const array = data.numbers[name];
    return array !== undefined && array.values.length === effect.values.length;
  });
}

function axisLabels(data: ExperimentData, axis: string, extent: number): string[] {
  const known: Record<string, [string, number[]]> = {
    layer: ['L', data.layers],
    head: ['', data.heads],
    position: ['', data.positions],
  };
  const [prefix, values] = known[axis] ?? ['', []];
  return Array.from({ length: extent }, (_, i) => `${prefix}${values[i] ?? i}`);
}

/** Rows are all axes but the last; null where there is nothing to lay out. */
export function resultGrid(data: ExperimentData): ResultGrid | null {
  const effect = data.numbers.effect;
  if (!effect || effect.values.length === 0) return null;
  const extents = effect.shape.slice(1);
  const units = extents.reduce((product, extent) => product * extent, 1);
  const labels = data.axes.map((axis, i) => axisLabels(data, axis, extents[i] ?? 0));
  const columns = labels.at(-1) ?? [];
  let rows = [''];
  for (const axis of labels.slice(0, -1)) {
    rows = rows.flatMap((row) => axis.map((label) => (row ? `${row}.${label}` : label)));
  }
  const grid = data.axes.length > 1;
  return {
    methods: data.methods.length > 0 ? data.methods : [''],
    rows: grid ? rows : [],
    columns: grid ? columns : [],
    columnAxis: grid ? (data.axes.at(-1) ?? '') : '',
    units,
    names: Array.from({ length: units }, (_, i) => data.cells[i] ?? String(i)),
  };
}

export function valueOf(data: ExperimentData, array: string, offset: number): number {
  return data.numbers[array]?.values[offset] ?? NaN;
}

const KIND_WORDS: Record<number, string> = {
  1: 'every group has the same effect',
  2: 'a few groups carry the effect: a rough bound',
  [-1]: 'fewer than 10 groups: no interval',
  [-2]: 'values are missing: no interval',
};

/** What qualifies a verdict and changes none. */
const MARKS: readonly [name: string, words: string][] = [
  ['unspecific', 'unspecific: a placebo metric moves as well'],
  ['like_random', 'random changes of the same size do as much'],
];

/** A count that is stored for each method and unit, or for each unit. */
function ofUnit(
  data: ExperimentData,
  grid: ResultGrid,
  name: string,
  offset: number,
): number | undefined {
  const values = data.numbers[name]?.values;
  return values?.[values.length === grid.units ? offset % grid.units : offset];
}

/** Everything that is stored of one unit under one method, line by line. */
export function describeUnit(data: ExperimentData, grid: ResultGrid, offset: number): string[] {
  const at = (name: string) => valueOf(data, name, offset);
  const lines: string[] = [];
  const effect = at('effect');
  if (!Number.isNaN(effect)) {
    lines.push(`effect ${signed(effect)} ${interval(at('ci_low'), at('ci_high'))}`.trim());
  }
  const simultaneous = interval(at('ci_sim_low'), at('ci_sim_high'));
  if (simultaneous) lines.push(`over all units ${simultaneous}`);
  if (!Number.isNaN(at('recovery'))) {
    lines.push(
      `recovery ${signed(at('recovery'))} ${interval(at('recovery_low'), at('recovery_high'))}`.trim(),
    );
  }
  if (!Number.isNaN(at('direct'))) lines.push(`direct effect ${signed(at('direct'))}`);
  if (!Number.isNaN(at('p_adjusted'))) lines.push(`p adjusted ${short(at('p_adjusted'))}`);
  const verdict = data.numbers.verdict?.values[offset % grid.units];
  if (verdict !== undefined && verdictName(verdict)) lines.push(`verdict: ${verdictName(verdict)}`);
  const kind = KIND_WORDS[at('interval_kind')];
  if (kind) lines.push(kind);
  for (const [name, words] of MARKS) {
    if (data.numbers[name]?.values[offset % grid.units] === 1) lines.push(words);
  }
  const n = ofUnit(data, grid, 'n', offset);
  const groups = ofUnit(data, grid, 'groups', offset);
  if (n !== undefined) {
    lines.push(
      plural(n, 'prompt') + (groups === undefined ? '' : ` in ${plural(groups, 'group')}`),
    );
  }
  return lines;
}

/** Offsets of a method's units, largest absolute value first. */
export function ranked(
  data: ExperimentData,
  grid: ResultGrid,
  array: string,
  method: number,
): number[] {
  const size = (offset: number) => Math.abs(valueOf(data, array, offset));
  return Array.from({ length: grid.units }, (_, i) => method * grid.units + i)
    .filter((offset) => !Number.isNaN(size(offset)))
    .sort((a, b) => size(b) - size(a) || a - b);
}
