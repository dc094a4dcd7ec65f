/** All that an experiment stores of its units, as a table with a line for each unit and method. */

import type { ExperimentData } from '../format/types';
import { verdictName, verdictWord } from './effects';
import type { ResultGrid } from './result_grid';
import { ofUnit } from './results';

/** What comes first; the rest follows in order of the file, under the names that it has there. */
const FIRST = ['effect', 'ci_low', 'ci_high', 'ci_sim_low', 'ci_sim_high'];

/** Whether an array has a value for each unit, or for each unit under each method. */
function isPerUnit({ numbers, dims, axes }: ExperimentData, name: string, units: number): boolean {
  const count = numbers[name]!.values.length;
  if (count !== units && count !== numbers.effect!.values.length) return false;
  const along = (dims[name] ?? []).join(' ');
  return along === '' || along === axes.join(' ') || along === `method ${axes.join(' ')}`;
}

export function effectTable(data: ExperimentData, grid: ResultGrid): (string | number)[][] {
  const known = Object.keys(data.numbers).filter((name) => isPerUnit(data, name, grid.units));
  const first = FIRST.filter((name) => known.includes(name));
  const columns = [...first, ...known.filter((name) => !FIRST.includes(name))];
  const cell = (name: string, offset: number): string | number => {
    const value = ofUnit(data, grid, name, offset);
    const verdict = name === 'verdict' ? verdictName(value) : null;
    if (verdict) return verdictWord(verdict);
    return Number.isNaN(value) ? '' : value;
  };
  const lines = grid.methods.flatMap((method, m) =>
    grid.names.map((unit, at) => [
      unit,
      method,
      ...columns.map((name) => cell(name, m * grid.units + at)),
    ]),
  );
  return [['unit', 'method', ...columns], ...lines];
}
