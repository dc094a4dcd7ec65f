import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal } from '../../src/io/errors';
import { added, isSameCause, type FailureCode } from '../../src/model/failures';

test('what a server answers tells whether the file, the page or the answer is at fault', () => {
  assert.match(refusal(410).message, /status 410/);
  const codes = [401, 403, 421, 404, 410, 500, 302].map((status) => refusal(status).code);
  const locked = new Array<string>(3).fill('locked');
  assert.deepEqual(codes, [...locked, 'gone', 'gone', 'unreadable', 'unreadable']);
});

test('one card stands for a file and a cause; a server is one cause for all of its files', () => {
  const same = (a: FailureCode, b: FailureCode, names = ['x.h5', 'x.h5']) =>
    isSameCause({ name: names[0]!, code: a }, { name: names[1]!, code: b });
  assert.ok(same('unreadable', 'unreadable'));
  assert.ok(same('changed', 'gone'));
  assert.ok(same('offline', 'locked', ['x.h5', 'y.h5']));
  assert.ok(!same('unreadable', 'unreadable', ['x.h5', 'y.h5']));
  assert.ok(!same('changed', 'offline'));
  assert.ok(!same('filter', 'too_large'));
});

test('more of the same is counted once each and not without bound; news replaces what it was', () => {
  let card = { name: 'x.h5', code: 'unreadable' as FailureCode, messages: ['chunk 0'] as const };
  const meet = (code: FailureCode, message: string) => {
    card = { ...card, ...added(card, code, message) } as typeof card;
    return card.messages.length;
  };
  assert.equal(meet('unreadable', 'chunk 0'), 1);
  assert.equal(meet('unreadable', 'chunk 1'), 2);
  for (let i = 0; i < 1000; ++i) meet('unreadable', `chunk ${i}`);
  assert.equal(card.messages.length, 100);
  assert.equal(card.messages[0], 'chunk 0');
  assert.equal(meet('gone', 'it is gone'), 1);
  assert.equal(card.code, 'gone');
});
