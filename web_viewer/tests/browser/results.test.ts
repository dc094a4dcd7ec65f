import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { withViewer } from '../support/browser';
import {
  ablation,
  capture,
  h5py,
  patching,
  verdict,
  without,
  writtenByH5py,
} from '../support/fixtures';
import { difference, result, RESULTS, sharedKeysCapture } from '../support/results';

const both = { skip: without('command', 'python') };

/** Name and value of the unit with the largest effect under the first method of an experiment. */
const LARGEST = `
with h5py.File(sys.argv[1]) as f:
    for name in f["experiments"]:
        g = f["experiments"][name]
        if "effect" not in g: continue
        e = g["effect"][0].ravel()
        at = int(np.nanargmax(np.abs(e)))
        print(json.dumps([g["cells"].asstr()[:].ravel()[at], float(e[at]), len(e)]))
        break
`;

/** A number as the page writes it, back as a number. */
const parsed = (text: string): number => Number(text.replace('−', '-').replace('+', ''));

/** Three significant digits are shown. */
const near = (shown: string, stored: number) =>
  assert.ok(
    Math.abs(parsed(shown) - stored) <= 0.0051 * Math.abs(stored),
    `${shown} for ${stored}`,
  );

async function rowOf(page: Page, at: number): Promise<string[]> {
  const cells = page.locator('.unit-list tbody tr').nth(at).locator('th, td');
  return (await cells.allInnerTexts()).map((text) => text.trim());
}

test('every kind of result opens on a screen that shows it', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    for (const name of RESULTS.filter((one) => !one.startsWith('lens'))) {
      const path = result(name);
      await viewer.open([path]);
      assert.equal(await page.locator('.absent').count(), 0, `${name}: the first screen is empty`);
      await viewer.go('#v=1&s=causal&u=list');
      await page.locator('.unit-list').waitFor();
      const [unit, effect, units] = h5py<[string, number, number]>(LARGEST, path);
      const row = await rowOf(page, 0);
      assert.equal(row[0], unit, name);
      assert.ok(
        row.slice(1).some((text) => {
          const value = parsed(text);
          return Math.abs(value - effect) <= 0.0051 * Math.abs(effect);
        }),
        `${name}: ${effect} is in ${row.join(' | ')}`,
      );
      const lines = await page.locator('.unit-list tbody tr').count();
      assert.equal(lines, Math.min(units, 100), name);
      for (const screen of ['overview', 'head']) {
        await viewer.go(`#v=1&s=${screen}`);
        const text = await page.locator('main').innerText();
        assert.doesNotMatch(
          text,
          /no open file has causal results|No causal result is stored/i,
          name,
        );
      }
    }
  }),
);

test('ablations and patchings say in words why an interval is missing', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    const reading = async (path: string) => {
      await viewer.open([path], '#v=1&s=causal');
      return page.locator('.reading').innerText();
    };
    assert.match(
      await reading(result('few.h5')),
      /3 groups? of prompts, at least 10 are needed|1 group of prompts/,
    );
    assert.match(await reading(result('kl.h5')), /Effects have no p: kl cannot be negative/);
    assert.equal(await page.getByRole('option', { name: 'p adjusted' }).count(), 0);
    assert.match(await reading(patching()), /metric of the corrupt run, which is the one that is/);
    assert.match(await reading(result('patch-noise.h5')), /metric of the clean run, which is the/);
    assert.match(await reading(verdict()), /100 prompts that nothing was chosen on, rank/);
    assert.match(await reading(ablation()), /No interval and no p for 64 of 64 effects/);
  }),
);

const RANK = `
with h5py.File(sys.argv[1]) as f:
    g = f["experiments/verdict"]
    at = lambda n: float(g[n][int(sys.argv[2])][0])
    e, a = g["effect_all"][int(sys.argv[2])].ravel(), g["attention_all"][..., 0].ravel()
    half = g["half_of_prompt"][:]
    print(json.dumps([at("rank_correlation"), at("rank_correlation_low"), at("rank_correlation_high"),
        at("rank_correlation_p"), int((~np.isnan(e) & ~np.isnan(a)).sum()), len(half), int(half.sum())]))
`;

