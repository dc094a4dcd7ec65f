/** Several files side by side: which of them are of the same model. */

import type { Attributes, RunSummary } from '../format/types';

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Files of equal weights and configuration are of one model, whatever their names. */
export function modelKey(summary: RunSummary): string {
  const { weights_sha256: weights, config_sha256: config, name } = summary.model;
  return text(weights) ? `${text(weights)}/${text(config)}` : `name:${text(name)}`;
}

export const modelName = (summary: RunSummary): string => text(summary.model.name);

export function sizeOf(model: Attributes, name: string): number {
  const value = model[name];
  return typeof value === 'number' ? value : 0;
}

/** Query heads that share a key-value head; 1 where none do. */
export function groupSizeOf(model: Attributes): number {
  const [heads, groups] = [sizeOf(model, 'n_heads'), sizeOf(model, 'n_kv_heads')];
  return groups > 0 && heads % groups === 0 ? heads / groups : 1;
}
