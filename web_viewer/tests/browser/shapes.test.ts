import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import { h5py, without, writtenByH5py } from '../support/fixtures';

/** Encoder, decoder and cross maps of 4 source and 3 target tokens. */
const crossed = (): string =>
  writtenByH5py(
    'crossed-2.h5',
    `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"translate")
p["tokens/source/text"] = np.array([s.encode() for s in ["▁Ein", "▁Haus", "boot", "</s>"]])
p["tokens/target/text"] = np.array([s.encode() for s in ["<pad>", "▁a", "▁house"]])
rng = np.random.default_rng(3)
for name, stack, q, k in (("decoder.0.cross_attn", "cross", 3, 4), ("decoder.0.attn", "decoder", 3, 3), ("encoder.0.attn", "encoder", 4, 4)):
    m = rng.random((2, q, k)); m /= m.sum(-1, keepdims=True); m = m.astype("f4")
    d = p.create_dataset("cache/%s.hook_pattern" % name, data=m)
    d.attrs["causal"] = 0; d.attrs["map_dtype"] = np.bytes_(b"f32"); d.attrs["row_sum"] = np.bytes_(b"one")
    a = p.create_group("attention/%s" % stack)
    a["layers"] = np.array([0]); a["n_heads"] = np.array([2])
    s = a.create_dataset("head_stats", data=rng.random((1, 2, 1), dtype="f4")); s.attrs["names"] = np.array([b"entropy"])
    order = np.argsort(-m, axis=-1, kind="stable")[:, :, :2]
    a["topk_index"] = order[None].astype("i4"); a["topk_value"] = np.take_along_axis(m, order, -1)[None]`,
  );

const mapOf = (path: string, name: string, head: number) =>
  h5py<number[][]>(
    `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f["prompts/p000000/cache/" + sys.argv[2] + ".hook_pattern"][int(sys.argv[3])].astype("f8").tolist()))`,
    path,
    name,
    String(head),
  );

test(
  'cross-attention is rectangular in all views, with the tokens of either side',
  {
    skip: without('python'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const maps = {
        cross: mapOf(crossed(), 'decoder.0.cross_attn', 1),
        encoder: mapOf(crossed(), 'encoder.0.attn', 1),
        decoder: mapOf(crossed(), 'decoder.0.attn', 1),
      };
      await viewer.open([crossed()], '#v=1&s=head&a=cross&h=0.1');
      const stacks = page.locator('label.pick', { hasText: 'Attention' }).locator('select');
      for (const [stack, map] of Object.entries(maps)) {
        await stacks.selectOption(stack);
        await page.waitForFunction((wanted) => window.__attnscope.state().stack === wanted, stack);
        for (const [q, row] of map.entries()) {
          for (const [k, value] of row.entries()) assert.equal(await viewer.value(q, k), value);
        }
      }
      await stacks.selectOption('cross');
      // Map: crosshair on the last cell.
      await page.locator('.head-map').focus();
      for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
      for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowRight');
      assert.match(await page.locator('.readout').innerText(), /query 2\s+·house\s+key 3\s+<\/s>/);
      // Words: sums over the pieces of a source word.
      await page.keyboard.press('w');
      const merged = await page.waitForFunction(() => window.__attnscope.shown(2, 1));
      const house = maps.cross[2]!;
      assert.ok(Math.abs(Number(await merged.jsonValue()) - (house[1]! + house[2]!)) < 1e-6);
      await page.keyboard.press('w');
      // Text: a query of the target shades the source.
      await page.keyboard.press('v');
      const [queries, keys] = ['Queries', 'Keys'].map((name) =>
        page.getByLabel(name, { exact: true }),
      );
      assert.deepEqual(await queries!.locator('.token').allInnerTexts(), ['<pad>', ' a', ' house']);
      await queries!.locator('.token').nth(2).hover();
      await page.waitForFunction(
        (wanted) =>
          [...document.querySelectorAll('.flow[aria-label=Keys] .token')].every((token, k) =>
            (token as HTMLElement).title.includes(String(Number(wanted[k]!.toPrecision(3)))),
          ),
        house,
      );
      await keys!.locator('.token').nth(1).click();
      assert.deepEqual((await viewer.state()).keys, [1]);
      // Lines: three queries, four keys.
      await page.keyboard.press('b');
      await page.getByText('the 2 strongest keys of each query').waitFor();
      const box = (await page.locator('.lines canvas').boundingBox())!;
      await page.mouse.click(box.x + box.width - 100, box.y + 9 + 3 * 18);
      assert.deepEqual((await viewer.state()).keys, [3], 'the fourth key has a row');
      await page.mouse.click(box.x + 100, box.y + 9 + 3 * 18);
      assert.deepEqual((await viewer.state()).queries, [], 'there is no fourth query');
    }),
);

