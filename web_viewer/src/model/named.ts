/** Three heads worth a first look, each with the sentence that says why. */

import type { HeadEffect, HeadEffects } from './effects';
import { methodPhrase } from './effects';
import { nameOf, type Column, type HeadTable } from './heads';
import { interval, short, signed } from './numbers';

export interface NamedHead {
  title: string;
  /** null when no head fits, and the sentence then says so. */
  head: number | null;
  sentence: string;
}

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
  return effect.low > 0 || effect.high < 0;
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

function effectWords(effects: HeadEffects, method: number, effect: HeadEffect): string {
  const how = methodPhrase(effects.kind, effects.methods[method] ?? '');
  const range = interval(effect.low, effect.high);
  return `${how} changes ${effects.metric} by ${signed(effect.effect)}${range ? ` ${range}` : ''}`;
}

function rankWords(column: Column, head: number): string {
  const value = column.values[head]!;
  const louder = column.values.filter((other) => other > value).length;
  const total = column.values.filter((other) => !Number.isNaN(other)).length;
  return `${column.label} ${short(value)}, rank ${louder + 1} of ${total}`;
}

function loudWithoutEffect(table: HeadTable, effects: HeadEffects, method: number): NamedHead {
  const title = 'Loudest without effect';
  const column = loudness(table);
  const effectAt = (head: number) => table.effects[head] ?? null;
  const head = column
    ? best(
        table.heads.length,
        (at) => effectAt(at) !== null && hasNone(effectAt(at)!),
        (at) => column.values[at]!,
      )
    : null;
  if (!column || head === null) {
    const why = effects.hasVerdicts
      ? 'No head is judged to have no effect.'
      : 'No interval of an effect covers 0.';
    return { title, head: null, sentence: column ? why : 'No measure of attention is stored.' };
  }
  const caution = effects.hasVerdicts ? '' : '; an interval over 0 is no proof of none';
  return {
    title,
    head,
    sentence:
      `${nameOf(table.heads[head]!)} attends (${rankWords(column, head)}), yet ` +
      `${effectWords(effects, method, effectAt(head)!)}${caution}.`,
  };
}

function quietWithEffect(table: HeadTable, effects: HeadEffects, method: number): NamedHead {
  const title = 'Quietest with a large effect';
  const column = loudness(table);
  const effectAt = (head: number) => table.effects[head] ?? null;
  const sizes = table.effects
    .filter((effect) => effect !== null && hasSome(effect))
    .map((effect) => Math.abs(effect!.effect))
    .sort((a, b) => b - a);
  // Large: at least a quarter of the strongest.
  const large = (sizes[0] ?? Infinity) / 4;
  const fits = (head: number) => {
    const effect = effectAt(head);
    return effect !== null && hasSome(effect) && Math.abs(effect.effect) >= large;
  };
  const head = column ? best(table.heads.length, fits, (at) => -column.values[at]!) : null;
  if (!column || head === null) {
    const why = effects.hasVerdicts
      ? 'No head is judged to be causal.'
      : 'No interval of an effect excludes 0.';
    return { title, head: null, sentence: column ? why : 'No measure of attention is stored.' };
  }
  return {
    title,
    head,
    sentence:
      `${nameOf(table.heads[head]!)} is quiet (${rankWords(column, head)}), yet ` +
      `${effectWords(effects, method, effectAt(head)!)}.`,
  };
}

function bestInduction(table: HeadTable): NamedHead {
  const title = 'Best induction head';
  const column = table.columns.get('induction');
  const head = column
    ? best(
        table.heads.length,
        () => true,
        (at) => column.values[at]!,
      )
    : null;
  if (!column) {
    return { title, head: null, sentence: 'Not known: no capture of this model is open.' };
  }
  if (head === null) {
    return { title, head, sentence: 'Induction is undefined here: no token comes twice.' };
  }
  const value = column.values[head]!;
  return {
    title,
    head,
    sentence:
      `${nameOf(table.heads[head]!)} puts ${short(100 * value)} % of its attention on what ` +
      `followed an earlier copy of the token${value < 0.2 ? ', which is little' : ''}.`,
  };
}

export function namedHeads(
  table: HeadTable,
  effects: HeadEffects | null,
  method: number,
): NamedHead[] {
  if (!effects) return [bestInduction(table)];
  return [
    loudWithoutEffect(table, effects, method),
    quietWithEffect(table, effects, method),
    bestInduction(table),
  ];
}
