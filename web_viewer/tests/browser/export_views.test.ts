import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import { csvOf, h5py, lens, numpy, pieces, several, verdict, without } from '../support/fixtures';
import { storedMap, tokenName, type Stored } from '../support/stored_map';

const both = { skip: without('command', 'python') };

/** The file that a key writes, or what is said instead. */
async function pressed(viewer: Viewer, key: string): Promise<string> {
  const download = viewer.page.waitForEvent('download').then((file) => file.suggestedFilename());
  const said = viewer.page
    .locator('.bottom .status', { hasText: /export/ })
    .waitFor()
    .then(() => viewer.page.locator('.bottom .status').innerText());
  download.catch(() => {});
  said.catch(() => {});
  await viewer.page.keyboard.press(key);
  return Promise.race([download, said]);
}

test('a comparison is written as tables of A, B and their difference, in the window', both, () =>
  withViewer(async (viewer) => {
    const [a, b] = [storedMap(several(), 'p000000', 1, 7), storedMap(several(), 'p000005', 2, 4)];
    const address = '#v=1&s=compare&p=p000000&h=1.7&vs=several.h5::p000005:2.4';
    // By position, a part.
    await viewer.open([several()], `${address}&al=position&z=1,2,4,5`);
    await viewer.page.locator('.compare-panel').first().waitFor();
    const part = ({ map }: Stored) => map.slice(2, 7).map((row) => row.slice(1, 5));
    const npyA = await viewer.exported('npyA');
    assert.equal(
      npyA.name,
      'several-p000000-1.7-vs-several-p000005-2.4-queries-2-6-keys-1-4-a.npy',
    );
    assert.deepEqual(numpy(npyA.path), part(a));
    assert.deepEqual(numpy((await viewer.exported('npyB')).path), part(b));
    const difference = await viewer.exported('npyDifference');
    assert.match(difference.name, /-a-minus-b\.npy$/);
    const wanted = part(a).map((row, q) =>
      row.map((value, k) => Math.fround(value - part(b)[q]![k]!)),
    );
    assert.deepEqual(numpy(difference.path), wanted);
    const [title, ...lines] = csvOf((await viewer.exported('csvDifference')).path);
    assert.deepEqual(
      lines.map((line) => line.slice(2).map((text) => Math.fround(Number(text)))),
      wanted,
    );
    const named = (at: number) =>
      a.tokens[at] === b.tokens[at]
        ? tokenName(a.tokens[at]!)
        : `${tokenName(a.tokens[at]!)} / ${tokenName(b.tokens[at]!)}`;
    assert.deepEqual(
      title!.slice(2),
      [1, 2, 3, 4].map((at) => `${at} ${named(at)}`),
    );
    assert.deepEqual(
      lines.map(([at, token]) => [at, token]),
      [2, 3, 4, 5, 6].map((at) => [`${at}`, named(at)]),
    );

    // By tokens: what only one has is no number in the other.
    await viewer.open([several()], `${address}&al=tokens`);
    await viewer.page.locator('.compare-panel').first().waitFor();
    const [titleA, ...linesA] = csvOf((await viewer.exported('csvA')).path);
    const rowsA = linesA.filter(([at]) => at !== '');
    assert.deepEqual(
      rowsA.map(([at, token]) => `${at} ${token}`),
      a.tokens.map((token, at) => `${at} ${tokenName(token)}`),
    );
    const columns = titleA!.flatMap((text, at) => (at > 1 && text !== '' ? [at] : []));
    assert.equal(columns.length, a.tokens.length);
    rowsA.forEach((line, q) => {
      const numbers = columns.map((at) => Math.fround(Number(line[at])));
      assert.deepEqual(numbers, a.map[q]);
    });
    const gaps = linesA.filter(([at]) => at === '');
    assert.ok(gaps.length > 0);
    for (const line of gaps) assert.ok(line.slice(2).every((text) => text === 'NaN'));
  }),
);

