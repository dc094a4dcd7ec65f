/** One file of every kind of result, all of the demo model. */

import { join } from 'node:path';
import { model, make, pairs, PROMPT, capture } from './fixtures';

const on = (verb: string, limit: number): string[] => [
  ...[verb, '-m', model, '--pairs', pairs()],
  ...['--limit', String(limit)],
];

const sharedKeys = join(VIEWER_ROOT, '../tests/fixtures/models/stories260k/hf');
const STORY_IDS = '1,403,407,261,378,383,267,411,281,279';

/** Name of the file, and the arguments that make it. */
const ARGUMENTS: Record<string, string[]> = {
  'kv.h5': [...on('ablate', 40), '--unit', 'kv-group'],
  'mlp.h5': [...on('ablate', 40), '--unit', 'mlp', '--method', 'zero,mean'],
  'attention.h5': [...on('ablate', 40), '--unit', 'attention'],
  'neuron.h5': [...on('ablate', 20), '--unit', 'neuron', '--neurons', '1.0-20,3.5'],
  'head-pos.h5': [...on('ablate', 1), '--unit', 'head-pos', '--layers', '2-3'],
  'sets.h5': [...on('ablate', 40), '--heads', '3.1,3.5,3.1+3.5,2.0+2.1+2.2'],
  'interactions.h5': [...on('ablate', 40), '--interactions', '4'],
  'alone.h5': [...on('ablate', 40), '--leave-one-in', '--effect', 'total,direct'],
  'kl.h5': [...on('ablate', 70), '--metric', 'kl'],
  'few.h5': on('ablate', 3),
  'patch-head.h5': [...on('patch', 12), '--site', 'z', '--by', 'layer,head'],
  'patch-many.h5': [...on('patch', 70), '--site', 'z', '--by', 'layer,head'],
  'patch-head-pos.h5': [...on('patch', 4), '--site', 'z', '--by', 'layer,head,pos'],
  'patch-noise.h5': [...on('patch', 12), '--direction', 'noise'],
  'edges.h5': [...on('patch', 12), '--edge', 'knockout', '--queries', 'last', '--keys', '3,4'],
  'paths.h5': [...on('patch', 12), '--senders', '1.2,0.3', '--receivers', '3.1.q,3.5.v,mlp:3'],
  'lens-pairs.h5': on('lens', 70),
  'withheld.h5': on('verdict', 30),
  'verdict-kl.h5': [...on('verdict', 100), '--metric', 'kl'],
  'shared-keys.h5': [
    ...['ablate', '-m', sharedKeys, '--ids', STORY_IDS],
    ...['--unit', 'kv-group', '--metric', 'kl'],
  ],
};

export const RESULTS = Object.keys(ARGUMENTS);

export const result = (name: string): string => make(name, ARGUMENTS[name]!);

/** A capture of the model whose heads share keys, for `shared-keys.h5`. */
export const sharedKeysCapture = (): string =>
  make('shared-keys-run.h5', ['capture', '-m', sharedKeys, '--ids', STORY_IDS]);

const rounded = (): string =>
  make('bf16-run.h5', ['capture', '-m', model, '--prompt', PROMPT, '--dtype', 'bf16']);

export const difference = (): string => make('diff-of-dtypes.h5', ['diff', capture(), rounded()]);
