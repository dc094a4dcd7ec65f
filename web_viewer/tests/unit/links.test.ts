import assert from 'node:assert/strict';
import { test } from 'node:test';
import { experimentIds, findExperiment } from '../../src/model/experiment_names';
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

/** Results of files that are open in this order. */
function opened(...files: [file: string, ...names: string[]][]) {
  const places = files.flatMap(([file, ...names], at) =>
    names.map((name) => ({ name, file, place: at + 1 })),
  );
  return experimentIds(places).map((id, at) => ({ id, place: places[at]! }));
}

test('a result is found again by name and file, in whatever order and company files are opened', () => {
  const both = opened(['run.h5'], ['a.h5', 'ablate'], ['b.h5', 'ablate', 'lens']);
  const ids = ['ablate@a.h5', 'ablate@b.h5', 'lens'];
  assert.deepEqual(
    both.map(({ id }) => id),
    ids,
  );
  const others = [
    opened(['b.h5', 'ablate', 'lens'], ['a.h5', 'ablate']),
    opened(['c.h5', 'ablate', 'lens'], ['b.h5', 'ablate', 'lens'], ['a.h5', 'ablate']),
  ];
  for (const now of others) {
    for (const [at, id] of ids.slice(0, 2).entries()) {
      assert.equal(findExperiment(now, id)?.place.file, at === 0 ? 'a.h5' : 'b.h5', id);
    }
  }
  const alone = opened(['b.h5', 'ablate']);
  assert.equal(alone[0]!.id, 'ablate');
  assert.equal(findExperiment(alone, 'ablate@b.h5'), alone[0]);
  assert.equal(findExperiment(alone, 'ablate@a.h5'), undefined, 'not that of another file');
  assert.equal(findExperiment(both, 'ablate@3'), both[1], 'of an older link');
  assert.equal(findExperiment(both, ''), undefined);
});

test('results of files of one name have names of their own', () => {
  const ids = opened(['a.h5', 'ablate'], ['a.h5', 'ablate']).map(({ id }) => id);
  assert.equal(new Set(ids).size, 2);
});
