import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FIELDS,
  FIELD_NAMES,
  formatHash,
  initialState,
  parseHash,
  type ViewState,
} from '../../src/state/hash';

/** A value that is not the default, for every field. */
const OTHER: ViewState = {
  screen: 'head',
  mainFile: 'many.h5',
  prompt: 'p000003',
  mean: true,
  over: 'sd',
  drawer: true,
  promptFilter: 'Mary & John',
  promptSort: '-group',
  stack: 'cross',
  head: '0.0',
  statistic: 'entropy',
  show: 'effect',
  sort: 'sink',
  ascending: true,
  filter: 'entropy<1.5 & layer>8 | x="ü"',
  brush: [0, -1.5, 0.25, 3],
  experiment: 'verdict@b 2.h5',
  method: 1,
  prompts: 'all',
  units: 'list',
  unitSort: '-recovery',
  view: 'text',
  sink: false,
  valueWeighted: true,
  color: 'magma',
  scale: 'rank',
  domain: 'fixed',
  range: [0, 0.125],
  pool: 'mean',
  words: true,
  zoom: [0, 0, 256, 128.5],
  cell: [12, 0],
  queries: [0, 12, 13, 14],
  keys: [3],
  search: 'a&b=c#d',
  tray: ['5.1', '9.6'],
  trayMode: 'max',
  versus: 'b: 2.h5:df41d956:p000001:0.3',
  align: 'position',
  array: 'effect',
  stage: 'kl',
  theme: 'dark',
  embed: true,
  file: 'my run.h5',
  runId: 'df41d956',
};

test('every field goes to the address and back, false and 0 too', () => {
  assert.deepEqual(parseHash(formatHash(OTHER, [])).state, OTHER);
  for (const name of FIELD_NAMES) {
    const state = { ...initialState(), [name]: OTHER[name] };
    assert.notDeepEqual(state, initialState(), `${name} differs from its default`);
    assert.deepEqual(parseHash(formatHash(state, [])).state, state, name);
  }
});

test('defaults are left out and unknown keys are kept', () => {
  assert.equal(formatHash(initialState(), []), '#v=1');
  const { state, unknown } = parseHash('#v=1&h=5.1&future=a+b&sink=0');
  assert.equal(state.sink, false);
  assert.deepEqual(unknown, [['future', 'a b']]);
  assert.equal(formatHash(state, unknown), '#v=1&h=5.1&sink=0&future=a+b');
});

test('what is not understood falls back to the default', () => {
  const { state } = parseHash('#s=nowhere&m=-1&sink=maybe&z=1,x&q=5-99999999&j=a&k=&c=red');
  assert.deepEqual(state, initialState());
});

test('keys are short and differ', () => {
  const keys = FIELD_NAMES.map((name) => FIELDS[name].key);
  assert.equal(new Set(keys).size, keys.length);
  assert.ok(keys.every((key) => key.length <= 5 && key !== 'v'));
});
