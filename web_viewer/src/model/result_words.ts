/** What the numbers of an experiment are, in the words of the report and the command line. */

import type { ExperimentData } from '../format/types';
import { textAttribute } from './effects';

const TITLES: Record<string, string> = {
  interactions: 'each two of the strongest together',
  rerun_f32: 'the largest again in float32',
  verdict_kv: 'verdict on key-value heads',
  patch_layer_pos: 'patch by layer and position',
  patch_layer_head: 'patch by layer and head',
  patch_layer_head_pos: 'patch by layer, head and position',
  edges: 'cut edges of attention',
  diff: 'differences of two captures',
  paths: 'patch of paths',
};

const UNITS: Record<string, string> = {
  head: 'heads',
  'head-pos': 'heads at one position',
  'kv-group': 'key-value groups',
  mlp: 'MLPs',
  attention: 'whole attention layers',
  neuron: 'neurons',
};

export function experimentTitle(data: ExperimentData): string {
  const known = TITLES[data.name];
  if (known) return known;
  const unit = UNITS[textAttribute(data, 'unit')];
  return unit ? `${data.name} of ${unit}` : data.name;
}

/** Why a verdict has two halves of prompts. */
export const HALVES =
  'What is looked at closer is chosen on the other half, so that the choice does not flatter ' +
  'these numbers.';

/** What the intervals on screen are. */
export function intervalWords(simultaneous: boolean): string {
  return simultaneous
    ? '95 % intervals that hold for all units at once, so that each is wider than one for its unit alone'
    : '95 % intervals of each unit alone';
}

/** Whether any value of an array is a number. */
export const hasValues = (data: ExperimentData, name: string): boolean =>
  data.numbers[name]?.values.some(Number.isFinite) ?? false;