const hostile = (): string =>
  writtenByH5py(
    'tokens.h5',
    `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
texts = ["<img src=x onerror=document.title='bad'>", "\\u202eabc\\u2066", "a\\x00b", " \\n\\t", "</script>", "x" * 1000000]
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_("".join(t for t in texts[:5] if "\\x00" not in t).encode())
raw = [t.encode() for t in texts]
p["tokens/text"] = np.array(raw, dtype="S%d" % max(map(len, raw)))
m = np.tril(np.ones((6, 6), dtype="f4")); m /= m.sum(-1, keepdims=True)
d = p.create_dataset("cache/blocks.0.attn.hook_pattern", data=m[None])
d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"f32")`,
  );

const shownWhole = async (viewer: Viewer, row: number) => {
  await viewer.page.locator('.head-map').focus();
  for (let i = 0; i < row; ++i) await viewer.page.keyboard.press('ArrowDown');
  const line = viewer.page.locator('.readout tr').first();
  return {
    label: await line.locator('td').innerText(),
    whole: (await line.getAttribute('title'))!,
  };
};

test(
  'tokens of any kind are text: cut where they are shown, longer in a tooltip',
  {
    skip: without('python'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([hostile()], '#v=1&s=head&h=0.0');
      assert.equal(await viewer.value(5, 5), Math.fround(1 / 6));
      const long = await shownWhole(viewer, 5);
      assert.equal(long.label, `${'x'.repeat(24)}…`);
      assert.equal(long.whole, `${'x'.repeat(2000)}…`);
      await page.keyboard.press('v');
      const texts = await page.locator('.token').allInnerTexts();
      assert.equal(texts[0], "<img src=x onerror=document.title='bad'>");
      assert.equal(texts[1], '‹202E›abc‹2066›');
      assert.equal(texts[3], ' ⏎⇥');
      assert.equal(texts[4], '</script>');
      assert.equal(texts[5]!.length, 401);
      assert.equal(await page.locator('.token img').count(), 0);
      assert.equal(await page.title(), 'attnscope');
    }),
);

/** A prompt of 9 tokens, two layers of two heads, and whatever `code` makes of it. */
const nine = (name: string, code: string): string =>
  writtenByH5py(
    name,
    `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"nine")
p["tokens/text"] = np.array([b"t%d" % i for i in range(9)])
a = p.create_group("attention/self"); a["layers"] = np.array([0, 1]); a["n_heads"] = np.array([2, 2])
stats, overview, rows, columns, heads, kept = (2, 2, 1), (2, 2, 9, 9), 9, 9, 2, None
kept_of_rows = {}
${code}
s = a.create_dataset("head_stats", data=np.full(stats, 0.5, dtype="f4")); s.attrs["names"] = np.array([b"entropy"])
a.create_dataset("overview", data=np.full(overview, 9, dtype="u1"))
p["cache/blocks.0.attn.hook_pattern"] = np.full((2, 9, 9), 0.25, dtype="f4")
d = p.create_dataset("cache/blocks.1.attn.hook_pattern", data=np.full((heads, rows, columns), 0.5, dtype="f4"))
for n, shape in kept_of_rows.items():
    r = a.create_dataset(n, data=np.full(shape, 0.5, dtype="i4" if n == "topk_index" else "f4"))
    if n == "row_stats": r.attrs["names"] = np.array([b"sink", b"max"])
if kept: d.attrs["q_positions"] = np.array(kept)`,
  );

