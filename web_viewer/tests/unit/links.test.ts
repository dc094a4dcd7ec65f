import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absentFile, absentPart } from '../../src/model/link_words';
import { formatVersusLink, parseVersusLink } from '../../src/model/versus';
import { parseHash } from '../../src/state/hash';

test('the other side of a comparison is named by file and run, whatever the name', () => {
  for (const name of ['run.h5', 'a:b:c.h5', '3', '', 'ü ü.h5', '2:p000001']) {
    for (const run of ['0123456789abcdef', '']) {
      const link = parseVersusLink(formatVersusLink(name, run, 'p000001', '1.3'));
      const file = { name, run };
      assert.deepEqual(link, { file, place: null, prompt: 'p000001', head: '1.3' });
    }
  }
});

test('links that give the other side by its place, or only in part, are still read', () => {
  const file = { name: 'precise.h5', run: '' };
  const cases: [string, ReturnType<typeof parseVersusLink>][] = [
    ['3:p000000:1.3', { file: null, place: 3, prompt: 'p000000', head: '1.3' }],
    [':p000000:1.3', { file: null, place: null, prompt: 'p000000', head: '1.3' }],
    ['', { file: null, place: null, prompt: '', head: '' }],
    ['precise.h5:p000000:1.3', { file, place: null, prompt: 'p000000', head: '1.3' }],
    ['precise.h5', { file, place: null, prompt: '', head: '' }],
  ];
  for (const [text, link] of cases) assert.deepEqual(parseVersusLink(text), link, text);
});

test('an address tells its version and what of it is not understood', () => {
  const { version, refused } = parseHash('#v=9&c=red&h=1.7&m=-1&future=1');
  assert.deepEqual([version, refused], ['9', ['c=red', 'm=-1']]);
  assert.deepEqual(parseHash('#h=1.7').refused, []);
  assert.equal(parseHash('#h=1.7').version, parseHash('').version);
});

test('what is missing is named, and what is shown in its place', () => {
  assert.equal(absentFile('gone.h5', 'run.h5'), 'gone.h5 is not open; this is run.h5.');
  assert.equal(absentPart('run.h5 has no head', '99.99', ''), 'run.h5 has no head 99.99.');
});
