import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import { capture, h5py, lens, sweep, verdict, without } from '../support/fixtures';
import { difference, result } from '../support/results';

const both = { skip: without('command', 'python') };

const BARS = `
with h5py.File(sys.argv[1]) as f:
    g = f["experiments"][sys.argv[2]]
    flat = lambda n: [None if np.isnan(x) else x for x in g[n][0].ravel().tolist()]
    atOnce = "ci_sim_low" in g
    print(json.dumps([flat("effect"), *[flat(("ci_sim_" if atOnce else "ci_") + end) for end in ("low", "high")]]))
`;

/** Left and right end of a path “M4 8H120”. */
const endsOf = (path: string): number[] =>
  /M([-\d.]+) [\d.]+H([-\d.]+)/.exec(path)!.slice(1).map(Number);

test('bars of a list hold whole intervals, above numbers', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    for (const [path, name] of [
      [verdict(), 'verdict'],
      [result('mlp.h5'), 'ablate'],
    ] as const) {
      const [effects, lows, highs] = h5py<(number | null)[][]>(BARS, path, name);
      await viewer.open([path], '#v=1&s=causal&u=list&uo=unit');
      const list = page.locator('.unit-list');
      await list.waitFor();
      const axis = list.locator('thead svg text');
      const marks = await axis.evaluateAll((all) =>
        all.map((one) => [
          Number(one.textContent!.replace('−', '-')),
          Number(one.getAttribute('x')),
        ]),
      );
      assert.ok(marks.length >= 2, 'the axis has numbers');
      const extremes = [...effects!, ...lows!, ...highs!].filter((one) => one !== null);
      for (const end of [Math.min(...extremes), Math.max(...extremes)]) {
        assert.ok(
          marks.some(([mark]) => mark! * end > 0),
          `${name}: a number on the side of ${end}`,
        );
      }
      const [[value, x], [next, nextX]] = [marks[0]!, marks.at(-1)!] as [number[], number[]];
      const place = (at: number) => x! + ((at - value!) * (nextX! - x!)) / (next! - value!);
      const bars = await list.locator('tbody td.ends svg').evaluateAll((all) =>
        all.map((svg) => ({
          range: svg.querySelector('.range')?.getAttribute('d') ?? null,
          dot: Number(svg.querySelector('circle')!.getAttribute('cx')),
        })),
      );
      assert.equal(bars.length, effects!.length);
      bars.forEach(({ range, dot }, at) => {
        assert.ok(Math.abs(dot - place(effects![at]!)) < 0.01, `${name} ${at}: effect`);
        if (lows![at] === null) return;
        const ends = endsOf(range!);
        for (const [i, end] of [lows![at]!, highs![at]!].entries()) {
          assert.ok(Math.abs(ends[i]! - place(end)) < 0.01, `${name} ${at}: ${ends} for ${end}`);
        }
      });
    }
  }),
);

test('intervals that are rough bounds are marked, and the mark says so', both, () =>
  withViewer(async (viewer) => {
    const rough = h5py<boolean[]>(
      'print(json.dumps((h5py.File(sys.argv[1])["experiments/ablate/interval_kind"][0] == 2).ravel().tolist()))',
      sweep('ablate'),
    );
    assert.ok(rough.includes(true) && rough.includes(false));
    const { page } = viewer;
    await viewer.open([sweep('ablate')], '#v=1&s=causal&u=list&uo=unit');
    const lines = page.locator('.unit-list tbody tr');
    const titles = await lines.evaluateAll((all) =>
      all.map((line) => {
        const mark = [...line.querySelectorAll('span')].find((one) => one.textContent === '*');
        return mark ? mark.title : null;
      }),
    );
    assert.deepEqual(
      titles.map((title) => title !== null),
      rough,
    );
    for (const title of titles)
      if (title !== null) assert.match(title, /A few groups.*rough bound/);
    assert.match(await page.locator('.unit-list > p').innerText(), /^\* A few groups.*rough bound/);
    await viewer.open([result('few.h5')], '#v=1&s=causal&u=list');
    await lines.first().waitFor();
    assert.equal(await page.locator('.unit-list > p').count(), 0);
  }),
);

