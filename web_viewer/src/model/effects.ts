/** Causal results of heads: effects, intervals and verdicts, looked up by layer and head. */

import type { ExperimentData } from '../format/types';

export type Verdict = 'causal' | 'no effect' | 'undetermined' | 'backed up';

export interface HeadEffect {
  effect: number;
  low: number;
  high: number;
  simultaneousLow: number;
  simultaneousHigh: number;
  n: number;
  pAdjusted: number;
  /** 2: a few groups carry the effect and the interval is a rough bound. */
  intervalKind: number;
  verdict: Verdict | null;
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
  withheld: string;
  paragraph: string;
  measures: string[];
  effectOf(method: number, layer: number, head: number): HeadEffect | null;
  measureOf(measure: number, layer: number, head: number): number;
  /** Rank correlation within layers that the experiment itself holds; null without one. */
  rankOf(method: number, measure: number): { tau: number; low: number; high: number } | null;
}

const VERDICTS: Record<number, Verdict> = {
  1: 'causal',
  0: 'no effect',
  [-1]: 'undetermined',
  [-2]: 'backed up',
};

/** The name of a stored verdict; null for a number of a later version. */
export const verdictName = (stored: number): Verdict | null => VERDICTS[stored] ?? null;

const headKey = (layer: number, head: number): string => `${layer}.${head}`;

/** Flat index of every unit that is one whole head; other units (sets, kv groups) are left out. */
function headIndex({ axes, layers, heads, cells }: ExperimentData): Map<string, number> {
  const index = new Map<string, number>();
  if (cells.length > 0) {
    // Names tell heads from kv groups, which have the same axes.
    cells.forEach((cell, at) => {
      if (/^\d+\.\d+$/.test(cell)) index.set(cell, at);
    });
  } else if (axes.join(' ') === 'layer head') {
    layers.forEach((layer, row) =>
      heads.forEach((head, column) => {
        index.set(headKey(layer, head), row * heads.length + column);
      }),
    );
  }
  return index;
}

/** The effects of an experiment on single heads; null if it has none. */
export function headEffects(data: ExperimentData): HeadEffects | null {
  const index = headIndex(data);
  const effect = data.numbers.effect;
  if (index.size === 0 || !effect) return null;
  const units = effect.shape.slice(1).reduce((product, extent) => product * extent, 1);
  const at = (name: string, offset: number): number => data.numbers[name]?.values[offset] ?? NaN;
  const number = (name: string): number =>
    typeof data.attributes[name] === 'number' ? data.attributes[name] : NaN;
  const text = (name: string): string =>
    typeof data.attributes[name] === 'string' ? data.attributes[name] : '';
  const measures = data.texts.measures ?? [];
  return {
    experiment: data.name,
    kind: text('kind'),
    metric: text('metric'),
    methods: data.methods,
    noiseFloor: number('noise_floor'),
    delta: number('delta'),
    hasVerdicts: data.numbers.verdict !== undefined,
    withheld: data.texts.withheld?.[0] ?? '',
    paragraph: data.texts.paragraph?.[0] ?? '',
    measures,
    effectOf(method, layer, head) {
      const unit = index.get(headKey(layer, head));
      if (unit === undefined || method >= (effect.shape[0] ?? 0)) return null;
      const offset = method * units + unit;
      const value = at('effect', offset);
      if (Number.isNaN(value)) return null;
      const verdict = data.numbers.verdict?.values[unit];
      return {
        effect: value,
        low: at('ci_low', offset),
        high: at('ci_high', offset),
        simultaneousLow: at('ci_sim_low', offset),
        simultaneousHigh: at('ci_sim_high', offset),
        n: data.numbers.n?.values[data.numbers.n.shape.length > 2 ? offset : unit] ?? NaN,
        pAdjusted: at('p_adjusted', offset),
        intervalKind: data.numbers.interval_kind?.values[offset] ?? 0,
        verdict: verdict === undefined ? null : verdictName(verdict),
      };
    },
    measureOf(measure, layer, head) {
      const unit = index.get(headKey(layer, head));
      return unit === undefined ? NaN : at('attention', unit * measures.length + measure);
    },
    rankOf(method, measure) {
      const offset = method * measures.length + measure;
      const tau = at('rank_correlation', offset);
      if (Number.isNaN(tau)) return null;
      return {
        tau,
        low: at('rank_correlation_low', offset),
        high: at('rank_correlation_high', offset),
      };
    },
  };
}

const PREFERENCE = ['verdict', 'ablate', 'patch'];

/** The experiment that a page shows first: the one that says most about whether heads matter. */
export function preferred(all: readonly HeadEffects[]): HeadEffects | null {
  const rank = ({ kind }: HeadEffects) => {
    const at = PREFERENCE.indexOf(kind);
    return at < 0 ? PREFERENCE.length : at;
  };
  return [...all].sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** How a method's name reads in a sentence. */
export function methodPhrase(kind: string, method: string): string {
  if (kind === 'patch') return `patching${method ? ` ${method}` : ''}`;
  const phrases: Record<string, string> = {
    zero: 'setting it to zero',
    mean: 'replacing it by its mean',
    resample: 'replacing it by its value in another prompt',
  };
  return phrases[method] ?? method;
}
