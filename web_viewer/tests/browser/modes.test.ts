import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import {
  capture,
  csvOf,
  h5py,
  long,
  numpy,
  pieces,
  without,
  writtenByH5py,
} from '../support/fixtures';

/** Waits until every cell of a map is read, and returns what is drawn; null where masked. */
async function shownMap(viewer: Viewer, rows: number, columns: number) {
  const handle = await viewer.page.waitForFunction(
    ([height, width]) => {
      const out = Array.from({ length: height! }, (_, r) =>
        Array.from({ length: width! }, (_, c) => window.__attnscope.shown(r, c)),
      );
      // Wholly masked is only what has not been read yet.
      return out.at(-1)!.at(-1) === null ? null : out.map((row) => row.map(String));
    },
    [rows, columns],
  );
  const texts = (await handle.jsonValue()) as string[][];
  return texts.map((row) => row.map((text) => (text === 'null' ? null : Number(text))));
}

/** First piece of every word of that text, and where the last ends. */
const WORDS = [0, 1, 5, 8, 9, 11, 12];

/** What is to be drawn, by NumPy. */
const expected = (head: number, options: { sink: boolean; value: boolean; words: boolean }) =>
  h5py<(number | null)[][]>(
    `o = json.loads(sys.argv[3])
with h5py.File(sys.argv[1]) as f:
    p = f["prompts/p000000"]; h = int(sys.argv[2])
    m = p["cache/blocks.0.attn.hook_pattern"][h].astype("f8"); v = p["attention/self/value_norm"][0, h].astype("f8")
alive = np.ones(len(m), bool)
if not o["sink"]:
    alive = m[:, 0] < 1 - 1e-6
    m[:, 0] = 0; m[alive] /= m[alive].sum(-1, keepdims=True); m[~alive] = np.nan
if o["value"]: m = m * v
cut = json.loads(sys.argv[4]) if o["words"] else list(range(len(m) + 1))
out = []
for a, b in zip(cut, cut[1:]):
    rows = m[a:b][alive[a:b]]
    line = [rows[:, c:d].sum(-1).mean() if len(rows) else np.nan for c, d in zip(cut, cut[1:])]
    out.append([None if np.isnan(x) else float(x) for x in line])
print(json.dumps(out))`,
    pieces(),
    String(head),
    JSON.stringify(options),
    JSON.stringify(WORDS),
  );

for (const words of [false, true]) {
  for (const sink of [true, false]) {
    for (const value of [false, true]) {
      const named = [
        words ? 'words' : 'pieces',
        sink ? 'with the first token' : 'without the first token',
        value ? 'weighed by value' : 'as stored',
      ].join(', ');
      test(
        `${named}: every cell is what NumPy makes of the file`,
        { skip: without('python') },
        () =>
          withViewer(async (viewer) => {
            const wanted = expected(1, { sink, value, words });
            const flags = `${words ? '&wd=1' : ''}${sink ? '' : '&sink=0'}${value ? '&vw=1' : ''}`;
            await viewer.open([pieces()], `#v=1&s=head&h=0.1${flags}`);
            await viewer.page.locator('.head-map').waitFor();
            await viewer.page.waitForFunction(
              (off) => off || !document.querySelector('input[type=checkbox]:disabled'),
              sink && !value,
            );
            const shown = await shownMap(viewer, wanted.length, wanted.length);
            shown.forEach((row, q) => {
              let sum = 0;
              row.forEach((cell, k) => {
                const right = wanted[q]![k]!;
                if (cell === null) {
                  assert.ok(k > q || (k === 0 && !sink), `masked at ${q},${k}`);
                  return;
                }
                if (right === null) assert.ok(Number.isNaN(cell), `nothing is left at ${q},${k}`);
                else assert.ok(Math.abs(cell - right) < 2e-6, `${q},${k}: ${cell}, not ${right}`);
                sum += cell;
              });
              if (!value && !Number.isNaN(sum))
                assert.ok(Math.abs(sum - 1) < 1e-5, `row ${q}: ${sum}`);
            });
            if (!sink) {
              // Rows 0 and 5 see nothing but the first token; the word of row 5 has other pieces.
              const hatched = words ? /1 row all on the first/ : /2 rows all on the first/;
              await viewer.page.waitForFunction(
                (source) =>
                  new RegExp(source).test(
                    document.querySelector('.bottom .status')?.textContent ?? '',
                  ),
                hatched.source,
              );
            }
          }),
      );
    }
  }
}

