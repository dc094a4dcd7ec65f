/** One head in words, the same everywhere. */

import type { HeadEffect } from '../model/effects';
import { effectWords } from '../model/effects';
import { nameOf } from '../model/heads';
import { short } from '../model/numbers';
import { statistic } from '../state/selection';
import { table } from '../state/heads';
import { chosenEffects, chosenMethod } from '../state/workspace';

const VERDICT_WORDS = {
  causal: 'causal',
  'no effect': 'no effect',
  undetermined: 'undetermined',
  'backed up': 'undetermined, another head may stand in',
};

export function verdictWords(effect: HeadEffect): string {
  return effect.verdict ? VERDICT_WORDS[effect.verdict] : '';
}

/** “zeroing changes logit-diff by −0.4 [−0.6, −0.2]” */
export function effectSentence(index: number): string {
  const named = chosenEffects.value;
  const effect = table.value.effects[index];
  if (!named || !effect) return '';
  return effectWords(named.effects, chosenMethod.value, effect);
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
