/** What a reader of a file should know before trusting a number of it. */

import type { ExperimentData, MapInfo, StackData } from '../format/types';
import { short } from './numbers';
import { definitionOf } from './statistics';

/** Arrays that are NaN by design where a number would mean nothing. */
function missingIn(values: ArrayLike<number>): number {
  let count = 0;
  for (let at = 0; at < values.length; ++at) if (Number.isNaN(values[at])) ++count;
  return count;
}

/** “verdict: ci_sim_low 2 of 96, ci_sim_high 2 of 96”; empty where nothing is missing. */
export function missingInExperiment(data: ExperimentData): string {
  const parts = Object.entries(data.numbers)
    .map(([name, { values }]) => ({ name, of: values.length, count: missingIn(values) }))
    .filter(({ count }) => count > 0)
    .map(({ name, of, count }) => `${name} ${count} of ${of}`);
  return parts.length > 0
    ? `Not a number, which is missing and not 0, in ${data.name}: ${parts.join(', ')}.`
    : '';
}

/** Statistics that some heads do not have on this text; padding of narrow layers does not count. */
export function missingInStack(stack: StackData, prompt: string): string {
  const { layers, headCounts, width, statNames, headStats } = stack;
  const heads = headCounts.reduce((sum, count) => sum + count, 0);
  const parts = statNames.flatMap((name, statistic) => {
    let count = 0;
    layers.forEach((_, row) => {
      for (let head = 0; head < (headCounts[row] ?? width); ++head) {
        const at = (row * width + head) * statNames.length + statistic;
        if (Number.isNaN(headStats[at] ?? NaN)) ++count;
      }
    });
    return count > 0 ? [`${definitionOf(name).label} for ${count} of ${heads} heads`] : [];
  });
  return parts.length > 0
    ? `Undefined on ${prompt}${inStack(stack)}, which is not 0: ${parts.join(', ')}.`
    : '';
}

const ROUNDINGS: Record<string, string> = {
  r10: 'rounded to 10 bits of mantissa (r10), so that a weight is right to 0.05 % of itself',
  f16: '16-bit floats (f16): weights below 6e−5 lose digits, and those below 3e−8 became 0',
};

/** Named where a model has several kinds of attention. */
const inStack = ({ stack }: StackData): string =>
  stack === 'self' ? '' : ` (${stack === 'cross' ? 'cross-attention' : `of the ${stack}`})`;

/** How the maps of a stack were made smaller. */
export function roundingOf(stack: StackData): string[] {
  const { maps } = stack;
  const of = `Maps${inStack(stack)}`;
  const out: string[] = [];
  const different = <T>(of: (map: MapInfo) => T) => [...new Set(maps.map(of))];
  for (const kind of different(({ mapDtype }) => mapDtype)) {
    const words = ROUNDINGS[kind];
    if (words) out.push(`${of} are ${words}. Statistics were taken before.`);
  }
  for (const floor of different((map) => map.floor)) {
    if (floor > 0) out.push(`${of}: weights below ${short(floor, 2)} became 0.`);
  }
  if (
    maps.some(({ heads, queryPositions, keyPositions }) => heads || queryPositions || keyPositions)
  ) {
    out.push(`${of} are of some heads or positions only; the others were not kept.`);
  }
  return out;
}

/** Mantissas of 10 bits. */
const TEN_BITS = ['r10', 'f16'];

/** What rounding alone can make of the difference of two maps; empty where neither is rounded. */
export function roundingStep(dtypes: readonly string[]): string {
  const rounded = TEN_BITS.filter((dtype) => dtypes.includes(dtype));
  if (rounded.length === 0) return '';
  return (
    `Stored maps are rounded to 10 bits (${rounded.join(', ')}): one step is up to ` +
    '0.1 % of a weight, 0.0005 at most, and so small a difference may be rounding alone.'
  );
}

const STORED_AS: Record<string, string> = { r10: 'rounded to 10 bits (r10)', f16: '16-bit floats' };

/** How the weights of a map are kept. */
export const storedWords = (dtype: string): string => STORED_AS[dtype] ?? dtype;
