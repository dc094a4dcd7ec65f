import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colorTable } from '../../src/draw/color';
import { placeOf } from '../../src/draw/scale';
import { withViewer, type Viewer } from '../support/browser';
import {
  capture,
  h5py,
  lens,
  patching,
  positions,
  several,
  verdict,
  without,
  writtenByH5py,
} from '../support/fixtures';
import { withServer } from '../support/server';

const MAP = `
with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f[sys.argv[2]][int(sys.argv[3])].astype("f8").tolist()))
`;

const mapOf = (path: string, layer: number, head: number, prompt = 'p000000') =>
  h5py<number[][]>(
    MAP,
    path,
    `prompts/${prompt}/cache/blocks.${layer}.attn.hook_pattern`,
    String(head),
  );

async function pixel(viewer: Viewer, query: number, key: number): Promise<number[]> {
  await viewer.page.mouse.move(2, 2);
  const handle = await viewer.page.waitForFunction(
    ([q, k]) => window.__attnscope.pixel(q!, k!),
    [query, key],
  );
  return (await handle.jsonValue())!;
}

/** The brightest colour within some cells, for a cell may share its pixel with neighbours. */
async function brightest(
  viewer: Viewer,
  query: number,
  key: number,
  around: number,
): Promise<number[]> {
  await pixel(viewer, query, key);
  return viewer.page.evaluate(
    ([q, k, d]) => {
      let best = [0, 0, 0];
      for (let i = -d!; i <= d!; ++i) {
        for (let j = -d!; j <= d!; ++j) {
          const seen = window.__attnscope.pixel(q! + i, k! + j);
          if (seen && seen[1]! > best[1]!) best = seen;
        }
      }
      return best;
    },
    [query, key, around],
  );
}

test(
  'every cell shows its stored value, and its colour follows from it',
  {
    skip: without('command', 'python'),
  },
  () =>
    withViewer(
      async (viewer) => {
        const expected = mapOf(capture(), 1, 7);
        await viewer.open([capture()], '#v=1&s=head&h=1.7');
        for (let q = 0; q < expected.length; ++q) {
          for (let k = 0; k < expected.length; ++k)
            assert.equal(await viewer.value(q, k), expected[q]![k]);
        }
        const table = colorTable('cividis');
        for (const [q, k] of [
          [0, 0],
          [4, 1],
          [7, 4],
          [8, 8],
        ] as const) {
          const place = placeOf(
            { kind: 'sqrt', low: 0, high: 1, map: 'cividis' },
            expected[q]![k]!,
          );
          const at = 3 * Math.round(255 * place);
          const [r, g, b] = await pixel(viewer, q, k);
          assert.ok(
            Math.abs(r! - table[at]!) +
              Math.abs(g! - table[at + 1]!) +
              Math.abs(b! - table[at + 2]!) <=
              9,
            `${q},${k}`,
          );
        }
        // In so small a window cells hold no numbers, which would hide their colour.
      },
      { width: 760, height: 420 },
    ),
);

test(
  'heads and layers change the map, also by keys, and a link leads back',
  {
    skip: without('command', 'python'),
  },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([several(), verdict()], '#v=1&s=head&h=1.7&p=p000003');
      const { page } = viewer;
      assert.equal(await viewer.value(5, 2), mapOf(several(), 1, 7, 'p000003')[5]![2]);
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowDown');
      assert.equal((await viewer.state()).head, '2.7');
      assert.equal(await viewer.value(5, 2), mapOf(several(), 2, 7, 'p000003')[5]![2]);
      await page.goBack();
      assert.equal((await viewer.state()).head, '1.7');
      assert.match(
        await page.locator('.banner').innerText(),
        /Attention is not effect.*logit-diff by/,
      );
      for (const [key, shown] of [
        ['b', 'lines'],
        ['v', 'text'],
        ['m', 'map'],
      ]) {
        await page.keyboard.press(key!);
        assert.equal((await viewer.state()).view, shown);
      }
    }),
);