test('a comparison as a picture has its three panels, each with its own tokens', both, () =>
  withViewer(async (viewer) => {
    const [a, b] = [storedMap(several(), 'p000000', 1, 7), storedMap(several(), 'p000005', 1, 7)];
    await viewer.open(
      [several()],
      '#v=1&s=compare&p=p000000&h=1.7&vs=several.h5::p000005:1.7&al=tokens&z=0,0,9,9',
    );
    await viewer.page.locator('.compare-panel').first().waitFor();
    const svg = readFileSync((await viewer.exported('svg')).path, 'utf8');
    assert.equal(svg.match(/<image /g)!.length, 3);
    assert.match(svg, />A: 1\.7, p000000, several\.h5<\/text>/);
    assert.match(svg, />B: 1\.7, p000005, several\.h5<\/text>/);
    assert.match(svg, />A − B<\/text>/);
    const count = (token: string) =>
      [...svg.matchAll(/>([^<>]*)<\/text>/g)].filter(
        ([, text]) => text === tokenName(token).replaceAll('&', '&amp;'),
      ).length;
    // A token of one text alone stands at a row and a column of one panel.
    const only = a.tokens
      .slice(0, 6)
      .find(
        (token) => !b.tokens.includes(token) && a.tokens.filter((t) => t === token).length === 1,
      );
    assert.ok(only !== undefined);
    assert.equal(count(only), 2);
    const png = await viewer.exported('png2');
    assert.equal(readFileSync(png.path).readUInt32BE(16), 2640);
  }),
);

test('lines and text are written with the weights that they show', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([pieces()], '#v=1&s=head&h=0.1&w=lines');
    await page.getByLabel('Export').waitFor();
    const lines = await viewer.exported('csv');
    assert.equal(lines.name, 'pieces-p000000-0.1-lines.csv');
    const top = h5py<[number, number, number][]>(
      `with h5py.File(sys.argv[1]) as f:
    a = f["prompts/p000000/attention/self"]
    i, v = a["topk_index"][0, 1], a["topk_value"][0, 1].astype("f8")
print(json.dumps([[q, int(k), float(w)] for q in range(len(i)) for k, w in zip(i[q], v[q]) if k >= 0 and w > 0]))`,
      pieces(),
    );
    const [title, ...rows] = csvOf(lines.path);
    assert.deepEqual(title, ['query', 'query token', 'key', 'key token', 'weight']);
    const numbers = rows.map(([q, , k, , weight]) => [Number(q), Number(k), Number(weight)]);
    const order = (list: number[][]) =>
      [...list].sort((x, y) => x[0]! - y[0]! || y[2]! - x[2]! || x[1]! - y[1]!);
    assert.deepEqual(order(numbers), order(top));
    assert.deepEqual([rows[3]![1], rows[3]![3]].length, 2);
    const svg = readFileSync((await viewer.exported('svg')).path, 'utf8');
    assert.equal(svg.match(/C[\d.-]/g)!.length, top.length, 'a curve for each');

    await viewer.open([pieces()], '#v=1&s=head&h=0.1&w=text&q=6');
    await page.getByLabel('Export').waitFor();
    const map = h5py<number[][]>(
      `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f["prompts/p000000/cache/blocks.0.attn.hook_pattern"][1].astype("f8").tolist()))`,
      pieces(),
    );
    await page.locator('.token').nth(3).waitFor();
    await page.waitForFunction(() =>
      /: 0\./.test(document.querySelectorAll('.token')[0]?.getAttribute('title') ?? ''),
    );
    const text = csvOf((await viewer.exported('csv')).path);
    assert.deepEqual(text[0], ['key', 'key token', 'weight from query 6']);
    assert.deepEqual(
      text.slice(1).map(([, , weight]) => Math.fround(Number(weight))),
      map[6],
    );
    assert.deepEqual(
      text.slice(6, 9).map(([at, token]) => [at, token]),
      [
        ['5', '·Öl'],
        ['6', 'känn'],
        ['7', 'chen'],
      ],
    );
    // Nothing chosen: what each key gets from those that see it.
    await viewer.go('#v=1&s=head&h=0.1&w=text');
    await page.getByText('Shaded by what each token gets').waitFor();
    const means = csvOf((await viewer.exported('csv')).path).slice(1);
    means.forEach(([, , weight], k) => {
      const seen = map.slice(k).map((row) => row[k]!);
      const mean = seen.reduce((sum, value) => sum + value, 0) / seen.length;
      assert.ok(Math.abs(Number(weight) - mean) < 1e-6, `${weight} ${mean}`);
    });
    const picture = readFileSync((await viewer.exported('svg')).path, 'utf8');
    assert.match(picture, />känn<\/text>/);
    assert.match(picture, /mean weight of the rows that see a key/);
  }),
);

