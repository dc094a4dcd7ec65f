import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PAGE, withViewer } from '../support/browser';
import {
  capture,
  folder,
  h5py,
  storedCell,
  writeMaps,
  without,
  writtenByH5py,
} from '../support/fixtures';
import { withServer } from '../support/server';

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

const material =
  without('command') || (process.env.ATTNSCOPE_MATERIAL ? false : 'ATTNSCOPE_MATERIAL is not set');

/** Every file of the archive of published crashes of HDF5. */
function crashFiles(): string[] {
  const target = join(folder, 'cve');
  if (!existsSync(target)) {
    mkdirSync(target, { recursive: true });
    const archive = join(process.env.ATTNSCOPE_MATERIAL!, 'malformed/hdf5/cve_hdf5.tar.xz');
    execFileSync('tar', ['-xJf', archive, '-C', target]);
  }
  const index = readFileSync(join(process.env.ATTNSCOPE_MATERIAL!, 'malformed/hdf5/INDEX.tsv'));
  return String(index)
    .split('\n')
    .map((line) => join(target, line.split('\t')[0]!))
    .filter((path) => path.includes('cvefiles') && existsSync(path));
}

test(
  'files of published crashes each end in a card or a tree, and the page lives',
  { skip: material },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const files = crashFiles();
      assert.ok(files.length >= 91, `${files.length} files`);
      viewer.expected.push(/./);
      await viewer.goto(`${PAGE}#v=1&s=file`);
      const ends = new Map<string, number>();
      for (const file of files) {
        const shown = await viewer.pick([file]);
        assert.equal(shown.files.length + shown.failures.length >= 1, true, file);
        const end = shown.failures[0]?.code ?? 'tree';
        ends.set(end, (ends.get(end) ?? 0) + 1);
        // Everything of its tree that can be opened is, two levels down.
        for (let level = 0; level < 2; ++level) {
          const closed = page.locator('.tree .twig[aria-expanded=false]');
          for (let i = Math.min(8, await closed.count()); i > 0; --i) {
            await closed.first().click({ force: true });
          }
        }
        for (const name of ['Close file', 'Close']) {
          const buttons = page.getByRole('button', { name, exact: true });
          while ((await buttons.count()) > 0) await buttons.first().click();
        }
      }
      console.log(`ends of ${files.length} files:`, Object.fromEntries(ends));
      const shown = await viewer.pick([capture()]);
      assert.deepEqual([shown.files, shown.failures], [['run.h5'], []]);
      assert.equal((await viewer.heads()).heads, 32);
    }),
);

test(
  'single flipped bits end in a card or in a run, and the page lives',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      viewer.expected.push(/./);
      const whole = readFileSync(capture());
      const path = join(folder, 'flipped.h5');
      await viewer.goto(PAGE);
      let refused = 0;
      for (let i = 0; i < 40; ++i) {
        const bytes = Buffer.from(whole);
        // Most of what can go wrong is decided in the first blocks.
        const at = i < 20 ? i * 13 : Math.floor((i / 40) * whole.length);
        bytes[at]! ^= 1 << (i % 8);
        writeFileSync(path, bytes);
        const { files, failures } = await viewer.open([path], '#v=1&s=head&h=1.7');
        assert.ok(files.length + failures.length >= 1, `byte ${at}`);
        if (files.length === 0) ++refused;
      }
      assert.ok(refused >= 3, `${refused} of 40 refused`);
      const shown = await viewer.open([capture()]);
      assert.deepEqual(shown.failures, []);
    }),
);

test(
  'a tree of a hostile file is cut with a count, and follows no link',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const path = writtenByH5py(
        'tree.h5',
        `g = f.create_group("many")
t = g.create_group("t")
for i in range(120000): g.id.links.create_hard(b"%06d" % i, t.id, b".")
f["cycle/again"] = f["/"]
f["outside"] = h5py.ExternalLink("/etc/passwd", "/x")
f["soft"] = h5py.SoftLink("/many")
for i in range(200): f.create_group("/".join(["deep"] * (i + 1)))`,
      );
      await viewer.open([path]);
      const twig = (name: string) => page.locator('.twig', { hasText: name });
      await page.getByText('link to /etc/passwd:/x, not followed').waitFor();
      await page.getByText('link to /many, not followed').waitFor();
      await twig('many/').first().click();
      await page.getByText('… and 119501 more').waitFor();
      assert.ok((await page.locator('.tree .twig').count()) < 600);
      await twig('many/').first().click();
      await twig('cycle/').click();
      await twig('again/').click();
      await page.locator('.tree ul ul').getByText('cycle/').waitFor();
      assert.deepEqual((await viewer.state()).failures, []);
    }),
);

