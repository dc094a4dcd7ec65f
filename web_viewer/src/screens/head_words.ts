/** One head in words, the same everywhere. */

import type { HeadEffect } from '../model/effects';
import { effectWords, rangeSentence, verdictSentence, verdictWord } from '../model/effects';
import { nameOf } from '../model/heads';
import { short } from '../model/numbers';
import { statistic } from '../state/selection';
import { table } from '../state/heads';
import { chosenEffects, chosenMethod } from '../state/workspace';

const delta = (): number => chosenEffects.value?.effects.delta ?? NaN;

export const TRAY =
  'The tray holds heads put aside: two and more can be drawn as one map (Head) or compared, and links keep them.';

export const verdictWords = ({ verdict }: HeadEffect): string =>
  verdict ? verdictWord(verdict, delta()) : '';

/** What the verdict means, for the one who points at it. */
export const verdictTitle = (effect: HeadEffect | null | undefined): string | undefined =>
  verdictSentence(effect?.verdict ?? null, delta());

/** “zeroing changes logit-diff by −0.4 [−0.6, −0.2] (all at once)” */
export function effectSentence(index: number): string {
  const named = chosenEffects.value;
  const effect = table.value.effects[index];
  if (!named || !effect) return '';
  return effectWords(named.effects, chosenMethod.value, effect);
}

/** The same as an element that tells, where it is pointed at, what its interval is. */
export function rangeTitle(index: number): string | undefined {
  const effect = table.value.effects[index];
  return (effect && rangeSentence(effect)) || undefined;
}

export function describeHead(index: number): string {
  const head = table.value.heads[index];
  if (!head) return '';
  const column = statistic.value;
  const parts = [`Head ${nameOf(head)}`];
  if (column) parts.push(`${column.label} ${short(column.values[index]!)}`);
  const sentence = effectSentence(index);
  if (sentence) parts.push(sentence);
  const effect = table.value.effects[index];
  if (effect?.verdict) parts.push(verdictWords(effect));
  return parts.join(', ');
}
