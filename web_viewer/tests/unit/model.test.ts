import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../../src/model/filter';
import { buildHeadTable, sortHeads, type HeadTable } from '../../src/model/heads';
import { differencesOf } from '../../src/model/differences';
import {
  effectWords,
  headEffects,
  methodPhrase,
  preferred,
  stacksOf,
} from '../../src/model/effects';
import { intervalReasons, promptsUsed } from '../../src/model/result_words';
import { pairTokens } from '../../src/model/pair_tokens';
import { labelsOf } from '../../src/model/labels';
import { namedHeads } from '../../src/model/named';
import { exact, pText, short, signed, tabular } from '../../src/model/numbers';
import { indexOf, indicesOf, pick, positionOf } from '../../src/model/positions';
import { findPrompts, meansOver, sortPrompts, topPrompts } from '../../src/model/prompts';
import { arraysOf, describeUnit, resultGrid, sortedUnits } from '../../src/model/results';
import { csvField, npyHeader } from '../../src/state/export';
import { rankCorrelation, ranks } from '../../src/model/rank';
import { findTokens } from '../../src/model/search';
import { safeText, tokenLabel, tokenText, wordLabel } from '../../src/model/tokens';
import type { ExperimentData } from '../../src/format/types';
import { h5py, without } from '../support/fixtures';

/** Two layers (0 and 2) of two heads; layer 2 has one head less. */
const stack = {
  layers: [0, 2],
  headCounts: [2, 1],
  width: 2,
  statNames: ['entropy', 'induction', 'norm_weighted'],
  headStats: Float32Array.from([1, 0.1, 5, 2, 0.9, 1, 3, NaN, 9, NaN, NaN, NaN]),
};

function experiment(verdicts: boolean): ExperimentData {
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

const table = (verdicts = false): HeadTable => tableWith(experiment(verdicts));

function tableWith(data: ExperimentData): HeadTable {
  return buildHeadTable({
    stack,
    effects: headEffects(data),
    method: 0,
    attribution: null,
    layerCount: 3,
    groupSize: 2,
  });
}

test('the table of heads knows missing layers, missing heads and shared keys', () => {
  const { heads, layers, layerCount, groupSize, columns } = table();
  assert.deepEqual(
    heads.map(({ layer, head }) => `${layer}.${head}`),
    ['0.0', '0.1', '2.0'],
  );
  assert.deepEqual([layers, layerCount, groupSize], [[0, 2], 3, 2]);
  assert.deepEqual(Array.from(columns.get('entropy')!.values), [1, 2, 3]);
  assert.deepEqual(Array.from(columns.get('size')!.values), [0.05, 2, 0.3]);
});

test('what a lens attributes to heads is one more column', () => {
  const attribution = {
    shape: [3, 2],
    dtype: 'f64' as const,
    values: Float64Array.from([1, 2, 3, 4, 5, 6]),
  };
  const { columns } = buildHeadTable({
    stack,
    effects: null,
    method: 0,
    attribution,
    layerCount: 3,
    groupSize: 1,
  });
  // Heads 0.0, 0.1 and 2.0.
  assert.deepEqual(Array.from(columns.get('attribution')!.values), [1, 2, 5]);
});

test('heads without a value come last in either direction', () => {
  assert.deepEqual(sortHeads(table(), 'induction'), [1, 0, 2]);
  assert.deepEqual(sortHeads(table(), 'induction', true), [0, 1, 2]);
  assert.deepEqual(sortHeads(table(), 'no such column'), [0, 1, 2]);
});

test('filters', () => {
  const kept = (text: string, verdicts = false) => {
    const source = table(verdicts);
    const result = parseFilter(source, text);
    assert.ok(result.ok, text);
    return source.heads.map((_, at) => at).filter(result.keep);
  };
  assert.deepEqual(kept(''), [0, 1, 2]);
  assert.deepEqual(kept('entropy<1.5'), [0]);
  assert.deepEqual(kept('entropy < 2.5 & layer = 0 & head>=1'), [1]);
  assert.deepEqual(kept('induction>0.5 | layer=2'), [1, 2]);
  assert.deepEqual(kept('induction>0.5 or layer=2 and head=0'), [1, 2]);
  assert.deepEqual(kept('(induction>0.5 | layer=2) & head=0'), [2]);
  assert.deepEqual(kept('!(layer=0)'), [2]);
  assert.deepEqual(kept('effect<-1e0'), [1]);
  assert.deepEqual(kept('effect<−1'), [1]);
  assert.deepEqual(kept('size>.2'), [1, 2]);
  // NaN is neither above nor below anything.
  assert.deepEqual(kept('induction<=0 | induction>0'), [0, 1]);
  assert.deepEqual(kept('verdict=causal', true), [1]);
  assert.deepEqual(kept('verdict!=causal', true), [0, 2]);
  assert.deepEqual(kept('verdict=undetermined', true), [2]);
  assert.deepEqual(kept('verdict=backed_up', true), [2]);
  assert.deepEqual(kept('verdict!=none', true), [1, 2]);
  const wrong: [string, RegExp, number][] = [
    ['colour<3', /“colour” is not known; there are layer, head/, 0],
    ['indction>1', /“indction” is not known, did you mean induction\? There are layer/, 0],
    ['entropy', /after entropy one of < >/, 7],
    ['entropy<', /after < a number is expected/, 8],
    ['verdict=causal', /no verdicts are open/, 7],
    ['(entropy<1', /“\)” is missing/, 10],
    ['entropy<1 layer', /“layer” is not expected/, 10],
    ['entropy<1 $', /“\$” is not understood/, 10],
    ['verdict=maybe', /causal, none, undetermined or backed_up/, 8],
  ];
  for (const [text, message, at] of wrong) {
    const result = parseFilter(table(), text);
    assert.ok(!result.ok, text);
    assert.match(result.message, message);
    assert.equal(result.at, at, text);
  }
});

