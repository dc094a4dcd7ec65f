/** The same map of several prompts: whether it has a mean, and of which tokens its axes are. */

import type { PromptMap } from '../format/types';
import { plural } from './numbers';
import { tokenLabel } from './tokens';

const sameNumbers = (a: readonly number[] | null, b: readonly number[] | null): boolean =>
  a === b || (a?.length === b?.length && (a?.every((n, at) => n === b?.[at]) ?? false));

/** Whether two maps have the same heads, rows and columns. */
export const isSameMap = (a: PromptMap, b: PromptMap): boolean =>
  a.map !== null &&
  b.map !== null &&
  a.queries.length === b.queries.length &&
  a.keys.length === b.keys.length &&
  sameNumbers(a.map.shape, b.map.shape) &&
  sameNumbers(a.map.heads, b.map.heads) &&
  sameNumbers(a.map.queryPositions, b.map.queryPositions) &&
  sameNumbers(a.map.keyPositions, b.map.keyPositions);

/** Longer maps are not averaged: every one of them would be read whole. */
export const MAX_AVERAGED = 2048;

/** Why the maps of the prompts that were found have no mean; empty where they have one. */
export function whyNoMean(found: readonly PromptMap[], here: PromptMap): string {
  const all = found.length;
  if (all < 2) return `A mean needs two prompts or more; the list finds ${all}.`;
  const lacking = found.filter(({ map }) => map === null).length;
  if (lacking > 0) return `${lacking} of the ${all} prompts found have no map of this head.`;
  if (Math.max(here.queries.length, here.keys.length) > MAX_AVERAGED) {
    return `Maps of more than ${MAX_AVERAGED} tokens are not averaged here.`;
  }
  const same = found.filter((one) => isSameMap(one, here)).length;
  if (same === all) return '';
  const lengths = new Set(found.map(({ length }) => length));
  const own = here.length;
  if (lengths.size === 1 && !lengths.has(own)) {
    return `The ${all} prompts found have ${[...lengths][0]} tokens, the one on screen ${own}.`;
  }
  if (lengths.size === 1)
    return `Only ${same} of the ${all} prompts found have a map like this one.`;
  return (
    `The ${all} prompts found do not have the same number of tokens: ` +
    `${plural(found.filter(({ length }) => length === own).length, 'prompt')} of ${own}, as on ` +
    `screen, and ${plural(lengths.size - +lengths.has(own), 'other length')}.`
  );
}

/** The token at one position of several prompts. */
export interface SharedToken {
  /** null where prompts differ. */
  text: string | null;
  /** Every text that stands there with how often, the most frequent first. */
  texts: [text: string, prompts: number][];
}

/** The tokens of prompts of one length, position by position. */
export function sharedTokens(prompts: readonly (readonly string[])[]): SharedToken[] {
  return (prompts[0] ?? []).map((_, at) => {
    const counts = new Map<string, number>();
    for (const texts of prompts) {
      const text = texts[at] ?? '';
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    const texts = [...counts].sort((a, b) => b[1] - a[1]);
    return { text: texts.length === 1 ? texts[0]![0] : null, texts };
  });
}

const LISTED = 12;

/** “·Tom ×5, ·Anna ×2” */
export function textsWords({ texts }: SharedToken): string {
  const listed = texts.slice(0, LISTED).map(([text, count]) => `${tokenLabel(text)} ×${count}`);
  const more = texts.length - listed.length;
  return listed.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
