/** What is known of every unit of an experiment, whatever the units are. */

import type { ExperimentData } from '../format/types';
import {
  isDifference,
  numberAttribute,
  rangeWords,
  secondRangeWords,
  smallestP,
  verdictName,
  verdictWord,
} from './effects';
import { interval, plural, pText, short, signed } from './numbers';
import type { ResultGrid } from './result_grid';
import { hasValues } from './result_words';

/** What can be shown of every unit: how it is called, and what it is in a sentence. */
const ARRAYS: readonly [name: string, label: string, sentence: string][] = [
  ['effect', 'effect', 'The metric after the change minus the metric before it.'],
  ['recovery', 'recovery', '0 is the metric of the corrupt run, 1 that of the clean run.'],
  ['effect_all', 'effect, all prompts', 'The same effect over all prompts.'],
  ['direct', 'direct effect', 'The part of the effect that passes through no later layer.'],
  [
    'placebo',
    'effect on the placebo metric',
    'What the same change does to the placebo metric, which has nothing to do with the task: a unit that moves both is not specific to the task.',
  ],
  [
    'random_percentile',
    'share of random changes that do less',
    'The output of the unit was also changed at random, as strongly as its removal changes it: of those changes the share that moves the metric less than the removal does; near 1 the effect is more than chance.',
  ],
  [
    'minimal_detectable',
    'detectable',
    'The smallest effect that a test of this unit alone would find in four of five such runs; smaller ones may be there unseen.',
  ],
  [
    'p_adjusted',
    'p adjusted',
    'Made by turning the signs of groups of prompts at random; it holds for all units at once.',
  ],
  ['n', 'prompts', 'Prompts that the effect is a mean over.'],
];

/** The same names in a comparison of two captures, where nothing was changed. */
const OF_DIFFERENCES: typeof ARRAYS = [
  ['effect', '|b − a|', 'How far the values of a head are apart in the two captures.'],
  ['n', 'values', 'Values that were compared.'],
  ['undefined', 'not numbers', 'Values that are no number in one of the two captures only.'],
];

/** Arrays that tell a sign; others begin at 0. */
export const isSigned = (data: ExperimentData, array: string): boolean =>
  !isDifference(data) && ['effect', 'effect_all', 'recovery', 'direct', 'placebo'].includes(array);

const knownArray = (data: ExperimentData, name: string) =>
  (isDifference(data) ? OF_DIFFERENCES : ARRAYS).find(([known]) => known === name);

export const arrayLabel = (data: ExperimentData, name: string): string =>
  knownArray(data, name)?.[1] ?? name;

/** What an array is, for the one who points at its name. */
export const arraySentence = (data: ExperimentData, name: string): string =>
  knownArray(data, name)?.[2] ?? '';

/** A value as its array is read. */
export function valueWords(data: ExperimentData, array: string, value: number): string {
  if (array === 'p_adjusted') return pText(value, smallestP(data));
  return isSigned(data, array) ? signed(value) : short(value);
}

export function arraysOf(data: ExperimentData): string[] {
  const effect = data.numbers.effect;
  if (!effect) return [];
  return ARRAYS.map(([name]) => name).filter(
    (name) =>
      data.numbers[name]?.values.length === effect.values.length &&
      // The effect stays, so that a table of nothing says that it is one.
      (name === 'effect' || hasValues(data, name)),
  );
}

const INTERVALS: Record<string, readonly string[]> = {
  effect: ['ci_low', 'ci_high', 'ci_sim_low', 'ci_sim_high'],
  recovery: ['recovery_low', 'recovery_high'],
};

/** The arrays with the ends of its intervals. */
export const intervalsOf = (data: ExperimentData, array: string): string[] =>
  (INTERVALS[array] ?? []).filter((name) => hasValues(data, name));

const KIND_WORDS: Record<number, string> = {
  1: 'every group has the same effect',
  2: 'a few groups carry the effect: a rough bound',
  [-1]: 'fewer than 10 groups: no interval',
  [-2]: 'values are missing: no interval',
};

/** What qualifies a verdict and changes none. */
const MARKS: readonly [name: string, words: string][] = [
  [
    'unspecific',
    'unspecific: a placebo metric, which has nothing to do with the task, moves as well',
  ],
  ['like_random', 'random changes of the same size do as much'],
];

/** A value that is stored for each method and unit, or for each unit. */
export function ofUnit(
  data: ExperimentData,
  grid: ResultGrid,
  name: string,
  offset: number,
): number {
  const values = data.numbers[name]?.values;
  return values?.[values.length === grid.units ? offset % grid.units : offset] ?? NaN;
}

/** Everything that is stored of one unit under one method, line by line. */
export function describeUnit(data: ExperimentData, grid: ResultGrid, offset: number): string[] {
  const at = (name: string) => ofUnit(data, grid, name, offset);
  const lines: string[] = [];
  const add = (words: string, value: number, range = '') => {
    if (!Number.isNaN(value)) lines.push(`${words} ${signed(value)} ${range}`.trim());
  };
  const ends = {
    low: at('ci_low'),
    high: at('ci_high'),
    simultaneousLow: at('ci_sim_low'),
    simultaneousHigh: at('ci_sim_high'),
    // Why there is none is said below.
    intervalKind: 0,
  };
  add('effect', at('effect'), rangeWords(ends));
  const second = secondRangeWords(ends);
  if (second) lines.push(second);
  add('recovery', at('recovery'), interval(at('recovery_low'), at('recovery_high')));
  add('direct effect', at('direct'));
  add('effect on all prompts', at('effect_all'));
  const p = at('p_adjusted');
  if (!Number.isNaN(p)) lines.push(`p adjusted ${pText(p, smallestP(data))}`);
  const seen = at('minimal_detectable');
  if (!Number.isNaN(seen)) lines.push(`detectable: ${short(seen)}`);
  const word = verdictName(at('verdict'));
  if (word) lines.push(`verdict: ${verdictWord(word, numberAttribute(data, 'delta'))}`);
  if (word === 'backed up') lines.push('backed up: others stand in for it when it is gone');
  const kind = KIND_WORDS[at('interval_kind')];
  if (kind) lines.push(kind);
  for (const [name, words] of MARKS) if (at(name) === 1) lines.push(words);
  const [n, groups] = [at('n'), at('groups')];
  if (!Number.isNaN(n)) {
    lines.push(
      plural(n, 'prompt') + (Number.isNaN(groups) ? '' : ` in ${plural(groups, 'group')}`),
    );
  }
  return lines;
}

/** Offsets of a method's units by a column, `unit` for the order of the file; what is missing comes
 *  last. Numbers with a sign go by their size. */
export function sortedUnits(
  data: ExperimentData,
  grid: ResultGrid,
  column: string,
  method: number,
  ascending = false,
): number[] {
  const offsets = Array.from({ length: grid.units }, (_, i) => method * grid.units + i);
  if (column === 'unit') return ascending ? offsets.reverse() : offsets;
  const key = (offset: number) => {
    const value = ofUnit(data, grid, column, offset);
    return isSigned(data, column) ? Math.abs(value) : value;
  };
  const direction = ascending ? 1 : -1;
  return offsets.sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (Number.isNaN(left) || Number.isNaN(right)) {
      return Number(Number.isNaN(left)) - Number(Number.isNaN(right)) || a - b;
    }
    return direction * (left - right) || a - b;
  });
}