test(
  'what has another shape than its prompt is named and left out, never drawn as data',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const card = page.locator('.failure[data-code=shape]');
      const maps: [string, string, RegExp][] = [
        ['rows', 'rows = 5', /hook_pattern: 5 rows for 9 tokens/],
        ['columns', 'columns = 10', /hook_pattern: 10 columns for 9 tokens/],
        ['heads', 'heads = 3', /hook_pattern: maps of 3 heads for 2/],
        ['kept', 'rows = 5; kept = [0, 1]', /hook_pattern: 5 rows for 2 kept positions/],
        ['outside', 'rows = 2; kept = [0, 9]', /hook_pattern: rows of position 9, and 9 tokens/],
      ];
      for (const [name, code, words] of maps) {
        await viewer.open([nine(`shape-${name}.h5`, code)], '#v=1&s=head&h=1.0');
        await page.getByText('is not one of its prompt').waitFor();
        assert.match(await card.innerText(), words);
        assert.equal(await page.locator('.head-map').count(), 0);
        // What fits is shown as ever.
        await viewer.go('#v=1&s=head&h=0.1');
        assert.equal(await viewer.value(5, 2), 0.25);
      }
      await viewer.open([nine('shape-fits.h5', 'rows = 2; kept = [0, 8]')], '#v=1&s=head&h=1.0');
      assert.equal(await viewer.value(1, 2), 0.5);
      assert.equal(await card.count(), 0);

      await viewer.open([nine('shape-stats.h5', 'stats = (1, 2, 1)')]);
      assert.match(await card.innerText(), /head_stats: 1 × 2 × 1 values in place of 2 × 2 × 1/);
      const all =
        '{"row_stats": (2, 2, 9, 2), "key_sum": (2, 2, 9), "value_norm": (2, 2, 9), ' +
        '"topk_index": (2, 2, 9, 3), "topk_value": (2, 2, 9, 3)}';
      const state = '#v=1&s=head&h=0.1&sink=0&w=lines';
      await viewer.open([nine('shape-of-rows.h5', `kept_of_rows = ${all}`)], state);
      await page.locator('.lines .canvas').waitFor();
      assert.equal(await card.count(), 0);
      for (const [name, shape, words] of [
        ['row_stats', '(2, 2, 8, 2)', '2 × 2 × 8 × 2 values in place of 2 × 2 × 9 × 2'],
        ['row_stats', '(2, 2, 9, 1)', '2 × 2 × 9 × 1 values in place of 2 × 2 × 9 × 2'],
        ['key_sum', '(2, 2, 10)', '2 × 2 × 10 values in place of 2 × 2 × 9'],
        ['value_norm', '(1, 2, 9)', '1 × 2 × 9 values in place of 2 × 2 × 9'],
        ['topk_index', '(2, 2, 9)', '2 × 2 × 9 values in place of 2 × 2 × 9 × any'],
        ['topk_value', '(2, 2, 9, 2)', '2 × 2 × 9 × 2 values in place of 2 × 2 × 9 × 3'],
      ] as const) {
        const code = `kept_of_rows = {**${all}, "${name}": ${shape}}`;
        const file = `shape-of-${name}-${shape.replaceAll(/\W+/g, '')}.h5`;
        await viewer.open([nine(file, code)], state);
        await card.waitFor();
        assert.ok((await card.innerText()).includes(`${name}: ${words}`), await card.innerText());
        if (name.startsWith('topk')) {
          await page.getByText('does not hold the strongest keys').waitFor();
        }
        // The map itself fits, and is shown as it is stored.
        await viewer.go('#v=1&s=head&h=0.1');
        assert.equal(await viewer.value(5, 2), 0.25);
      }
      await viewer.open([nine('shape-overview.h5', 'overview = (2, 2, 5, 9)')]);
      assert.match(await card.innerText(), /overview: 2 × 2 × 5 × 9 values in place of/);
      assert.equal((await viewer.heads()).heads, 4);
    }),
);
