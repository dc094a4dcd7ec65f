import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import {
  csvOf,
  folder,
  h5py,
  halves,
  numpy,
  packedMaps,
  several,
  without,
  writtenByH5py,
} from '../support/fixtures';
import { serve } from '../support/server';

const both = { skip: without('command', 'python') };

type Numbers = (number | null)[][];

/** Mean and standard deviation over all prompts of a number of tokens, from the stored maps. */
const EXPECTED = `
layer, head, tokens, hide, weigh = map(int, sys.argv[2:])
maps = []
with h5py.File(sys.argv[1]) as f:
    for p in sorted(f["prompts"]):
        m = f["prompts"][p][f"cache/blocks.{layer}.attn.hook_pattern"][head].astype("f8")
        if len(m) != tokens: continue
        if hide:
            m[:, 0] = 0
            left = m.sum(1, keepdims=True)
            with np.errstate(all="ignore"): m = np.where(left > 1e-6, m / left, np.nan)
        if weigh:
            norms = f["prompts"][p]["attention/self/value_norm"]
            m = m * norms[list(f["prompts"][p]["attention/self/layers"][:]).index(layer), head]
        maps.append(m)
import warnings; warnings.simplefilter("ignore")
out = [np.nanmean(maps, 0), np.nanstd(maps, 0, ddof=1)] if hide else [np.mean(maps, 0), np.std(maps, 0, ddof=1)]
print(json.dumps([[[None if np.isnan(x) else x for x in row] for row in a.tolist()] for a in out]))
`;

const expected = (path: string, head: string, tokens: number, hide = false, weigh = false) => {
  const [mean, deviation] = h5py<Numbers[]>(
    EXPECTED,
    path,
    ...head.split('.'),
    ...[tokens, +hide, +weigh].map(String),
  );
  return { mean: mean!, sd: deviation! };
};

/** Whether numbers are those of 64 bits, rounded to 32. */
function same(got: Numbers, wanted: Numbers, what: string): void {
  assert.equal(got.length, wanted.length, what);
  wanted.forEach((row, q) =>
    row.forEach((value, k) => {
      const cell = got[q]![k] ?? null;
      if (value === null || cell === null) assert.equal(cell, value, `${what}: ${q}, ${k}`);
      else
        assert.ok(Math.abs(cell - value) <= 1e-7 + 2e-7 * Math.abs(value), `${what}: ${q}, ${k}`);
    }),
  );
}

async function goto(viewer: Viewer, hash: string, status: RegExp): Promise<void> {
  await viewer.page.evaluate((to) => (location.hash = to), hash);
  await viewer.page.waitForFunction(
    ([pattern]) => new RegExp(pattern!).test(document.querySelector('.bottom')?.textContent ?? ''),
    [status.source],
  );
}

/** All cells as they are drawn, once the tiles are there; masked ones as 0. */
async function cells(viewer: Viewer, extent: number, place: 'value' | 'shown' = 'value') {
  await viewer.value(extent - 1, extent - 1);
  return viewer.page.evaluate(
    ([size, name]) =>
      Array.from({ length: size as number }, (_, q) =>
        Array.from({ length: size as number }, (_, k) => {
          const value = window.__attnscope[name as 'value'](q, k);
          return value === null ? 0 : Number.isNaN(value) ? null : value;
        }),
      ),
    [extent, place] as const,
  );
}

const STATE = '#v=1&s=head&h=1.7&pf=tokens:18';

test('the mean map and its spread are those of the stored maps of the prompts found', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([several()], `${STATE}&pm=mean`);
    for (const [changes, hide, weigh] of [
      ['', false, false],
      ['&sink=0', true, false],
      ['&vw=1', false, true],
      ['&sink=0&vw=1', true, true],
    ] as const) {
      const wanted = expected(several(), '1.7', 18, hide, weigh);
      for (const kind of ['mean', 'sd'] as const) {
        const hash = `${STATE}&pm=${kind}${changes}`;
        await goto(viewer, hash, new RegExp(`${kind} of 7 prompts`));
        const got = await cells(viewer, 18);
        same(got, wanted[kind], `${kind}${changes}`);
        assert.equal(await viewer.toolbarLines(), 1, 'the toolbar has one line');
      }
    }
    // Each row of each prompt sums to one, and so does that of the mean.
    await goto(viewer, `${STATE}&pm=mean&sink=0`, /1 row all on the first token/);
    const shown = await cells(viewer, 18, 'shown');
    for (const row of shown.slice(1)) {
      const sum = row.reduce<number>((total, value) => total + (value ?? 0), 0);
      assert.ok(Math.abs(sum - 1) < 1e-5, `${sum}`);
    }
    assert.equal(await viewer.page.locator('.faults').count(), 0);
  }),
);

