import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import {
  capture,
  csvOf,
  h5py,
  numpy,
  positions,
  without,
  writtenByH5py,
} from '../support/fixtures';

/** Reads a map and its tokens. */
const MAP = `
with h5py.File(sys.argv[1]) as f:
    p = f["prompts/p000000"]
    print(json.dumps({"map": p[sys.argv[2]][int(sys.argv[3])].astype("f8").tolist(),
                      "tokens": [t.decode() for t in p["tokens/text"][:]]}))
`;
const stored = (path: string, layer: number, index: number) =>
  h5py<{ map: number[][]; tokens: string[] }>(
    MAP,
    path,
    `cache/blocks.${layer}.attn.hook_pattern`,
    String(index),
  );

test(
  'tables hold tokens, positions and every stored digit, of the window or of the whole map',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { map } = stored(capture(), 1, 7);
      await viewer.open([capture()], '#v=1&s=head&h=1.7&z=1,2,6,7');
      await viewer.value(3, 2);
      const seen = map.slice(2, 9).map((row) => row.slice(1, 7));
      assert.deepEqual(numpy((await viewer.exported('npy')).path), seen);
      const whole = await viewer.exported('npyAll');
      assert.equal(whole.name, 'run-p000000-1.7-stored.npy');
      assert.deepEqual(numpy(whole.path), map);
      const [title, ...lines] = csvOf((await viewer.exported('csv')).path);
      assert.deepEqual(title!.slice(0, 4), ['query', 'query token', '1 Words', '2 :']);
      assert.deepEqual(
        lines.map((line) => line.slice(0, 2).join(' ')),
        ['2 :', '3 ·river', '4 ·Tom', '5 ·lamp', '6 ·blue', '7 ·river', '8 ·Tom'],
      );
      assert.deepEqual(
        lines.map((line) => line.slice(2).map((text) => Math.fround(Number(text)))),
        seen,
      );
      await viewer.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await viewer.page.getByLabel('Export').selectOption('tsv');
      await viewer.page.getByText('Table copied').waitFor();
      const copied = await viewer.page.evaluate(() => navigator.clipboard.readText());
      const cells = copied.split('\n').map((line) => line.split('\t'));
      assert.deepEqual(cells, [title, ...lines]);
    }),
);

test(
  'a map of some positions is written with the numbers of its positions',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([positions()], '#v=1&s=head&h=1.7');
      await viewer.value(0, 0);
      const [, ...lines] = csvOf((await viewer.exported('csvAll')).path);
      assert.deepEqual(
        lines.map(([position]) => position),
        ['2', '5', '6', '7'],
      );
    }),
);

test(
  'pictures have their size, the vector one its tokens as text and the map as one picture',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([capture()], '#v=1&s=head&h=1.7');
      const widths: number[] = [];
      const names: string[] = [];
      for (const kind of ['png1', 'png2', 'png4']) {
        const file = await viewer.exported(kind);
        const png = readFileSync(file.path);
        names.push(file.name);
        assert.equal(png.subarray(1, 4).toString(), 'PNG');
        widths.push(png.readUInt32BE(16));
      }
      assert.deepEqual(widths, [900, 1800, 3600]);
      assert.deepEqual(
        names,
        ['', '-2x', '-4x'].map((size) => `run-p000000-1.7-seen${size}.png`),
      );
      const svg = readFileSync((await viewer.exported('svg')).path, 'utf8');
      assert.match(svg, />·river<\/text>/);
      assert.match(svg, /head 1\.7, self attention/);
      assert.equal(svg.match(/<image /g)!.length, 1);
      const inside = /<image [^>]*href="data:image\/png;base64,([^"]+)"/.exec(svg)![1]!;
      const picture = Buffer.from(inside, 'base64');
      // One pixel for each of the 9 × 9 cells.
      assert.deepEqual([picture.readUInt32BE(16), picture.readUInt32BE(20)], [9, 9]);
      // A parser of XML takes it.
      const root = await viewer.page.evaluate(
        (text) => new DOMParser().parseFromString(text, 'image/svg+xml').documentElement.tagName,
        svg,
      );
      assert.equal(root, 'svg');
    }),
);