test('the rank correlation is that of the file and of the report, and says its prompts', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    const path = verdict();
    const report = readFileSync(path.replace(/\.h5$/, '.html'), 'utf8');
    await viewer.open([path]);
    for (const method of [0, 1, 2]) {
      const [tau, low, high, p, n, all, measured] = h5py<number[]>(RANK, path, String(method));
      await viewer.go(`#v=1&m=${method}&st=verdict_attention_mass`);
      const words = page.locator('.scatter p').last();
      await words.getByText(`n = ${n} heads`).waitFor();
      const text = await words.innerText();
      const found = /τ-b (\S+) \[(\S+), (\S+)\], p = (\S+),/.exec(text)!;
      const shown = found.slice(1).map(parsed);
      [tau, low, high].forEach((value, at) =>
        assert.ok(Math.abs(shown[at]! - value!) <= 5e-4, text),
      );
      assert.ok(Math.abs(shown[3]! - p!) <= 5e-5, text);
      assert.match(text, new RegExp(`within layers, over all ${all} prompts`));
      for (const part of [
        `<td>${found[1]}</td>`,
        `[${found[2]}, ${found[3]}]`,
        `<td>${found[4]}</td>`,
      ]) {
        assert.ok(report.includes(part), `${part} stands in the report`);
      }
      const choice = await page.getByLabel('Dots of').locator('option').allInnerTexts();
      assert.match(choice[0]!, new RegExp(`^${measured} prompts`));
      assert.match(choice[1]!, new RegExp(`all ${all} prompts`));
    }
  }),
);

test('the scatter is of the measured half or of all prompts, as chosen', both, () =>
  withViewer(async (viewer) => {
    const path = verdict();
    await viewer.open([path], '#v=1&st=verdict_attention_mass&of=all');
    const { page } = viewer;
    const stored = h5py<[number[], number[]]>(
      'g = h5py.File(sys.argv[1])["experiments/verdict"]; print(json.dumps([g["effect_all"][0].ravel().tolist(), g["attention_all"][..., 0].ravel().tolist()]))',
      path,
    );
    const [effects, attention] = stored;
    const { points } = (await viewer.state()) as unknown as {
      points: { xs: number[]; ys: number[] };
    };
    assert.deepEqual(points.ys, effects);
    assert.deepEqual(points.xs, attention);
    // A box around one dot keeps that head alone.
    const at = effects.indexOf(Math.min(...effects));
    const [x, y] = [attention[at]!, effects[at]!];
    await viewer.go(
      `#v=1&st=verdict_attention_mass&of=all&b=${x - 1e-4},${x + 1e-4},${y - 0.01},${y + 0.01}`,
    );
    assert.match(await page.locator('.toolbar').innerText(), /1 of 32 heads/);
  }),
);

/** The words of an interval: the end before the decimal digits that are shown. */
const endsIn = (text: string): number[][] =>
  [...text.replaceAll('−', '-').matchAll(/\[([-\d.e∞]+), ([-\d.e∞]+)\]/g)].map(([, low, high]) => [
    Number(low),
    Number(high),
  ]);

