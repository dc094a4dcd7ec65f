/** One table of all heads, with a column for everything that is known of each. */

import type { NumberData, StackData } from '../format/types';
import type { HeadEffect, HeadEffects } from './effects';
import { definitionOf, orderOf } from './statistics';

export interface HeadRef {
  layer: number;
  head: number;
}

export interface Column {
  id: string;
  label: string;
  sentence: string;
  kind: 'statistic' | 'measure' | 'effect';
  share: boolean;
  /** One value a head, NaN where it is not defined. */
  values: Float64Array;
  /** The same over all prompts, where `values` are of the half that a verdict measures on. */
  allPrompts?: Float64Array;
  /** Spread over the prompts that were averaged; null for a single prompt. */
  deviations: Float64Array | null;
}

export interface HeadTable {
  heads: HeadRef[];
  /** Layers that have heads, in order; others are missing from the file. */
  layers: number[];
  /** Layers of the model, or of the file where the model does not say. */
  layerCount: number;
  width: number;
  /** Query heads that share a key-value head; 1 when none do. */
  groupSize: number;
  columns: Map<string, Column>;
  effects: (HeadEffect | null)[];
  index: Map<string, number>;
}

export interface HeadSources {
  stack: Pick<StackData, 'layers' | 'headCounts' | 'width' | 'statNames' | 'headStats'> | null;
  deviations?: Float32Array | null;
  effects: HeadEffects | null;
  method: number;
  /** The prompts that effects are of, in words. */
  measuredOn?: string;
  /** What a lens adds of every head, [layer, head]; null without one. */
  attribution: NumberData | null;
  layerCount: number;
  groupSize: number;
}

export const nameOf = ({ layer, head }: HeadRef): string => `${layer}.${head}`;

export function parseHead(text: string): HeadRef | null {
  const match = /^(\d+)\.(\d+)$/.exec(text);
  return match ? { layer: Number(match[1]), head: Number(match[2]) } : null;
}

function listHeads(sources: HeadSources): HeadRef[] {
  const { stack, effects, method } = sources;
  if (stack && stack.layers.length > 0) {
    return stack.layers.flatMap((layer, row) =>
      Array.from({ length: stack.headCounts[row] ?? stack.width }, (_, head) => ({ layer, head })),
    );
  }
  const tested = effects?.heads ?? [];
  return tested.filter(({ layer, head }) => effects!.effectOf(method, layer, head) !== null);
}

function statisticColumns(sources: HeadSources, heads: HeadRef[]): Column[] {
  const { stack, deviations } = sources;
  if (!stack || stack.headStats.length === 0) return [];
  const count = stack.statNames.length;
  const rows = new Map(stack.layers.map((layer, row) => [layer, row]));
  return stack.statNames.map((name, at) => {
    const pick = (from: Float32Array) =>
      Float64Array.from(heads, ({ layer, head }) => {
        const row = rows.get(layer) ?? 0;
        return from[(row * stack.width + head) * count + at] ?? NaN;
      });
    const { label, sentence, share } = definitionOf(name);
    return {
      id: name,
      label,
      sentence,
      kind: 'statistic',
      share,
      values: pick(stack.headStats),
      deviations: deviations ? pick(deviations) : null,
    };
  });
}

/** The column of a measure that an experiment names. */
export const measureId = (name: string): string => `verdict_${name.replaceAll(/[^a-z]+/g, '_')}`;

function measureColumns(effects: HeadEffects | null, heads: HeadRef[]): Column[] {
  if (!effects) return [];
  return effects.measures.map((name, at) => {
    const { label, sentence, share } = definitionOf(name);
    const over = (prompts: 'measured' | 'all') =>
      Float64Array.from(heads, ({ layer, head }) => effects.measureOf(at, layer, head, prompts));
    return {
      id: measureId(name),
      label,
      sentence,
      kind: 'measure',
      share,
      values: over('measured'),
      allPrompts: over('all'),
      deviations: null,
    };
  });
}

function attributionColumns(data: NumberData | null, heads: HeadRef[]): Column[] {
  if (!data || data.shape.length !== 2) return [];
  const [layers = 0, width = 0] = data.shape;
  const at = ({ layer, head }: HeadRef) =>
    layer < layers && head < width ? data.values[layer * width + head]! : NaN;
  return [
    {
      id: 'attribution',
      label: 'direct attribution',
      sentence:
        'What the head adds to the answer’s logit by itself, past all later layers (from the lens).',
      kind: 'measure',
      share: false,
      values: Float64Array.from(heads, at),
      deviations: null,
    },
  ];
}

function effectColumns(sources: HeadSources, found: (HeadEffect | null)[]): Column[] {
  const { effects, method, measuredOn } = sources;
  if (!effects) return [];
  const on = measuredOn ? `, on ${measuredOn}` : '';
  const how = effects.methods[method] ?? '';
  const unit = effects.headsPerUnit > 1 ? ' of the whole key-value group' : '';
  const what = `Change of ${effects.metric || 'the metric'}${how ? ` by ${how}` : ''}${unit}`;
  const column = (
    id: string,
    label: string,
    sentence: string,
    change: (value: number) => number,
  ) => ({
    id,
    label,
    sentence,
    kind: 'effect' as const,
    share: false,
    values: Float64Array.from(found, (effect) => change(effect?.effect ?? NaN)),
    allPrompts: Float64Array.from(found, (effect) => change(effect?.ofAllPrompts ?? NaN)),
    deviations: null,
  });
  return [
    column('effect', 'effect', `${what}: after minus before${on}.`, (value) => value),
    column('size', 'size of effect', `${what}, without its sign${on}.`, Math.abs),
  ];
}

export function buildHeadTable(sources: HeadSources): HeadTable {
  const heads = listHeads(sources);
  const effects = heads.map(
    ({ layer, head }) => sources.effects?.effectOf(sources.method, layer, head) ?? null,
  );
  const columns = [
    ...statisticColumns(sources, heads),
    ...measureColumns(sources.effects, heads),
    ...attributionColumns(sources.attribution, heads),
    ...effectColumns(sources, effects),
  ];
  const layers = [...new Set(heads.map(({ layer }) => layer))].sort((a, b) => a - b);
  const width = heads.reduce((widest, { head }) => Math.max(widest, head + 1), 0);
  return {
    heads,
    layers,
    layerCount: Math.max(sources.layerCount, (layers.at(-1) ?? -1) + 1),
    width,
    groupSize: sources.groupSize,
    columns: new Map(
      [...columns]
        .sort((a, b) => orderOf(a.id) - orderOf(b.id))
        .map((column) => [column.id, column]),
    ),
    effects,
    index: new Map(heads.map((head, at) => [nameOf(head), at])),
  };
}

/** Indices of heads, largest value first; heads without a value last, in order of the model. */
export function sortHeads(table: HeadTable, id: string, ascending = false): number[] {
  const order = table.heads.map((_, at) => at);
  const values = table.columns.get(id)?.values;
  if (!values) return order;
  const direction = ascending ? 1 : -1;
  return order.sort((a, b) => {
    const left = values[a]!;
    const right = values[b]!;
    if (Number.isNaN(left) || Number.isNaN(right)) {
      return Number(Number.isNaN(left)) - Number(Number.isNaN(right)) || a - b;
    }
    return direction * (left - right) || a - b;
  });
}
