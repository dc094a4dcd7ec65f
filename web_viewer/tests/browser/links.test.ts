import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PAGE, withViewer, type Viewer } from '../support/browser';
import { capture, folder, half, several, verdict, without } from '../support/fixtures';

const strip = (viewer: Viewer) => viewer.page.locator('.link-words');

test(
  'a link to what is not there says so, whatever it names, and what is shown instead',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const cases: [string, RegExp][] = [
        ['s=head&h=99.99', /^run\.h5 has no head 99\.99; this is \d\.\d\./],
        ['s=overview&h=99.99', /^run\.h5 has no head 99\.99\./],
        ['fi=gone.h5&file=gone.h5&run=deadbeef', /^gone\.h5 is not open; this is run\.h5\./],
        ['file=run.h5&run=deadbeef', /^run\.h5: the link was made for another run \(deadbeef\)/],
        ['p=p999999', /^run\.h5 has no prompt p999999; this is p000000\./],
        ['a=cross', /^run\.h5 has no attention of kind cross; this is self\./],
        ['st=nothing', /^run\.h5 has no statistic nothing; this is \w+\./],
        ['e=lost', /^No open file has the experiment lost/],
        [
          's=compare&vs=gone.h5:0123:p000000:1.3',
          /^gone\.h5, which the link compares with, is not/,
        ],
        ['s=compare&vs=3:p000000:1.3', /^File 4, which the link compares with, is not open/],
        ['s=compare&vs=run.h5:dead:p000000:1.3', /^B, run\.h5: the link was made for another run/],
        ['s=compare&vs=run.h5::p000009:1.3', /^B, run\.h5, has no prompt p000009; this is p000000/],
        ['c=red', /^The link has what this page does not understand: c=red\./],
      ];
      await viewer.open([capture()]);
      for (const [hash, words] of cases) {
        await viewer.go(`#v=1&${hash}`);
        await strip(viewer).filter({ hasText: words }).waitFor();
        await strip(viewer).getByRole('button', { name: 'Keep what is shown' }).click();
        await strip(viewer).waitFor({ state: 'detached' });
      }
      await viewer.go('#v=9&s=head&h=1.7');
      await strip(viewer).filter({ hasText: 'another version of this page (9)' }).waitFor();
      await viewer.go('#v=1&s=head&h=1.7&p=p000000&a=self');
      await strip(viewer).waitFor({ state: 'detached' });
    }),
);

test(
  'a shared comparison finds its files again, in whatever order and company they are opened',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture(), several(), half()], '#v=1&s=compare&h=1.7');
      // That of B, not that of the header.
      const name = page.locator('span', { hasText: /^file$/ });
      const file = page.locator('main label.pick', { has: name }).locator('select');
      await file.selectOption({ label: 'half.h5' });
      const panel = page.getByLabel('Panel b').locator('h2');
      await panel.filter({ hasText: 'half.h5' }).waitFor();
      const link = new URL(page.url()).hash;
      assert.match(link, /vs=half\.h5:[0-9a-f]{16}:p000000:1\.7/);

      await viewer.open([half(), verdict(), capture()], `${link}&fi=run.h5`);
      await panel.filter({ hasText: 'half.h5' }).waitFor();
      assert.equal(await strip(viewer).count(), 0);

      // Another run under the name, and none of the name.
      const other = join(folder, 'other', 'half.h5');
      mkdirSync(join(folder, 'other'), { recursive: true });
      copyFileSync(several(), other);
      await viewer.open([capture(), other], link);
      await strip(viewer)
        .filter({ hasText: /^B, half\.h5: the link was made for another run/ })
        .waitFor();
      await viewer.goto(`${PAGE}${link}`);
      await viewer.pick([capture()]);
      await page.getByText('The file of B is not open').waitFor();
      assert.equal(await page.locator('.compare-panel').count(), 0, 'no other file in its place');
      await page.getByRole('button', { name: 'Compare within this file' }).click();
      await panel.filter({ hasText: 'run.h5' }).waitFor();

      // By place it could be any.
      await viewer.open([capture(), several()], '#v=1&s=compare&h=1.7&vs=1:p000000:1.3');
      await strip(viewer).filter({ hasText: 'by its place in a list of files only' }).waitFor();
      await panel.filter({ hasText: '1.3, p000000, several.h5' }).waitFor();
    }),
);
