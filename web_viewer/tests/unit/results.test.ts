import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  effectWords,
  headEffects,
  methodPhrase,
  preferred,
  rangeSentence,
  rangeWords,
  secondRangeWords,
  stacksOf,
  verdictName,
  verdictSentence,
} from '../../src/model/effects';
import { intervalReasons, promptsUsed } from '../../src/model/reading_notes';
import { HALVES } from '../../src/model/result_words';
import { pairTokens } from '../../src/model/pair_tokens';
import { namedHeads, sentenceOf } from '../../src/model/named';
import { buildHeadTable } from '../../src/model/heads';
import { pText } from '../../src/model/numbers';
import { resultGrid } from '../../src/model/result_grid';
import { arraySentence, arraysOf, describeUnit, sortedUnits } from '../../src/model/results';
import { STATISTICS } from '../../src/model/statistics';
import {
  missingInExperiment,
  missingInStack,
  roundingOf,
  roundingStep,
} from '../../src/model/warnings';
import type { ExperimentData, MapInfo } from '../../src/format/types';
import { experiment, stack, table, tableWith } from '../support/heads';

/** One text of the only open file. */
const ONE_TEXT = { captures: [], means: 0 };

test('three heads are named, with their numbers, or the sentence says why none is', () => {
  const effects = headEffects(experiment(true));
  const [loud, quiet, induction] = namedHeads(table(true), effects, 0, ONE_TEXT);
  // 0.0 is the only head judged to have no effect, 0.1 the only causal one.
  assert.equal(loud!.head, 0);
  assert.match(
    sentenceOf(loud!),
    /^0\.0 attends \(norm-weighted attention 5, rank 2 of 3\).*−0\.05 \[−0\.1, 0\.1\]/,
  );
  assert.equal(quiet!.head, 1);
  assert.match(
    sentenceOf(quiet!),
    /rank 3 of 3\).*by −2 \[−3, −1\] \(alone\); large is ±0\.5 or more\.$/,
  );
  assert.equal(induction!.head, 1);
  assert.match(sentenceOf(induction!), /90 %/);
  const withoutVerdict = namedHeads(table(), headEffects(experiment(false)), 0, ONE_TEXT);
  assert.match(sentenceOf(withoutVerdict[0]!), /no proof of none/);
  const unknown = namedHeads(table(), null, 0, ONE_TEXT);
  assert.deepEqual(
    unknown.map(({ head }) => head),
    [null, null, 1],
  );
  assert.match(sentenceOf(unknown[0]!), /no open file has a causal result/);
  const sentences = (change: (data: ExperimentData) => void, verdicts = false) => {
    const data = experiment(verdicts);
    change(data);
    const found = namedHeads(tableWith(data), headEffects(data), 0, ONE_TEXT).slice(0, 2);
    assert.deepEqual([found[0]!.head, found[1]!.head], [null, null]);
    return found.map(sentenceOf).join(' ');
  };
  const few = sentences((data) => {
    data.numbers.ci_low!.values.fill(NaN);
    data.numbers.ci_high!.values.fill(NaN);
  });
  assert.match(few, /no effect has an interval, for there are too few groups/);
  const held = sentences((data) => (data.texts.withheld = ['the swap control failed']));
  assert.match(held, /verdicts are withheld/);
  const open = sentences((data) => data.numbers.verdict!.values.fill(-1), true);
  assert.match(open, /no head is judged to have no effect.*no head is judged to be causal/);
  const divergence = experiment(false);
  divergence.attributes.metric = 'kl';
  divergence.numbers.ci_low!.values.fill(0.1);
  const [none] = namedHeads(tableWith(divergence), headEffects(divergence), 0, ONE_TEXT);
  assert.match(sentenceOf(none!), /kl cannot be negative/);
});

