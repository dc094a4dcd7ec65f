import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import { capture, h5py, verdict, without } from '../support/fixtures';
import { result } from '../support/results';

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