test('rank correlations of a case worked by hand', () => {
  assert.deepEqual(ranks([3, 1, 3, 2]), [3.5, 1, 3.5, 2]);
  // 5 concordant, 1 discordant pair of 6.
  const plain = rankCorrelation([1, 2, 3, 4], [1, 3, 2, 4]);
  assert.equal(plain.n, 4);
  assert.ok(Math.abs(plain.tauB - 4 / 6) < 1e-12);
  assert.ok(Math.abs(plain.rho - 0.8) < 1e-12);
  assert.equal(rankCorrelation([1, NaN, 2], [1, 5, 2]).n, 2);
  assert.ok(Number.isNaN(rankCorrelation([1, 1], [1, 2]).tauB));
});

test(
  'rank correlations with ties equal a plain count over all pairs',
  { skip: without('python') },
  () => {
    const x = Array.from({ length: 60 }, (_, i) => (i * 37) % 11);
    const y = Array.from({ length: 60 }, (_, i) => ((i * 53) % 17) + (i % 3));
    const expected = h5py<[number, number]>(
      `x, y = (np.array(v, dtype="f8") for v in json.loads(sys.argv[1]))
dx = np.sign(x[:, None] - x[None]); dy = np.sign(y[:, None] - y[None])
tau = (dx * dy).sum() / np.sqrt((dx ** 2).sum() * (dy ** 2).sum())
rank = lambda v: np.array([(v < a).sum() + ((v == a).sum() + 1) / 2 for a in v])
print(json.dumps([tau, np.corrcoef(rank(x), rank(y))[0, 1]]))`,
      JSON.stringify([x, y]),
    );
    const { tauB, rho } = rankCorrelation(x, y);
    assert.ok(Math.abs(tauB - expected[0]) < 1e-12);
    assert.ok(Math.abs(rho - expected[1]) < 1e-12);
  },
);

test('three heads are named, with their numbers, or the sentence says why none is', () => {
  const effects = headEffects(experiment(true));
  const [loud, quiet, induction] = namedHeads(table(true), effects, 0);
  // 0.0 is the only head judged to have no effect, 0.1 the only causal one.
  assert.equal(loud!.head, 0);
  assert.match(
    loud!.sentence,
    /^0\.0 attends \(value moved 5, rank 2 of 3\).*−0\.05 \[−0\.1, 0\.1\]/,
  );
  assert.equal(quiet!.head, 1);
  assert.match(quiet!.sentence, /rank 3 of 3\).*by −2 \[−3, −1\]/);
  assert.equal(induction!.head, 1);
  assert.match(induction!.sentence, /90 %/);
  const withoutVerdict = namedHeads(table(), headEffects(experiment(false)), 0);
  assert.match(withoutVerdict[0]!.sentence, /no proof of none/);
  const unknown = namedHeads(table(), null, 0);
  assert.deepEqual(
    unknown.map(({ head }) => head),
    [null, null, 1],
  );
  assert.match(unknown[0]!.sentence, /no open file has a causal result/);
  const sentences = (change: (data: ExperimentData) => void, verdicts = false) => {
    const data = experiment(verdicts);
    change(data);
    const found = namedHeads(tableWith(data), headEffects(data), 0).slice(0, 2);
    assert.deepEqual([found[0]!.head, found[1]!.head], [null, null]);
    return found.map(({ sentence }) => sentence).join(' ');
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
  const [none] = namedHeads(tableWith(divergence), headEffects(divergence), 0);
  assert.match(none!.sentence, /kl cannot be negative/);
});