test(
  'prompts of different lengths have no mean: it is said, and those that have are found',
  both,
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([several()], '#v=1&s=head&h=1.7');
      await page.getByLabel('Over prompts').selectOption('mean');
      const note = page.locator('.banner[role=status]');
      await note.waitFor();
      assert.match(
        await note.innerText(),
        /The 8 prompts found do not have the same number of tokens: 7 prompts of 18, as on screen, and 1 other length\. This is the map of p000000/,
      );
      const own = h5py<number>(
        'with h5py.File(sys.argv[1]) as f: print(float(f["prompts/p000000/cache/blocks.1.attn.hook_pattern"][7, 9, 4]))',
        several(),
      );
      assert.equal(await viewer.value(9, 4), own, 'what is drawn then is one map');
      await note.getByRole('button', { name: 'Find those of 18 tokens' }).click();
      await page.locator('.bottom', { hasText: 'mean of 7 prompts' }).waitFor();
      assert.equal(await note.count(), 0);
      assert.equal((await viewer.state()).promptFilter, 'tokens:18');
      assert.match(page.url(), /pm=mean/);
      assert.match(
        await page.locator('.banner').innerText(),
        /Drawn is the mean over the\s+7 prompts\s+found\./,
      );
      await page.getByRole('button', { name: '7 prompts', exact: true }).click();
      await page.locator('.drawer', { hasText: '7 of 8' }).waitFor();
      assert.match(await page.locator('.drawer-row').first().innerText(), /18 tokens/);
      // The prompt of 19 tokens has none of that mean.
      await goto(viewer, `${STATE}&pm=mean&p=p000005`, /./);
      await page.getByText('The 7 prompts found have 18 tokens, the one on screen 19.').waitFor();
    }),
);

test(
  'axes tell where prompts agree; the crosshair tells who has which token, mean and spread',
  both,
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([several()], `${STATE}&pm=mean`);
      await viewer.value(17, 2);
      const texts = h5py<string[][]>(
        'with h5py.File(sys.argv[1]) as f: print(json.dumps([f["prompts"][p]["tokens/text"].asstr()[:].tolist() for p in sorted(f["prompts"]) if len(f["prompts"][p]["tokens/text"]) == 18]))',
        several(),
      );
      const { path, name } = await viewer.exported('csv');
      assert.equal(name, 'several-mean-of-7-prompts-1.7-seen.csv');
      const [titles, ...rows] = csvOf(path);
      const label = (at: number) => {
        const all = new Set(texts.map((one) => one[at]!));
        return all.size > 1 ? `(${at})` : [...all][0]!.replace(/^ /, '·');
      };
      const labels = texts[0]!.map((_, at) => label(at));
      assert.deepEqual(
        titles!.slice(2),
        labels.map((text, at) => `${at} ${text}`),
      );
      assert.deepEqual(
        rows.map((row) => row[1]),
        labels,
      );
      assert.ok(labels.includes('(2)') && labels.includes('·to'), labels.join(' '));

      const canvas = page.locator('.head-map');
      await canvas.focus();
      for (let row = 0; row < 17; ++row) await page.keyboard.press('ArrowDown');
      for (let column = 0; column < 2; ++column) await page.keyboard.press('ArrowRight');
      const readout = await page.locator('.readout').innerText();
      const wanted = expected(several(), '1.7', 18);
      const counts = new Map<string, number>();
      for (const one of texts) counts.set(one[2]!, (counts.get(one[2]!) ?? 0) + 1);
      for (const [text, count] of counts)
        assert.ok(readout.includes(`${text.replace(/^ /, '·')} ×${count}`), readout);
      const number = (after: RegExp) => Number(after.exec(readout)![1]!.replace('−', '-'));
      assert.ok(Math.abs(number(/mean of 7 prompts\s+(\S+)/) - wanted.mean[17]![2]!) < 1e-7);
      assert.ok(Math.abs(number(/sd\s+(\S+)/) - wanted.sd[17]![2]!) < 1e-4);
    }),
);

