/** Causal results of heads: effects, intervals and verdicts, looked up by layer and head. */

import { STACKS, type StackName } from '../format/schema';
import type { ExperimentData } from '../format/types';
import { interval, short, signed } from './numbers';
import { parseUnit } from './units';

export type Verdict = 'causal' | 'no effect' | 'undetermined' | 'backed up';

export interface HeadEffect {
  /** Name of what was changed: the head itself, or its key-value group. */
  unit: string;
  effect: number;
  low: number;
  high: number;
  /** Holds for all units of the method at once; NaN where the file has none. */
  simultaneousLow: number;
  simultaneousHigh: number;
  /** The same over all prompts of a verdict, without an interval. */
  ofAllPrompts: number;
  n: number;
  pAdjusted: number;
  /** See SCHEMA.md: 0 regular, 1 a point, 2 rough, below 0 why there is none. */
  intervalKind: number;
  verdict: Verdict | null;
}

/** A rank correlation within layers, with what the experiment says around it. */
export interface RankResult {
  tau: number;
  low: number;
  high: number;
  p: number;
  /** The smallest p that so many shuffles can give; 0 where p is exact. */
  smallestP: number;
  ceiling: number;
  ceilingLow: number;
  ceilingHigh: number;
  attainable: number;
}

export interface HeadEffects {
  experiment: string;
  kind: string;
  metric: string;
  methods: string[];
  noiseFloor: number;
  /** Smallest effect of interest, where the experiment has one. */
  delta: number;
  hasVerdicts: boolean;
  /** Whether intervals that hold for all units at once are stored. */
  hasSimultaneous: boolean;
  /** Whether any effect has an interval. */
  hasIntervals: boolean;
  /** Heads that one unit covers; 1 where units are heads. */
  headsPerUnit: number;
  /** Units that are no head of any stack, such as sets. */
  otherUnits: number;
  /** What paths lead to, in a patching of paths. */
  receivers: string;
  prompts: PromptCounts | null;
  withheld: string;
  paragraph: string;
  measures: string[];
  /** Heads that have a unit, in order of the model. */
  heads: { layer: number; head: number }[];
  effectOf(method: number, layer: number, head: number): HeadEffect | null;
  measureOf(measure: number, layer: number, head: number, prompts?: PromptChoice): number;
  /** Rank correlation within layers that the experiment itself holds; null without one. */
  rankOf(method: number, measure: number): RankResult | null;
}

/** A verdict measures on one half of the prompts and chooses on the other. */
export interface PromptCounts {
  all: number;
  measured: number;
}

export type PromptChoice = 'measured' | 'all';

export interface EffectOptions {
  stack?: StackName;
  /** Query heads that share a key-value head. */
  groupSize?: number;
}

const VERDICTS: Record<number, Verdict> = {
  1: 'causal',
  0: 'no effect',
  [-1]: 'undetermined',
  [-2]: 'backed up',
};

/** The name of a stored verdict; null for a number of a later version. */
export const verdictName = (stored: number): Verdict | null => VERDICTS[stored] ?? null;

/** A verdict in full; `delta` where it stands beside an interval, which may exclude 0 and yet lie
 *  within ±δ. */
export function verdictWord(verdict: Verdict, delta = NaN): string {
  if (verdict === 'backed up') return 'undetermined (backed up)';
  const bound = verdict === 'no effect' && !Number.isNaN(delta);
  return bound ? `${verdict} beyond ±${short(delta)}` : verdict;
}

/** What a verdict means, in a sentence. */
export function verdictSentence(verdict: Verdict | null, delta: number): string | undefined {
  const bound = Number.isNaN(delta) ? 'δ' : `δ = ${short(delta)}`;
  const sentences: Record<Verdict, string> = {
    causal: `Removing it changes the metric by more than ${bound}: the interval that holds for all units at once lies outside ±δ under at least two methods.`,
    'no effect': `All its effects are shown to be smaller than ${bound}.`,
    undetermined: `Neither is shown: its effect may be larger or smaller than ${bound}.`,
    'backed up':
      'Backed up: removing it alone changes nothing, but others stand in for it when it is gone, so that it may matter all the same.',
  };
  return verdict ? sentences[verdict] : undefined;
}

/** How much two captures differ, which is no effect of anything. */
export const isDifference = (data: ExperimentData): boolean =>
  textAttribute(data, 'kind') === 'diff';

/** Metrics that cannot be negative: of their effects there is no p, and intervals lie above 0. */
export const isDivergence = (metric: string): boolean =>
  ['kl', 'total-variation', 'top1-change', 'embedding-shift'].includes(metric);

const headKey = (layer: number, head: number): string => `${layer}.${head}`;

export const numberAttribute = (data: ExperimentData, name: string): number =>
  typeof data.attributes[name] === 'number' ? data.attributes[name] : NaN;

export const textAttribute = (data: ExperimentData, name: string): string =>
  typeof data.attributes[name] === 'string' ? data.attributes[name] : '';

