import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { test } from 'node:test';
import { PAGE, withViewer } from '../support/browser';
import {
  capture,
  folder,
  h5py,
  halves,
  lens,
  packed,
  several,
  verdict,
  without,
  writtenByH5py,
} from '../support/fixtures';
import { serve } from '../support/server';

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

test('the served page reads by ranges and keeps to its policy', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    const server = await serve({ files: { 'run.h5': capture() } });
    await viewer.goto(`${server.url}?file=run.h5`);
    assert.equal((await viewer.heads()).heads, 32);
    assert.ok(server.requests.some((line) => line.startsWith('run.h5 bytes=0-')));
    assert.ok(!server.requests.includes('run.h5'), 'never the whole file');
    await server.close();
  }),
);

test('a server without ranges is refused with the way out', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    const server = await serve({ files: { 'run.h5': capture() }, withoutRanges: true });
    await viewer.goto(`${server.url}?file=run.h5`);
    await viewer.page.locator('.failure[data-code=no_range]').waitFor();
    assert.match(await viewer.page.locator('.failure').innerText(), /attnscope view run\.h5/);
    await server.close();
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
  'a prompt that tries to be markup, and a cut file, stay harmless',
  {
    skip: without('command', 'python'),
  },
  () =>
    withViewer(async (viewer) => {
      const hostile = writtenByH5py(
        'hostile.h5',
        `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["run_id"] = np.bytes_(b"x")
f["prompts/p000000/text"] = np.bytes_("<img src=http://evil.example/x onerror=alert(1)>\\u202e".encode())
f["prompts/p000000/tokens/text"] = np.array(["<b>".encode(), b"y" * 1000000, "\\u202ez".encode()])
p = f["prompts/p000000"]
p["cache/blocks.0.attn.hook_pattern"] = np.full((1, 3, 3), 1 / 3, dtype="f4")
p["attention/self/layers"] = np.array([0]); p["attention/self/n_heads"] = np.array([1])
p["attention/self/head_stats"] = np.array([[[0.5]]], dtype="f4")
p["attention/self/head_stats"].attrs["names"] = np.array([b"<script>alert(1)</script>"])`,
      );
      const cut = join(folder, 'cut.h5');
      const whole = readFileSync(capture());
      writeFileSync(cut, whole.subarray(0, whole.length / 2));
      const shown = await viewer.open([hostile, cut], '#v=1&s=head&h=0.0');
      assert.deepEqual(shown.files, ['hostile.h5']);
      assert.deepEqual(
        shown.failures.map(({ code }) => code),
        ['unreadable'],
      );
      await viewer.heads();
      assert.equal(await viewer.value(2, 1), Math.fround(1 / 3));
      assert.equal(await viewer.page.locator('main img, main script').count(), 0);
    }),
);

test(
  'files of published crashes each end in a card or a tree, and the page lives',
  {
    skip:
      without('command') ||
      (process.env.ATTNSCOPE_MATERIAL ? false : 'ATTNSCOPE_MATERIAL is not set'),
  },
  () =>
    withViewer(async (viewer) => {
      const target = join(folder, 'cve');
      if (!existsSync(target)) {
        mkdirSync(target, { recursive: true });
        const archive = join(process.env.ATTNSCOPE_MATERIAL!, 'malformed/hdf5/cve_hdf5.tar.xz');
        execFileSync('tar', ['-xJf', archive, '-C', target]);
      }
      const files = readdirSync(target, { recursive: true })
        .map((name) => join(target, String(name)))
        .filter((path) => path.endsWith('.h5'));
      assert.ok(files.length > 20);
      viewer.expected.push(/./);
      await viewer.goto(PAGE);
      for (const file of files) {
        const before = await viewer.state();
        const shown = await viewer.pick([file]);
        const grew =
          shown.files.length - before.files.length + shown.failures.length - before.failures.length;
        assert.ok(grew >= 1, file);
      }
      // Everything in their trees that can be opened is opened.
      await viewer.page.locator('.tree .twig').first().waitFor();
      for (const twig of await viewer.page.locator('.tree > li > .twig').all()) await twig.click();
      const shown = await viewer.pick([capture()]);
      assert.ok(shown.files.includes('run.h5'));
      assert.equal((await viewer.heads()).heads, 32);
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
      const direct = h5py<number>(
        `with h5py.File(sys.argv[1]) as f: print(json.dumps(float(f["prompts/p000000/cache/blocks.1.attn.hook_pattern"][7, 5, 2])))`,
        moved,
      );
      assert.equal(await viewer.value(5, 2), direct);
    }),
);

test('a link to another run says so; notes outlive the page', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    await viewer.open([capture()], '#v=1&s=head&h=1.7&file=run.h5&run=0123');
    assert.match(await viewer.page.locator('.bottom').innerText(), /made for another run/);
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
  'parts of a run that was not finished are browsed as one',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const [first, second] = halves() as [string, string];
      await viewer.open([second], '#v=1&s=head&h=1.7');
      assert.match(await viewer.page.locator('.bottom').innerText(), /partial: 1 of 2 parts/);
      await viewer.page.locator('input[type=file]').first().setInputFiles([first]);
      await viewer.page.getByText('partial: 2 of 2 parts').waitFor();
      await viewer.page.evaluate(() => (location.hash = '#v=1&s=head&h=1.7&p=p000006'));
      const whole = h5py<number>(
        `with h5py.File(sys.argv[1]) as f: print(json.dumps(float(f["prompts/p000006/cache/blocks.1.attn.hook_pattern"][7, 5, 2])))`,
        several(),
      );
      await viewer.page.waitForFunction((value) => window.__attnscope.value(5, 2) === value, whole);
    }),
);

test('the served page has no script of its own inside', () => {
  const served = join(VIEWER_ROOT, 'dist/served');
  const page = readFileSync(join(served, 'index.html'), 'utf8');
  const scripts = page.match(/<script[^>]*>/g) ?? [];
  assert.deepEqual(scripts, ['<script type="module" src="app.js">']);
  assert.doesNotMatch(page, /<style|\son[a-z]+=/);
  for (const name of ['app.js', 'worker.js']) {
    assert.doesNotMatch(readFileSync(join(served, name), 'utf8'), /\beval\(|new Function\(/);
  }
});

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
  'a file that changes while it is open is told, and the page lives',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const changing = join(folder, 'changing.h5');
      h5py<null>(
        `rng = np.random.default_rng(1)
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture")
    p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"changing")
    p["tokens/text"] = np.array([b"t%d" % i for i in range(512)])
    p.create_dataset("cache/blocks.0.attn.hook_pattern", data=rng.random((4, 512, 512), dtype="f4"), chunks=(1, 256, 256))
print("null")`,
        changing,
      );
      await viewer.open([changing]);
      await viewer.heads();
      writeFileSync(changing, 'something else');
      await viewer.page.evaluate(() => (location.hash = '#v=1&s=head&h=0.3'));
      await viewer.page.locator('.failure[data-code=changed]').waitFor();
      const shown = await viewer.pick([capture()]);
      assert.ok(shown.files.includes('run.h5'));
    }),
);