test('exports and lines of Python of a mean hold its numbers', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([several()], `${STATE}&pm=mean&sink=0`);
    const hidden = expected(several(), '1.7', 18, true);
    const plain = expected(several(), '1.7', 18);
    await viewer.value(17, 17);
    const seen = await viewer.exported('npy');
    assert.equal(seen.name, 'several-mean-of-7-prompts-1.7-seen-without-first.npy');
    same(numpy(seen.path), hidden.mean, 'seen');
    const stored = await viewer.exported('npyAll');
    assert.equal(stored.name, 'several-mean-of-7-prompts-1.7-of-stored-weights.npy');
    same(numpy(stored.path), plain.mean, 'stored');
    const json = await viewer.exported('json');
    const record = JSON.parse(readFileSync(json.path, 'utf8')) as {
      over_prompts: { is: string; prompts: string[] };
      prompt: unknown;
      dataset: string;
      shown: { first_token: string };
      key_tokens: (string | null)[];
      values: (number | string)[][];
    };
    assert.equal(record.over_prompts.is, 'mean');
    assert.equal(record.over_prompts.prompts.length, 7);
    assert.ok(!record.over_prompts.prompts.includes('p000005'));
    assert.equal(record.prompt, null);
    assert.equal(record.dataset, '/prompts/*/cache/blocks.1.attn.hook_pattern');
    assert.equal(record.shown.first_token, 'left out');
    assert.equal(record.key_tokens[2], null);
    same(
      record.values.map((row) => row.map((value) => (value === 'NaN' ? null : Number(value)))),
      hidden.mean,
      'json',
    );
    const svg = readFileSync((await viewer.exported('svg')).path, 'utf8');
    assert.match(svg, /mean of 7 prompts with tokens:18/);
    assert.match((await viewer.exported('png1')).name, /^several-mean-of-7-prompts-1\.7/);

    for (const [kind, name] of [
      ['mean', 'mean'],
      ['sd', 'spread'],
    ] as const) {
      await goto(viewer, `${STATE}&pm=${kind}`, new RegExp(`${kind} of 7 prompts`));
      const fold = page.locator('details', { hasText: 'Read these maps with h5py' });
      if ((await fold.getAttribute('open')) === null) await fold.locator('summary').click();
      const code = await fold.locator('pre').innerText();
      const read = h5py<Numbers>(
        `import os; os.chdir(sys.argv[1])\n${code}\nprint(json.dumps(${name}.tolist()))`,
        folder,
      );
      same(await cells(viewer, 18), read, 'Python');
    }
  }),
);

test('a packed file and the parts of a run have the same mean', both, () =>
  withViewer(async (viewer) => {
    const [first, second] = halves() as [string, string];
    const wanted = expected(several(), '1.7', 18).mean;
    await viewer.open([packedMaps()], `${STATE}&pm=mean&p=p000000`);
    await viewer.page.locator('.bottom', { hasText: 'mean of 7 prompts' }).waitFor();
    same(await cells(viewer, 18), wanted, 'packed');
    await viewer.open([first], `${STATE}&pm=mean`);
    await viewer.page.locator('input[type=file]').first().setInputFiles([second]);
    await viewer.page.locator('.bottom', { hasText: 'mean of 7 prompts' }).waitFor();
    same(await cells(viewer, 18), wanted, 'parts');
  }),
);

/** 40 prompts of 300 tokens; one cell of one of them is no number. */
const templated = (): string =>
  writtenByH5py(
    'templated.h5',
    `rng = np.random.default_rng(5)
f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
for i in range(40):
    p = f.create_group("prompts/p%06d" % i); p["text"] = np.bytes_(b"text %d" % i)
    p["tokens/text"] = np.array([b"t%d" % t for t in range(300)])
    m = rng.random((1, 300, 300), dtype="f4")
    if i == 7: m[0, 290, 3] = np.nan
    p.create_dataset("cache/blocks.0.attn.hook_pattern", data=m, chunks=(1, 256, 256))`,
  );

test('means of several tiles and many prompts, with a cell that is no number', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([templated()], '#v=1&s=head&h=0.0&pm=mean');
    await viewer.page.locator('.bottom', { hasText: 'mean of 40 prompts' }).waitFor();
    const wanted = expected(templated(), '0.0', 300);
    assert.equal(wanted.mean[290]![3], null);
    same(await cells(viewer, 300), wanted.mean, 'mean');
    await viewer.page.locator('.bottom', { hasText: '1 cell is not a number' }).waitFor();
    const { path } = await viewer.exported('npy');
    same(numpy(path), wanted.mean, 'exported');
    await goto(viewer, '#v=1&s=head&h=0.0&pm=sd', /sd of 40 prompts/);
    same(await cells(viewer, 300), wanted.sd, 'sd');
  }),
);