test('labels come with their thresholds', () => {
  assert.deepEqual(labelsOf(table(), 1), [{ label: 'induction', reason: 'induction ≥ 0.4' }]);
  assert.deepEqual(labelsOf(table(), 0), []);
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
    /^setting kv:0\.1, its whole key-value group, to zero changes logit-diff by −2 \[−3, −1\]/,
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
    'Effects, attention and verdicts are of the 100 of 200 prompts that nothing was chosen on.',
  );
  data.numbers.rank_correlation = { shape: [1, 1], dtype: 'f64', values: Float64Array.from([0]) };
  assert.equal(
    promptsUsed(data),
    'Effects, attention and verdicts are of the 100 prompts that nothing was chosen on, ' +
      'rank correlations of all 200.',
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
  // The end of the prompt, and two tokens in a row, whose border is not known.
  assert.deepEqual(
    pairTokens([' a', ' b', ' c', ' d'], 'a x y z').map(({ corrupt }) => corrupt),
    ['', ' x y z', '', ''],
  );
  assert.deepEqual(
    pairTokens(['a', 'b'], null).map(({ corrupt }) => corrupt),
    ['', ''],
  );
});

test('numbers as people read them', () => {
  assert.deepEqual([-6.5447, 0.00048, 12.345, 1234.5, NaN, -Infinity].map(tabular), [
    '−6.545',
    '4.8e−4',
    '12.3',
    '1235',
    '–',
    '−∞',
  ]);
  assert.deepEqual(
    [0, -1.23456, 1234.5, 0.000012345, 2e7, NaN, -Infinity].map((value) => short(value)),
    ['0', '−1.23', '1235', '1.23e-5', '2.00e+7', '–', '−∞'],
  );
  assert.equal(signed(0.5), '+0.5');
  for (const value of [0.1, 1 / 3, 0.9990234375, 2 ** -24, 16777216]) {
    assert.equal(Math.fround(Number(exact(Math.fround(value)))), Math.fround(value));
  }
});

test('tokens are text, whatever is in them', () => {
  assert.equal(tokenLabel('Ġriver'), '·river');
  assert.equal(tokenLabel('▁river'), '·river');
  assert.equal(tokenLabel(' \n'), '␠⏎');
  assert.equal(tokenLabel('\u202eabc'), '‹202E›abc');
  assert.equal(tokenLabel('x'.repeat(100)).length, 25);
  assert.equal(safeText('a'.repeat(1e6), 10), `${'a'.repeat(10)}…`);
  assert.equal(safeText('<b>&'), '<b>&');
  // Direction marks, tags and halves of characters, wherever they stand.
  for (const mark of ['\u061c', '\u2067', '\u{e0041}', '\ufff9', '\u2028', '\ud83d']) {
    const code = mark.codePointAt(0)!.toString(16).toUpperCase();
    assert.equal(safeText(`a${mark}b`), `a‹${code.padStart(4, '0')}›b`);
  }
  assert.equal(safeText(`abc${'🙂'.repeat(9)}`, 6), 'abc🙂…', 'a cut leaves characters whole');
  assert.equal(tokenLabel('ĉĊ'), '⇥⏎');
  assert.equal(wordLabel(['Ġun', 'bel', 'iev', 'able']), '·unbelievable');
  assert.equal(wordLabel(['un', '##happy']), 'unhappy');
  assert.equal(tokenText(`<b>${'x'.repeat(2 ** 20)}`).length, 401);
});

test('tokens are found by part, with case only if capitals are typed', () => {
  const labels = ['·Tom', '·tomato', 'x'];
  assert.deepEqual(findTokens(labels, 'tom'), [0, 1]);
  assert.deepEqual(findTokens(labels, 'Tom'), [0]);
  assert.deepEqual(findTokens(labels, ''), []);
});

test('means over prompts leave out those where a statistic is undefined', () => {
  const values = Float32Array.from([1, 2, 3, NaN, 5, NaN]);
  const { means, deviations, counts } = meansOver(values, 3, [0, 1, 2]);
  assert.deepEqual(Array.from(means), [3, 2]);
  assert.deepEqual(Array.from(deviations), [2, NaN]);
  assert.deepEqual(Array.from(counts), [3, 1]);
  assert.deepEqual(Array.from(meansOver(values, 3, [1, 2]).means), [4, NaN]);
  assert.deepEqual(topPrompts(values, 3, 0, 2), [
    { prompt: 2, value: 5 },
    { prompt: 1, value: 3 },
  ]);
});

test('prompts are found by all words in any column, and ordered with numbers as numbers', () => {
  const rows = {
    ids: ['p000000', 'p000001', 'p000002'],
    texts: ['Mary and John', 'John alone', 'Mary alone'],
    columns: { n: ['10', '9', ''] },
  };
  assert.deepEqual(findPrompts(rows, 'mary'), [0, 2]);
  assert.deepEqual(findPrompts(rows, 'alone MARY'), [2]);
  assert.deepEqual(findPrompts(rows, '10'), [0]);
  assert.deepEqual(findPrompts(rows, ''), [0, 1, 2]);
  assert.deepEqual(sortPrompts(rows, [0, 1, 2], 'n'), [2, 1, 0]);
  assert.deepEqual(sortPrompts(rows, [0, 1, 2], '-n'), [0, 1, 2]);
  assert.deepEqual(sortPrompts(rows, [0, 2], 'text'), [2, 0]);
  assert.deepEqual(sortPrompts(rows, [2, 0], 'absent'), [2, 0]);
});

