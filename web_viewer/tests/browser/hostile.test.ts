import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PAGE, withViewer } from '../support/browser';
import { capture, folder, h5py, without, writtenByH5py } from '../support/fixtures';

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
