import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import {
  ablation,
  capture,
  h5py,
  packed,
  several,
  verdict,
  without,
  writtenByH5py,
} from '../support/fixtures';

const STATISTICS = `
with h5py.File(sys.argv[1]) as f:
    stats = f["prompts/p000000/attention/self/head_stats"]
    names = [n.decode() for n in stats.attrs["names"]]
    values = stats[:].reshape(-1, len(names)).astype("f8")
    print(json.dumps({n: [None if np.isnan(v) else v for v in values[:, i].tolist()] for i, n in enumerate(names)}))
`;

const EFFECT = `
with h5py.File(sys.argv[1]) as f:
    g = f["experiments/verdict"]
    print(json.dumps([g["effect"][int(sys.argv[2])].ravel().tolist(), g["verdict"][:].ravel().tolist()]))
`;

const nullToNaN = (values: (number | null)[]) => values.map((value) => value ?? NaN);

test(
  'every statistic and effect of every head equals the file',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([capture(), verdict()]);
      const { columns } = await viewer.heads();
      const expected = h5py<Record<string, (number | null)[]>>(STATISTICS, capture());
      for (const [name, values] of Object.entries(expected)) {
        assert.deepEqual(columns[name], nullToNaN(values), name);
      }
      for (const method of [0, 1, 2]) {
        const [effects] = h5py<[number[], number[]]>(EFFECT, verdict(), String(method));
        await viewer.go(`#v=1&m=${method}`);
        await viewer.page.waitForFunction(
          (first) => window.__attnscope.state().columns.effect?.[0] === first,
          effects[0],
        );
        assert.deepEqual((await viewer.state()).columns.effect, effects);
      }
    }),
);

test(
  'sort, filter and box live in the address, and come back from it',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([capture(), verdict()]);
      await viewer.heads();
      const { page } = viewer;
      await page.getByLabel('Sort').selectOption('effect');
      await page.getByRole('searchbox', { name: 'Filter' }).fill('induction>0.2 & layer=1');
      const kept = async () =>
        Number(/(\d+) of 32 heads/.exec(await page.locator('.toolbar').innerText())?.[1]);
      const { columns } = await viewer.state();
      const wanted = columns.induction!.filter(
        (value, at) => value > 0.2 && Math.floor(at / 8) === 1,
      );
      assert.equal(await kept(), wanted.length);
      const canvas = page.locator('.scatter canvas');
      const box = (await canvas.boundingBox())!;
      await page.mouse.move(box.x + box.width * 0.5, box.y + 15);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width - 14, box.y + box.height - 45, { steps: 4 });
      await page.mouse.up();
      assert.ok((await kept()) <= wanted.length);
      await page.waitForFunction(() => location.hash.includes('f=induction'));
      const before = await viewer.state();
      const hash = new URL(page.url()).hash;
      await viewer.open([capture(), verdict()], hash);
      const after = await viewer.state();
      // The address keeps eight digits.
      const edges = (state: typeof before) =>
        (state.brush as number[]).map((edge) => edge.toPrecision(7));
      assert.deepEqual(edges(after), edges(before));
      for (const field of ['sort', 'filter', 'statistic', 'screen']) {
        assert.deepEqual(after[field], before[field], field);
      }
      await page.getByRole('searchbox', { name: 'Filter' }).fill('induction>');
      assert.match(await page.locator('.toolbar').innerText(), /a number is expected/);
    }),
);

test('the whole overview works by keyboard', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    await viewer.open([capture(), verdict()], '#v=1&h=1.2');
    await viewer.heads();
    const { page } = viewer;
    const head = async () => (await viewer.state()).head;
    const steps: [string, string][] = [
      ['ArrowRight', '1.3'],
      ['ArrowDown', '2.3'],
      ['ArrowLeft', '2.2'],
      ['ArrowUp', '1.2'],
      ['ArrowUp', '0.2'],
      ['ArrowUp', '0.2'],
    ];
    for (const [key, expected] of steps) {
      await page.keyboard.press(key);
      assert.equal(await head(), expected, key);
    }
    await page.keyboard.press('a');
    assert.deepEqual((await viewer.state()).tray, ['0.2']);
    await page.keyboard.press('t');
    assert.equal((await viewer.state()).show, 'statistic');
    await page.keyboard.press(']');
    assert.equal((await viewer.state()).sort, 'induction');
    await page.keyboard.press('[');
    assert.equal((await viewer.state()).sort, '');
    for (const [key, screen] of [
      ['4', 'causal'],
      ['6', 'file'],
      ['2', 'head'],
      ['3', 'compare'],
      ['5', 'lens'],
      ['1', 'overview'],
    ]) {
      await page.keyboard.press(key!);
      assert.equal((await viewer.state()).screen, screen);
    }
    await page.keyboard.press('c');
    await page.keyboard.press('s');
    const state = await viewer.state();
    assert.deepEqual([state.color, state.scale], ['viridis', 'linear']);
    assert.match(new URL(page.url()).hash, /k=linear/);
    await page.keyboard.press('Enter');
    assert.equal((await viewer.state()).screen, 'head');
    await page.keyboard.press('Escape');
    assert.equal((await viewer.state()).screen, 'overview');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Enter');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.goBack();
    assert.equal((await viewer.state()).screen, 'head', 'a choice can be gone back from');
  }),
);

