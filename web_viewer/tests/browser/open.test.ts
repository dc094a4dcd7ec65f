import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { test } from 'node:test';
import { PAGE, withViewer } from '../support/browser';
import {
  capture,
  folder,
  h5py,
  lens,
  packed,
  packedMaps,
  several,
  verdict,
  storedCell,
  without,
  writtenByH5py,
} from '../support/fixtures';

test(
  'the one-file page opens a capture and a verdict side by side',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const shown = await viewer.open([capture(), verdict()]);
      assert.deepEqual(shown.files, ['run.h5', 'verdict.h5']);
      const { heads, columns } = await viewer.heads();
      assert.equal(heads, 32);
      assert.ok(columns.induction && columns.effect);
      assert.match(await viewer.page.locator('.first-look').innerText(), /Loudest without effect/);
      assert.deepEqual(shown.failures, []);
    }),
);

test('files of other kinds get a card that says what they are', { skip: without('python') }, () =>
  withViewer(async (viewer) => {
    mkdirSync(folder, { recursive: true });
    const text = join(folder, 'notes.h5');
    writeFileSync(text, 'not HDF5 at all');
    const empty = join(folder, 'empty.h5');
    writeFileSync(empty, '');
    const newer = writtenByH5py(
      'newer.h5',
      'f.attrs["schema"] = np.bytes_(b"attnscope/2"); f.attrs["schema_version"] = [2, 1]',
    );
    const foreign = writtenByH5py('foreign.h5', 'f["x"] = np.arange(4.0)');
    const shown = await viewer.open([text, empty, newer, foreign]);
    assert.deepEqual(
      shown.failures.map(({ name, code }) => [name, code]),
      [
        ['notes.h5', 'not_hdf5'],
        ['empty.h5', 'not_hdf5'],
        ['newer.h5', 'newer'],
      ],
    );
    assert.match(shown.failures[0]!.message, /6e 6f 74/);
    assert.deepEqual(shown.files, ['foreign.h5']);
    await viewer.page.locator('.tree .twig').waitFor();
    const page = await viewer.page.locator('main').innerText();
    assert.match(page, /no file of attnscope/);
    assert.match(page, /x/);
  }),
);

test(
  'a file of another program among others is named, in whichever order they come',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const foreign = writtenByH5py('foreign.h5', 'f["x"] = np.arange(4.0)');
      const { page } = viewer;
      for (const files of [
        [foreign, capture()],
        [capture(), foreign],
      ]) {
        await viewer.open([files[0]!]);
        await viewer.page.locator('input[type=file]').first().setInputFiles([files[1]!]);
        const card = page.locator('.failure[data-code=foreign]');
        await card.waitFor();
        assert.match(await card.innerText(), /no file of attnscope\nforeign\.h5\n.*“schema”/s);
        await card.getByRole('button', { name: 'Show its tree' }).click();
        assert.equal((await viewer.state()).screen, 'file');
        await page.getByRole('region', { name: 'foreign.h5' }).getByText('x', { exact: true });
        assert.equal(await card.count(), 1);
        await page
          .getByRole('region', { name: 'foreign.h5' })
          .getByRole('button', { name: 'Close file' })
          .click();
        await card.waitFor({ state: 'detached' });
      }
    }),
);

test(
  'why there are no small maps is said, with the way to them',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const maps = page.getByRole('button', { name: 'Maps', exact: true });
      const note = page.locator('.banner', { hasText: 'Pictures of maps are of one prompt' });
      await viewer.open([packedMaps()], '#v=1&g=statistic');
      await viewer.heads();
      assert.equal(await note.count(), 0, 'nobody asked for them');
      await maps.click();
      assert.match(await note.innerText(), /Shown are means over 8 prompts\./);
      await note.getByRole('button', { name: 'show p000000' }).click();
      await page.waitForFunction(() =>
        document.querySelector('.switch [aria-pressed=true]')?.textContent?.includes('Maps'),
      );
      assert.equal(await note.count(), 0);
      // Means of the other layout are over prompts of which one is at hand.
      await viewer.open([several()], '#v=1&mean=1&p=p000003');
      await note.getByRole('button', { name: 'show p000003' }).click();
      await note.waitFor({ state: 'detached' });
      await viewer.open([packed()]);
      await viewer.heads();
      assert.ok(await maps.isDisabled());
      assert.match((await maps.getAttribute('title'))!, /holds no pictures/);
      assert.equal(await note.count(), 0);
    }),
);

test('a packed file shows means over its prompts', { skip: without('command', 'python') }, () =>
  withViewer(async (viewer) => {
    await viewer.open([packed()]);
    const { heads } = await viewer.heads();
    assert.equal(heads, 32);
    assert.match(await viewer.page.locator('.bottom').innerText(), /means over 80 prompts/);
  }),
);

test('a link to another run says so; notes outlive the page', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    await viewer.open([capture()], '#v=1&s=head&h=1.7&file=run.h5&run=0123');
    assert.match(await viewer.page.locator('.link-words').innerText(), /made for another run/);
    await viewer.page.getByLabel('Note on 1.7').fill('copies what came before');
    await viewer.open([capture()], '#v=1&s=head&h=1.7');
    assert.equal(
      await viewer.page.getByLabel('Note on 1.7').inputValue(),
      'copies what came before',
    );
    await viewer.page.keyboard.press('Escape');
    const saving = viewer.page.waitForEvent('download');
    await viewer.page.keyboard.press('1');
    await viewer.page.getByRole('button', { name: 'Save as JSON' }).click();
    const saved = JSON.parse(readFileSync(await (await saving).path(), 'utf8')) as {
      notes: object;
    };
    assert.deepEqual(saved.notes, { '1.7': 'copies what came before' });
  }),
);

test(
  'a file without heads opens where it has something to show',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([lens()]);
      assert.equal((await viewer.state()).screen, 'lens');
      await viewer.open([verdict()]);
      assert.equal((await viewer.state()).screen, 'overview');
      assert.equal((await viewer.heads()).heads, 32, 'heads that were judged, without any capture');
    }),
);

test(
  'a page with a file inside opens it; a file of 4 GiB opens like any other',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const data = readFileSync(capture()).toString('base64');
      const inside = join(folder, 'inside.html');
      const page = readFileSync(new URL(PAGE), 'utf8');
      const element = `<script type="text/plain" data-file="mail.h5">${data}</script>`;
      writeFileSync(inside, page.replace('<div id="app">', `${element}<div id="app">`));
      await viewer.goto(pathToFileURL(inside).href);
      assert.equal((await viewer.heads()).heads, 32);
      assert.deepEqual((await viewer.state()).files, ['mail.h5']);

      // A user block puts the whole content behind 4 GiB of nothing, which take no room on disk.
      const moved = join(folder, 'moved.h5');
      h5py<null>(
        `import os
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2], "w", userblock_size=2**32) as b:
    for name in a: a.copy(name, b)
    for name in a.attrs: b.attrs[name] = a.attrs[name]
print("null")`,
        capture(),
        moved,
      );
      assert.ok(statSync(moved).size > 2 ** 32);
      await viewer.open([moved], '#v=1&s=head&h=1.7');
      assert.equal((await viewer.heads()).heads, 32);
      const direct = storedCell(moved, '1.7', 5, 2);
      assert.equal(await viewer.value(5, 2), direct);
    }),
);
