/** Everything that has to be known to read the numbers of an experiment. */

import type { ExperimentData } from '../format/types';
import { isDifference, promptCounts, textAttribute } from './effects';
import { plural, short } from './numbers';
import { HALVES, hasValues } from './result_words';

/** Which prompts a verdict's numbers are of; empty where all numbers are of all prompts. */
export function promptsUsed(data: ExperimentData): string {
  const counts = promptCounts(data);
  if (!counts) return '';
  const verdicts = data.numbers.verdict !== undefined;
  const ranks = data.numbers.rank_correlation !== undefined;
  let subject = 'Effects';
  if ((data.texts.measures ?? []).length > 0)
    subject += verdicts ? ', attention' : ' and attention';
  if (verdicts) subject += ' and verdicts';
  const which = ranks ? `${counts.measured}` : `${counts.measured} of ${counts.all}`;
  const rest = ranks ? `, rank correlations of all ${counts.all}` : '';
  return `${subject} are of the ${which} prompts that nothing was chosen on${rest}. ${HALVES}`;
}

function meanOf(values: ArrayLike<number> | undefined): number {
  const known = Array.from(values ?? []).filter(Number.isFinite);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** “200 prompts in 40 groups” */
export function promptsWords(data: ExperimentData): string {
  const of = data.numbers.cluster_of_prompt?.values ?? data.numbers.baseline?.values;
  if (!of || of.length === 0) return '';
  const groups = new Set(data.numbers.cluster_of_prompt?.values).size;
  return plural(of.length, 'prompt') + (groups > 0 ? ` in ${plural(groups, 'group')}` : '');
}

function meaningWords(data: ExperimentData): string {
  if (isDifference(data)) {
    return (
      'How much two captures differ, site by site: the largest |b − a| of the values of a head, ' +
      'and their mean.'
    );
  }
  const base = textAttribute(data, 'base');
  const before = base ? `of the ${base} run, which is the one that is changed` : 'before it';
  const mean = meanOf(data.numbers.baseline?.values);
  const baseline = Number.isNaN(mean)
    ? ''
    : `: ${short(mean, 4)} ${base ? `in the ${base} run` : 'without a change'}`;
  const recovery = data.numbers.recovery
    ? ' A recovery of 0 is the metric of the corrupt run, one of 1 that of the clean run.'
    : '';
  return `An effect is the metric after the change minus the metric ${before}${baseline}.${recovery}`;
}

interface KindCount {
  effects: number;
  least: number;
  most: number;
}

function countKinds(data: ExperimentData): Map<number, KindCount> {
  const counts = new Map<number, KindCount>();
  const groups = data.numbers.groups?.values;
  data.numbers.interval_kind?.values.forEach((kind, at) => {
    const count = counts.get(kind) ?? { effects: 0, least: Infinity, most: -1 };
    ++count.effects;
    const inGroups = groups?.[at];
    if (inGroups !== undefined) {
      count.least = Math.min(count.least, inGroups);
      count.most = Math.max(count.most, inGroups);
    }
    counts.set(kind, count);
  });
  return counts;
}

function groupsWords({ least, most }: KindCount): string {
  if (most < 0) return 'too few groups of prompts';
  return `${least < most ? `${least} to ` : ''}${plural(most, 'group')} of prompts`;
}

function reasonOf(kind: number, count: KindCount, of: string): string {
  switch (kind) {
    case -2:
      return `No number for ${of}: it is NaN, or no prompt could be measured.`;
    case -1:
      return (
        `No interval and no p for ${of}: ${groupsWords(count)}, at least 10 are needed ` +
        '(a prompt without a group is one of its own).'
      );
    case 1:
      return `No spread in ${of}: every group of prompts has the same effect, so the interval is that point.`;
    case 2:
      return (
        `A few groups of prompts carry ${of}, marked * in the list: the interval is cut to what the groups show and is ` +
        'a rough bound, and there is no simultaneous one.'
      );
    default:
      return '';
  }
}

/** Why intervals are missing or rough, a sentence for each reason. */
export function intervalReasons(data: ExperimentData): string[] {
  const all = data.numbers.interval_kind?.values.length ?? 0;
  return [...countKinds(data)]
    .sort(([a], [b]) => a - b)
    .map(([kind, count]) => reasonOf(kind, count, `${count.effects} of ${plural(all, 'effect')}`))
    .filter(Boolean);
}

/** Prompts of unequal length: which positions only some of them have. */
function lengthWords(data: ExperimentData): string {
  const n = data.numbers.n?.values;
  const axis = data.axes.indexOf('position');
  const extent = data.positions.length;
  if (!n || axis !== data.axes.length - 1 || extent === 0) return '';
  let most = 0;
  for (const count of n) most = Math.max(most, count);
  const prompts = data.positions.map((position, column) => {
    let count = 0;
    for (let at = column; at < n.length; at += extent) count = Math.max(count, n[at]!);
    return { position, count };
  });
  // None where nothing could be measured says nothing of lengths.
  const rare = prompts.filter(({ count }) => count > 0 && count < most);
  const [first, last] = [rare[0], rare.at(-1)];
  if (!first || !last) return '';
  const also = last === first ? '' : `, position ${last.position} in ${last.count}`;
  return (
    `Prompts differ in length: position ${first.position} is in ${first.count} of ` +
    `${plural(most, 'prompt')}${also}. Such columns mix the last tokens of some prompts with ` +
    'earlier ones of others.'
  );
}

/** Everything that has to be known to read the numbers, as sentences. */
export function readingNotes(data: ExperimentData): string[] {
  const notes = [
    meaningWords(data),
    promptsUsed(data),
    lengthWords(data),
    ...intervalReasons(data),
  ];
  if (hasValues(data, 'ci_low') && hasValues(data, 'p')) {
    notes.push(
      'An interval says whether it is of one unit alone or holds for all units at once; it is by ' +
        'drawing groups again, p by turning their signs at random. Near the edge one may exclude 0 ' +
        'and the other not: leave such an effect open. p adjusted holds for all units of a table ' +
        'at once.',
    );
  }
  if (hasValues(data, 'minimal_detectable')) {
    const one = data.numbers.minimal_detectable!.values.length < data.numbers.effect!.values.length;
    notes.push(
      'Detectable: the smallest effect that a test of this unit alone would find in four of five ' +
        `such runs${one ? '; one number a unit, the largest over methods' : ''}.`,
    );
  }
  return [...notes, ...(data.texts.notes ?? [])].filter(Boolean);
}