test('NumPy reads what is exported', { skip: without('python') }, () => {
  const values = new Uint8Array(Float32Array.from([1, 2.5, -3, 4, 5, 6]).buffer);
  const file = Uint8Array.from([...npyHeader([2, 3]), ...values]);
  const read = h5py<number[][]>(
    'import base64, io; print(json.dumps(np.load(io.BytesIO(base64.b64decode(sys.argv[1]))).tolist()))',
    Buffer.from(file).toString('base64'),
  );
  assert.deepEqual(read, [
    [1, 2.5, -3],
    [4, 5, 6],
  ]);
  assert.equal(csvField('a,"b"'), '"a,""b"""');
});

test('32-bit floats as text are those that NumPy writes', { skip: without('python') }, () => {
  const bits = [
    1, 2, 0x7fffff, 0x800000, 0x3f7fffff, 0x3dcccccd, 0x7f7fffff, 0x3eaaaaab, 0x34000000,
  ];
  for (let at = 0; at < 2000; ++at) bits.push((at * 2654435761) % 0x7f800000);
  const floats = new Float32Array(Uint32Array.from(bits).buffer);
  const texts = h5py<string[]>(
    'v = np.array(json.loads(sys.argv[1]), "u4").view("f4"); print(json.dumps([np.format_float_scientific(x) for x in v]))',
    JSON.stringify(bits),
  );
  floats.forEach((value, at) => {
    const text = exact(value);
    assert.equal(Math.fround(Number(text)), value);
    // Of two texts equally short and near, either will do.
    const digits = (number: string) =>
      number.replace(/e.*|[.-]/g, '').replace(/^0+|0+$/g, '').length;
    assert.equal(digits(Number(text).toExponential()), digits(texts[at]!), text);
  });
  assert.deepEqual([0, NaN, -Infinity, -0.1].map(exact), ['0', 'NaN', '-Infinity', '-0.1']);
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
    'effect −2 [−3, −1]',
    'verdict: causal',
    '40 prompts',
  ]);
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
    'unspecific: a placebo metric moves as well',
    '40 prompts in 20 groups',
  ]);
  assert.equal(describeUnit(data, grid, 0).at(-1), '40 prompts in 1 group');
  assert.deepEqual(arraysOf(data), ['effect', 'n']);
  const list = { ...data, axes: ['cell'] };
  list.numbers = { effect: { ...data.numbers.effect!, shape: [1, 4] } };
  assert.deepEqual([resultGrid(list)!.rows, resultGrid(list)!.names.length], [[], 4]);
});

test('a diff names the heads that differ, the largest first', () => {
  const data = experiment(false);
  data.attributes = { kind: 'diff', metric: '|b - a|' };
  data.axes = ['cell'];
  data.cells = [0, 1, 2, 3].map((head) => `blocks.1.attn.hook_pattern/${head}`);
  data.cells.push('blocks.1.hook_resid_pre');
  data.heads = [0, 1, 2, 3, -1];
  data.methods = ['largest', 'mean'];
  const values = Float64Array.from([0, 0.25, 0.5, NaN, 9, 0, 0.1, 0.2, NaN, 3]);
  data.numbers = { effect: { shape: [2, 5], dtype: 'f64', values } };
  data.texts = { spec_json: ['{"a":{"run_id":"x"},"b":{"run_id":"y"}}'] };
  assert.deepEqual(differencesOf(data), {
    a: 'x',
    b: 'y',
    method: 'largest',
    metric: '|b - a|',
    heads: [
      { head: '1.2', value: 0.5 },
      { head: '1.1', value: 0.25 },
    ],
    equal: 1,
    undefined: 1,
  });
  assert.equal(differencesOf(experiment(true)), null);
});

test('subsets of positions lead from rows to positions and back', () => {
  const stored = [2, 5, 7];
  assert.deepEqual([positionOf(stored, 1), positionOf(null, 4), indexOf(stored, 7)], [5, 4, 2]);
  assert.deepEqual([indexOf(stored, 3), indexOf(null, 3)], [-1, 3]);
  assert.deepEqual(indicesOf(stored, [7, 3, 2]), [2, 0]);
  const values = Float32Array.from([0, 10, 20, 30, 40, 50]);
  assert.deepEqual(Array.from(pick(values, stored)), [20, 50, NaN]);
  assert.equal(pick(values, null), values);
});
