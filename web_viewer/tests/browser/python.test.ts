import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer, type ComparedCell, type Viewer } from '../support/browser';
import {
  capture,
  encoderDecoder,
  folder,
  h5py,
  half,
  packed,
  packedMaps,
  positions,
  several,
  sweep,
  verdict,
  without,
} from '../support/fixtures';
import { result } from '../support/results';

const both = { skip: without('command', 'python') };

type Numbers = (number | null)[][];

/** What a name holds after lines that the page gives, run where the files lie. */
const run = <T = Numbers>(code: string, name: string): T =>
  h5py<T>(
    `import os, warnings; os.chdir(sys.argv[1]); warnings.simplefilter("ignore")
${code}
plain = lambda a: None if isinstance(a, float) and np.isnan(a) else [plain(x) for x in a] if isinstance(a, list) else a
import numpy as np
print(json.dumps(plain(np.asarray(${name}, "f8").tolist())))`,
    folder,
  );

async function lines(viewer: Viewer, title: string | RegExp): Promise<string> {
  const fold = viewer.page.locator('details', { hasText: title });
  if ((await fold.getAttribute('open')) === null) await fold.locator('summary').click();
  return fold.locator('pre').innerText();
}

/** Every cell that the lines give is the one that is drawn; what is masked is not drawn. */
async function assertDrawn(viewer: Viewer, what: string): Promise<void> {
  const settled = await viewer.page.waitForFunction(() => {
    const cell = window.__attnscope.shown(2, 1);
    return cell === null ? null : { cell };
  });
  await settled.dispose();
  const wanted = run(await lines(viewer, /^Read th(is map|ese maps) with h5py/), 'pattern');
  const [rows, columns] = [wanted.length, wanted[0]!.length];
  const drawn = await viewer.page.evaluate(
    ([height, width]) =>
      Array.from({ length: height! }, (_, r) =>
        Array.from({ length: width! }, (_, c) => {
          const value = window.__attnscope.shown(r, c);
          return value === null ? 'masked' : Number.isNaN(value) ? null : value;
        }),
      ),
    [rows, columns],
  );
  let cells = 0;
  drawn.forEach((row, r) =>
    row.forEach((value, c) => {
      const other = wanted[r]![c]!;
      if (value === 'masked') return;
      ++cells;
      const at = `${what}: ${r}, ${c}: ${value} and in Python ${other}`;
      if (value === null || other === null) assert.equal(value, other, at);
      else assert.ok(Math.abs((value as number) - other) < 1e-6 + 1e-6 * Math.abs(other), at);
    }),
  );
  assert.ok(cells > rows, what);
}

const HEAD = '#v=1&s=head&h=1.5';
const MODES = ['', '&sink=0', '&vw=1', '&wd=1', '&sink=0&vw=1&wd=1'];

for (const [name, make, more] of [
  ['a prompt', capture, ''],
  ['16-bit numbers', half, ''],
  ['kept positions', positions, ''],
  ['a packed file', packedMaps, '&p=p000004'],
] as const) {
  test(`lines of Python give the cells as they are drawn: ${name}`, both, () =>
    withViewer(async (viewer) => {
      await viewer.open([make()], HEAD + more);
      for (const mode of MODES) {
        await viewer.go(HEAD + more + mode);
        await assertDrawn(viewer, mode);
      }
    }),
  );
}

test(
  'and so they do of several heads, and of two texts',
  { skip: without('command', 'library', 'python') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([capture()], HEAD);
      for (const mode of ['mean', 'max']) {
        await viewer.go(`${HEAD}&tray=1.5,0.2,3.7&tm=${mode}&wd=1`);
        await viewer.page.locator('h2', { hasText: 'of 3' }).waitFor();
        await assertDrawn(viewer, mode);
      }
      await viewer.open([encoderDecoder()], '#v=1&s=head&a=cross&h=0.1&vw=1&sink=0');
      await assertDrawn(viewer, 'cross');
    }),
);

test('and of what is averaged over prompts, each changed before the mean', both, () =>
  withViewer(async (viewer) => {
    const hash = '#v=1&s=head&h=1.7&pf=tokens:18';
    await viewer.open([several()], hash);
    for (const [kind, name] of [
      ['mean', 'mean'],
      ['sd', 'spread'],
    ]) {
      for (const mode of ['&sink=0', '&vw=1', '&sink=0&vw=1']) {
        await viewer.go(`${hash}&pm=${kind}${mode}`);
        await viewer.page.locator('.bottom', { hasText: `${kind} of 7 prompts` }).waitFor();
        const code = await lines(viewer, 'Read these maps with h5py');
        const wanted = run(code, name!);
        for (const [q, k] of [
          [17, 3],
          [9, 9],
          [5, 0],
        ] as const) {
          const value = await viewer.value(q, k);
          assert.ok(Math.abs(value - wanted[q]![k]!) < 1e-6, `${kind}${mode} ${q}, ${k}: ${value}`);
        }
      }
    }
  }),
);