test(
  'zoom at the cursor keeps the cell under it; drag pans; double click fits',
  {
    skip: without('command'),
  },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([several()], '#v=1&s=head&h=1.7');
      await viewer.value(1, 1);
      const { page } = viewer;
      const box = (await page.locator('.head-map canvas').boundingBox())!;
      const [x, y] = [box.x + box.width * 0.55, box.y + box.height * 0.6];
      await page.mouse.move(x, y);
      const under = () => page.locator('.readout th').allInnerTexts();
      await page.locator('.readout').waitFor();
      const before = await under();
      await page.mouse.wheel(0, -400);
      await page.waitForFunction(() => (window.__attnscope.state().zoom as number[]).length === 4);
      await page.mouse.move(x + 0.5, y);
      assert.deepEqual(await under(), before);
      const zoom = (await viewer.state()).zoom as number[];
      await page.mouse.down();
      await page.mouse.move(x - 60, y - 60, { steps: 3 });
      await page.mouse.up();
      const panned = (await viewer.state()).zoom as number[];
      assert.ok(panned[0]! > zoom[0]! && panned[1]! > zoom[1]!);
      assert.equal(panned[2], zoom[2]);
      assert.equal(await page.locator('.minimap').count(), 1);
      await page.mouse.dblclick(x, y);
      assert.deepEqual((await viewer.state()).zoom, []);
    }),
);

test('without the first token, rows sum to one', { skip: without('command', 'python') }, () =>
  withViewer(async (viewer) => {
    const path = capture();
    const expected = mapOf(path, 1, 7);
    const size = expected.length;
    const all = (from: number) => Array.from({ length: size - from }, (_, i) => from + i).join(',');
    await viewer.open([path], `#v=1&s=head&h=1.7&sink=0&q=${size - 1}&j=${all(1)}`);
    await viewer.value(size - 1, 1);
    const sums = viewer.page.getByText('of its attention to');
    await sums.waitFor();
    const sum = Number(/gives ([\d.]+)/.exec(await sums.innerText())![1]);
    assert.ok(Math.abs(sum - 1) < 2 ** -10, `${sum}`);
    await viewer.page.getByLabel('hide first token').uncheck();
    const whole = Number(/gives ([\d.]+)/.exec(await sums.innerText())![1]);
    const stored = expected[size - 1]!.slice(1).reduce((total, value) => total + value, 0);
    assert.ok(Math.abs(whole - stored) < 1e-3);
  }),
);

test(
  'a long map: coarse where it must be, never below the largest cell, exact when near',
  {
    skip: without('python'),
  },
  () =>
    withViewer(async (viewer) => {
      const path = writtenByH5py(
        'long.h5',
        `T = 2100
f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"long")
p["tokens/text"] = np.array([b"t%d" % i for i in range(T)])
m = np.tril(np.full((T, T), 1e-4, dtype="f4")); m[2000, 1500] = 0.9; m[700, 3] = np.nan
name = "cache/blocks.3.attn.hook_pattern"
d = p.create_dataset(name, data=m[None], chunks=(1, 256, 256), compression="gzip", shuffle=True)
d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"f32")
for k in (4, 16):
    n = -(-T // k); q = np.full((n * k, n * k), -np.inf, dtype="f4"); q[:T, :T] = m
    p["attention/self/pyramid/3/max_%d" % k] = q.reshape(n, k, n, k).max(axis=(1, 3))[None]
p["attention/self/layers"] = np.array([3]); p["attention/self/n_heads"] = np.array([1])
s = p.create_dataset("attention/self/head_stats", data=np.array([[[0.5]]], dtype="f4"))
s.attrs["names"] = np.array([b"entropy"])`,
      );
      await viewer.open([path], '#v=1&s=head&h=3.0');
      const status = viewer.page.locator('.bottom .status');
      await viewer.page.waitForFunction(() =>
        /level ×4 .*hatched/.test(document.querySelector('.bottom .status')?.textContent ?? ''),
      );
      assert.match(await status.innerText(), /level ×4 \(largest of 4 × 4 cells\)/);
      assert.match(await status.innerText(), /cells? (is|are) not (a number|numbers) \(hatched\)/);
      const bright = await brightest(viewer, 2000, 1500, 8);
      const place = Math.round(255 * Math.sqrt(0.9));
      assert.ok(
        Math.abs(bright[0]! - colorTable('cividis')[3 * place]!) <= 4,
        'one cell of 0.9 is seen',
      );
      assert.equal(await viewer.value(2000, 1500), Math.fround(0.9));
      await viewer.go('#v=1&s=head&h=3.0&z=1450,1950,100,100');
      await viewer.page.waitForFunction(
        () => !/level/.test(document.querySelector('.bottom .status')?.textContent ?? 'level'),
      );
      const near = await pixel(viewer, 2000, 1500);
      assert.ok(Math.abs(near[0]! - colorTable('cividis')[3 * place]!) <= 4);
    }),
);