test(
  'files without effects say how to get them; methods of an ablation can be chosen',
  {
    skip: without('command'),
  },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([capture()]);
      await viewer.heads();
      assert.match(
        await viewer.page.locator('aside').innerText(),
        /attnscope verdict -m FOLDER\/tiny-english/,
      );
      await viewer.pick([ablation()]);
      await viewer.page.getByLabel(/Effect on logit-diff by/).selectOption({ label: 'mean' });
      assert.equal((await viewer.state()).method, 1);
    }),
);

const MEANS = `
import re
words = sys.argv[2]
with h5py.File(sys.argv[1]) as f:
    if "packed" in f:
        texts = [t.decode() for t in f["prompts/text"][:]]
        groups = [t.decode() for t in f["prompts/group"][:]]
        all = f["packed/attention/self/head_stats"][:].astype("f8")
        names = [n.decode() for n in f["packed/attention/self/head_stats"].attrs["names"]]
    else:
        ids = sorted(f["prompts"])
        texts = [f["prompts"][i]["text"][()].decode() for i in ids]
        groups = [f["prompts"][i].attrs["group"].decode() for i in ids]
        all = np.stack([f["prompts"][i]["attention/self/head_stats"][:] for i in ids]).astype("f8")
        names = [n.decode() for n in f["prompts"][ids[0]]["attention/self/head_stats"].attrs["names"]]
    keep = [i for i, t in enumerate(texts) if words in t or words in groups[i]]
    mean = np.nanmean(all[keep], axis=0)[:, :, names.index("previous")].ravel()
    print(json.dumps([len(keep), mean.tolist()]))
`;

for (const [layout, make] of [
  ['packed', packed],
  ['per-prompt', several],
] as const) {
  test(`means over the prompts found, ${layout}`, { skip: without('command', 'python') }, () =>
    withViewer(async (viewer) => {
      await viewer.open([make()], '#v=1&pd=1&mean=1');
      await viewer.heads();
      await viewer.page.getByRole('searchbox', { name: 'Search prompts' }).fill('Frank');
      const [count, means] = h5py<[number, number[]]>(MEANS, make(), 'Frank');
      await viewer.page.getByText(`mean over ${count} prompts`).first().waitFor();
      const { columns } = await viewer.state();
      means.forEach((value, at) => {
        assert.ok(Math.abs(columns.previous![at]! - value) < 1e-6, `${at}`);
      });
      await viewer.page.locator('.drawer-row').first().click();
      assert.equal((await viewer.state()).mean, false);
    }),
  );
}

test(
  'the table of heads is sorted by its headings and opens heads',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture(), verdict()], '#v=1&g=table');
      const { columns } = await viewer.heads();
      const name = (at: number) => `${Math.floor(at / 8)}.${at % 8}`;
      const byEntropy = columns
        .entropy!.map((value, at) => ({ value, at }))
        .sort((a, b) => b.value - a.value || a.at - b.at);
      const first = page.locator('.head-list tbody tr th').first();
      await page.getByRole('button', { name: 'entropy', exact: true }).click();
      assert.equal(await first.innerText(), name(byEntropy[0]!.at));
      await page.getByRole('button', { name: /^entropy/ }).click();
      assert.equal(await first.innerText(), name(byEntropy.at(-1)!.at));
      await first.getByRole('button').click();
      assert.equal((await viewer.state()).head, name(byEntropy.at(-1)!.at));
    }),
);

test('ten thousand prompts are listed, found and averaged', { skip: without('python') }, () =>
  withViewer(async (viewer) => {
    const path = writtenByH5py(
      'crowd.h5',
      `P, L, H = 10000, 12, 12
f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["layout"] = np.bytes_(b"packed")
f["prompts/text"] = np.array([b"prompt number %d" % i for i in range(P)])
f["prompts/group"] = np.array([b"even" if i % 2 == 0 else b"odd" for i in range(P)])
f["offsets"] = np.arange(P + 1) * 2
f["tokens/text"] = np.array([b"a", b"b"] * P)
a = f.create_group("packed/attention/self")
a["layers"] = np.arange(L); a["n_heads"] = np.full(L, H)
v = np.broadcast_to(np.arange(P, dtype="f4")[:, None, None, None] / P, (P, L, H, 3))
s = a.create_dataset("head_stats", data=v, compression=1)
s.attrs["names"] = np.array([b"entropy", b"previous", b"induction"])`,
    );
    await viewer.open([path], '#v=1&pd=1&pf=odd');
    await viewer.page.getByText('mean over 5000 prompts').first().waitFor();
    const { columns } = await viewer.heads();
    assert.ok(Math.abs(columns.previous![0]! - 0.5) < 1e-4);
    const rows = viewer.page.locator('.drawer-row');
    assert.ok((await rows.count()) < 60, 'only what is seen is in the page');
    await viewer.page.locator('.drawer-list').evaluate((list) => (list.scrollTop = 1e9));
    await viewer.page.getByText('prompt number 9999').waitFor();
    await viewer.page.getByText('prompt number 9999').click();
    await viewer.page.waitForFunction(
      () => Math.abs((window.__attnscope.state().columns.previous?.[0] ?? 0) - 0.9999) < 1e-4,
    );
  }),
);

