/** The strongest keys of every query as edges: read as they are stored, never from a column. */

import { computed } from '@preact/signals';
import type { Edge } from '../draw/bipartite';
import { transformed } from '../draw/transform';
import type { Tokens } from '../format/types';
import { plainAxis, positionsAt, shownAt, wordAxis } from '../model/axis';
import { wordLabel } from '../model/tokens';
import { wordTexts } from '../model/words';
import { fullTransform, wordsOfSides } from './cells';
import { rangeEnds } from './colors';
import { keyTokens, queryTokens } from './focus';
import { currentRows } from './rows';
import { prompt } from './workspace';

/** One side of the picture: tokens, or words. */
export interface Side {
  labels: string[];
  /** First position of each row. */
  starts: number[];
  rowOf: (position: number) => number;
  /** Positions. */
  count: number;
}

function sideOf(tokens: Tokens | undefined, words: Int32Array | null): Side {
  const count = tokens?.texts.length ?? 0;
  const axis = words && count > 0 ? wordAxis(count, null, words) : plainAxis(count, null);
  const textsOf = tokens && wordTexts(tokens, axis.begin ? (prompt.value?.text ?? '') : '');
  const rows = Array.from({ length: axis.count }, (_, at) => positionsAt(axis, at));
  return {
    labels: rows.map((positions) => wordLabel(textsOf?.(positions) ?? [])),
    starts: rows.map(([first]) => first!),
    rowOf: (at) => shownAt(axis, at),
    count,
  };
}

export const querySide = computed(() => sideOf(queryTokens.value, wordsOfSides.value.queries));
export const keySide = computed(() => sideOf(keyTokens.value, wordsOfSides.value.keys));

/** Edges of all queries, strongest first; of words the sums over keys and means over queries. */
export const edges = computed<Edge[]>(() => {
  const [queries, keys] = [querySide.value, keySide.value];
  const rows = currentRows.value;
  if (!rows?.topIndex || !rows.topValue) return [];
  const { rowFactor } = fullTransform.value;
  const alive = (query: number) => !Number.isNaN(rowFactor?.[query] ?? 1);
  const counts = new Uint32Array(queries.starts.length);
  for (let query = 0; query * rows.topCount < rows.topIndex.length; ++query) {
    if (alive(query)) ++counts[queries.rowOf(query)]!;
  }
  const sums = new Map<number, Edge>();
  for (let at = 0; at < rows.topIndex.length; ++at) {
    const key = rows.topIndex[at]!;
    const query = Math.floor(at / rows.topCount);
    if (key < 0 || !alive(query)) continue;
    const [from, to] = [queries.rowOf(query), keys.rowOf(key)];
    const weight = transformed(fullTransform.value, rows.topValue[at]!, query, key) / counts[from]!;
    if (!(weight > 0)) continue;
    const known = sums.get(from * keys.starts.length + to);
    if (known) known.weight += weight;
    else sums.set(from * keys.starts.length + to, { query: from, key: to, weight });
  }
  return [...sums.values()].sort((a, b) => b.weight - a.weight);
});

/** What the thinnest and the widest line stand for: weighed by value, weights are above one. */
export const edgeRange = computed(() => rangeEnds(() => edges.value[0]?.weight ?? 1));
