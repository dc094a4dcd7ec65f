/** The line at the bottom: what a view leaves out or reduces is always said here. */

import { computed, signal } from '@preact/signals';
import { JoinedFile } from '../io/joined_file';
import { bytes, plural } from '../model/numbers';
import { exportProgress } from './export_map';
import { table } from './heads';
import { promptMeans } from './prompts';
import { mainRun } from './workspace';

/** What the present view says of itself; empty for the general line. */
export const viewStatus = signal('');

export const status = computed(() => {
  if (exportProgress.value) return exportProgress.value;
  if (viewStatus.value) return viewStatus.value;
  const run = mainRun.value;
  if (!run) return '';
  const { summary } = run;
  const parts = [`${bytes(summary.size)} local file`];
  if (table.value.heads.length > 0) parts.push(`${table.value.heads.length} heads`);

  if (run.file instanceof JoinedFile) {
    parts.push(`partial: ${run.file.parts.length} of ${run.file.parts[0]!.shard[1]} parts`);
  } else if (Array.isArray(summary.root.shard)) {
    parts.push(`partial: 1 of ${summary.root.shard[1]} parts`);
  }
  const means = promptMeans.value;
  if (means) parts.push(`means over ${plural(means.prompts, 'prompt')}`);
  return parts.join(' · ');
});