/** Whether a table holds these numbers, to the rounding of 32 bits; what is left out is 0. */
function assertTable(table: (number | null)[][], wanted: (number | null)[][], what: string): void {
  assert.deepEqual([table.length, table[0]!.length], [wanted.length, wanted[0]!.length], what);
  table.forEach((row, q) =>
    row.forEach((cell, k) => {
      const right = wanted[q]![k]!;
      const same = right === null ? cell === null : Math.abs(cell! - right) < 2e-6;
      assert.ok(same, `${what} at ${q},${k}: ${cell}, not ${right}`);
    }),
  );
}

const numberOr = (text: unknown): number | null =>
  Number.isNaN(Number(text)) ? null : Number(text);

test(
  'what is exported as seen is what is seen, and what is stored is called so',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const stored = h5py<number[][]>(
        `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f["prompts/p000000/cache/blocks.0.attn.hook_pattern"][1].astype("f8").tolist()))`,
        pieces(),
      );
      const names = new Set<string>();
      for (let mode = 0; mode < 8; ++mode) {
        const [words, hide, value] = [mode & 1, mode & 2, mode & 4].map((bit) => bit > 0);
        const flags = `${words ? '&wd=1' : ''}${hide ? '&sink=0' : ''}${value ? '&vw=1' : ''}`;
        await viewer.open([pieces()], `#v=1&s=head&h=0.1${flags}`);
        // Asked for at once: the file that comes is that of what will be seen.
        const npy = await viewer.exported('npy');
        const wanted = expected(1, { sink: !hide, value: value!, words: words! });
        assertTable(numpy(npy.path), wanted, npy.name);
        const named = [
          ...(words ? ['words'] : []),
          ...(hide ? ['without-first'] : []),
          ...(value ? ['by-value'] : []),
        ];
        assert.equal(npy.name, `pieces-p000000-0.1-${['seen', ...named].join('-')}.npy`);
        names.add(npy.name);

        const [title, ...lines] = csvOf((await viewer.exported('csv')).path);
        assertTable(
          lines.map((line) => line.slice(2).map(numberOr)),
          wanted,
          'CSV',
        );
        assert.equal(title![3], words ? '1–4 Unglaublich,' : '1 Un');
        assert.deepEqual(lines[1]!.slice(0, 2), words ? ['1–4', 'Unglaublich,'] : ['1', 'Un']);
        await page.getByLabel('Export').selectOption('tsv');
        await page.getByText('Table copied').waitFor();
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        const cells = copied.split('\n').map((line) => line.split('\t'));
        assert.deepEqual(cells, [title, ...lines]);

        const json = await viewer.exported('json');
        assert.equal(json.name, npy.name.replace('.npy', '.json'));
        const record = JSON.parse(readFileSync(json.path, 'utf8')) as {
          shown: object;
          values: unknown[][];
          queries: unknown[];
          key_tokens: unknown[];
        };
        assertTable(
          record.values.map((row) => row.map(numberOr)),
          wanted,
          'JSON',
        );
        assert.deepEqual(record.shown, {
          first_token: hide ? 'left out' : 'kept',
          rows_rescaled_by: hide ? 'sums of stored rows' : null,
          weighed_by_value: value,
          words: words ? 'sums over keys, means over queries' : null,
        });
        assert.deepEqual(record.queries[1], words ? [1, 2, 3, 4] : 1);
        assert.deepEqual(record.key_tokens[1], words ? ['Un', 'glaub', 'lich', ','] : 'Un');

        // What is stored stays so, whatever is shown.
        for (const kind of mode === 7 ? ['npyAll', 'npyStored'] : []) {
          const file = await viewer.exported(kind);
          assert.equal(file.name, 'pieces-p000000-0.1-stored.npy');
          assert.deepEqual(numpy(file.path), stored);
        }
      }
      assert.equal(names.size, 8);

      // Of a window, words and all: its cells, with their positions in the name. In a low page a
      // map is small, and three words fill it.
      await page.setViewportSize({ width: 1000, height: 480 });
      await viewer.open([pieces()], '#v=1&s=head&h=0.1&wd=1&sink=0&z=1,2,3,3');
      await shownMap(viewer, 6, 6);
      const part = await viewer.exported('npy');
      const words = expected(1, { sink: false, value: false, words: true });
      assertTable(
        numpy(part.path),
        words.slice(2, 5).map((row) => row.slice(1, 4)),
        part.name,
      );
      assert.match(part.name, /-seen-words-without-first-queries-5-10-keys-1-8\.npy$/);
      const cut = await viewer.exported('npyStored');
      assert.match(cut.name, /-stored-queries-5-10-keys-1-8\.npy$/);
      assert.deepEqual(
        numpy(cut.path),
        stored.slice(5, 11).map((row) => row.slice(1, 9)),
      );
    }),
);

