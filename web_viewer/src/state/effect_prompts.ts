/** Which prompts the effects on screen are of, beside attention to which text. */

import { computed } from '@preact/signals';
import {
  effectPrompts,
  effectPromptsWords,
  resultName,
  type EffectPrompts,
  type Shown,
} from '../model/effect_prompts';
import type { PromptChoice } from '../model/effects';
import { promptMeans } from './prompts';
import { chosenEffects, mainRun, prompt, type NamedExperiment } from './workspace';

export const promptsOf = ({ run, data }: NamedExperiment, which?: PromptChoice): EffectPrompts =>
  effectPrompts(data, run.summary.name, run.texts, which);

const shown = computed<Shown>(() => {
  const means = promptMeans.value;
  const run = mainRun.value;
  if (means && run) return { means: means.prompts, file: run.summary.name };
  return prompt.value && prompt.value.stacks.length > 0 ? { text: prompt.value.text } : null;
});

export const chosenPrompts = computed<EffectPrompts | null>(() =>
  chosenEffects.value ? promptsOf(chosenEffects.value) : null,
);

/** “Measured on 100 of the 200 prompts of verdict.h5 (“…”), not on this text.” */
export const chosenPromptsWords = computed<string>(() => promptsWordsOf('measured'));

/** The same of the prompts that are chosen for dots. */
export function promptsWordsOf(which: PromptChoice): string {
  const chosen = chosenEffects.value;
  return chosen ? effectPromptsWords(promptsOf(chosen, which), shown.value) : '';
}

/** Names of results that tell file and task apart where several files hold some. */
export function namesOf(all: readonly NamedExperiment[]): { id: string; name: string }[] {
  const several = new Set(all.map(({ run }) => run.id)).size > 1;
  return all.map((item) => ({
    id: item.id,
    name: resultName(item.data, promptsOf(item), several),
  }));
}
