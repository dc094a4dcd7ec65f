/** Parts of a longer run, and what of the run each of them holds. */

import type { RunSummary } from '../format/types';

/** prompts: groups of prompts of their own; rows: the same in common arrays; cells: some cells of a
 *  sweep on all of its prompts; measurements: what a sweep has measured before anything is estimated. */
export type PartKind = 'prompts' | 'rows' | 'cells' | 'measurements';

export interface Shard {
  /** Place in the run, counted from 0. */
  index: number;
  total: number;
  kind: PartKind;
}

/** Name of the only experiment in a part that an interrupted sweep leaves. */
const MEASURED = 'rows';

function kindOf({ root, experiments }: RunSummary): PartKind {
  if (root.kind === 'capture') return root.layout === 'packed' ? 'rows' : 'prompts';
  return experiments.length === 1 && experiments[0] === MEASURED ? 'measurements' : 'cells';
}

/** The place of a part in its run; null for a file that is whole. */
export function shardOf(summary: RunSummary): Shard | null {
  const { shard } = summary.root;
  if (!Array.isArray(shard) || shard.length !== 2) return null;
  const [index, total] = shard.map(Number) as [number, number];
  if (!(index >= 0 && total > index)) return null;
  return { index, total, kind: kindOf(summary) };
}

/** Whether two parts belong together. */
export const isSameRun = (a: RunSummary, b: RunSummary): boolean =>
  shardOf(a)?.total === shardOf(b)?.total &&
  shardOf(a)?.kind === shardOf(b)?.kind &&
  a.root.run_id === b.root.run_id;

/** In words, for status line and header; `total` counts all parts of the run. */
export const partialWords = (open: number, total: number): string =>
  open < total ? `partial: ${open} of ${total} parts` : `all ${total} parts`;