test(
  'rows that are rescaled sum to one however they are stored, or it is said that they may not',
  { skip: without('command', 'library', 'python') },
  () =>
    withViewer(async (viewer) => {
      for (const head of ['0.0', '1.7', '2.4', '3.5']) {
        await viewer.open([capture()], `#v=1&s=head&h=${head}&sink=0`);
        const file = await viewer.exported('npy');
        for (const [q, row] of numpy(file.path).entries()) {
          if (row[0] === null) continue;
          const sum = row.reduce((total: number, cell) => total + cell!, 0);
          assert.ok(Math.abs(sum - 1) < 1e-6, `${head}, row ${q}: ${sum}`);
          const drawn = await viewer.page.evaluate(
            ([at, count]) =>
              Array.from({ length: count! }, (_, k) => window.__attnscope.shown(at!, k) ?? 0),
            [q, row.length],
          );
          assert.deepEqual(drawn.map(Math.fround), row);
        }
      }
      await viewer.open([long(4096)], '#v=1&s=head&h=0.1&sink=0');
      await viewer.page.getByText('rows rescaled by their statistics').waitFor();
    }),
);

test(
  'words keep positions: in readouts, selections and the address',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([pieces()], '#v=1&s=head&h=0.0&q=6');
      await viewer.value(6, 3);
      await page.keyboard.press('w');
      assert.equal((await viewer.state()).words, true);
      assert.match(page.url(), /[#&]wd=1/);
      assert.deepEqual((await viewer.state()).queries, [6], 'a selection stays that of the piece');
      await page.locator('.head-map').focus();
      for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
      const readout = await page.locator('.readout').innerText();
      assert.match(readout, /query 5–7\s+·Ölkännchen/);
      assert.match(readout, /key 1–4\s+Unglaublich,/);
      await page.keyboard.press('Enter');
      const { queries, keys } = await viewer.state();
      assert.deepEqual(
        [queries, keys],
        [
          [5, 6, 7],
          [1, 2, 3, 4],
        ],
      );
      assert.match(page.url(), /q=5-7&j=1-4/);
      // Text and lines show the same words.
      await page.keyboard.press('v');
      assert.equal(await page.locator('.token').count(), WORDS.length - 1);
      assert.equal(await page.locator('.token.query').innerText(), ' Ölkännchen');
      const wanted = expected(0, { sink: true, value: false, words: true })[2]![1]!;
      await page.locator('.text-sum').waitFor();
      const sum = Number(await page.locator('.text-sum strong').innerText());
      assert.ok(Math.abs(sum - wanted) < 5e-5, `${sum} ${wanted}`);
    }),
);