export function promptCounts(data: ExperimentData): PromptCounts | null {
  const all = numberAttribute(data, 'prompts');
  const measured = numberAttribute(data, 'estimation_prompts');
  return Number.isNaN(all) || Number.isNaN(measured) ? null : { all, measured };
}

/** Names of all units, also where the file leaves them to the axes. */
export function unitNames({ axes, layers, heads, cells }: ExperimentData): string[] {
  if (cells.length > 0 || axes.join(' ') !== 'layer head') return cells;
  return layers.flatMap((layer) => heads.map((head) => headKey(layer, head)));
}

interface HeadIndex {
  unitAt: Map<string, number>;
  names: string[];
  headsPerUnit: number;
}

/** Flat index of the unit of every head. A head on its own goes before its key-value group;
 *  all other units (sets, MLPs, positions) are left out. */
function headIndex(data: ExperimentData, { stack = 'self', groupSize = 1 }: EffectOptions) {
  const names = unitNames(data);
  const index: HeadIndex = { unitAt: new Map(), names, headsPerUnit: 1 };
  for (const kind of ['kv-group', 'head'] as const) {
    const covered = kind === 'head' ? 1 : groupSize;
    names.forEach((name, at) => {
      const unit = parseUnit(name);
      if (unit?.kind !== kind || unit.stack !== stack) return;
      for (let i = 0; i < covered; ++i) {
        index.unitAt.set(headKey(unit.layer, unit.head * covered + i), at);
      }
      index.headsPerUnit = covered;
    });
  }
  return index;
}

/** Kinds of attention whose heads an experiment speaks about. */
export function stacksOf(data: ExperimentData): StackName[] {
  if (!data.numbers.effect) return [];
  const found = new Set(unitNames(data).map((name) => parseUnit(name)?.stack));
  return STACKS.filter((stack) => found.has(stack));
}

/** 1 ÷ (1 + draws): what a p of so many random draws cannot go below; 0 where nothing was drawn. */
const smallestOf = (draws: number): number => (draws > 0 ? 1 / (1 + draws) : 0);

/** The smallest p of effects, by the number of sign flips. */
export function smallestP(data: ExperimentData): number {
  try {
    const spec: unknown = JSON.parse(data.texts.spec_json?.[0] ?? '{}');
    const draws = (spec as { resamples?: unknown }).resamples;
    return typeof draws === 'number' ? smallestOf(draws) : 0;
  } catch {
    return 0;
  }
}

export function rankResult(
  data: ExperimentData,
  method: number,
  measure: number,
): RankResult | null {
  const offset = method * (data.texts.measures ?? []).length + measure;
  const at = (name: string): number => data.numbers[name]?.values[offset] ?? NaN;
  const tau = at('rank_correlation');
  if (Number.isNaN(tau)) return null;
  return {
    tau,
    low: at('rank_correlation_low'),
    high: at('rank_correlation_high'),
    p: at('rank_correlation_p'),
    smallestP: smallestOf(at('rank_correlation_shuffles')),
    ceiling: at('rank_ceiling'),
    ceilingLow: at('rank_ceiling_low'),
    ceilingHigh: at('rank_ceiling_high'),
    attainable: at('rank_attainable'),
  };
}

/** The effects of an experiment on the heads of one stack; null if it has none. */
export function headEffects(data: ExperimentData, options: EffectOptions = {}): HeadEffects | null {
  const { unitAt, names, headsPerUnit } = headIndex(data, options);
  const effect = data.numbers.effect;
  if (unitAt.size === 0 || !effect || isDifference(data)) return null;
  const units = effect.shape.slice(1).reduce((product, extent) => product * extent, 1);
  const at = (name: string, offset: number): number => data.numbers[name]?.values[offset] ?? NaN;
  const measures = data.texts.measures ?? [];
  return {
    experiment: data.name,
    kind: textAttribute(data, 'kind'),
    metric: textAttribute(data, 'metric'),
    methods: data.methods,
    noiseFloor: numberAttribute(data, 'noise_floor'),
    delta: numberAttribute(data, 'delta'),
    hasVerdicts: data.numbers.verdict !== undefined,
    hasSimultaneous: data.numbers.ci_sim_low !== undefined,
    hasIntervals: data.numbers.ci_low?.values.some((value) => !Number.isNaN(value)) ?? false,
    headsPerUnit,
    otherUnits: names.filter((name) => !parseUnit(name)).length,
    receivers: textAttribute(data, 'receivers'),
    prompts: promptCounts(data),
    withheld: data.texts.withheld?.[0] ?? '',
    paragraph: data.texts.paragraph?.[0] ?? '',
    measures,
    heads: [...unitAt.keys()]
      .map((key) => key.split('.').map(Number))
      .map(([layer = 0, head = 0]) => ({ layer, head }))
      .sort((a, b) => a.layer - b.layer || a.head - b.head),
    effectOf(method, layer, head) {
      const unit = unitAt.get(headKey(layer, head));
      if (unit === undefined || method >= (effect.shape[0] ?? 0)) return null;
      const offset = method * units + unit;
      const value = at('effect', offset);
      if (Number.isNaN(value)) return null;
      const verdict = data.numbers.verdict?.values[unit];
      return {
        unit: names[unit]!,
        effect: value,
        low: at('ci_low', offset),
        high: at('ci_high', offset),
        simultaneousLow: at('ci_sim_low', offset),
        simultaneousHigh: at('ci_sim_high', offset),
        ofAllPrompts: at('effect_all', offset),
        n: data.numbers.n?.values[data.numbers.n.values.length > units ? offset : unit] ?? NaN,
        pAdjusted: at('p_adjusted', offset),
        intervalKind: data.numbers.interval_kind?.values[offset] ?? 0,
        verdict: verdict === undefined ? null : verdictName(verdict),
      };
    },
    measureOf(measure, layer, head, prompts = 'measured') {
      const unit = unitAt.get(headKey(layer, head));
      const array = prompts === 'all' ? 'attention_all' : 'attention';
      return unit === undefined ? NaN : at(array, unit * measures.length + measure);
    },
    rankOf: (method, measure) => rankResult(data, method, measure),
  };
}