test(
  'grid, scatter and tables of effects are saved as vectors, heads as a table',
  {
    skip: without('command'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture(), verdict()], '#v=1&g=effect&th=dark');
      const { columns } = await viewer.heads();
      const save = async (name: string) => {
        const waiting = page.waitForEvent('download');
        await page.getByRole('button', { name }).click();
        return readFileSync(await (await waiting).path(), 'utf8');
      };
      await page.getByText('Take these numbers elsewhere').click();
      const grid = await save('Grid as SVG');
      assert.equal((grid.match(/>L\d</g) ?? []).length, 4);
      assert.match(grid, /fill="#ffffff"/, 'on white paper, whatever the page has');
      assert.equal((await save('Scatter as SVG')).match(/>induction</g)?.length, 1);
      const [head, ...lines] = (await save('CSV of all heads')).trim().split('\n');
      const at = head!.split(',').indexOf('effect');
      assert.deepEqual(
        lines.map((line) => Number(line.split(',')[at])),
        columns.effect,
      );
      await page.keyboard.press('4');
      await page.getByText('Take these numbers elsewhere').click();
      const tables = await save('Tables as SVG');
      for (const method of ['zero', 'mean', 'resample']) assert.ok(tables.includes(`>${method}<`));
    }),
);

test(
  'wherever heads are shown the command that tests them can be copied',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await viewer.open([capture(), verdict()]);
      const copied = async (verb: string) => {
        await page.getByRole('button', { name: `Copy ${verb} command` }).click();
        return page.evaluate(() => navigator.clipboard.readText());
      };
      const go = async (hash: string, words: RegExp) => {
        await viewer.go(hash);
        await page.locator('.tests', { hasText: words }).waitFor();
      };
      for (const screen of ['overview', 'causal']) {
        await go(`#v=1&s=${screen}`, /^Test all heads/);
        assert.match(await copied('verdict'), /^attnscope verdict -m FOLDER\/tiny-english --pairs/);
        await go(`#v=1&s=${screen}&h=3.5`, /^Test 3\.5:/);
        assert.match(await copied('ablate'), /^attnscope ablate .* --heads 3\.5 /);
        assert.match(await copied('patch'), /^attnscope patch .* --heads 3\.5 /);
      }
      await go('#v=1&s=head&h=1.7', /^Test 1\.7:/);
      assert.match(await copied('ablate'), / --heads 1\.7 /);
      await go('#v=1&s=compare&h=1.7&vs=0:p000000:2.4', /^Test 1\.7 and 2\.4:/);
      assert.match(await copied('ablate'), / --heads 1\.7,2\.4 /);
      // Heads that are put aside go before those on screen.
      await go('#v=1&s=file&tray=0.2,3.1', /^Copy ablate/);
      assert.match(await copied('ablate'), / --heads 0\.2,3\.1 /);
      await viewer.go('#v=1&s=file');
      await page.locator('.tests').waitFor({ state: 'detached' });
    }),
);

test(
  'the scatter is seen whole, with its legend, whatever the first look says',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const bottom = async (place: string) => {
        const box = await page.locator(place).boundingBox();
        return box!.y + box!.height;
      };
      for (const files of [
        [capture(), verdict()],
        [several(), verdict()],
        [packed(), verdict()],
      ]) {
        for (const head of ['', '&h=3.5']) {
          await viewer.open(files, `#v=1${head}`);
          await page.locator('.legend', { hasText: /band/ }).waitFor();
          await page
            .locator(head ? '.selected' : '.first-look .chip')
            .first()
            .waitFor();
          const where = `${files[0]} ${head}`;
          assert.ok((await bottom('.legend')) <= (await bottom('aside')), where);
          assert.ok((await bottom('.scatter canvas')) <= (await bottom('.legend')), where);
          // What is said of a dot stands beside it.
          const canvas = (await page.locator('.scatter canvas').boundingBox())!;
          for (let y = 10; y < canvas.height - 40; y += 3) {
            await page.mouse.move(canvas.x + 90, canvas.y + y);
            if (!(await page.locator('.scatter .tip').count())) continue;
            const tip = (await page.locator('.scatter .tip').boundingBox())!;
            const [above, below] = [canvas.y + y - tip.y - tip.height, tip.y - canvas.y - y];
            const gap = Math.max(above, below);
            assert.ok(gap > 0 && gap < 20, `${where}: the tip is ${gap} from the pointer`);
          }
        }
      }
    }),
);
