/** Three heads worth a first look, each with the sentence that says why. */

import type { HeadEffect, HeadEffects } from './effects';
import { effectWords, isDivergence } from './effects';
import { nameOf, type Column, type HeadTable } from './heads';
import { plural, short } from './numbers';

export interface NamedHead {
  title: string;
  /** null when no head fits, and the sentence then says so. */
  head: number | null;
  /** The sentence, parted where it names the head; without one all of it is `before`. */
  before: string;
  name: string;
  after: string;
  /** What the sentence takes for granted. */
  note: string;
  /** The open file that can tell, where the chosen one cannot. */
  file: string | null;
}

/** What is on screen beside the table. */
export interface NamedSurroundings {
  /** Other open captures of the model. */
  captures: readonly string[];
  /** Prompts that the statistics are means over; 0 for those of one text. */
  means: number;
  /** Rows of the one text whose token stands earlier as well; absent where that is not known. */
  rows?: number;
}

/** The whole sentence. */
export const sentenceOf = ({ before, name, after }: NamedHead): string => before + name + after;

const nobody = (title: string, why: string, file: string | null = null): NamedHead => ({
  title,
  head: null,
  before: why,
  name: '',
  after: '',
  note: '',
  file,
});

const PICKED =
  'An interval that holds for all units at once is quoted where there is one, for the head is ' +
  'picked among all of them.';
const loudNote = ({ label, sentence }: Column): string =>
  `Loud is what attends most, here by ${label}: ${sentence} ${PICKED}`;
const QUIET_NOTE = `An effect is large from a quarter of the strongest on. ${PICKED}`;
const INDUCTION_NOTE =
  'Attention is averaged over the rows whose token stands earlier in the text as well; on other ' +
  'rows there is nothing to copy.';

/** What a head attends to how loudly: the verdict's own measure where there is one. */
function loudness(table: HeadTable): Column | null {
  return table.columns.get('verdict_attention_mass') ?? table.columns.get('norm_weighted') ?? null;
}

const coversZero = (effect: HeadEffect): boolean => effect.low <= 0 && effect.high >= 0;

function hasNone(effect: HeadEffect): boolean {
  return effect.verdict ? effect.verdict === 'no effect' : coversZero(effect);
}

function hasSome(effect: HeadEffect): boolean {
  if (effect.verdict) return effect.verdict === 'causal';
  const { simultaneousLow: low, simultaneousHigh: high } = effect;
  // Among many some would exclude 0 by chance, each for itself.
  return Number.isNaN(low) ? effect.low > 0 || effect.high < 0 : low > 0 || high < 0;
}

function best(
  count: number,
  fits: (head: number) => boolean,
  score: (head: number) => number,
): number | null {
  let winner: number | null = null;
  for (let head = 0; head < count; ++head) {
    const value = score(head);
    if (Number.isNaN(value) || !fits(head)) continue;
    if (winner === null || value > score(winner)) winner = head;
  }
  return winner;
}

interface Rank {
  words: string;
  /** Strictly in this half; a head in the middle is in none. */
  half: 'louder' | 'quieter' | null;
}

function rankOf(column: Column, head: number): Rank {
  const value = column.values[head]!;
  const rank = 1 + column.values.filter((other) => other > value).length;
  const total = column.values.filter((other) => !Number.isNaN(other)).length;
  const middle = (total + 1) / 2;
  return {
    words: `${column.label} ${short(value)}, rank ${rank} of ${total}`,
    half: rank < middle ? 'louder' : rank > middle ? 'quieter' : null,
  };
}

const LOUD = 'Loudest without effect';
const QUIET = 'Quietest with a large effect';
const NO_EFFECTS = 'Not known: no open file has a causal result of these heads.';
const NO_MEASURE =
  'Not known: nothing that is open measures how loudly heads attend. Open a capture beside it.';
const NO_CAPTURE = 'Not known: no capture of this model is open.';
const OTHER_FILE = 'The chosen file does not tell, but an open capture does:';

function noMeasure(title: string, why: string, { captures }: NamedSurroundings): NamedHead {
  const file = captures[0] ?? null;
  return nobody(title, file === null ? why : OTHER_FILE, file);
}
const NO_INTERVALS =
  'Not known: no effect has an interval, for there are too few groups of prompts.';
const WITHHELD = 'Not known: the verdicts are withheld.';

/** Why no head is named as one without effect. */
function whyNone({ hasVerdicts, hasIntervals, metric, withheld }: HeadEffects): string {
  if (hasVerdicts) return 'There is none: no head is judged to have no effect.';
  if (withheld) return WITHHELD;
  if (!hasIntervals) return NO_INTERVALS;
  return isDivergence(metric)
    ? `Not known: ${metric} cannot be negative, so intervals lie above 0. A verdict tells.`
    : 'There is none: the interval of every effect alone excludes 0.';
}

/** Why no head is named as one with a large effect. */
function whyNoneLarge({ hasVerdicts, hasIntervals, withheld }: HeadEffects): string {
  if (hasVerdicts) return 'There is none: no head is judged to be causal.';
  if (withheld) return WITHHELD;
  return hasIntervals ? 'There is none: every interval of an effect covers 0.' : NO_INTERVALS;
}

