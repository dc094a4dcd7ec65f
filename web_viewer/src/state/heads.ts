/** The table of heads that every screen reads: of one prompt, or means over many. */

import { computed } from '@preact/signals';
import { buildHeadTable, type HeadTable } from '../model/heads';
import { sizeOf } from '../model/join';
import { promptMeans } from './prompts';
import { chosenEffects, chosenMethod, experiments, mainRun, stack } from './workspace';

/** Direct logit attribution of heads, the mean over the prompts of an open lens. */
const attribution = computed(
  () =>
    experiments.value.find(({ data }) => data.attributes.kind === 'lens')?.data.numbers.dla_heads ??
    null,
);

export const table = computed<HeadTable>(() => {
  const model = mainRun.value?.summary.model ?? {};
  const means = promptMeans.value;
  return buildHeadTable({
    stack: means?.stack ?? stack.value,
    deviations: means?.deviations ?? null,
    effects: chosenEffects.value?.effects ?? null,
    method: chosenMethod.value,
    attribution: attribution.value,
    layerCount: sizeOf(model, 'n_layers'),
    headCount: sizeOf(model, 'n_heads'),
    keyValueHeads: sizeOf(model, 'n_kv_heads'),
  });
});
