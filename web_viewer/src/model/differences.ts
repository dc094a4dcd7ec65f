/** What `attnscope diff` found: in which heads two captures differ most. */

import type { ExperimentData } from '../format/types';
import { parsePatternName } from '../format/schema';
import { isDifference } from './effects';

export interface HeadDifference {
  head: string;
  value: number;
}

export interface Differences {
  /** Runs that were compared, by their ids. */
  a: string;
  b: string;
  method: string;
  metric: string;
  /** Heads whose maps differ, largest first. */
  heads: HeadDifference[];
  /** Heads that were compared and are equal. */
  equal: number;
  /** Heads whose maps hold something that is not a number. */
  undefined: number;
}

function runIds(spec: string): { a: string; b: string } {
  try {
    const { a, b } = JSON.parse(spec) as Record<string, { run_id?: unknown } | undefined>;
    return { a: String(a?.run_id ?? ''), b: String(b?.run_id ?? '') };
  } catch {
    return { a: '', b: '' };
  }
}

export function differencesOf(data: ExperimentData): Differences | null {
  const effect = data.numbers.effect;
  if (!isDifference(data) || !effect) return null;
  const largest = new Map<string, number>();
  data.cells.forEach((cell, at) => {
    const head = data.heads[at];
    const site = parsePatternName(
      cell
        .replace(/\/\d+$/, '')
        .split('/')
        .at(-1) ?? '',
    );
    if (!site || head === undefined || head < 0) return;
    const name = `${site.layer}.${head}`;
    // The first method is the largest difference; prompts of one head count together.
    largest.set(name, Math.max(largest.get(name) ?? 0, effect.values[at] ?? NaN));
  });
  const all = [...largest].map(([head, value]) => ({ head, value }));
  return {
    ...runIds(data.texts.spec_json?.[0] ?? ''),
    method: data.methods[0] ?? '',
    metric: typeof data.attributes.metric === 'string' ? data.attributes.metric : '',
    heads: all.filter(({ value }) => value > 0).sort((x, y) => y.value - x.value),
    equal: all.filter(({ value }) => value === 0).length,
    undefined: all.filter(({ value }) => Number.isNaN(value)).length,
  };
}
