/** The line at the bottom: what a view leaves out or reduces is always said here. */

import { computed, signal } from '@preact/signals';
import { bytes, plural } from '../model/numbers';
import { table } from './heads';
import { servedBy } from './opening';
import { promptMeans } from './prompts';
import { mainRun, partialOf } from './workspace';

/** What the present view says of itself; empty for the general line. */
export const viewStatus = signal('');

/** What is being written; empty when nothing is. */
export const exportProgress = signal('');

export const status = computed(() => {
  if (exportProgress.value) return exportProgress.value;
  if (viewStatus.value) return viewStatus.value;
  const run = mainRun.value;
  if (!run) return '';
  const { summary } = run;
  const parts = [`${bytes(summary.size)} ${servedBy(run).length > 0 ? 'served' : 'local'} file`];
  if (table.value.heads.length > 0) parts.push(`${table.value.heads.length} heads`);

  const partial = partialOf(run);
  if (partial) parts.push(partial);
  const means = promptMeans.value;
  if (means) parts.push(`statistics are means over ${plural(means.prompts, 'prompt')}`);
  return parts.join(' · ');
});
