/** A small model in plain data, for tests of what is worked out from tables. */

import type { ExperimentData } from '../../src/format/types';
import { headEffects } from '../../src/model/effects';
import { buildHeadTable, type HeadTable } from '../../src/model/heads';

/** Two layers (0 and 2) of two heads; layer 2 has one head less. */
export const stack = {
  layers: [0, 2],
  headCounts: [2, 1],
  width: 2,
  statNames: ['entropy', 'induction', 'norm_weighted'],
  headStats: Float32Array.from([1, 0.1, 5, 2, 0.9, 1, 3, NaN, 9, NaN, NaN, NaN]),
};

export function experiment(verdicts: boolean): ExperimentData {
  const grid = (values: number[]) => ({
    shape: [1, 2, 2],
    dtype: 'f64' as const,
    values: Float64Array.from(values),
  });
  return {
    name: 'ablate',
    attributes: { kind: 'ablate', metric: 'logit-diff' },
    axes: ['layer', 'head'],
    methods: ['zero'],
    shape: [1, 2, 2],
    layers: [0, 2],
    heads: [0, 1],
    positions: [],
    cells: [],
    dims: {},
    numbers: {
      effect: grid([-0.05, -2, 0.3, NaN]),
      ci_low: grid([-0.1, -3, 0.1, NaN]),
      ci_high: grid([0.1, -1, 0.5, NaN]),
      n: grid([40, 40, 40, 0]),
      ...(verdicts && {
        verdict: { shape: [2, 2], dtype: 'i8' as const, values: Int8Array.from([0, 1, -2, -1]) },
      }),
    },
    texts: {},
    records: [],
  };
}

export const table = (verdicts = false): HeadTable => tableWith(experiment(verdicts));

export function tableWith(data: ExperimentData): HeadTable {
  return buildHeadTable({
    stack,
    effects: headEffects(data),
    method: 0,
    attribution: null,
    layerCount: 3,
    groupSize: 2,
  });
}