test(
  'lines are the strongest stored weights of every query, of words their sums and means',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      for (const words of [false, true]) {
        await viewer.open([pieces()], `#v=1&s=head&h=0.1&w=lines${words ? '&wd=1' : ''}`);
        const handle = await viewer.page.waitForFunction(() => {
          const edges = window.__attnscope.edges();
          return edges.length > 0 ? edges : null;
        });
        const shown = (await handle.jsonValue()) as {
          query: number;
          key: number;
          weight: number;
        }[];
        const wanted = h5py<[number, number, number][]>(
          `cut = json.loads(sys.argv[2])
with h5py.File(sys.argv[1]) as f:
    a = f["prompts/p000000/attention/self"]
    index, value = a["topk_index"][0, 1], a["topk_value"][0, 1].astype("f8")
word = np.searchsorted(cut, np.arange(len(index)), side="right") - 1
size = np.bincount(word)
sums = {}
for q, (keys, weights) in enumerate(zip(index, value)):
    for k, w in zip(keys, weights):
        if w > 0: sums[int(word[q]), int(word[k])] = sums.get((int(word[q]), int(word[k])), 0) + w / size[word[q]]
print(json.dumps([[q, k, w] for (q, k), w in sums.items()]))`,
          pieces(),
          JSON.stringify(words ? WORDS : Array.from({ length: 13 }, (_, at) => at)),
        );
        assert.equal(shown.length, wanted.length);
        for (const [q, k, weight] of wanted) {
          const edge = shown.find(({ query, key }) => query === q && key === k);
          assert.ok(edge && Math.abs(edge.weight - weight) < 1e-6, `${q} → ${k}`);
        }
        assert.ok(shown.every(({ weight }, at) => at === 0 || shown[at - 1]!.weight >= weight));
      }
    }),
);

test(
  'lines weighed by value are as wide as their share of the largest',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const widest = async (hash: string): Promise<[range: number[], most: number]> => {
        await viewer.open([pieces()], `#v=1&s=head&h=0.1&w=lines&${hash}`);
        await viewer.page.waitForFunction(() => window.__attnscope.edges().length > 0);
        return viewer.page.evaluate(() => [
          window.__attnscope.edgeRange(),
          window.__attnscope.edges()[0]!.weight,
        ]);
      };
      assert.deepEqual((await widest(''))[0], [0, 1]);
      for (const hash of ['vw=1', 'vw=1&wd=1&sink=0', 'd=head', 'd=head&vw=1']) {
        const [range, most] = await widest(hash);
        assert.deepEqual(range, [0, most], hash);
      }
      assert.deepEqual((await widest('d=fixed&r=0.1,0.4'))[0], [0.1, 0.4]);
    }),
);

test(
  'beside a map stand the largest of each row and the sum of each key, whatever is drawn',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const margins = async (sum: number) => {
        const handle = await page.waitForFunction((wanted) => {
          const { rows, columns } = window.__attnscope.margins();
          const total = columns?.reduce((all, value) => all + value, 0) ?? NaN;
          return Math.abs(total - wanted) < 1e-4 ? { rows: rows!, columns: columns! } : null;
        }, sum);
        return (await handle.jsonValue()) as { rows: number[]; columns: number[] };
      };
      const assertMargins = async (cells: (number | null)[][]) => {
        const numbers = cells.map((row) => row.map((cell) => cell ?? 0));
        const sums = numbers[0]!.map((_, k) => numbers.reduce((sum, row) => sum + row[k]!, 0));
        const shown = await margins(sums.reduce((all, sum) => all + sum, 0));
        numbers.forEach((row, q) => assert.ok(Math.abs(shown.rows[q]! - Math.max(...row)) < 1e-5));
        sums.forEach((sum, k) => assert.ok(Math.abs(shown.columns[k]! - sum) < 1e-5, `key ${k}`));
      };
      for (const [sink, value, flags] of [
        [true, false, ''],
        [false, false, '&sink=0'],
        [false, true, '&sink=0&vw=1'],
      ] as const) {
        await viewer.open([pieces()], `#v=1&s=head&h=0.1${flags}`);
        await assertMargins(expected(1, { sink, value, words: false }));
      }
      await viewer.open([pieces()], '#v=1&s=head&h=0.1&tray=0.0,0.1&tm=mean');
      const [one, two] = [0, 1].map((head) =>
        expected(head, { sink: true, value: false, words: false }),
      );
      await assertMargins(one!.map((row, q) => row.map((cell, k) => (cell! + two![q]![k]!) / 2)));
      // What is said above it is of all its heads.
      assert.match(
        await page.locator('.banner').innerText(),
        /This is the mean of heads 0\.0, 0\.1\./,
      );
    }),
);