test('a selection as JSON says where it comes from', { skip: without('command', 'python') }, () =>
  withViewer(async (viewer) => {
    await viewer.open([capture()], '#v=1&s=head&h=1.7&q=5,8&j=1-3');
    const record = JSON.parse(readFileSync((await viewer.exported('json')).path, 'utf8')) as Record<
      string,
      unknown
    >;
    const { map, tokens } = stored(capture(), 1, 7);
    assert.deepEqual(
      [record.queries, record.keys],
      [
        [5, 8],
        [1, 2, 3],
      ],
    );
    assert.deepEqual(record.values, [map[5]!.slice(1, 4), map[8]!.slice(1, 4)]);
    assert.deepEqual(record.key_tokens, tokens.slice(1, 4));
    const expected = h5py<Record<string, string>>(
      `with h5py.File(sys.argv[1]) as f:
    t = lambda v: v.decode() if isinstance(v, bytes) else str(v)
    print(json.dumps({"run_id": t(f.attrs["run_id"]), "tool_version": t(f.attrs["tool_version"]),
        "weights": t(f["model"].attrs["weights_sha256"]), "name": t(f["model"].attrs["name"]),
        "text": t(f["prompts/p000000/text"][()])}))`,
      capture(),
    );
    const { model, prompt } = record as Record<string, Record<string, string>>;
    assert.equal(record.run_id, expected.run_id);
    assert.equal(record.tool_version, expected.tool_version);
    assert.deepEqual([model!.name, model!.weights_sha256], [expected.name, expected.weights]);
    assert.equal(prompt!.sha256, createHash('sha256').update(expected.text!).digest('hex'));
  }),
);

/** One head of some length, most of which is not written and reads as 0. */
const broad = (name: string, tokens: number): string =>
  writtenByH5py(
    name,
    `T = ${tokens}
f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"broad")
p["tokens/text"] = np.array([b"t%d" % i for i in range(T)])
d = p.create_dataset("cache/blocks.0.attn.hook_pattern", (1, T, T), "f4", chunks=(1, 256, 256), compression=1, shuffle=True)
d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"f32")
d[0, T - 300 :, T - 300 :] = np.tril(np.random.default_rng(0).random((300, 300), dtype="f4"))
for k in (4, 16, 64, 256):
    p.create_dataset("attention/self/pyramid/0/max_%d" % k, (1, -(-T // k), -(-T // k)), "f4", chunks=(1, min(256, -(-T // k)), min(256, -(-T // k))))`,
  );

test(
  'a large table is asked about, written while the page goes on, and stopped by Esc',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const asked: string[] = [];
      page.on('dialog', (dialog) => {
        asked.push(dialog.message());
        void dialog.accept();
      });
      const path = broad('broad.h5', 4096);
      await viewer.open([path], '#v=1&s=head&h=0.0');
      await page.getByLabel('Export').waitFor();
      const file = await viewer.exported('npyAll');
      assert.match(asked[0]!, /^Write 4096 × 4096 cells, about 67 MB\?$/);
      const same = h5py<boolean>(
        `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(bool(np.array_equal(np.load(sys.argv[2]), f["prompts/p000000/cache/blocks.0.attn.hook_pattern"][0]))))`,
        path,
        file.path,
      );
      assert.equal(same, true);

      await page.getByLabel('Export').selectOption('csvAll');
      const status = page.locator('.bottom .status');
      await page.waitForFunction(() =>
        /CSV: [1-9]\d* % written/.test(
          document.querySelector('.bottom .status')?.textContent ?? '',
        ),
      );
      // Meanwhile the page answers: a frame comes, and the map is there.
      assert.equal(await viewer.value(10, 10), 0);
      await page.locator('.head-map').focus();
      await page.keyboard.press('Escape');
      await page.getByText('The export was stopped.').waitFor();
      assert.equal((await viewer.state()).screen, 'head', 'Esc has done its work');
      assert.doesNotMatch(await status.innerText(), /written/);
    }),
);

test('a table too large for a browser is refused with its size', { skip: without('python') }, () =>
  withViewer(async (viewer) => {
    await viewer.open([broad('broadest.h5', 32768)], '#v=1&s=head&h=0.0');
    await viewer.page.getByLabel('Export').selectOption('csvAll');
    await viewer.page.getByText('32768 × 32768 cells, about 13 GB, are too many').waitFor();
  }),
);