const PREFERENCE = ['verdict', 'ablate', 'patch'];

/** The experiment that a page shows first: the one that says most about whether heads matter, and
 *  of two of a kind the one whose units are heads. */
export function preferred(all: readonly HeadEffects[]): HeadEffects | null {
  const rank = ({ kind, headsPerUnit }: HeadEffects) => {
    const at = PREFERENCE.indexOf(kind);
    return 2 * (at < 0 ? PREFERENCE.length : at) + (headsPerUnit > 1 ? 1 : 0);
  };
  return [...all].sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

const CHANGES: Record<string, string> = {
  zero: 'setting it to zero',
  mean: 'replacing it by its mean',
  'mean-pos': 'replacing it by its mean at each position',
  resample: 'replacing it by its value in another prompt',
  optimal: 'replacing it by the constant that costs least',
  vector: 'replacing it by the given vector',
};

/** How a method's name reads in a sentence about `subject`. */
export function methodPhrase(kind: string, method: string, subject = 'it', receivers = ''): string {
  if (kind === 'patch') {
    if (method === 'path') return `patching its path to ${receivers || 'what reads it'}`;
    return `patching${method ? ` its ${method}` : ''}`;
  }
  const direct = / \(direct\)$/.exec(method);
  const alone = /^leave one in \((.*)\)$/.exec(method);
  const name = alone?.[1] ?? (direct ? method.slice(0, direct.index) : method);
  let phrase = CHANGES[name] ?? name;
  if (alone) {
    phrase = phrase.replace(/\bit\b/, 'all others').replace(/\bits\b/, 'their');
    phrase = `keeping ${subject} alone and ${phrase}`;
  }
  if (subject !== 'it') phrase = phrase.replace(/\bit\b/, subject);
  return direct ? `${phrase}, past all later layers,` : phrase;
}

const WHY_NO_INTERVAL: Record<number, string> = {
  [-1]: 'no interval: fewer than 10 groups of prompts',
  [-2]: 'no interval: values are missing',
};

type Ends = Pick<
  HeadEffect,
  'low' | 'high' | 'simultaneousLow' | 'simultaneousHigh' | 'intervalKind'
>;

/** “[−3, −1] (alone)”; empty where there is none. */
function aloneWords({ low, high, intervalKind }: Ends): string {
  const range = interval(low, high);
  return range && `${range} (alone${intervalKind === 2 ? ', a rough bound' : ''})`;
}

/** The interval that is stated of an effect: of many units the one that holds for all at once,
 *  where the file has it. “[−3.5, −0.5] (all at once)”, or why there is none. */
export function rangeWords(effect: Ends): string {
  const range = interval(effect.simultaneousLow, effect.simultaneousHigh);
  if (range) return `${range} (all at once)`;
  const why = WHY_NO_INTERVAL[effect.intervalKind];
  return aloneWords(effect) || (why ? `(${why})` : '');
}

/** The other interval, which is said in second place; empty where the stated one is the only one. */
export function secondRangeWords(effect: Ends): string {
  return Number.isNaN(effect.simultaneousLow) ? '' : aloneWords(effect);
}

/** What the stated interval is, for the one who points at it. */
export function rangeSentence(effect: Ends): string {
  const second = secondRangeWords(effect);
  if (second) {
    return `95 %, for all units at once; of this unit alone it is ${second.replace(/ \(.*/, '')}.`;
  }
  return aloneWords(effect) && '95 % of this unit alone; there is none for all units at once.';
}

/** “setting it to zero changes logit-diff by −0.4 [−0.6, −0.2] (all at once)” */
export function effectWords(effects: HeadEffects, method: number, effect: HeadEffect): string {
  const group = effects.headsPerUnit > 1 ? `${effect.unit}, its whole key-value group,` : 'it';
  const name = effects.methods[method] ?? '';
  const how = methodPhrase(effects.kind, name, group, effects.receivers);
  const metric = effects.metric || 'the metric';
  return `${how} changes ${metric} by ${signed(effect.effect)} ${rangeWords(effect)}`.trim();
}