test(
  'a text opens shaded by what each token gets on average from those that see it',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      for (const [sink, value, words, flags] of [
        [true, false, false, ''],
        [true, true, false, '&vw=1'],
        [false, false, false, '&sink=0'],
        [false, true, false, '&sink=0&vw=1'],
        [true, false, true, '&wd=1'],
      ] as const) {
        const map = expected(1, { sink, value, words: false });
        const alive = (q: number) => map[q]!.some((cell) => cell !== null);
        const means = map.map((_, k) => {
          const rows = map.filter((_, q) => q >= k && alive(q));
          return rows.length > 0 ? rows.reduce((sum, row) => sum + row[k]!, 0) / rows.length : 0;
        });
        const starts = words ? WORDS : Array.from({ length: 13 }, (_, at) => at);
        const wanted = starts
          .slice(0, -1)
          .map((from, at) =>
            means.slice(from, starts[at + 1]).reduce((sum, mean) => sum + mean, 0),
          );
        await viewer.open([pieces()], `#v=1&s=head&h=0.1&w=text${flags}`);
        await page.waitForFunction(
          (all) =>
            all.every((mean, at) => {
              const title = document.querySelectorAll<HTMLElement>('.token')[at]?.title ?? '';
              const shown = Number(/: (\S+) on average/.exec(title)?.[1]?.replace('−', '-'));
              return Math.abs(shown - mean) <= 6e-3 * Math.abs(mean) + 1e-9;
            }),
          wanted,
        );
        await page.getByText('Shaded by what each token gets on average').waitFor();
      }
      // Pointing takes its place, and leaving brings it back.
      await page.locator('.token').nth(3).hover();
      await page.getByText('Shaded by what').waitFor({ state: 'detached' });
      await page.mouse.move(4, 300);
      await page.getByText('Shaded by what').waitFor();
    }),
);

test(
  'tokens of the text are chosen by dragging, shift and ctrl, and their sums are shown',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture()], '#v=1&s=head&h=1.7&w=text');
      const token = (at: number) => page.locator('.token').nth(at);
      await token(5).hover();
      await page.mouse.down();
      await token(7).hover();
      await page.mouse.up();
      assert.deepEqual((await viewer.state()).queries, [5, 6, 7]);
      await token(8).click({ modifiers: ['Shift'] });
      assert.deepEqual((await viewer.state()).queries, [5, 6, 7, 8]);
      await token(6).click({ modifiers: ['ControlOrMeta'] });
      assert.deepEqual((await viewer.state()).queries, [5, 7, 8]);
      await token(1).click({ modifiers: ['Alt'] });
      await token(2).click({ modifiers: ['Alt'] });
      assert.deepEqual((await viewer.state()).keys, [1, 2]);
      await page.mouse.move(4, 300);
      const mean = h5py<number>(
        `with h5py.File(sys.argv[1]) as f:
    m = f["prompts/p000000/cache/blocks.1.attn.hook_pattern"][7].astype("f8")
    print(float(m[[5, 7, 8]][:, [1, 2]].sum(-1).mean()))`,
        capture(),
      );
      await page.waitForFunction(
        (wanted) =>
          Math.abs(Number(document.querySelector('.text-sum strong')?.textContent) - wanted) < 1e-4,
        mean,
      );
      // Pointing at one query shades its keys by the stored weights.
      const row = h5py<number[]>(
        `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f["prompts/p000000/cache/blocks.1.attn.hook_pattern"][7, 8].astype("f8").tolist()))`,
        capture(),
      );
      await token(8).hover();
      const strongest = row.indexOf(Math.max(...row));
      await page.waitForFunction(
        ([at, wanted]) => {
          const title = document.querySelectorAll('.token')[at!]?.getAttribute('title') ?? '';
          return Math.abs(Number(/: (\S+)/.exec(title)?.[1]) - wanted!) < 1e-3 * wanted!;
        },
        [strongest, row[strongest]!],
      );
    }),
);