test('a foreign filter is named, with the way out', { skip: without('python') }, () =>
  withViewer(async (viewer) => {
    const path = writtenByH5py(
      'lzf.h5',
      `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"x")
p["tokens/text"] = np.array([b"t%d" % i for i in range(16)])
p.create_dataset("cache/blocks.0.attn.hook_pattern", data=np.full((1, 16, 16), 1 / 16, dtype="f4"), chunks=(1, 16, 16), compression="lzf")`,
    );
    await viewer.open([path], '#v=1&s=head&h=0.0');
    const card = viewer.page.locator('.failure[data-code=filter]');
    await card.waitFor();
    assert.match(await card.innerText(), /lzf.*32000/s);
    assert.match(await card.innerText(), /h5repack -f SHUF -f GZIP=1 "lzf\.h5" readable\.h5/);
  }),
);

test(
  'a file of a newer minor version opens, and says what it does not know',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const path = join(folder, 'minor.h5');
      copyFileSync(capture(), path);
      h5py<null>(
        `with h5py.File(sys.argv[1], "a") as f:
    f.attrs["schema_version"] = [1, 9]; f.create_group("dreams")
print("null")`,
        path,
      );
      await viewer.open([path]);
      assert.equal((await viewer.heads()).heads, 32);
      await viewer.page.keyboard.press('6');
      await viewer.page.getByText('Not known to this version: dreams.').waitFor();
    }),
);

test(
  'a worker that dies is replaced, and the view stays',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture()], '#v=1&s=head&h=1.7&c=magma');
      await viewer.value(5, 2);
      const [worker] = page.workers();
      viewer.expected.push(/on purpose/);
      await worker!.evaluate(() => {
        setTimeout(() => {
          throw new Error('on purpose');
        });
      });
      await worker!.waitForEvent('close');
      await page.evaluate(() => (location.hash = '#v=1&s=head&h=3.1&c=magma'));
      const stored = storedCell(capture(), '3.1', 5, 2);
      assert.equal(await viewer.value(5, 2), stored);
      const { head, color, files, failures } = await viewer.state();
      assert.deepEqual([head, color, files, failures], ['3.1', 'magma', ['run.h5'], []]);
    }),
);

test(
  'a server that falls silent is given up, and the page lives',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await withServer({ files: { 'run.h5': capture() }, stalls: true }, async (server) => {
        await viewer.goto(`${server.url}?file=run.h5`);
        await viewer.page.locator('.failure[data-code=timeout]').waitFor();
        assert.equal((await viewer.pick([capture()])).files.length, 1);
        assert.equal((await viewer.heads()).heads, 32);
      });
    }),
);

test(
  'a file that changes while it is open is told, and the page lives',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const changing = join(folder, 'changing.h5');
      writeMaps(changing, 1);
      await viewer.open([changing]);
      await viewer.heads();
      writeFileSync(changing, 'something else');
      await viewer.page.evaluate(() => (location.hash = '#v=1&s=head&h=0.3'));
      await viewer.page.locator('.failure[data-code=changed]').waitFor();
      assert.ok((await viewer.pick([capture()])).files.includes('run.h5'));

      writeMaps(changing, 2);
      const choosing = viewer.page.waitForEvent('filechooser');
      await viewer.page.getByRole('button', { name: 'Pick it again' }).click();
      await (await choosing).setFiles([changing]);
      await viewer.page.locator('.failure').waitFor({ state: 'detached' });
      await viewer.page.evaluate(() => (location.hash = '#v=1&s=head&h=0.3&fi=changing.h5'));
      const stored = storedCell(changing, '0.3', 300, 20);
      assert.equal(await viewer.value(300, 20), stored);
      assert.equal((await viewer.state()).files.length, 2, 'in place of what it was');
    }),
);