test('banner, table, cards, tip, list and comparison state one interval of a head', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    const [names, atOnce, alone] = h5py<[string[], number[][], number[][]]>(
      `with h5py.File(sys.argv[1]) as f:
    g = f["experiments/verdict"]
    ends = lambda n: np.stack([g[n + "_low"][0].ravel(), g[n + "_high"][0].ravel()], 1).tolist()
    print(json.dumps([g["cells"].asstr()[:].ravel().tolist(), ends("ci_sim"), ends("ci")]))`,
      verdict(),
    );
    const is = (text: string, [low, high]: number[], where: string) =>
      assert.ok(
        endsIn(text).some((ends) =>
          [low!, high!].every((end, i) => Math.abs(ends[i]! - end) <= 0.0051 * Math.abs(end)),
        ),
        `${where}: ${text} for ${low}, ${high}`,
      );
    const at = names.indexOf('3.1');
    await viewer.open([capture(), verdict()], '#v=1&h=3.1&s=head');
    const banner = page.locator('.banner');
    for (const screen of ['head', 'compare']) {
      await viewer.go(`#v=1&h=3.1&s=${screen}`);
      await banner.getByText('(all at once)').waitFor();
      const words = await banner.innerText();
      assert.equal(endsIn(words).length, 1, words);
      is(words, atOnce[at]!, screen);
      is((await banner.locator('span[title]').getAttribute('title'))!, alone[at]!, screen);
    }
    await viewer.go('#v=1&s=head&h=3.1&tray=3.1,3.5&tm=mean');
    await banner.getByText('mean of heads').waitFor();
    const blend = endsIn(await banner.innerText());
    assert.equal(blend.length, 2);
    is(await banner.innerText(), atOnce[names.indexOf('3.5')]!, 'mean of heads');

    await viewer.go('#v=1&g=table');
    const heading = page.locator('.head-list th', { hasText: '95 %' });
    assert.equal((await heading.innerText()).trim(), '95 %, all at once');
    for (const [row, name] of names.entries()) {
      const line = page.locator('.head-list tbody tr', {
        has: page.getByRole('button', { name, exact: true }),
      });
      if ((await line.count()) === 0) continue;
      const cell = line.locator('td').nth(1);
      is(await cell.innerText(), atOnce[row]!, name);
      is((await cell.getAttribute('title'))!, alone[row]!, name);
    }
    for (const words of await page.locator('.named').allInnerTexts()) {
      if (/changes/.test(words)) assert.match(words, /\] \(all at once\)/);
    }
    await viewer.go('#v=1&g=effect');
    const grid = page.locator('.overview .canvas').first();
    await grid.hover({ position: { x: 120, y: 60 } });
    const tip = page.locator('.tip').first();
    const told = await tip.innerText();
    const head = names.indexOf(/^\d+\.\d+/.exec(told)![0]);
    is(told, atOnce[head]!, 'tip');
    is(told, alone[head]!, 'tip, in second place');
    assert.match(told, /\(all at once\)[^]*\(alone\)/);
  }),
);

test('the picture of the scatter names its files, their runs and what was done', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    const runId = (path: string) =>
      h5py<string>(
        'with h5py.File(sys.argv[1]) as f: print(json.dumps(f.attrs["run_id"].decode()[:16]))',
        path,
      );
    const picture = async () => {
      const button = page.getByRole('button', { name: 'Scatter as SVG' });
      if (!(await button.count())) await page.getByText('Take these numbers elsewhere').click();
      const waiting = page.waitForEvent('download');
      await button.click();
      const download = await waiting;
      assert.equal(download.suggestedFilename(), 'verdict-verdict-scatter.svg');
      return readFileSync(await download.path(), 'utf8');
    };
    await viewer.open([capture(), verdict()], '#v=1&st=induction');
    const [one, two] = [runId(capture()), runId(verdict())];
    const svg = await picture();
    assert.ok(svg.includes(`induction: run.h5 (run ${one}); effect: verdict.h5 (run ${two})`), svg);
    assert.match(svg, /verdict, zero; bars: 95 %, all units at once; band: ±δ = ±0\.\d+/);
    assert.match(svg, /Measured on 100 of the 200 prompts of verdict\.h5/);
    // A measure of the verdict itself is of its own file.
    await viewer.go('#v=1&st=verdict_attention_mass');
    const own = `attention mass and effect: verdict.h5 (run ${two})`;
    assert.ok((await picture()).includes(own));
  }),
);

const UNITS = `
with h5py.File(sys.argv[1]) as f:
    g = f["experiments/verdict"]
    flat = lambda n: g[n][0].ravel().tolist()
    print(json.dumps([g["cells"].asstr()[:].ravel().tolist(), flat("effect"), flat("ci_low"), flat("ci_high"),
        flat("ci_sim_low"), flat("ci_sim_high"), flat("p_adjusted"), g["minimal_detectable"][:].ravel().tolist(), g["verdict"][:].ravel().tolist(), [float(g.attrs["delta"])]]))
`;

