/** Names of units as they stand in files and on the command line: 5.1, kv:5.1, enc:3.1. */

import type { StackName } from '../format/schema';

/** One head, or one key-value head with the query heads that share it. */
export interface HeadUnit {
  stack: StackName;
  kind: 'head' | 'kv-group';
  layer: number;
  head: number;
}

const STACK_OF: Record<string, StackName> = {
  '': 'self',
  'enc:': 'encoder',
  'dec:': 'decoder',
  'cross:': 'cross',
};

const PREFIX_OF: Record<StackName, string> = {
  self: '',
  encoder: 'enc:',
  decoder: 'dec:',
  cross: 'cross:',
};

/** null for every other unit: sets, MLPs, neurons, positions, edges. */
export function parseUnit(name: string): HeadUnit | null {
  const match = /^(kv:)?(enc:|dec:|cross:)?(kv:)?(\d+)\.(\d+)$/.exec(name);
  if (!match) return null;
  return {
    stack: STACK_OF[match[2] ?? '']!,
    kind: match[1] || match[3] ? 'kv-group' : 'head',
    layer: Number(match[4]),
    head: Number(match[5]),
  };
}

/** A head as commands take it. */
export const headName = (stack: StackName, layer: number, head: number): string =>
  `${PREFIX_OF[stack]}${layer}.${head}`;
