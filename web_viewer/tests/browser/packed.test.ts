import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import { h5py, packedMaps, without, writtenByH5py } from '../support/fixtures';

/** Text and tokens of a prompt of a packed file, as h5py reads them. */
const stored = (path: string, index: number) =>
  h5py<{ text: string; tokens: string[]; map: number[][] }>(
    `i = int(sys.argv[2])
with h5py.File(sys.argv[1]) as f:
    a, b = f["offsets"][i:i + 2]
    m = f["prompts/p%06d/cache/blocks.1.attn.hook_pattern" % i][5]
    print(json.dumps({"text": f["prompts/text"].asstr()[i], "tokens": list(f["tokens/text"].asstr()[a:b]), "map": m.astype("f8").tolist()}))`,
    path,
    String(index),
  );

test(
  'the map of a prompt of a packed file has its tokens, its text and what is drawn of it',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const { text, tokens, map } = stored(packedMaps(), 4);
      await viewer.open([packedMaps()], '#v=1&s=head&p=p000004&h=1.5');
      assert.equal(await viewer.value(6, 2), map[6]![2]);
      assert.equal(await page.locator('.prompt-text').innerText(), text);
      for (const name of ['hide first token', 'weigh by value']) {
        assert.ok(await page.getByLabel(name).isEnabled(), name);
      }
      await page.getByLabel('hide first token').check();
      const rest = map[6]!.slice(1).reduce((sum, value) => sum + value, 0);
      const shown = await page.waitForFunction(() => window.__attnscope.shown(6, 2));
      assert.ok(Math.abs(((await shown.jsonValue()) as number) - map[6]![2]! / rest) < 1e-6);
      await page.getByLabel('hide first token').uncheck();
      await page.keyboard.press('v');
      const words = page.locator('.text-view .token');
      await words.first().waitFor();
      assert.equal(await words.count(), tokens.length);
      assert.equal((await words.nth(3).innerText()).trim(), tokens[3]!.trim());
    }),
);

test(
  'where no prompt is chosen a screen of one map leads to the prompts, and names no command',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      for (const screen of ['head', 'compare', 'head&w=lines', 'head&w=text']) {
        await viewer.open([packedMaps()], `#v=1&s=${screen}&h=1.5`);
        const absent = page.locator('.absent');
        assert.match(await absent.innerText(), /is a mean over 8 prompts\n/, screen);
        assert.doesNotMatch(await absent.innerText(), /attnscope capture|for B/);
        await absent.getByRole('button', { name: 'Choose a prompt' }).click();
        await page.locator('.drawer').waitFor();
        await absent.getByRole('button', { name: 'Show the first' }).click();
        await absent.waitFor({ state: 'detached' });
        assert.equal((await viewer.state()).prompt, 'p000000');
      }
    }),
);

test(
  'from no prompt to the mean of all maps; a header names the prompt whose map is on screen',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([packedMaps()], '#v=1&s=head&h=1.5&pf=tokens:18');
      await page.locator('.absent').getByRole('button', { name: 'Mean of 7 maps' }).click();
      await page.locator('.bottom', { hasText: 'mean of 7 prompts' }).waitFor();
      await viewer.open([packedMaps()], '#v=1&s=head&h=1.5&p=p000004&mean=1');
      await viewer.value(6, 2);
      await page.locator('.bottom', { hasText: 'statistics are means over 8 prompts' }).waitFor();
      const line = page.locator('.prompt-text');
      assert.equal(await line.innerText(), stored(packedMaps(), 4).text);
      await page.keyboard.press('1');
      await page.waitForFunction(() => window.__attnscope.state().screen === 'overview');
      assert.equal(await line.innerText(), 'mean over 8 prompts');
    }),
);

test(
  'prompts of a packed file are compared by their tokens; what has none is not said to differ',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const [a, b] = [stored(packedMaps(), 1), stored(packedMaps(), 5)];
      assert.notEqual(a.tokens.length, b.tokens.length);
      await viewer.open([packedMaps()], '#v=1&s=compare&p=p000001&h=1.5&vs=0:p000005:1.5');
      const banner = page.locator('.banner');
      await banner.waitFor();
      assert.match(await banner.innerText(), /The texts differ; equal tokens stand/);
      const nameless = writtenByH5py(
        'nameless.h5',
        `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
for i in range(2):
    p = f.create_group("prompts/p%06d" % i); p["text"] = np.bytes_(b"no tokens")
    p["cache/blocks.0.attn.hook_pattern"] = np.tril(np.full((2, 5, 5), 0.2, "f4"))`,
      );
      await viewer.open([nameless], '#v=1&s=compare&p=p000000&h=0.1&vs=0:p000001:0.0');
      await banner.waitFor();
      assert.match(
        await banner.innerText(),
        /The tokens of A or B are not stored; equal positions/,
      );
      assert.doesNotMatch(await banner.innerText(), /texts differ/);
    }),
);

test('which of two maps is missing is said', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open(
      [
        writtenByH5py(
          'one-layer.h5',
          `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"a b")
p["tokens/text"] = np.array([b"a", b" b"])
s = p.create_group("attention/self"); s["layers"] = [0, 1]; s["n_heads"] = [2, 2]
s["head_stats"] = np.zeros((2, 2, 1), "f4"); s["head_stats"].attrs["names"] = np.array([b"entropy"])
p["cache/blocks.1.attn.hook_pattern"] = np.array([[[1, 0], [0.5, 0.5]]] * 2, "f4")`,
        ),
      ],
      '#v=1&s=compare&h=0.1&vs=:p000000:1.0',
    );
    const absent = page.locator('.absent');
    assert.match(await absent.innerText(), /A has no map\n.*no map of head 0\.1 .*layers 1\./s);
    await page.locator('select[title$="Head of A"]').selectOption('1.1');
    await absent.waitFor({ state: 'detached' });
    await page.locator('select[title$="Head of B"]').selectOption('0.0');
    assert.match(await absent.innerText(), /B has no map\n.*no map of head 0\.0 of p000000/s);
  }),
);