test('text is written with the weights of the head that was chosen just before', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    for (const chosen of ['&q=6', '']) {
      await viewer.open([several()], `#v=1&s=head&h=1.6&p=p000000&w=text${chosen}`);
      await page.waitForFunction(() =>
        /: 0\./.test(document.querySelector('.token')?.getAttribute('title') ?? ''),
      );
      const waiting = page.waitForEvent('download');
      await page.evaluate(() => {
        const right = { key: 'ArrowRight', bubbles: true };
        document.body.dispatchEvent(new KeyboardEvent('keydown', right));
        const menus = [...document.querySelectorAll('select')];
        const menu = menus.find((one) => one.querySelector('option[value=csv]'))!;
        menu.value = 'csv';
        menu.dispatchEvent(new Event('change', { bubbles: true }));
      });
      const { map } = storedMap(several(), 'p000000', 1, 7);
      const of = chosen ? [map[6]!] : map;
      const written = csvOf(await (await waiting).path()).slice(1);
      assert.equal(written.length, map.length);
      written.forEach(([, , weight], k) => {
        // A key gets weights from the rows that see it.
        const seen = (chosen ? of : of.slice(k)).map((row) => row[k]!);
        const mean = seen.reduce((sum, value) => sum + value, 0) / seen.length;
        // Sums are stored of weights that were not yet rounded to 10 bits.
        const off = Math.abs(Number(weight) - mean);
        assert.ok(off <= 2 ** -10 * mean, `key ${k}: ${weight}, not ${mean}`);
      });
    }
  }),
);

test('effects are written for every unit and method with all that is stored of them', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([verdict()], '#v=1&s=causal');
    await page.getByText('Take these numbers elsewhere').click();
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV of all units' }).click();
    const file = await waiting;
    assert.equal(file.suggestedFilename(), 'verdict-verdict-effects.csv');
    const [title, ...lines] = csvOf(await file.path());
    const stored = h5py<{
      methods: string[];
      layers: number[];
      heads: number[];
      arrays: Record<string, (number | null)[][]>;
    }>(
      `with h5py.File(sys.argv[1]) as f:
    e = f["experiments/verdict"]
    shape = e["effect"].shape
    arrays = {}
    for name in e:
        d = e[name]
        if isinstance(d, h5py.Dataset) and d.dtype.kind in "fiu" and d.shape in (shape, shape[1:]):
            a = np.broadcast_to(d[()].astype("f8"), shape).reshape(shape[0], -1)
            arrays[name] = [[None if np.isnan(x) else x for x in row] for row in a.tolist()]
    print(json.dumps({"methods": [m.decode() for m in e["methods"][:]], "layers": e["layer"][:].tolist() if "layer" in e else list(range(shape[1])),
        "heads": e["head"][:].tolist() if "head" in e else list(range(shape[2])), "arrays": arrays}))`,
      verdict(),
    );
    const units = stored.layers.flatMap((l) => stored.heads.map((h) => `${l}.${h}`));
    assert.deepEqual(
      lines.map((line) => line.slice(0, 2)),
      stored.methods.flatMap((method) => units.map((unit) => [unit, method])),
    );
    assert.deepEqual(title!.slice(0, 7), [
      'unit',
      'method',
      'effect',
      'ci_low',
      'ci_high',
      'ci_sim_low',
      'ci_sim_high',
    ]);
    const names = title!.slice(2);
    assert.deepEqual([...names].sort(), Object.keys(stored.arrays).sort());
    const words = ['undetermined (backed up)', 'undetermined', 'no effect', 'causal'];
    names.forEach((name, column) => {
      const written = lines.map((line) => line[column + 2]!);
      const wanted = stored.arrays[name]!.flat();
      wanted.forEach((value, at) => {
        if (name === 'verdict') assert.equal(written[at], words[value! + 2], `${name} ${at}`);
        else if (value === null) assert.equal(written[at], '', `${name} ${at}`);
        else assert.equal(Number(written[at]), value, `${name} ${at}`);
      });
    });
    // Of a list the key writes the same, of a grid its picture.
    assert.equal(await pressed(viewer, 'e'), 'verdict-effect.svg');
    await viewer.go('#v=1&s=causal&u=list');
    await page.locator('.unit-list').waitFor();
    assert.equal(await pressed(viewer, 'e'), 'verdict-verdict-effects.csv');
  }),
);