function loudWithoutEffect(
  table: HeadTable,
  effects: HeadEffects,
  method: number,
  around: NamedSurroundings,
): NamedHead {
  const title = LOUD;
  const column = loudness(table);
  const effectAt = (head: number) => table.effects[head] ?? null;
  const fits = (head: number) => {
    const effect = effectAt(head);
    return effect !== null && !effects.withheld && hasNone(effect);
  };
  const head = column ? best(table.heads.length, fits, (at) => column.values[at]!) : null;
  if (!column) return noMeasure(title, NO_MEASURE, around);
  if (head === null) return nobody(title, whyNone(effects));
  const caution = effects.hasVerdicts
    ? `, less than the ±${short(effects.delta)} that would count`
    : '; an interval over 0 is no proof of none';
  const { words, half } = rankOf(column, head);
  const name = nameOf(table.heads[head]!);
  const found = effectAt(head)!;
  const effect = `${effectWords(effects, method, found)}${caution}.`;
  const shared = { title, head, name, note: loudNote(column), file: null };
  return half === 'quieter'
    ? {
        ...shared,
        before: 'No head is both loud and without effect: of the heads without effect ',
        after: ` is the loudest (${words}); ${effect}`,
      }
    : { ...shared, before: '', after: ` attends (${words}), yet ${effect}` };
}

function quietWithEffect(
  table: HeadTable,
  effects: HeadEffects,
  method: number,
  around: NamedSurroundings,
): NamedHead {
  const title = QUIET;
  const column = loudness(table);
  const effectAt = (head: number) => table.effects[head] ?? null;
  const some = (effect: HeadEffect | null): effect is HeadEffect =>
    effect !== null && !effects.withheld && hasSome(effect);
  const sizes = table.effects.filter(some).map((effect) => Math.abs(effect.effect));
  // Large: at least a quarter of the strongest.
  const large = Math.max(...sizes, 0) / 4;
  const fits = (head: number) => {
    const effect = effectAt(head);
    return some(effect) && Math.abs(effect.effect) >= large;
  };
  const head = column ? best(table.heads.length, fits, (at) => -column.values[at]!) : null;
  if (!column) return noMeasure(title, NO_MEASURE, around);
  if (head === null) return nobody(title, whyNoneLarge(effects));
  const { words, half } = rankOf(column, head);
  const name = nameOf(table.heads[head]!);
  const found = effectAt(head)!;
  const effect = `${effectWords(effects, method, found)}; large is ±${short(large)} or more.`;
  const shared = { title, head, name, note: QUIET_NOTE, file: null };
  return half === 'louder'
    ? {
        ...shared,
        before: 'No head is both quiet and strong: of the heads with a large effect ',
        after: ` is the quietest (${words}); ${effect}`,
      }
    : { ...shared, before: '', after: ` is quiet (${words}), yet ${effect}` };
}

/** With fewer rows the share is that of a few tokens. */
const FEW_ROWS = 5;

/** Rows on which induction can be seen: an earlier copy of their token, and one that followed it
 *  before this row. */
export function inductionRows(tokens: ArrayLike<string | number>): number {
  const seen = new Set<string | number>();
  let rows = 0;
  for (let row = 2; row < tokens.length; ++row) {
    seen.add(tokens[row - 2]!);
    if (seen.has(tokens[row]!)) ++rows;
  }
  return rows;
}

function bestInduction(table: HeadTable, around: NamedSurroundings): NamedHead {
  const { rows = NaN } = around;
  const few = rows < FEW_ROWS;
  const title = `Best induction head${few ? ` (${plural(rows, 'row')})` : ''}`;
  const column = table.columns.get('induction');
  if (!column) return noMeasure(title, NO_CAPTURE, around);
  const everyone = () => true;
  const head = best(table.heads.length, everyone, (at) => column.values[at]!);
  if (head === null) {
    return nobody(title, 'There is none here: no token of the text comes twice.');
  }
  const value = column.values[head]!;
  const means =
    around.means > 1 ? `; mean over those of ${around.means} prompts that have such rows` : '';
  return {
    title,
    head,
    before: '',
    name: nameOf(table.heads[head]!),
    after:
      ` puts ${short(100 * value)} % of its attention on what followed an earlier copy` +
      `${few ? '' : `, ${rowsWords(rows)}`}${value < 0.2 ? ', which is little' : ''}${means}.`,
    note: few ? `${INDUCTION_NOTE} So few rows tell little.` : INDUCTION_NOTE,
    file: null,
  };
}

function rowsWords(rows: number): string {
  if (Number.isNaN(rows)) return 'on rows that have one';
  return `on ${plural(rows, 'row')}`;
}

/** Always three: one that cannot be named says why. */
export function namedHeads(
  table: HeadTable,
  effects: HeadEffects | null,
  method: number,
  around: NamedSurroundings,
): NamedHead[] {
  if (!effects || table.effects.every((effect) => effect === null)) {
    return [nobody(LOUD, NO_EFFECTS), nobody(QUIET, NO_EFFECTS), bestInduction(table, around)];
  }
  return [
    loudWithoutEffect(table, effects, method, around),
    quietWithEffect(table, effects, method, around),
    bestInduction(table, around),
  ];
}
