/** The table of heads that every screen reads: of one prompt, or means over many. */

import { computed } from '@preact/signals';
import { buildHeadTable, type HeadTable } from '../model/heads';
import { sizeOf } from '../model/join';
import { promptMeans } from './prompts';
import { chosenEffects, chosenMethod, mainRun, stack } from './workspace';

export const table = computed<HeadTable>(() => {
  const model = mainRun.value?.summary.model ?? {};
  const means = promptMeans.value;
  return buildHeadTable({
    stack: means?.stack ?? stack.value,
    deviations: means?.deviations ?? null,
    effects: chosenEffects.value?.effects ?? null,
    method: chosenMethod.value,
    layerCount: sizeOf(model, 'n_layers'),
    headCount: sizeOf(model, 'n_heads'),
    keyValueHeads: sizeOf(model, 'n_kv_heads'),
  });
});