test(
  'on a slow server a head that was left paints nothing',
  { skip: without('command', 'python') },
  () =>
    withViewer(
      async (viewer) => {
        const { page } = viewer;
        await withServer({ files: { 'several.h5': several() }, delayMs: 50 }, async (server) => {
          await viewer.goto(`${server.url}?file=several.h5#v=1&s=head&h=0.0&k=linear`);
          await viewer.heads();
          await page.evaluate(() => {
            // Every picture of the cell (6, 3) that comes by, with the head that it is of.
            const seen: [string, number[]][] = [];
            const title = () => document.querySelector('.stepper h2')?.textContent ?? '';
            // A key behind the frame changes the title, and the picture with the next frame only.
            const look = (framed: string) => {
              const pixel = window.__attnscope.pixel(6, 3);
              if (pixel && title() === framed) seen.push([framed.replace('Head ', ''), pixel]);
              requestAnimationFrame(() => setTimeout(look, 0, title()));
            };
            look('');
            Object.assign(window, { __seen: seen });
          });
          for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowRight');
          assert.equal((await viewer.state()).head, '0.5');
          assert.equal(await viewer.value(6, 3), mapOf(several(), 0, 5)[6]![3]);
          const looks = await page.waitForFunction(() => {
            const { __seen } = window as unknown as { __seen: [string, number[]][] };
            return __seen.length > 3 ? __seen : null;
          });
          const seen = (await looks.jsonValue())!;
          const table = colorTable('cividis');
          const overview = h5py<number[]>(
            `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f["prompts/p000000/attention/self/overview"][0, :, 6, 3].tolist()))`,
            several(),
          );
          const blank = [236, 238, 240];
          for (const [name, pixel] of seen) {
            const head = Number(name.split('.')[1]);
            const exact = mapOf(several(), 0, head)[6]![3]!;
            const near = (value: number) => {
              const at = 3 * Math.round(255 * value);
              return [0, 1, 2].every((c) => Math.abs(pixel[c]! - table[at + c]!) <= 6);
            };
            const empty = blank.every((part, c) => Math.abs(part - pixel[c]!) <= 2);
            assert.ok(
              empty || near(exact) || near((overview[head]! / 255) ** 2),
              `${name} shows ${pixel.join(',')}`,
            );
          }
        });
      },
      { width: 760, height: 420 },
    ),
);

test(
  'causal, compare and lens show the numbers of their files',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([patching()], '#v=1&s=causal');
      const [name, value] = h5py<[string, number]>(
        `with h5py.File(sys.argv[1]) as f:
    g = f["experiments"]; g = g[sorted(g)[0]]
    e = g["effect"][0].ravel(); e = np.where(np.isnan(e), 0, e)
    i = int(np.abs(e).argmax()); print(json.dumps([g["cells"][:].ravel()[i].decode(), float(e[i])]))`,
        patching(),
      );
      const first = await page.locator('.ranking tr').first().innerText();
      assert.match(first, new RegExp(`^${name}\\b`));
      assert.ok(first.includes(String(Number(Math.abs(value).toPrecision(3)))), first);

      await viewer.open([capture()], '#v=1&s=compare&h=1.7&vs=0:p000000:1.2');
      await page.locator('.compare-panel').first().waitFor();
      const box = (await page.locator('.compare-panel canvas').first().boundingBox())!;
      await page.mouse.move(box.x + 110, box.y + 200);
      await page.waitForFunction(() =>
        /A − B/.test(document.querySelector('.compare-readout')?.textContent ?? ''),
      );
      const line = await page.locator('.compare-readout').innerText();
      const [, q, k, a, b] = /query (\d+) .*key (\d+) .*: A ([\d.e-]+), B ([\d.e-]+)/.exec(line)!;
      assert.equal(Math.fround(Number(a)), mapOf(capture(), 1, 7)[Number(q)]![Number(k)]);
      assert.equal(Math.fround(Number(b)), mapOf(capture(), 1, 2)[Number(q)]![Number(k)]);

      await viewer.open([lens()], '#v=1&s=lens');
      const top = h5py<number[]>(
        `with h5py.File(sys.argv[1]) as f: print(json.dumps(f["experiments/lens/p000000/top_prob"][-1, 4].tolist()))`,
        lens(),
      );
      await page.locator('.lens-scroll tbody tr').first().locator('td button').nth(4).click();
      const shown = await page.locator('.lens-choices .value').allInnerTexts();
      assert.deepEqual(
        shown.map((text) => Number(text.replace(' %', ''))),
        top.map((p) => Number((100 * p).toPrecision(3))),
      );
    }),
);