test('a head in the louder half is not called quiet, nor one in the quieter half loud', () => {
  const effects = headEffects(experiment(true));
  const said = (loudness: number[]) => {
    const heads = table(true);
    heads.columns.get('norm_weighted')!.values.set(loudness);
    return namedHeads(heads, effects, 0, ONE_TEXT).slice(0, 2).map(sentenceOf);
  };
  // 0.0 has no effect and 0.1 a large one; each is on the wrong side of the third head.
  const [loud, quiet] = said([5, 12, 9]);
  assert.match(
    loud!,
    /^No head is both loud and without effect: of the heads without effect 0\.0 is the loudest \(norm-weighted attention 5, rank 3 of 3\); .*−0\.05 \[/,
  );
  assert.match(
    quiet!,
    /^No head is both quiet and strong: of the heads with a large effect 0\.1 is the quietest \(norm-weighted attention 12, rank 1 of 3\); .*−2 \[−3, −1\] \(alone\);/,
  );
  // In the middle neither is wrong.
  assert.match(
    said([7, 1, 9])[0]!,
    /^0\.0 attends \(norm-weighted attention 7, rank 2 of 3\), yet/,
  );
  assert.match(
    said([7, 8, 9])[1]!,
    /^0\.1 is quiet \(norm-weighted attention 8, rank 2 of 3\), yet/,
  );
});

/** Intervals that hold for all heads at once. */
function addWiderIntervals({ numbers }: ReturnType<typeof experiment>): void {
  const wider = (values: number[]) => ({
    shape: [1, 2, 2],
    dtype: 'f64' as const,
    values: Float64Array.from(values),
  });
  numbers.ci_sim_low = wider([-0.2, -3.5, -0.1, NaN]);
  numbers.ci_sim_high = wider([0.2, -0.5, 0.7, NaN]);
}

test('of heads picked among many the interval is quoted that holds for all of them', () => {
  const data = experiment(false);
  // Heads 0.0, 0.1 and 2.0; all at once 2.0 may have no effect, by itself it has one.
  addWiderIntervals(data);
  data.numbers.effect!.values[2] = 1;
  const named = () => namedHeads(tableWith(data), headEffects(data), 0, ONE_TEXT).slice(0, 2);
  const [loud, quiet] = named();
  assert.match(sentenceOf(loud!), /^0\.0 .* −0\.05 \[−0\.2, 0\.2\] \(all at once\)/);
  assert.match(
    sentenceOf(quiet!),
    /0\.1 .* −2 \[−3\.5, −0\.5\] \(all at once\); large is ±0\.5 or more/,
  );
  assert.match(quiet!.note, /a quarter of the strongest/);
  // An effect that stands out among all of them fits as well, if it is that large.
  data.numbers.ci_sim_low!.values[2] = 0.4;
  const wanted = tableWith(data).columns.get('norm_weighted')!.values;
  assert.equal(named()[1]!.head, wanted[2]! < wanted[1]! ? 2 : 1);
});

test('every place states one interval, and keeps the other for second place', () => {
  const ends = { low: -3, high: -1, simultaneousLow: NaN, simultaneousHigh: NaN, intervalKind: 0 };
  const all = { ...ends, simultaneousLow: -3.5, simultaneousHigh: -0.5 };
  const none = { ...ends, low: NaN, high: NaN };
  const said = (effect: typeof ends) => [
    rangeWords(effect),
    secondRangeWords(effect),
    rangeSentence(effect),
  ];
  assert.deepEqual(said(all), [
    '[−3.5, −0.5] (all at once)',
    '[−3, −1] (alone)',
    '95 %, for all units at once; of this unit alone it is [−3, −1].',
  ]);
  assert.deepEqual(said(ends), [
    '[−3, −1] (alone)',
    '',
    '95 % of this unit alone; there is none for all units at once.',
  ]);
  // A few groups carry it: such an effect has no interval for all at once.
  assert.equal(rangeWords({ ...ends, intervalKind: 2 }), '[−3, −1] (alone, a rough bound)');
  assert.deepEqual(said({ ...none, intervalKind: -1 }), [
    '(no interval: fewer than 10 groups of prompts)',
    '',
    '',
  ]);
  assert.deepEqual(said(none), ['', '', '']);
});

test('a capture that is open beside the chosen file is named where it can tell', () => {
  const data = experiment(false);
  const bare = buildHeadTable({
    stack: null,
    effects: headEffects(data),
    method: 0,
    attribution: null,
    layerCount: 3,
    groupSize: 1,
  });
  const said = (captures: string[]) =>
    namedHeads(bare, headEffects(data), 0, { captures, means: 0 });
  for (const { before, file } of said([])) {
    assert.match(before, /^Not known: no/);
    assert.equal(file, null);
  }
  for (const { before, file } of said(['long.h5'])) {
    assert.doesNotMatch(before, /no capture|nothing that is open/);
    assert.equal(file, 'long.h5');
  }
});

test('the share of an induction head is said to be of some rows, and of some prompts', () => {
  const [, , here] = namedHeads(table(), null, 0, ONE_TEXT);
  assert.equal(
    sentenceOf(here!),
    '0.1 puts 90 % of its attention on what followed an earlier copy, on rows that have one.',
  );
  const [, , mean] = namedHeads(table(), null, 0, { captures: [], means: 80 });
  assert.match(sentenceOf(mean!), /have one; mean over those of 80 prompts that have such rows\.$/);
});

test('every statistic of the runtime has a sentence of its own', () => {
  const text = readFileSync(join(VIEWER_ROOT, '../src/kernels/README.md'), 'utf8');
  const [, rows] = /\| name \| of a row \|.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(text)!;
  const names = rows!
    .trim()
    .split('\n')
    .map((row) => row.split('|')[1]!.trim());
  assert.deepEqual(STATISTICS.map(({ name }) => name).sort(), names.sort());
  const sentences = STATISTICS.map(({ sentence }) => sentence);
  assert.equal(new Set(sentences).size, names.length);
  assert.ok(sentences.every((sentence) => /^[A-ZΣ].*\.$/.test(sentence)));
});

test('what is missing or rounded is said, and padding is not missing', () => {
  const wide = {
    ...stack,
    stack: 'self' as const,
    overview: null,
    rowStatNames: [],
    topCount: 0,
    hasKeySum: false,
    hasValueNorm: false,
    maps: [],
    faults: [],
  };
  assert.equal(
    missingInStack(wide, 'p000000'),
    'Undefined on p000000, which is not 0: induction for 1 of 3 heads.',
  );
  assert.match(missingInExperiment(experiment(false)), /in ablate: effect 1 of 4, ci_low 1 of 4/);
  const map = { mapDtype: 'f16', floor: 2 ** -24, heads: [1] } as MapInfo;
  const words = roundingOf({ ...wide, maps: [map, map] });
  assert.equal(words.length, 3);
  assert.match(words.join(' '), /16-bit.*below 6\.0e-8 became 0.*some heads/);
});

test('effects of single heads, of grids and of lists', () => {
  const effects = headEffects(experiment(true))!;
  assert.equal(effects.effectOf(0, 0, 1)?.verdict, 'causal');
  assert.equal(effects.effectOf(0, 2, 0)?.verdict, 'backed up');
  assert.equal(effects.effectOf(0, 2, 1), null, 'a missing effect is none');
  assert.equal(effects.effectOf(0, 1, 0), null, 'a layer that was not measured');
  const list = experiment(false);
  list.axes = ['cell'];
  list.cells = ['0.1', 'kv:0.1', '0.0+0.1', '2.0'];
  for (const data of Object.values(list.numbers)) data.shape = [1, 4];
  const listed = headEffects(list)!;
  assert.equal(listed.effectOf(0, 0, 1)?.effect, -0.05);
  assert.equal(listed.effectOf(0, 2, 0), null, 'NaN');
  assert.equal(listed.effectOf(0, 0, 0), null);
  list.cells = ['mlp:0', 'mlp:1', 'attn:0', '0.0@3'];
  assert.equal(headEffects(list), null);
  assert.equal(effects.rankOf(0, 0), null);
  const patch = { ...effects, kind: 'patch' };
  assert.equal(preferred([patch, effects]), effects);
  assert.equal(preferred([]), null);
});

test('a key-value group stands for the heads it covers', () => {
  const data = experiment(false);
  data.cells = ['kv:0.0', 'kv:0.1', 'kv:2.0', 'kv:2.1'];
  const groups = headEffects(data, { groupSize: 2 })!;
  assert.equal(groups.headsPerUnit, 2);
  const shown = [0, 1, 2, 3].map((head) => groups.effectOf(0, 0, head));
  assert.deepEqual(
    shown.map((effect) => [effect?.unit, effect?.effect]),
    [
      ['kv:0.0', -0.05],
      ['kv:0.0', -0.05],
      ['kv:0.1', -2],
      ['kv:0.1', -2],
    ],
  );
  assert.match(
    effectWords(groups, 0, shown[2]!),
    /^setting kv:0\.1, its whole key-value group, to zero changes logit-diff by −2 \[−3, −1\] \(alone\)$/,
  );
  const alone = headEffects(data)!;
  assert.equal(alone.headsPerUnit, 1, 'where no keys are shared a group is one head');
  assert.equal(preferred([groups, alone]), alone, 'heads go before groups');
});

test('heads of encoder, decoder and between them are kept apart', () => {
  const data = experiment(false);
  data.cells = ['enc:0.0', 'dec:0.0', 'cross:0.0', 'cross:0.1'];
  data.axes = ['cell'];
  assert.deepEqual(stacksOf(data), ['encoder', 'decoder', 'cross']);
  assert.equal(headEffects(data, { stack: 'self' }), null);
  assert.equal(headEffects(data, { stack: 'decoder' })!.effectOf(0, 0, 0)?.effect, -2);
  assert.deepEqual(headEffects(data, { stack: 'cross' })!.heads, [
    { layer: 0, head: 0 },
    { layer: 0, head: 1 },
  ]);
});

test('what a verdict says of its rank correlations', () => {
  const ranked = experiment(true);
  ranked.texts.measures = ['attention mass', 'focus'];
  const one = (values: number[]) => ({
    shape: [1, 2],
    dtype: 'f64' as const,
    values: Float64Array.from(values),
  });
  Object.assign(ranked.numbers, {
    rank_correlation: one([0.2, 0.3]),
    rank_correlation_low: one([0.1, -0.1]),
    rank_correlation_high: one([0.4, 0.5]),
    rank_correlation_p: one([0.01, 0.25]),
    rank_correlation_shuffles: one([99, 0]),
  });
  const { tau, low, high, p, smallestP, attainable } = headEffects(ranked)!.rankOf(0, 1)!;
  assert.deepEqual([tau, low, high, p, smallestP, attainable], [0.3, -0.1, 0.5, 0.25, 0, NaN]);
  const first = headEffects(ranked)!.rankOf(0, 0)!;
  assert.equal(pText(first.p, first.smallestP), '≤0.0100', 'no smaller p from 99 shuffles');
  assert.equal(pText(p, smallestP), '0.2500');
});

test('which prompts numbers are of, and why intervals are missing, in the words of the report', () => {
  const data = experiment(true);
  Object.assign(data.attributes, { prompts: 200, estimation_prompts: 100 });
  data.texts.measures = ['attention mass'];
  assert.equal(
    promptsUsed(data),
    'Effects, attention and verdicts are of the 100 of 200 prompts that nothing was chosen on. ' +
      HALVES,
  );
  data.numbers.rank_correlation = { shape: [1, 1], dtype: 'f64', values: Float64Array.from([0]) };
  assert.equal(
    promptsUsed(data),
    'Effects, attention and verdicts are of the 100 prompts that nothing was chosen on, ' +
      `rank correlations of all 200. ${HALVES}`,
  );
  assert.equal(promptsUsed(experiment(true)), '', 'an ablation has no halves');
  const of = (values: number[]) => ({
    shape: [1, 2, 2],
    dtype: 'i64' as const,
    values: Float64Array.from(values),
  });
  data.numbers.interval_kind = of([0, 2, -1, -2]);
  data.numbers.groups = of([20, 20, 4, 0]);
  const reasons = intervalReasons(data);
  assert.deepEqual(
    reasons.map((text) => text.replace(/[:,].*/, '')),
    [
      'No number for 1 of 4 effects',
      'No interval and no p for 1 of 4 effects',
      'A few groups of prompts carry 1 of 4 effects',
    ],
  );
  assert.match(reasons[1]!, /: 4 groups of prompts, at least 10 are needed/);
});

test('how methods read in a sentence', () => {
  const phrases: [string, string, string][] = [
    ['ablate', 'zero', 'setting it to zero'],
    ['ablate', 'zero (direct)', 'setting it to zero, past all later layers,'],
    ['ablate', 'leave one in (mean)', 'keeping it alone and replacing all others by their mean'],
    ['patch', 'z', 'patching its z'],
    ['patch', 'path', 'patching its path to logits'],
    ['ablate', 'of a later version', 'of a later version'],
  ];
  for (const [kind, method, phrase] of phrases) {
    assert.equal(methodPhrase(kind, method, 'it', 'logits'), phrase);
  }
});

test('tokens of the corrupt prompt stand below those that differ', () => {
  const clean = ['<|begin|>', 'When', ' Anna', ' and', ' Tom', ' went', ',', ' Tom', ' gave'];
  const tokens = pairTokens(clean, 'When Anna and Tom went, Anna gave');
  assert.deepEqual(
    tokens.map(({ corrupt }) => corrupt),
    ['', '', '', '', '', '', '', ' Anna', ''],
  );
  // Neighbours are parted at blanks.
  assert.deepEqual(
    pairTokens([' a', ' b', ' c', ' d'], 'a x y z').map(({ corrupt }) => corrupt),
    ['', ' x', ' y', ' z'],
  );
  assert.deepEqual(
    pairTokens(['a', 'b'], null).map(({ corrupt }) => corrupt),
    ['', ''],
  );
});

test('results of any axes become grids with the names of the units', () => {
  const data = experiment(true);
  data.texts.cells = ['0.0', '0.1', '2.0', '2.1'];
  data.cells = data.texts.cells;
  const grid = resultGrid(data)!;
  assert.deepEqual([grid.rows, grid.columns, grid.columnAxis], [['L0', 'L2'], ['0', '1'], 'head']);
  assert.deepEqual(
    sortedUnits(data, grid, 'effect', 0).map((at) => grid.names[at]),
    ['0.1', '2.0', '0.0', '2.1'],
  );
  assert.deepEqual(describeUnit(data, grid, 1), [
    'effect −2 [−3, −1] (alone)',
    'verdict: causal',
    '40 prompts',
  ]);
  addWiderIntervals(data);
  assert.deepEqual(describeUnit(data, grid, 1).slice(0, 2), [
    'effect −2 [−3.5, −0.5] (all at once)',
    '[−3, −1] (alone)',
  ]);
  delete data.numbers.ci_sim_low;
  delete data.numbers.ci_sim_high;
  const marked = Float64Array.from([0, 1, 0, 0]);
  const groups = {
    shape: [1, 2, 2],
    dtype: 'i64' as const,
    values: Float64Array.from([1, 20, 20, 20]),
  };
  Object.assign(data.numbers, {
    unspecific: { shape: [2, 2], dtype: 'i64', values: marked },
    groups,
  });
  assert.deepEqual(describeUnit(data, grid, 1).slice(2), [
    'unspecific: a placebo metric, which has nothing to do with the task, moves as well',
    '40 prompts in 20 groups',
  ]);
  assert.equal(describeUnit(data, grid, 0).at(-1), '40 prompts in 1 group');
  assert.deepEqual(arraysOf(data), ['effect', 'n']);
  const list = { ...data, axes: ['cell'], cells: ['mlp:0', 'mlp:1', 'mlp:2', 'mlp:3'] };
  list.numbers = { effect: { ...data.numbers.effect!, shape: [1, 4] } };
  assert.deepEqual([resultGrid(list)!.rows, resultGrid(list)!.names.length], [[], 4]);
});

test('units of a list lie at their heads or positions, where most of them have one', () => {
  const list = (cells: string[], places: Partial<ExperimentData> = {}): ExperimentData => ({
    ...experiment(false),
    axes: ['cell'],
    cells,
    layers: [],
    heads: [],
    ...places,
    numbers: {
      effect: { shape: [1, cells.length], dtype: 'f64', values: new Float64Array(cells.length) },
    },
  });
  const shown = (data: ExperimentData, stack?: 'encoder' | 'cross') => {
    const grid = resultGrid(data, stack)!;
    const units = grid.rows.map((_, row) => grid.columns.map((__, at) => grid.unitAt(row, at)));
    return [grid.rows, grid.columns, units];
  };
  // A second layer with one head less.
  assert.deepEqual(shown(list(['0.0', '0.1', '2.0'])), [
    ['L0', 'L2'],
    ['0', '1'],
    [
      [0, 1],
      [2, -1],
    ],
  ]);
  const stacks = list(['enc:0.0', 'enc:0.1', 'cross:0.0', 'cross:1.0', 'mlp:0']);
  assert.deepEqual(shown(stacks, 'cross'), [['L0', 'L1'], ['0'], [[2], [3]]]);
  assert.deepEqual(shown(stacks, 'encoder')[2], [[0, 1]]);
  assert.deepEqual(shown(list(['0.0', '0.1', '0.0+0.1', '0.0+0.2'])), [[], [], []]);
  const positions = list(['0@3', '0@7', '1@3'], {
    layers: [0, 0, 1],
    heads: [-1, -1, -1],
    positions: [3, 7, 3],
  });
  assert.deepEqual(shown(positions), [
    ['L0', 'L1'],
    ['3', '7'],
    [
      [0, 1],
      [2, -1],
    ],
  ]);
  assert.deepEqual(resultGrid(positions)!.positions, [3, 7]);
});

test('a difference of one step of ten bits is called one, and only of maps that are rounded', () => {
  assert.equal(roundingStep(['f32', 'f64']), '');
  assert.match(
    roundingStep(['r10', 'f64']),
    /10 bits \(r10\).*0\.1 % of a weight, 0\.0005 at most/,
  );
  assert.match(roundingStep(['f16', 'r10']), /\(r10, f16\)/);
  // Neighbours of ten bits lie 2^-10 of the power of two below apart, for weights up to 1.
  for (const weight of [0.999, 0.5, 0.13, 0.001]) {
    const step = 2 ** (Math.floor(Math.log2(weight)) - 10);
    assert.ok(step <= 0.001 * weight && step <= 0.0005, `${weight}: ${step}`);
  }
});

test('every verdict and every array has a plain sentence of its own', () => {
  const verdicts = [1, 0, -1, -2].map((stored) => verdictSentence(verdictName(stored), 0.4)!);
  assert.equal(new Set(verdicts).size, 4);
  assert.equal(verdictSentence(null, 0.4), undefined);
  const data = experiment(false);
  const of = data.numbers.effect!;
  for (const name of ['recovery', 'effect_all', 'direct', 'placebo', 'random_percentile']) {
    data.numbers[name] = of;
  }
  for (const name of ['minimal_detectable', 'p_adjusted']) data.numbers[name] = of;
  const names = arraysOf(data);
  assert.equal(names.length, 9);
  const sentences = names.map((name) => arraySentence(data, name));
  assert.equal(new Set(sentences).size, 9);
  for (const sentence of [...verdicts, ...sentences]) assert.match(sentence, /^[A-Z0-9].{20,}\.$/);
});
