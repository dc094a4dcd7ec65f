import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExperimentData } from '../../src/format/types';
import { effectPrompts, effectPromptsWords, resultName } from '../../src/model/effect_prompts';
import { experiment } from '../support/heads';

const TEXTS = ['The keys to it', 'The key to it', 'A dog of ours', 'Dogs of ours'];

/** A verdict that chooses on the first two prompts and measures on the others. */
function verdict(): ExperimentData {
  const data = experiment(true);
  data.attributes = { ...data.attributes, prompts: 4, estimation_prompts: 2 };
  data.numbers.half_of_prompt = { shape: [4], dtype: 'i8', values: Int8Array.from([0, 0, 1, 1]) };
  return data;
}

const said = (data: ExperimentData, texts: string[], text: string, total = texts.length) =>
  effectPromptsWords(effectPrompts(data, 'v.h5', { texts, total }), { text });

test('an effect says on which prompts it was measured, and whether the text is one of them', () => {
  const start = 'Measured on 2 of the 4 prompts of v.h5';
  const such = ' (“A dog of ours”)';
  assert.equal(said(verdict(), TEXTS, 'Words: river'), `${start}${such}, not on this text.`);
  assert.equal(said(verdict(), TEXTS, 'Dogs of ours'), `${start}, this text among them.`);
  // One of the half on which things were chosen was not measured.
  assert.match(said(verdict(), TEXTS, 'The key to it'), /, not on this text\.$/);
  // Where the files do not tell, nothing is claimed.
  assert.equal(said(verdict(), TEXTS, ''), `${start}${such}.`);
  assert.equal(said(verdict(), TEXTS.slice(0, 3), 'Words: river', 4), `${start}${such}.`);
  assert.equal(said(verdict(), [], 'Words: river', 4), `${start}.`);
});

test('one prompt, no number of prompts and means are said as what they are', () => {
  const plain = (count: number): ExperimentData => {
    const data = experiment(false);
    const values = new Float64Array(count);
    data.numbers.baseline = { shape: [count], dtype: 'f64', values };
    return data;
  };
  assert.equal(
    said(plain(1), ['To be'], 'To be'),
    'Measured on the one prompt of v.h5, this text.',
  );
  assert.equal(
    said(plain(1), ['To be'], 'Or not'),
    'Measured on the one prompt of v.h5 (“To be”), not on this text.',
  );
  assert.equal(
    effectPromptsWords(effectPrompts(experiment(false), 'v.h5', null), null),
    'Measured on the prompts of v.h5.',
  );
  const means = { means: 8, file: 'run.h5' };
  assert.equal(
    effectPromptsWords(effectPrompts(plain(4), 'v.h5', { texts: TEXTS, total: 4 }), means),
    'Measured on 4 prompts of v.h5 (“The keys to it”); attention is the mean over ' +
      '8 prompts of run.h5.',
  );
});

test('results of several files are told apart by file and task', () => {
  const of = (file: string, text: string) => {
    const data = experiment(false);
    return resultName(data, effectPrompts(data, file, { texts: [text], total: 1 }), true);
  };
  assert.equal(of('a.h5', 'The keys'), 'ablate, a.h5: “The keys”');
  assert.equal(of('b.h5', ''), 'ablate, b.h5');
  assert.notEqual(of('a.h5', 'The keys'), of('a.h5', 'Today Tom'));
});