test(
  'the mean of the tray is the mean of the stored maps, and the largest the largest',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([capture()], '#v=1&s=head&h=1.7&tray=1.7,1.2,0.3&tm=mean');
      const maps = [mapOf(capture(), 1, 7), mapOf(capture(), 1, 2), mapOf(capture(), 0, 3)];
      for (const [q, k] of [
        [8, 5],
        [3, 2],
        [0, 0],
      ] as const) {
        const mean = maps.reduce((sum, map) => sum + map[q]![k]!, 0) / maps.length;
        assert.ok(Math.abs((await viewer.value(q, k)) - mean) < 1e-12);
      }
      await viewer.page.keyboard.press('h');
      for (const [q, k] of [
        [8, 5],
        [3, 2],
      ] as const) {
        assert.equal(await viewer.value(q, k), Math.max(...maps.map((map) => map[q]![k]!)));
      }
      await viewer.page.keyboard.press('h');
      assert.equal(await viewer.value(8, 5), maps[0]![8]![5]);
    }),
);

test(
  'cells that are not numbers, and rows that do not sum to one, are counted',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const path = writtenByH5py(
        'faulty.h5',
        `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"faulty")
p["tokens/text"] = np.array([b"t%d" % i for i in range(6)])
m = np.tril(np.ones((6, 6))); m /= m.sum(-1, keepdims=True); m[2, 1] = np.nan; m[4] *= 0.9; m[5] *= 1.1
d = p.create_dataset("cache/blocks.0.attn.hook_pattern", data=m[None].astype("f4"))
d.attrs["causal"] = 1; d.attrs["row_sum"] = np.bytes_(b"one")`,
      );
      await viewer.open([path], '#v=1&s=head&h=0.0');
      await viewer.page.waitForFunction(() =>
        /1 cell is not a number \(hatched\) · 2 rows not summing to 1/.test(
          document.querySelector('.bottom .status')?.textContent ?? '',
        ),
      );
    }),
);

test(
  'a map of some queries tells positions, not rows, and its rows sum to one',
  {
    skip: without('command', 'python'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      // Query 6 is the third stored row; its keys from 1 on.
      await viewer.open([positions()], '#v=1&s=head&h=1.7&sink=0&q=6&j=1-8');
      const rows = mapOf(positions(), 1, 7);
      assert.equal(rows.length, 4);
      assert.equal(await viewer.value(2, 4), rows[2]![4]);
      const sums = page.getByText('of its attention to');
      await sums.waitFor();
      const sum = Number(/gives ([\d.]+)/.exec(await sums.innerText())![1]);
      assert.ok(Math.abs(sum - 1) < 2 ** -10, `${sum}`);
      assert.match(await page.locator('aside').innerText(), /Query 6 ·blue attends most to/);
      await page.locator('.head-map').focus();
      await page.keyboard.press('ArrowDown');
      assert.match(await page.locator('.readout').innerText(), /query 5\s+·lamp/);
      await viewer.go('#v=1&s=head&h=0.0');
      await page.getByText('The map of this head is not in the file').waitFor();
    }),
);

test(
  'the keys of the head: find, zoom, select, list of prompts, export, compare',
  {
    skip: without('command'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([several()], '#v=1&s=head&h=1.7');
      await viewer.value(3, 3);
      await page.keyboard.press('/');
      await page.keyboard.type('Frank');
      await page.keyboard.press('Enter');
      assert.match(await page.locator('.readout').innerText(), /key 2\s+·Frank/);
      await page.keyboard.press('Escape');
      await page.keyboard.press('n');
      const second = await page.locator('.readout').innerText();
      await page.keyboard.press('N');
      assert.notEqual(await page.locator('.readout').innerText(), second);
      await page.keyboard.press('+');
      assert.equal(((await viewer.state()).zoom as number[]).length, 4);
      await page.keyboard.press('0');
      assert.deepEqual((await viewer.state()).zoom, []);
      await page.locator('.head-map').focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      const { queries, keys } = await viewer.state();
      assert.deepEqual([(queries as number[]).length, (keys as number[]).length], [1, 1]);
      await page.keyboard.press('Escape');
      assert.deepEqual((await viewer.state()).queries, []);
      await page.keyboard.press('p');
      await page.locator('.drawer-row').first().waitFor();
      await page.keyboard.press('p');
      const picture = page.waitForEvent('download');
      await page.keyboard.press('e');
      assert.match((await picture).suggestedFilename(), /^several-p000000-1\.7-seen-2x\.png$/);
      await viewer.go('#v=1&s=compare&h=1.7&vs=0:p000002:0.3');
      await page.locator('.compare-panel').first().waitFor();
      await page.keyboard.press('x');
      const swapped = await viewer.state();
      assert.deepEqual([swapped.head, swapped.prompt], ['0.3', 'p000002']);
      assert.match(String(swapped.versus), /^several\.h5:\w+:p000000:1\.7$/);
    }),
);