for (const [layout, make] of [
  ['packed', packed],
  ['per prompt', several],
] as const) {
  test(`means over the prompts found are those of the lines of Python, ${layout}`, both, () =>
    withViewer(async (viewer) => {
      await viewer.open([make()], '#v=1&mean=1&st=previous&g=statistic');
      for (const words of ['', 'Frank']) {
        await viewer.go(`#v=1&mean=1&st=previous&g=statistic&pd=1&pf=${words}`);
        await viewer.page.waitForFunction(
          (filter) => window.__attnscope.state().promptFilter === filter,
          words,
        );
        const { columns } = await viewer.heads();
        const mean = run(await lines(viewer, 'Take these numbers elsewhere'), 'mean').flat();
        assert.equal(mean.length, columns.previous!.length);
        mean.forEach((value, at) =>
          assert.ok(Math.abs(value! - columns.previous![at]!) < 1e-6, `${words} ${at}`),
        );
      }
    }),
  );
}

test('the grid of effects names the lines that read effects', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([capture(), verdict()], '#v=1&g=effect');
    const { columns } = await viewer.heads();
    const read = run(await lines(viewer, 'Take these numbers elsewhere'), 'effect');
    assert.deepEqual(read.flat(), columns.effect);
  }),
);

test('the lines of Causal read the array and the method that are shown', both, () =>
  withViewer(async (viewer) => {
    const stored = (array: string) =>
      h5py<Numbers[]>(
        `a = h5py.File(sys.argv[1])["experiments/ablate"][sys.argv[2]][:]
print(json.dumps([[[None if np.isnan(x) else float(x) for x in r] for r in m] for m in a]))`,
        sweep('ablate'),
        array,
      );
    await viewer.open([sweep('ablate')], '#v=1&s=causal&e=ablate&ar=minimal_detectable');
    const title = 'Take these numbers elsewhere';
    assert.deepEqual(
      run(await lines(viewer, title), 'minimal_detectable'),
      stored('minimal_detectable'),
    );
    await viewer.go('#v=1&s=causal&e=ablate&u=list&m=1');
    await viewer.page.waitForFunction(() => window.__attnscope.state().units === 'list');
    assert.deepEqual(run(await lines(viewer, title), 'effect'), stored('effect')[1]);
    for (const array of ['ci_low', 'ci_high']) {
      assert.deepEqual(run(await lines(viewer, title), array), stored(array)[1]);
    }
  }),
);

test('beside a list of effects the lines read effects, whatever the grids show', both, () =>
  withViewer(async (viewer) => {
    const stored = (array: string) =>
      h5py<Numbers>(
        `a = h5py.File(sys.argv[1])["experiments/patch"][sys.argv[2]][0]
print(json.dumps([[None if np.isnan(x) else float(x) for x in r] for r in a]))`,
        result('patch-many.h5'),
        array,
      );
    await viewer.open([result('patch-many.h5')], '#v=1&s=causal&ar=recovery');
    const title = 'Take these numbers elsewhere';
    const grids = await lines(viewer, title);
    for (const array of ['recovery', 'recovery_low', 'recovery_high']) {
      assert.deepEqual(run<Numbers[]>(grids, array)[0], stored(array));
    }
    await viewer.page.getByRole('button', { name: 'List', exact: true }).click();
    await viewer.page.locator('.unit-list').waitFor();
    const list = await lines(viewer, title);
    for (const array of ['effect', 'ci_low', 'ci_high']) {
      assert.deepEqual(run(list, array), stored(array));
    }
    assert.doesNotMatch(list, /recovery/);
    // What the list shows of the first unit is what the lines read.
    const first = viewer.page.locator('.unit-list tbody tr').first();
    const shown = (await first.locator('td.value').first().innerText()).replace('−', '-');
    const largest = Math.max(
      ...stored('effect')
        .flat()
        .map((value) => Math.abs(value ?? 0)),
    );
    assert.ok(Math.abs(Math.abs(Number(shown)) - largest) < 0.005 * largest, shown);
  }),
);

test('lines of a comparison give A − B of what stands beside each other', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    for (const other of ['p000005:2.4', 'p000000:2.4']) {
      await viewer.open([several()], `#v=1&s=compare&p=p000000&h=1.7&al=tokens&vs=0:${other}`);
      const shown = await page.waitForFunction(() => {
        const { rows, columns } = window.__attnscope.comparedShape();
        const cells = Array.from({ length: rows }, (_, r) =>
          Array.from({ length: columns }, (_, c) => window.__attnscope.compared(r, c)),
        );
        return rows > 0 && cells.flat().every(Boolean) ? cells : null;
      });
      const cells = ((await shown.jsonValue()) as ComparedCell[][])
        .map((row) => row.filter(({ query, key }) => Math.min(...query, ...key) >= 0))
        .filter((row) => row.length > 0);
      await page.getByRole('button', { name: 'Copy h5py' }).click();
      const code = await page.evaluate(() => navigator.clipboard.readText());
      const read = run(code, 'difference');
      assert.equal(read.length, cells.length);
      cells.forEach((row, r) => {
        assert.equal(row.length, read[r]!.length);
        row.forEach(({ difference }, c) =>
          assert.ok(Math.abs(difference - read[r]![c]!) < 1e-6, `${r}, ${c}`),
        );
      });
    }
  }),
);
