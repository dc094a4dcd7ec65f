import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import { capture, pieces, positions, several, without } from '../support/fixtures';

const both = { skip: without('command', 'python') };

const readout = (viewer: Viewer) => viewer.page.locator('.readout').innerText();
const strip = (viewer: Viewer) => viewer.page.locator('.link-words');
test('a cell that is held stays with its tokens when pieces become words, and back', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    // “aus”, the last piece, and “chen”, of a word of three.
    await viewer.open([pieces()], '#v=1&s=head&h=0.1&at=11,7');
    await page.locator('.readout').waitFor();
    const value = await viewer.value(11, 7);
    assert.match(await readout(viewer), /query 11\s+·aus[^]*key 7\s+chen/);
    await page.keyboard.press('w');
    await page.locator('.readout', { hasText: 'as drawn' }).waitFor();
    assert.match(await readout(viewer), /query 11\s+·aus[^]*key 5–7\s+·Ölkännchen/);
    assert.doesNotMatch(await readout(viewer), /undefined|∞/);
    await page.keyboard.press('w');
    await page.locator('.readout', { hasText: 'stored weight' }).waitFor();
    assert.match(await readout(viewer), /query 11\s+·aus[^]*key 7\s+chen/);
    assert.ok((await readout(viewer)).includes(`${value}`.slice(0, 5)));
    // Its strongest keys stay those of the piece.
    await viewer.go('#v=1&s=head&h=0.1&at=7,1');
    const title = page.getByRole('heading', { name: 'Query 7 chen attends most to' });
    await title.waitFor();
    await page.keyboard.press('w');
    await page.locator('.readout', { hasText: 'query 5–7' }).waitFor();
    assert.equal(await title.count(), 1);
  }),
);

test('a window stays over its part of the text when pieces become words, and back', both, () =>
  withViewer(async (viewer) => {
    // Of “Un”, “glaub”, “lich”, “,” and the three pieces of the word behind.
    await viewer.open([pieces()], '#v=1&s=head&h=0.1&z=1,1,7,7');
    await viewer.value(3, 3);
    await viewer.page.keyboard.press('w');
    assert.deepEqual((await viewer.state()).zoom, [1, 1, 2, 2]);
    await viewer.page.keyboard.press('w');
    assert.deepEqual((await viewer.state()).zoom, [1, 1, 7, 7]);
  }),
);

test(
  'a link carries the cell that is held; another prompt lets it go, another head does not',
  both,
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([several()], '#v=1&s=head&h=1.7');
      await viewer.value(3, 3);
      const box = (await page.locator('.head-map canvas').boundingBox())!;
      await page.mouse.click(box.x + box.width * 0.45, box.y + box.height * 0.6);
      await page.waitForFunction(() => location.hash.includes('at='));
      const cell = (await viewer.state()).cell as number[];
      const words = await readout(viewer);
      assert.match(words, new RegExp(`query ${cell[0]}\\s[^]*key ${cell[1]}\\s`));
      // Elsewhere the pointer reads nothing.
      await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.3);
      assert.equal(await readout(viewer), words);
      const link = await page.evaluate(() => location.hash);
      await viewer.open([several()], link);
      await page.locator('.readout').waitFor();
      await viewer.value(cell[0]!, cell[1]!);
      assert.equal(await readout(viewer), words, 'from the link');
      await page.keyboard.press('ArrowRight');
      assert.deepEqual((await viewer.state()).cell, cell);
      await page.keyboard.press('p');
      await page.locator('.drawer-row').nth(2).click();
      assert.deepEqual((await viewer.state()).cell, []);
      assert.equal(await strip(viewer).count(), 0);
    }),
);

test('a held cell is let go by a second click and by Esc, which then goes back', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture()], '#v=1&s=head&h=1.7&at=5,1');
    await viewer.value(5, 1);
    const box = (await page.locator('.head-map canvas').boundingBox())!;
    await page.mouse.click(box.x + box.width * 0.45, box.y + box.height * 0.6);
    assert.deepEqual((await viewer.state()).cell, []);
    await page.mouse.click(box.x + box.width * 0.45, box.y + box.height * 0.6);
    assert.equal(((await viewer.state()).cell as number[]).length, 2);
    await page.keyboard.press('Escape');
    const { cell, screen } = await viewer.state();
    assert.deepEqual([cell, screen], [[], 'head']);
    await page.keyboard.press('Escape');
    assert.equal((await viewer.state()).screen, 'overview');
  }),
);

