import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import { ablation, capture, h5py, several, verdict, without } from '../support/fixtures';

const both = { skip: without('command', 'python') };

/** Texts of the prompts that effects of a file were measured on, as h5py reads them. */
const measuredTexts = (path: string): string[] =>
  h5py<string[]>(
    `with h5py.File(sys.argv[1]) as f:
    p = f["prompts"]
    texts = [t.decode() for t in p["text"][:]] if "text" in p else [p[i]["text"][()].decode() for i in p]
    for e in f["experiments"].values():
        if "half_of_prompt" in e: texts = [t for t, h in zip(texts, e["half_of_prompt"][:]) if h == 1]
    print(json.dumps(texts))`,
    path,
  );

const go = (viewer: Viewer, hash: string) =>
  viewer.page.evaluate((address) => (location.hash = address), hash);

const placesOn: Record<string, string> = {
  head: '.banner',
  compare: '.banner',
  overview: '.selected',
};

test('every effect beside attention says of which prompts it is', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture(), verdict()]);
    const texts = measuredTexts(verdict());
    const example = texts[0]!.slice(0, 20);
    for (const [screen, place] of Object.entries(placesOn)) {
      await go(viewer, `#v=1&s=${screen}&h=1.7`);
      const said = page.locator(place);
      await said.waitFor();
      await page.waitForFunction(
        (at) => /not on this text/.test(document.querySelector(at)?.textContent ?? ''),
        place,
      );
      const words = await said.innerText();
      assert.match(words, /changes logit-diff by/, screen);
      assert.ok(words.includes(`${texts.length} of the `), `${screen}: ${words}`);
      assert.ok(words.includes('prompts of verdict.h5'), `${screen}: ${words}`);
      assert.ok(words.includes(`“${example}`), `${screen}: ${words}`);
    }
    await go(viewer, '#v=1&s=head&h=1.7');
    await page.getByRole('heading', { name: /of the 200 prompts of verdict\.h5/ }).waitFor();
  }),
);

test('a text that an experiment measured is said to be among its prompts', both, () =>
  withViewer(async (viewer) => {
    const captured = h5py<string[]>(
      `with h5py.File(sys.argv[1]) as f:
    print(json.dumps([f["prompts"][i]["text"][()].decode() for i in f["prompts"]]))`,
      several(),
    );
    const texts = measuredTexts(ablation());
    await viewer.open([several(), ablation()]);
    for (const [at, text] of captured.entries()) {
      await go(viewer, `#v=1&s=head&h=1.7&p=p00000${at}`);
      const end = texts.includes(text) ? 'this text among them.' : 'not on this text.';
      await viewer.page.getByText(end).waitFor();
    }
    assert.ok(captured.some((text) => texts.includes(text)));
  }),
);

test('results of several files are told apart by file and task in every list', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture(), ablation(), verdict()], '#v=1&s=overview');
    const lists = { overview: 'Effects of', causal: 'Experiment' };
    for (const [screen, label] of Object.entries(lists)) {
      await go(viewer, `#v=1&s=${screen}`);
      await page.locator('label', { hasText: label }).waitFor();
      const options = await page
        .locator('label', { hasText: label })
        .locator('option')
        .allTextContents();
      for (const [path, name] of [
        [ablation(), 'ablate.h5'],
        [verdict(), 'verdict.h5'],
      ] as const) {
        const start = h5py<string>(
          `with h5py.File(sys.argv[1]) as f:
    p = f["prompts"]
    print(json.dumps((p["text"][0] if "text" in p else p["p000000"]["text"][()]).decode()))`,
          path,
        );
        const first = name === 'verdict.h5' ? measuredTexts(path)[0]! : start;
        const fitting = options.filter((text) => text.includes(`${name}: “${first.slice(0, 20)}`));
        assert.ok(fitting.length > 0, `${screen}: ${options.join(' | ')}`);
      }
      assert.equal(new Set(options).size, options.length, options.join(' | '));
    }
  }),
);
