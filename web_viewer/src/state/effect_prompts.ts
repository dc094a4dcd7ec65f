/** Which prompts the effects on screen are of, beside attention to which text. */

import { computed } from '@preact/signals';
import {
  effectPrompts,
  effectPromptsWords,
  resultName,
  type EffectPrompts,
  type Shown,
} from '../model/effect_prompts';
import { differencesOf, type Differences } from '../model/differences';
import type { PromptChoice } from '../model/effects';
import { safeText } from '../model/tokens';
import { promptMeans } from './prompts';
import {
  chosenEffects,
  mainRun,
  prompt,
  runs,
  type NamedExperiment,
  type OpenRun,
} from './workspace';

const promptsOf = ({ run, data }: NamedExperiment, which?: PromptChoice): EffectPrompts =>
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

/** The same of any experiment, where no attention stands beside it. */
export function measuredWords(item: NamedExperiment): string {
  const compared = differencesOf(item.data);
  if (!compared) return effectPromptsWords(promptsOf(item), null);
  const { a, b } = comparedFiles(compared);
  return `Compared are ${a.name} (a) and ${b.name} (b), each value of one with that of the other.`;
}

interface ComparedFile {
  /** null while the file is not open. */
  run: OpenRun | null;
  name: string;
}

/** The two files of a comparison, which it knows by their runs. */
export function comparedFiles({ a, b }: Differences): { a: ComparedFile; b: ComparedFile } {
  const fileOf = (id: string): ComparedFile => {
    const run = runs.value.find(({ summary }) => summary.root.run_id === id) ?? null;
    return { run, name: run ? safeText(run.summary.name, 40) : `run ${safeText(id, 8)}` };
  };
  return { a: fileOf(a), b: fileOf(b) };
}

/** Names of results that tell file and task apart where several files hold some. */
export function namesOf(all: readonly NamedExperiment[]): { id: string; name: string }[] {
  const several = new Set(all.map(({ run }) => run.id)).size > 1;
  return all.map((item) => ({
    id: item.id,
    name: resultName(item.data, promptsOf(item), several),
  }));
}
