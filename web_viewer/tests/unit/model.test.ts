import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../../src/model/filter';
import { buildHeadTable, sortHeads } from '../../src/model/heads';
import { differencesOf } from '../../src/model/differences';
import { labelsOf } from '../../src/model/labels';
import { exact, short, signed, tabular } from '../../src/model/numbers';
import { indexOf, indicesOf, pick, positionOf } from '../../src/model/positions';
import {
  findPrompts,
  meansOver,
  searchNote,
  sortPrompts,
  topPrompts,
} from '../../src/model/prompts';
import { csvField, npyHeader } from '../../src/state/export';
import { rankCorrelation, ranks } from '../../src/model/rank';
import { findTokens } from '../../src/model/search';
import { safeText, tokenLabel, tokenText, wordLabel } from '../../src/model/tokens';
import { h5py, without } from '../support/fixtures';
import { experiment, stack, table } from '../support/heads';

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

test('labels come with their thresholds', () => {
  assert.deepEqual(labelsOf(table(), 1), [{ label: 'induction', reason: 'induction ≥ 0.4' }]);
  assert.deepEqual(labelsOf(table(), 0), []);
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
  assert.equal(tokenLabel(' \n'), '·⏎');
  assert.equal(tokenLabel('  '), '··');
  assert.equal(tokenLabel('a\0\r'), 'a‹0000›‹000D›');
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
  assert.deepEqual(topPrompts(values, 3, 0, [0, 1, 2], 2), [
    { prompt: 2, value: 5 },
    { prompt: 1, value: 3 },
  ]);
  assert.deepEqual(topPrompts(values, 3, 0, [1], 2), [{ prompt: 1, value: 3 }]);
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
  // A column and its value, all of it; what names no column is a word like others.
  assert.deepEqual(findPrompts(rows, 'n:9'), [1]);
  assert.deepEqual(findPrompts(rows, 'N:1'), []);
  assert.deepEqual(findPrompts(rows, 'n:'), []);
  assert.deepEqual(findPrompts({ ...rows, texts: ['m:9', '', ''] }, 'm:9'), [0]);
  assert.deepEqual(sortPrompts(rows, [0, 1, 2], 'n'), [2, 1, 0]);
  assert.deepEqual(sortPrompts(rows, [0, 1, 2], '-n'), [0, 1, 2]);
  assert.deepEqual(sortPrompts(rows, [0, 2], 'text'), [2, 0]);
  assert.deepEqual(sortPrompts(rows, [2, 0], 'absent'), [2, 0]);
});

test('prompts are found by phrases, by what they lack and by numbers of a column', () => {
  const rows = {
    ids: ['p0', 'p1', 'p2'],
    texts: ['Number 23, Lucy', '23 is a number', 'Lucy and n>9'],
    columns: {
      n: ['10', '9', ''],
      subject: ['Lucy Ann', 'Tom', 'Lucy'],
      'two words': ['', '', 'x'],
    },
  };
  const cases: [string, number[]][] = [
    ['number 23', [0, 1]],
    ['"number 23"', [0]],
    ['"number 2', [0]],
    ['-lucy', [1]],
    ['-"number 23" -tom', [2]],
    ['-', []],
    ['n>9', [0]],
    ['n>=9', [0, 1]],
    ['n<10', [1]],
    ['N<=10 lucy', [0]],
    ['n=9', [1]],
    ['n!=9', [0, 2]],
    ['-n:9', [0, 2]],
    ['"n>9"', [2]],
    ['subject:"lucy ann"', [0]],
    ['subject:lucy', [2]],
    ['""', [0, 1, 2]],
  ];
  for (const [wanted, found] of cases) assert.deepEqual(findPrompts(rows, wanted), found, wanted);
  const notes: [string, RegExp | null][] = [
    ['tokens>17', /^No column is called “tokens”; there are n, subject, two words\.$/],
    ['n>many', /^After n> a number is expected\.$/],
    ['subject<3', /^The column subject has no numbers to compare\.$/],
    ['n>1', null],
    ['"m>1"', null],
    ['lucy -n:9', null],
  ];
  for (const [wanted, words] of notes) {
    if (words) assert.match(searchNote(rows, wanted), words);
    else assert.equal(searchNote(rows, wanted), '');
  }
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