test('the list of units is the file, sorted by any column', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([verdict()], '#v=1&s=causal&u=list&uo=unit');
    const [names, effect, low, high, simLow, simHigh, p, seen, levels, [delta]] = h5py<
      [
        string[],
        number[],
        number[],
        number[],
        number[],
        number[],
        number[],
        number[],
        number[],
        [number],
      ]
    >(UNITS, verdict());
    const headings = await page.locator('.unit-list thead th').allInnerTexts();
    const column = (part: string) => headings.findIndex((text) => text.startsWith(part));
    const words: Record<string, string> = {
      '1': 'causal',
      '0': `no effect beyond ±${Number(delta!.toPrecision(3))}`,
      '-1': 'undetermined',
      '-2': 'undetermined (backed up)',
    };
    for (let at = 0; at < names.length; ++at) {
      const row = await rowOf(page, at);
      assert.equal(row[0], names[at]);
      assert.equal(row[1]!.replace(', unspecific', ''), words[String(levels![at])]);
      near(row[column('zero')]!, effect![at]!);
      for (const [heading, from, to] of [
        ['95 %, all at once', simLow, simHigh],
        ['95 %, alone', low, high],
      ] as const) {
        const ends = /\[(.*), (.*)\]/.exec(row[column(heading)]!)!;
        near(ends[1]!, from![at]!);
        near(ends[2]!, to![at]!);
      }
      assert.ok(Math.abs(parsed(row[column('p adj')]!.replace('≤', '')) - p![at]!) <= 5e-5);
      near(row[column('detectable')]!, seen![at]!);
    }
    await page.getByRole('button', { name: 'detectable' }).click();
    const largest = seen!.indexOf(Math.max(...seen!));
    assert.equal((await rowOf(page, 0))[0], names[largest]);
    await page.getByRole('button', { name: /detectable/ }).click();
    assert.equal((await rowOf(page, 0))[0], names[seen!.indexOf(Math.min(...seen!))]);
    assert.match(new URL(page.url()).hash, /uo=-minimal_detectable/);
    const backedUp = levels!.filter((level) => level === -2).length;
    const tiles = await page.locator('.tiles').innerText();
    assert.match(tiles, new RegExp(`${levels!.filter((level) => level === 1).length}\\s+causal`));
    if (backedUp > 0) assert.match(tiles, new RegExp(`${backedUp} of them backed up`));
  }),
);

test('a withheld verdict says so wherever its effects are shown', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    const [why] = h5py<[string]>(
      'f = h5py.File(sys.argv[1]); print(json.dumps([f["experiments/verdict/withheld"].asstr()[()]]))',
      result('withheld.h5'),
    );
    await viewer.open([result('withheld.h5')]);
    const text = () => page.locator('aside').innerText();
    assert.ok((await text()).includes(why.slice(0, 200)));
    assert.match(await text(), /Not known: the verdicts are withheld/);
    await page.keyboard.press('4');
    assert.ok((await text()).includes(why.slice(0, 200)));
    assert.doesNotMatch(await text(), /\d+\s+causal/);
  }),
);

test('key-value groups are named as such on the heads that they cover', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([sharedKeysCapture(), result('shared-keys.h5')], '#v=1&g=effect&h=2.5');
    const { columns } = await viewer.heads();
    const effects = h5py<number[]>(
      'f = h5py.File(sys.argv[1]); print(json.dumps(f["experiments/ablate/effect"][0].ravel().tolist()))',
      result('shared-keys.h5'),
    );
    // Eight heads read four key-value heads.
    assert.deepEqual(
      columns.effect,
      columns.effect!.map((_, at) => effects[Math.floor(at / 2)]),
    );
    const text = await page.locator('aside').innerText();
    assert.match(text, /kv:2\.2, its whole key-value group/);
    assert.match(text, /the 2 heads of each were changed together/);
    assert.match(text, /no rank correlation over heads/);
  }),
);

test('what differs between two captures is no effect', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([difference(), capture()]);
    await viewer.heads();
    assert.equal((await viewer.state()).columns.effect, undefined);
    await viewer.page.keyboard.press('4');
    await viewer.page.locator('.unit-list').waitFor();
    assert.match(await viewer.page.locator('.reading').innerText(), /How much two captures differ/);
  }),
);

const LENS = `
with h5py.File(sys.argv[1]) as f:
    g = f["experiments/lens"]
    r = g["p000069"]
    top = lambda h: [float(np.max(np.abs(h))), float(r["dla_ends"][-1][0])]
    print(json.dumps([g["kl"][:].tolist(), g["target_first"][:].tolist(), r["top_text"].asstr()[-1, -1, 0],
        float(r["top_prob"][-1, -1, 0]), *top(r["dla_heads"][-1]), float(g["dla_ends"][0])]))
`;