test('the results of a chosen file go before those of another one', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture(), verdict(), result('mlp.h5'), result('kv.h5')], '#v=1&s=causal');
    const experiment = page.getByLabel('Experiment');
    const shown = () => experiment.locator('option:checked').innerText();
    const file = page.locator('header select').first();
    assert.match(await shown(), /verdict\.h5/, 'until one is chosen, what tells most');
    for (const name of ['mlp.h5', 'kv.h5']) {
      await file.selectOption(name);
      assert.match(await shown(), new RegExp(`, ${name}`));
    }
    const others = await experiment
      .locator('option')
      .evaluateAll((all) => all.map((one) => [(one as HTMLOptionElement).value, one.textContent!]));
    await experiment.selectOption(others.find(([, text]) => text!.includes('verdict.h5'))![0]!);
    assert.match(await shown(), /verdict\.h5/, 'any other one can still be chosen');
    await file.selectOption('mlp.h5');
    assert.match(await shown(), /mlp\.h5/);
    await file.selectOption('run.h5');
    assert.match(await shown(), /verdict\.h5/, 'a capture has none of its own');
    await page.keyboard.press('1');
    await file.selectOption('kv.h5');
    const effects = page.getByLabel('Effects of');
    assert.match(await effects.locator('option:checked').innerText(), /kv\.h5/);
  }),
);

test('a comparison of two captures is shown as one, with both files named', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([difference(), capture()], '#v=1&s=causal');
    await page.locator('.unit-list').waitFor();
    const text = await page.locator('main').innerText();
    assert.doesNotMatch(text, /largest effect|0 prompts|noise floor|under largest/i);
    assert.match(text, /Where the captures differ most: largest \|b − a\|/);
    assert.match(text, /Compared are run\.h5 \(a\) and run [0-9a-f]{8}…? \(b\)/);
    const [largest, values] = h5py<[number, number]>(
      `with h5py.File(sys.argv[1]) as f:
    g = f["experiments/diff"]
    at = int(np.argmax(g["effect"][0]))
    print(json.dumps([float(g["effect"][0][at]), int(g["n"][at])]))`,
      difference(),
    );
    const cells = await page.locator('.unit-list tbody tr').first().locator('td').allInnerTexts();
    assert.ok(Math.abs(Number(cells[0]) - largest) <= 0.0051 * largest, `${cells[0]}, ${largest}`);
    assert.equal(Number(cells.at(-1)), values);
    const headings = await page.locator('.unit-list thead th').allInnerTexts();
    assert.equal(headings.at(-1), 'values');
  }),
);

test('names of rows and columns stay beside what a table is scrolled to', both, () =>
  withViewer(
    async (viewer) => {
      const { page } = viewer;
      await viewer.open([lens(), verdict()], '#v=1&s=lens');
      for (const [hash, table] of [
        ['#v=1&s=lens', '.lens-scroll'],
        ['#v=1&s=causal&e=verdict&u=list', '.unit-list'],
        ['#v=1&g=table', '.head-list'],
      ] as const) {
        await viewer.go(hash);
        const scroller = page.locator(table);
        await scroller.locator('tbody th').first().waitFor();
        const hidden = await scroller.evaluate((box) => {
          box.scrollLeft = box.scrollWidth;
          box.scrollTop = box.scrollHeight;
          const outer = box.getBoundingClientRect();
          const inside = (cell: Element) => {
            const { left, right, top, bottom } = cell.getBoundingClientRect();
            const edge = cell.matches('tbody th') ? outer.left + 2 : left + 4;
            // Nothing of what is scrolled shows beside it.
            const on = document.elementFromPoint(edge, (top + bottom) / 2);
            return left >= outer.left - 1 && right <= outer.right && cell.contains(on);
          };
          const rows = [...box.querySelectorAll('tbody th')].filter((cell) => {
            const { top, bottom } = cell.getBoundingClientRect();
            return top > outer.top + 60 && bottom < Math.min(outer.bottom - 12, innerHeight - 60);
          });
          const columns = [...box.querySelectorAll('thead th:last-child')];
          return {
            rows: rows.length,
            scrolled: box.scrollLeft,
            out: [...rows, ...columns]
              .filter((cell) => !inside(cell))
              .map((cell) => cell.textContent),
          };
        });
        assert.ok(hidden.rows > 0 && hidden.scrolled > 0, `${table} ${JSON.stringify(hidden)}`);
        assert.deepEqual(hidden.out, [], table);
      }
    },
    { width: 760, height: 500 },
  ),
);