test('reading of means is told and can be stopped', both, async () => {
  const server = await serve({ files: { 'templated.h5': templated() }, delayMs: 40 });
  try {
    await withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.goto(`${server.url}?file=templated.h5#v=1&s=head&h=0.0&pm=mean`);
      await page
        .locator('.bottom', { hasText: /mean of 40 prompts · \d+ of \d+ maps read/ })
        .waitFor();
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => window.__attnscope.state().over === 'off');
      assert.equal((await viewer.state()).screen, 'head');
      const own = h5py<number>(
        'with h5py.File(sys.argv[1]) as f: print(float(f["prompts/p000000/cache/blocks.0.attn.hook_pattern"][0, 9, 4]))',
        templated(),
      );
      assert.equal(await viewer.value(9, 4), own);
      await page.locator('.bottom', { hasText: 'maps read' }).waitFor({ state: 'detached' });
    });
  } finally {
    await server.close();
  }
});

test(
  'until the prompts found are looked at it is said, and an export waits for the mean',
  both,
  async () => {
    const server = await serve({ files: { 'templated.h5': templated() }, delayMs: 40 });
    try {
      await withViewer(async (viewer) => {
        const { page } = viewer;
        let answer = () => {};
        let answers = Promise.resolve();
        await page.route('**/templated.h5', (route) => answers.then(() => route.continue()));
        for (const kind of ['npy', 'npyAll'] as const) {
          await viewer.goto(`${server.url}?file=templated.h5#v=1&s=head&h=0.0`);
          await viewer.value(9, 4);
          answers = new Promise<void>((resolve) => (answer = resolve));
          await page.getByLabel('Over prompts').selectOption('mean');
          await page.locator('.banner', { hasText: 'Looking at the prompts found' }).waitFor();
          assert.equal(await page.locator('.head-map.pending').count(), 1);
          const exported = viewer.exported(kind);
          await page.locator('.bottom', { hasText: 'Waiting for the rest of the map' }).waitFor();
          answer();
          const { path, name } = await exported;
          assert.match(name, /^templated-mean-of-40-prompts-0\.0-(seen|of-stored-weights)\.npy$/);
          same(numpy(path), expected(templated(), '0.0', 300).mean, kind);
          assert.equal(await page.locator('.head-map.pending').count(), 0);
        }
      });
    } finally {
      await server.close();
    }
  },
);

test('a mean can be chosen before a prompt is, or it is said why there is none', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([packedMaps()], '#v=1&s=head&h=1.7&pf=tokens:18');
    await page.getByRole('button', { name: 'Mean of 7 maps' }).waitFor();
    await page.getByRole('combobox', { name: 'Over prompts' }).selectOption('mean');
    await page.locator('.bottom', { hasText: 'mean of 7 prompts' }).waitFor();
    same(await cells(viewer, 18), expected(several(), '1.7', 18).mean, 'chosen');
    // So an address shows that asks for a spread and names no prompt.
    await goto(viewer, '#v=1&s=head&h=1.7&pf=tokens:18&pm=sd', /sd of 7 prompts/);
    same(await cells(viewer, 18), expected(several(), '1.7', 18).sd, 'address');
    await viewer.open([packedMaps()], '#v=1&s=head&h=1.7');
    await page.getByRole('combobox', { name: 'Over prompts' }).selectOption('mean');
    const note = page.locator('.banner[role=status]');
    await note.filter({ hasText: 'The 8 prompts found do not have the same number' }).waitFor();
  }),
);

test('the list of prompts tells how to search, and heads the prompts of what it found', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([several()], '#v=1&s=head&h=1.7&pd=1');
    const note = page.locator('.search-note');
    await note.filter({ hasText: 'tokens>17' }).waitFor();
    assert.equal(await page.getByText(/^Prompts with most [^,]*$/).count(), 1);
    await page.getByLabel('Search prompts').fill('token>18');
    await note.filter({ hasText: 'No column is called “token”; there are tokens' }).waitFor();
    await page.getByLabel('Search prompts').fill('tokens>18');
    await page.locator('.drawer', { hasText: '1 of 8' }).waitFor();
    await page.getByText(/^Prompts with most .*, of the 1 found$/).click();
    assert.equal(await page.locator('aside .clip').count(), 1);
  }),
);