test(
  'a lens of many pairs shows each of them, their means, and what adds to the answer',
  both,
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([result('lens-pairs.h5')], '#v=1&s=lens&p=p000069');
      const [kl, first, text, probability, head, total, meanTotal] = h5py<
        [number[], number[], string, number, number, number, number]
      >(LENS, result('lens-pairs.h5'));
      const cell = page.locator('.lens-scroll tbody tr').first().locator('td button').last();
      await cell.waitFor();
      assert.equal(await cell.innerText(), text.replace(/^ /, '·'));
      near((await cell.getAttribute('title'))!.replace(' %', ''), 100 * probability);
      await cell.click();
      assert.match(await page.locator('.lens-choices h2').innerText(), /After layer 3/);
      const means = page.locator('section[aria-label="Means over prompts"] tbody tr');
      for (let stage = 0; stage < kl.length; ++stage) {
        const cells = await means
          .nth(kl.length - 1 - stage)
          .locator('td')
          .allInnerTexts();
        near(cells[1]!, kl[stage]!);
        near(cells[3]!.replace(' %', ''), 100 * first[stage]!);
      }
      const parts = page.locator('section[aria-label^="What adds to the answer at"]');
      assert.ok((await parts.innerText()).includes('is the sum of'));
      near(/logit-diff (\S+) is/.exec(await parts.innerText())![1]!, total);
      const heads = await parts.locator('tbody tr').allInnerTexts();
      const largest = heads.find((line) => /^\d+\.\d+\s/.test(line))!;
      assert.ok(Math.abs(Math.abs(parsed(largest.split(/\s+/).at(-1)!)) - head) <= 0.0051 * head);
      const over = page.locator('section[aria-label*="mean over 70 prompts"]');
      near(/logit-diff (\S+) is/.exec(await over.innerText())![1]!, meanTotal);
    }),
);

test('a patching map has the tokens of both prompts above its positions', both, () =>
  withViewer(async (viewer) => {
    const path = writtenByH5py(
      'patch-with-corrupt.h5',
      `g = h5py.File(${JSON.stringify(patching())})
for k, v in g.attrs.items(): f.attrs[k] = v
for k in g: g.copy(k, f)
t = g["prompts/p000000/text"].asstr()[()]
f["prompts/p000000"].attrs["corrupt"] = np.bytes_(t[::-1].replace("knarF", "nitraM", 1)[::-1])`,
    );
    await viewer.open([path], '#v=1&s=causal&e=patch_layer_pos');
    const { page } = viewer;
    await page.getByText('in orange where the corrupt prompt differs').waitFor();
    await page.getByText('Take these numbers elsewhere').click();
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Tables as SVG' }).click();
    const svg = readFileSync(await (await waiting).path(), 'utf8');
    // One map for each of two sites; both names stand in the clean prompt, Frank twice.
    assert.equal(svg.match(/>·Frank</g)?.length, 4);
    assert.equal(svg.match(/>·Martin</g)?.length, 4);
  }),
);

test('the scatter zooms at the pointer, pans, selects with shift, and fits again', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([verdict()], '#v=1&st=verdict_attention_mass');
    const { page } = viewer;
    const canvas = page.locator('.scatter canvas');
    const box = (await canvas.boundingBox())!;
    const picture = () => canvas.evaluate((element) => (element as HTMLCanvasElement).toDataURL());
    const drag = async () => {
      await page.mouse.move(box.x + 150, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + 200, box.y + 90, { steps: 3 });
      await page.mouse.up();
      await page.mouse.move(0, 0);
    };
    await page.mouse.move(0, 0);
    const whole = await picture();
    await page.mouse.move(box.x + 200, box.y + 80);
    await page.mouse.wheel(0, -600);
    await page.mouse.move(0, 0);
    const closer = await picture();
    assert.notEqual(closer, whole);
    await drag();
    assert.notEqual(await picture(), closer);
    assert.deepEqual((await viewer.state()).brush, [], 'a drag pans');
    await page.keyboard.down('Shift');
    await drag();
    await page.keyboard.up('Shift');
    assert.equal(((await viewer.state()).brush as number[]).length, 4);
    assert.deepEqual(await canvas.boundingBox(), box, 'the count above takes no room from it');
    await page.mouse.dblclick(box.x + 70, box.y + 20);
    await page.mouse.move(0, 0);
    assert.deepEqual((await viewer.state()).brush, []);
    await page.waitForFunction(
      (before) =>
        document.querySelector<HTMLCanvasElement>('.scatter canvas')!.toDataURL() === before,
      whole,
    );
  }),
);