test('cells, windows and heads of an address that are not there are named', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture()], '#v=1&s=head&h=1.7');
    await viewer.value(3, 3);
    const cases: [string, RegExp][] = [
      ['s=head&h=1.7&at=40,3', /^The map on screen has no query 40 with key 3\./],
      ['s=head&h=1.7&w=lines&at=40,3', /^The prompt has no query 40 with key 3\./],
      ['s=head&h=1.7&w=text&at=3,40', /^The prompt has no query 3 with key 40\./],
      ...['overview', 'causal', 'lens', 'file'].flatMap((screen): [string, RegExp][] => [
        [`s=${screen}&h=1.7&at=99,99`, /^The prompt has no query 99 with key 99\./],
        [`s=${screen}&h=1.7&q=3,40`, /^The prompt has no query 40\./],
        [`s=${screen}&h=1.7&j=2,41`, /^The prompt has no key 41\./],
        [`s=${screen}&h=1.7&z=1e9,2,3,3`, /^The prompt has no window 1000000000,2,3,3\./],
      ]),
      ['s=head&h=1.7&q=3,40', /^The map on screen has no query 40\./],
      ['s=head&h=1.7&j=2,41', /^The map on screen has no key 41\./],
      [
        's=head&h=1.7&z=1e9,2,3,3',
        /does not reach as far as the window of the link \(1000000000,2,3,3\)/,
      ],
      ['s=head&h=1.7&z=2,2,0.5,0.5', /the window of the link \(2,2,0\.5,0\.5\)/],
      ['s=compare&h=1.7&z=1e9,2,3,3', /the window of the link \(1000000000,2,3,3\)/],
      ['s=head&h=1.7&tray=9.9,1.1,1.1,2.3', /^run\.h5 has no head for the tray, 9\.9\./],
      ['o=nope', /^run\.h5 has no column to sort by called nope\./],
      [
        's=compare&al=positions',
        /^The link has what this page does not understand: al=positions\./,
      ],
      ['s=compare&vs=run.h5::p000000:nope', /^B, run\.h5, has no head nope; this is 1\.7|\d/],
    ];
    for (const [hash, words] of cases) {
      await viewer.go(`#v=1&${hash}`);
      await strip(viewer).filter({ hasText: words }).waitFor();
      await strip(viewer).getByRole('button', { name: 'Keep what is shown' }).click();
      await strip(viewer).waitFor({ state: 'detached' });
    }
    await viewer.go('#v=1&s=head&h=1.7&q=3,40&j=1');
    await viewer.page.getByText('The selected query gives').waitFor();
    // What is not there is no part of a sum.
    await viewer.go('#v=1&s=head&h=1.7&z=2,2,3,3');
    assert.equal(await page.locator('.link-words').count(), 0);
  }),
);

test('rows of some positions only: the address names positions, not rows', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([positions()], '#v=1&s=head&h=1.7&at=6,5');
    await viewer.page.locator('.readout').waitFor();
    assert.match(await readout(viewer), /query 6\s[^]*key 5\s/);
    await viewer.go('#v=1&s=head&h=1.7&at=4,2');
    await strip(viewer).filter({ hasText: 'has no query 4 with key 2' }).waitFor();
  }),
);

test('the tray counts the heads that there are, each once, as the mean of them does', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture()], '#v=1&s=head&h=1.7&tray=9.9,1.1,1.1,2.3&tm=mean');
    await page.getByRole('heading', { name: 'Mean of 2' }).waitFor();
    const label = page.locator('label.pick', { hasText: 'Tray' }).locator('span').first();
    assert.equal(await label.innerText(), 'Tray (2)');
    assert.deepEqual(await page.locator('.tray .chip').allInnerTexts(), ['1.1 ×', '2.3 ×']);
    // Layers 1 and 3 only have maps.
    await viewer.open([positions()], '#v=1&s=head&h=1.7&tray=1.1,1.2,2.3');
    await page.locator('label.pick', { hasText: 'Tray (2 of 3)' }).waitFor();
  }),
);

test('keys of one screen do nothing on the others', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture()], '#v=1&s=overview&h=1.7&tray=1.1,2.3');
    await viewer.heads();
    const of: [string, string[]][] = [
      ['overview', ['x', 'k', 'w', 'h', '0', '+', 'n', '/']],
      ['causal', ['x', 'k', 'w', 'h', 't', '[', ']', '+']],
      ['file', ['x', 'k', 'w', 'h', 't', '[', ']']],
      ['head', ['x', 't', '[', ']']],
    ];
    for (const [screen, keys] of of) {
      await viewer.go(`#v=1&s=${screen}&h=1.7&tray=1.1,2.3`);
      await page.waitForFunction((name) => window.__attnscope.state().screen === name, screen);
      const before = await viewer.state();
      for (const key of keys) {
        await page.keyboard.press(key);
        assert.deepEqual(await viewer.state(), before, `${key} on ${screen}`);
      }
    }
  }),
);
