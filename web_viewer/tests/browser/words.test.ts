import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import { capture, h5py, lens, verdict, without } from '../support/fixtures';
import { result } from '../support/results';

const both = { skip: without('command', 'python') };

/** The words that what is pointed at shows. */
const tipOf = (viewer: Viewer, selector: string, text: string | RegExp) =>
  viewer.page
    .locator(selector, { hasText: text })
    .first()
    .evaluate((element) => element.closest('[title]')?.getAttribute('title') ?? '');

test('words of the tool explain themselves where one points at them', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture(), verdict()], '#v=1&s=overview&tray=1.7,3.1');
    assert.match(await tipOf(viewer, '.tray', 'Tray'), /holds heads put aside/);
    assert.match(await tipOf(viewer, '.named', 'Loudest'), /Loud is what attends most/);
    assert.match(await tipOf(viewer, '.named', 'Quietest'), /a quarter of the strongest/);
    assert.match(await tipOf(viewer, '.pick', '100 prompts'), /chosen on the other half/);
    await viewer.go('#v=1&s=head&h=1.7');
    const measured = 'section[aria-label^="On the answer rows of 100 of the 200 prompts"] tr';
    await page.locator(measured).first().waitFor();
    for (const word of ['largest weight', 'focus', 'norm-weighted attention']) {
      assert.match(await tipOf(viewer, measured, word), /at which the metric reads the answer/);
    }
    await viewer.go('#v=1&s=causal&u=list');
    await page.locator('.unit-list tbody tr').first().waitFor();
    assert.match(await tipOf(viewer, '.unit-list button', 'detectable'), /four of five such/);
    assert.match(
      await tipOf(viewer, '.unit-list button', 'placebo'),
      /nothing to do with the task/,
    );
    const rows = page.locator('.unit-list tbody tr');
    for (const word of ['causal', 'no effect', 'undetermined']) {
      const cell = rows.locator('td.left', { hasText: new RegExp(`^${word}`) }).first();
      if (await cell.count()) assert.match((await cell.getAttribute('title'))!, /\.$/, word);
    }
  }),
);

test('units without a grid have bars of their size beside the list', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([result('mlp.h5')], '#v=1&s=causal');
    const bars = viewer.page.locator('.ranking tbody tr');
    await bars.first().waitFor();
    const stored = h5py<[string, number][]>(
      `with h5py.File(sys.argv[1]) as f:
    e = f["experiments/ablate"]
    pairs = zip([c.decode() for c in e["cells"][:]], e["effect"][0].tolist())
    print(json.dumps(sorted(pairs, key=lambda pair: -abs(pair[1]))))`,
      result('mlp.h5'),
    );
    const widths = await bars
      .locator('.bar span')
      .evaluateAll((spans) => spans.map((span) => parseFloat((span as HTMLElement).style.width)));
    const names = await bars.locator('td:first-child').allInnerTexts();
    assert.deepEqual(
      names,
      stored.map(([name]) => name),
    );
    stored.forEach(([name, effect], at) => {
      const share = (100 * Math.abs(effect)) / Math.abs(stored[0]![1]);
      assert.ok(Math.abs(widths[at]! - share) < 0.01, `${name}: ${widths[at]} for ${share}`);
    });
  }),
);

test('of one prompt a lens says yes or no, and no share', both, () =>
  withViewer(async (viewer) => {
    await viewer.open([lens()], '#v=1&s=lens');
    const table = viewer.page.locator('section[aria-label="Means over prompts"]');
    await table.waitFor();
    const first = h5py<number[]>(
      `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f["experiments/lens/target_first"][:].tolist()))`,
      lens(),
    );
    const cells = await table.locator('tbody td:last-child').allInnerTexts();
    assert.deepEqual(
      cells,
      first.reverse().map((share) => (share === 1 ? 'yes' : 'no')),
    );
    assert.match(await tipOf(viewer, 'th', 'target first?'), /likeliest token after this layer/);
  }),
);
