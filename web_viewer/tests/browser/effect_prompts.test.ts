import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
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
      await viewer.go(`#v=1&s=${screen}&h=1.7`);
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
    await viewer.go('#v=1&s=head&h=1.7');
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
      await viewer.go(`#v=1&s=head&h=1.7&p=p00000${at}`);
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
      await viewer.go(`#v=1&s=${screen}`);
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

test('where the chosen file has no maps, the open capture that tells is one click away', both, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture(), verdict()], '#v=1&fi=verdict.h5');
    const look = page.locator('.first-look');
    await look.getByText('The chosen file does not tell').waitFor();
    assert.doesNotMatch(await look.innerText(), /no capture of this model/);
    await look.getByRole('button', { name: 'choose run.h5' }).click();
    const [best, share] = h5py<[string, number]>(
      `with h5py.File(sys.argv[1]) as f:
    d = f["prompts/p000000/attention/self/head_stats"]
    at = [n.decode() if isinstance(n, bytes) else n for n in d.attrs["names"]].index("induction")
    s = d[:, :, at]
    l, h = np.unravel_index(np.nanargmax(s), s.shape)
    print(json.dumps([f"{l}.{h}", float(s[l, h])]))`,
      capture(),
    );
    const named = look.locator('.named', { hasText: 'Best induction head' });
    await named.getByRole('button', { name: best }).waitFor();
    const shown = /puts ([\d.]+) %/.exec(await named.innerText())![1];
    assert.ok(Math.abs(Number(shown) - 100 * share) < 0.1, `${shown} for ${share}`);
  }),
);

test(
  'with dots of all prompts every number beside them is of all prompts, or says of which',
  both,
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture(), verdict()], '#v=1&st=verdict_attention_mass');
      await page.getByLabel('Dots of').selectOption('all');
      const [all, attention] = h5py<[number[], number[]]>(
        `with h5py.File(sys.argv[1]) as f:
    e = f["experiments/verdict"]
    names = [m.decode() for m in e["measures"][:]]
    print(json.dumps([e["effect_all"][0].ravel().tolist(),
        e["attention_all"][:, :, names.index("attention mass")].ravel().tolist()]))`,
        verdict(),
      );
      assert.match(
        await page.locator('.scatter').innerText(),
        /Measured on 200 prompts of verdict\.h5/,
      );
      assert.match(await page.locator('.first-look').innerText(), /by the 100 prompts that have/);
      const { points } = (await viewer.state()) as unknown as {
        points: { xs: number[]; ys: number[] };
      };
      assert.deepEqual(points.ys, all);
      const canvas = page.locator('.scatter .canvas');
      const box = (await canvas.boundingBox())!;
      const tip = page.locator('.scatter .tip');
      // The pointer looks for a dot line by line.
      for (let y = box.y + 6; y < box.y + box.height && !(await tip.count()); y += 7) {
        for (let x = box.x + 50; x < box.x + box.width && !(await tip.count()); x += 9) {
          await page.mouse.move(x, y);
        }
      }
      const words = await tip.innerText();
      const at = Number(words.split('.')[0]) * 8 + Number(/^\d+\.(\d+)/.exec(words)![1]);
      const numbers = [...words.replaceAll('−', '-').matchAll(/[-+]?\d+\.?\d*(e-?\d+)?/g)].map(
        ([number]) => Number(number),
      );
      for (const stored of [all[at]!, attention[at]!]) {
        assert.ok(
          numbers.some((number) => Math.abs(number - stored) <= 0.0051 * Math.abs(stored)),
          `${stored} in ${words}`,
        );
      }
      assert.match(words, /on all 200 prompts, without an interval/);
    }),
);