test('a lens is written with every choice of every cell, and drawn as it is shown', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([lens()], '#v=1&s=lens');
    await page.locator('.lens td').first().waitFor();
    const stored = h5py<{
      stages: string[];
      tokens: string[];
      text: string[][][];
      prob: number[][][];
      kl: number[][];
      rank: number[][];
    }>(
      `with h5py.File(sys.argv[1]) as f:
    e = f["experiments/lens"]; r = e["p000000"] if "p000000" in e else e[[k for k in e if isinstance(e[k], h5py.Group)][0]]
    t = lambda d: np.vectorize(lambda x: x.decode())(d[()]).tolist()
    print(json.dumps({"stages": t(r["stages"] if "stages" in r else e["stages"]), "tokens": t(r["tokens"]), "text": t(r["top_text"]),
        "prob": r["top_prob"][()].astype("f8").tolist(), "kl": r["kl"][()].astype("f8").tolist(), "rank": r["target_rank"][()].astype("f8").tolist()}))`,
      lens(),
    );
    const [title, ...lines] = csvOf((await viewer.exported('csv')).path);
    assert.deepEqual(title!.slice(0, 3), ['after', 'position', 'token']);
    const at = (name: string) => title!.indexOf(name);
    assert.equal(lines.length, stored.stages.length * stored.tokens.length);
    lines.forEach((line, i) => {
      const [s, p] = [Math.floor(i / stored.tokens.length), i % stored.tokens.length];
      assert.deepEqual([line[0], line[1]], [stored.stages[s], `${p}`]);
      assert.equal(Number(line[at('kl')]), stored.kl[s]![p]);
      assert.equal(Number(line[at('target_rank')]), stored.rank[s]![p]);
      stored.prob[s]![p]!.forEach((prob, c) => {
        assert.equal(Number(line[at(`probability ${c + 1}`)]), prob);
        if (/^ ?[a-z]+$/i.test(stored.text[s]![p]![c]!)) {
          assert.equal(line[at(`choice ${c + 1}`)], tokenName(stored.text[s]![p]![c]!));
        }
      });
    });
    const svg = readFileSync((await viewer.exported('svg')).path, 'utf8');
    const words = await page.locator('.lens tbody td button').allInnerTexts();
    const drawn = [...svg.matchAll(/text-anchor="middle">(.*?)<\/text>/g)].map(([, text]) => text);
    const plain = (text: string) =>
      text.replaceAll('&amp;', '&').replaceAll('&lt;', '<').replaceAll('&quot;', '"').trim();
    assert.deepEqual(
      drawn.map((text) => plain(text!)).sort(),
      [...words, ...(await page.locator('.lens thead th').allInnerTexts()).slice(1)]
        .map((text) => text.trim())
        .sort(),
    );
    assert.equal(await pressed(viewer, 'e'), 'lens-lens-p000000-2x.png');
  }),
);

test('the key of exports writes what is shown on every screen, or says why not', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([several()], '#v=1&s=head&h=1.7&p=p000000');
    await viewer.value(3, 3);
    const cases: [string, string, RegExp][] = [
      ['s=head&h=1.7', '.head-map', /^several-p000000-1\.7-seen-2x\.png$/],
      ['s=head&h=1.7&w=lines', '.lines', /^several-p000000-1\.7-lines-2x\.png$/],
      ['s=head&h=1.7&w=text', '.text-view', /^several-p000000-1\.7-text-2x\.png$/],
      [
        's=compare&h=1.7&vs=several.h5::p000001:0.4',
        '.compare-panel',
        /-vs-several-p000001-0\.4-2x\.png$/,
      ],
      ['s=compare&h=1.7&vs=gone.h5::p000001:0.4', '.absent', /no two maps here to export/],
      ['s=overview', '.grid-scroll', /^heads\.svg$/],
      ['s=overview&g=table', '.overview', /^several-heads\.csv$/],
      ['s=causal', '.absent', /no results? .*export/],
      ['s=lens', '.absent', /no lens .*export/],
      ['s=file', '.file', /[Nn]othing .*export/],
    ];
    for (const [hash, there, wanted] of cases) {
      await viewer.go(`#v=1&p=p000000&${hash}`);
      await page.locator(there).first().waitFor();
      if (hash.startsWith('s=head')) await page.getByLabel('Export').waitFor();
      assert.match(await pressed(viewer, 'e'), wanted, hash);
      // What is said does not stay for the next.
      await viewer.go('#v=1&s=file');
      await page.waitForFunction(
        () => !/export/.test(document.querySelector('.bottom .status')?.textContent ?? ''),
      );
    }
  }),
);