test(
  'colours run to one, to the largest of the head, of its layer, of all, or as told',
  {
    skip: without('command', 'python'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const [head, layer, all] = h5py<number[]>(
        `with h5py.File(sys.argv[1]) as f:
    p = f["prompts/p000000"]["cache"]
    m = [p["blocks.%d.attn.hook_pattern" % l][...] for l in range(4)]
    o = f["prompts/p000000/attention/self/overview"][...]
    print(json.dumps([float(m[1][3].max()), float((o[1].max() / 255) ** 2), float((o.max() / 255) ** 2)]))`,
        capture(),
      ) as [number, number, number];
      const top = async (hash: string) => {
        await viewer.go(`#v=1&s=head&h=1.3${hash}`);
        return page.evaluate(() => window.__attnscope.range());
      };
      await viewer.open([capture()], '#v=1&s=head&h=1.3');
      await viewer.value(1, 1);
      assert.deepEqual(await top(''), [0, 1]);
      assert.ok(Math.abs((await top('&d=head'))[1]! - head) < 1e-7);
      assert.ok(Math.abs((await top('&d=layer'))[1]! - layer) < 1e-12);
      assert.ok(Math.abs((await top('&d=all'))[1]! - all) < 1e-12);
      assert.deepEqual(await top('&d=fixed&r=0.1,0.25'), [0.1, 0.25]);
      await page.getByLabel('Highest value').fill('0.5');
      await page.keyboard.press('Enter');
      assert.deepEqual((await viewer.state()).range, [0.1, 0.5]);
    }),
);

test(
  'a long map shows the largest or the mean of the cells of a pixel, and says which',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const path = writtenByH5py(
        'levels.h5',
        `T = 2100
f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"long")
p["tokens/text"] = np.array([b"t%d" % i for i in range(T)])
m = np.tril(np.full((T, T), 0.01, dtype="f4")); m[1000:1800, 400:800] = np.eye(800, 400, dtype="f4")
d = p.create_dataset("cache/blocks.0.attn.hook_pattern", data=m[None], chunks=(1, 256, 256), compression=1, shuffle=True)
d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"f32")
for k in (4, 16):
    n = -(-T // k); q = np.zeros((n * k, n * k), dtype="f4"); q[:T, :T] = m
    g = q.reshape(n, k, n, k)
    p["attention/self/pyramid/0/max_%d" % k] = g.max(axis=(1, 3))[None]
    p["attention/self/pyramid/0/mean_%d" % k] = g.mean(axis=(1, 3))[None]`,
      );
      await viewer.open([path], '#v=1&s=head&h=0.0&k=linear');
      const said = (text: string) =>
        page.waitForFunction(
          (wanted) => document.querySelector('.bottom .status')?.textContent?.includes(wanted),
          text,
        );
      await said('level ×4 (largest of 4 × 4 cells)');
      assert.equal(await viewer.toolbarLines(), 1);
      const bright = await page.evaluate(() => window.__attnscope.pixel(1204, 604)![0]!);
      await page.getByLabel('Coarse levels').selectOption('mean');
      await said('level ×4 (mean of 4 × 4 cells)');
      await page.waitForFunction(
        (before) => window.__attnscope.pixel(1204, 604)![0]! < before / 2,
        bright,
      );
      assert.equal((await viewer.state()).pool, 'mean');
    }),
);

test(
  'rows are held to the rounding of their kind, and a link leads to the first fault',
  { skip: without('python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const path = writtenByH5py(
        'rounded.h5',
        `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"rounded")
p["tokens/text"] = np.array([b"t%d" % i for i in range(80)])
m = np.tril(np.ones((80, 80))); m /= m.sum(-1, keepdims=True); m[60] *= 1 + 2.0 ** -12; m[70] *= 1 + 2.0 ** -10; m[75, 4] = np.nan
for layer, kind in enumerate((b"r10", b"f32")):
    d = p.create_dataset("cache/blocks.%d.attn.hook_pattern" % layer, data=m[None].astype("f4"))
    d.attrs["causal"] = 1; d.attrs["row_sum"] = np.bytes_(b"one"); d.attrs["map_dtype"] = np.bytes_(kind)`,
      );
      await viewer.open([path], '#v=1&s=head&h=0.0');
      const faults = page.locator('.faults');
      await faults.getByText('1 row does not sum to 1').waitFor();
      await faults.getByRole('button', { name: 'Show query 70' }).click();
      assert.match(await page.locator('.readout').innerText(), /query 70/);
      await page.locator('.faults').getByText('Show the first').click();
      assert.match(await page.locator('.readout').innerText(), /query 75[^]*key 4[^]*NaN/);
      await viewer.go('#v=1&s=head&h=1.0');
      await faults.getByText('2 rows do not sum to 1').waitFor();
      await faults.getByRole('button', { name: 'Show query 60' }).waitFor();
    }),
);
