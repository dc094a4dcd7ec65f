/** What the numbers of an experiment were taken from, where no attention stands beside them. */

import { differencesOf, type Differences } from '../model/differences';
import { effectPromptsWords } from '../model/effect_prompts';
import { safeText } from '../model/tokens';
import { promptsOf } from './effect_prompts';
import { runs, type NamedExperiment, type OpenRun } from './workspace';

/** “Measured on 100 of the 200 prompts of verdict.h5”, or which files were compared. */
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
