/** The line at the bottom: what a view leaves out or reduces is always said here. */

import { computed, signal } from '@preact/signals';
import { bytes, plural } from '../model/numbers';
import { table } from './heads';
import { promptMeans } from './prompts';
import { mainRun, runs } from './workspace';

/** What the present view says of itself; empty for the general line. */
export const viewStatus = signal('');

export const status = computed(() => {
  if (viewStatus.value) return viewStatus.value;
  const run = mainRun.value;
  if (!run) return '';
  const { summary } = run;
  const parts = [`${bytes(summary.size)} local file`];
  if (table.value.heads.length > 0) parts.push(`${table.value.heads.length} heads`);

  const shards = runs.value.filter(({ summary: { root } }) => Array.isArray(root.shard));
  if (shards.length > 0) {
    const [, total] = shards[0]!.summary.root.shard as number[];
    parts.push(`partial: ${shards.length} of ${total} parts are open`);
  }
  const means = promptMeans.value;
  if (means) parts.push(`means over ${plural(means.prompts, 'prompt')}`);
  return parts.join(' · ');
});
