/** Which prompts an effect was measured on, and whether the text on screen is one of them. */

import type { ExperimentData } from '../format/types';
import { promptCounts, type PromptChoice } from './effects';
import { plural } from './numbers';
import { experimentTitle } from './result_words';
import { safeText } from './tokens';

/** Texts of the prompts of a file, the first ones of very many. */
export interface PromptTexts {
  texts: readonly string[];
  total: number;
}

export interface EffectPrompts {
  file: string;
  /** Prompts that the effects are of; NaN where the file does not say. */
  measured: number;
  /** All prompts of the experiment; a verdict measures on a part of them. */
  all: number;
  /** The measured ones whose text is known. */
  texts: readonly string[];
  /** Whether those are all of them. */
  complete: boolean;
}

/** What is on screen beside the effect: one text, or means over several. */
export type Shown = { text: string } | { means: number; file: string } | null;

const EXAMPLE = 36;

export function effectPrompts(
  data: ExperimentData,
  file: string,
  known: PromptTexts | null,
  which: PromptChoice = 'measured',
): EffectPrompts {
  const { half_of_prompt: half, baseline, cluster_of_prompt: cluster } = data.numbers;
  const of = half ?? cluster ?? baseline;
  const all = of?.values.length ?? known?.total ?? NaN;
  const texts = known?.texts ?? [];
  const everyone = which === 'all' || half === undefined;
  const isMeasured = (_: string, at: number) => everyone || half.values[at] === 1;
  return {
    file,
    measured: (which === 'measured' && promptCounts(data)?.measured) || all,
    all,
    texts: texts.filter(isMeasured),
    complete: texts.length > 0 && texts.length === all,
  };
}

/** “Today it seems the trees far from …” */
function exampleOf({ texts }: EffectPrompts): string {
  const text = texts.find((one) => one.trim() !== '');
  return text === undefined ? '' : `“${safeText(text.trim(), EXAMPLE)}”`;
}

/** “100 of the 200 prompts of verdict.h5” */
export function countWords({ file, measured, all }: EffectPrompts): string {
  const of = safeText(file, 40);
  if (Number.isNaN(measured)) return `the prompts of ${of}`;
  if (measured < all) return `${measured} of the ${all} prompts of ${of}`;
  return measured === 1 ? `the one prompt of ${of}` : `${plural(measured, 'prompt')} of ${of}`;
}

/** Whether the text is one that the effects were measured on; null where the files do not tell. */
function isAmong({ texts, complete }: EffectPrompts, text: string): boolean | null {
  if (text.trim() === '') return null;
  if (texts.some((one) => one.trim() === text.trim())) return true;
  return complete ? false : null;
}

/** The sentence that keeps a map of one text apart from an effect on others. */
export function effectPromptsWords(prompts: EffectPrompts, shown: Shown): string {
  const example = exampleOf(prompts);
  const on = `Measured on ${countWords(prompts)}`;
  const such = example && ` (${example})`;
  if (shown && 'means' in shown) {
    const here = safeText(shown.file, 40);
    return `${on}${such}; attention is the mean over ${plural(shown.means, 'prompt')} of ${here}.`;
  }
  const among = shown ? isAmong(prompts, shown.text) : null;
  if (among === null) return `${on}${such}.`;
  if (!among) return `${on}${such}, not on this text.`;
  return `${on}, ${prompts.measured === 1 ? 'this text' : 'this text among them'}.`;
}

/** How a result is called in lists: with file and task where several files are open. */
export function resultName(data: ExperimentData, prompts: EffectPrompts, several: boolean): string {
  const title = experimentTitle(data);
  if (!several) return title;
  const example = exampleOf(prompts);
  return `${title}, ${safeText(prompts.file, 40)}${example && `: ${example}`}`;
}
