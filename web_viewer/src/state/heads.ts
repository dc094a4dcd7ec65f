/** The table of heads that every screen reads: of one prompt, or means over many. */

import { computed } from '@preact/signals';
import { countWords } from '../model/effect_prompts';
import { buildHeadTable, type HeadTable } from '../model/heads';
import { groupSizeOf, sizeOf } from '../model/join';
import { chosenPrompts } from './effect_prompts';
import { promptMeans } from './prompts';
import { chosenEffects, chosenMethod, experiments, mainRun, stack, stackName } from './workspace';

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
    measuredOn: chosenPrompts.value ? countWords(chosenPrompts.value) : '',
    attribution: attribution.value,
    // The stacks of an encoder and a decoder may be less deep than the model says.
    layerCount: stackName.value === 'self' ? sizeOf(model, 'n_layers') : 0,
    groupSize: groupSizeOf(model),
  });
});
