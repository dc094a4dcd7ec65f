import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import {
  halves,
  h5py,
  measurements,
  packed,
  packedParts,
  several,
  sweep,
  sweepParts,
  storedCell,
  without,
} from '../support/fixtures';

/** Drops another part and waits for what the header then says. */
async function add(viewer: Viewer, part: string, words: string): Promise<void> {
  await viewer.page.locator('input[type=file]').first().setInputFiles([part]);
  await viewer.page.locator('.partial', { hasText: words }).waitFor();
  assert.match(await viewer.page.locator('.bottom').innerText(), new RegExp(words));
}

test('parts of a capture are browsed as one', { skip: without('command', 'python') }, () =>
  withViewer(async (viewer) => {
    const [first, second] = halves() as [string, string];
    await viewer.open([second], '#v=1&s=head&h=1.7');
    assert.match(await viewer.page.locator('.bottom').innerText(), /partial: 1 of 2 parts/);
    await add(viewer, first, 'all 2 parts');
    await viewer.go('#v=1&s=head&h=1.7&p=p000006');
    const whole = storedCell(several(), '1.7', 5, 2, 'p000006');
    await viewer.page.waitForFunction((value) => window.__attnscope.value(5, 2) === value, whole);
  }),
);

test('packed parts are browsed as one', { skip: without('command', 'python') }, () =>
  withViewer(async (viewer) => {
    const [first, second, third] = packedParts() as [string, string, string];
    const expected = h5py<{
      split: number[];
      induction: (number | null)[];
      one: (number | null)[];
    }>(
      `with h5py.File(sys.argv[1]) as f:
    d = f["packed/attention/self/head_stats"]
    at = [n.decode() for n in d.attrs["names"]].index("induction")
    counts = [len(h5py.File(p)["offsets"]) - 1 for p in sys.argv[2:]]
    keep = list(range(counts[0])) + list(range(counts[0] + counts[1], sum(counts)))
    plain = lambda v: [None if np.isnan(x) else float(x) for x in v.ravel()]
    print(json.dumps({"split": counts, "induction": plain(np.nanmean(d[keep][..., at].astype("f8"), axis=0)),
      "one": plain(d[counts[0] + 3][..., at])}))`,
      packed(),
      first,
      second,
      third,
    );
    await viewer.open([third], '#v=1&st=induction');
    await add(viewer, first, 'partial: 2 of 3 parts');
    const [a, b, c] = expected.split as [number, number, number];
    await viewer.page.getByText(`means over ${a + c} prompts`).waitFor();
    const close = (got: number[] | undefined, wanted: (number | null)[]) =>
      wanted.forEach((value, head) => {
        if (value !== null) assert.ok(Math.abs(got![head]! - value) < 1e-5, String(head));
      });
    close((await viewer.state()).columns.induction, expected.induction);
    await add(viewer, second, 'all 3 parts');
    await viewer.page.getByText(`means over ${a + b + c} prompts`).waitFor();
    const id = `p${String(a + 3).padStart(6, '0')}`;
    await viewer.go(`#v=1&st=induction&p=${id}`);
    await viewer.page.getByText('means over').waitFor({ state: 'detached' });
    await viewer.heads();
    close((await viewer.state()).columns.induction, expected.one);
  }),
);

test(
  'parts of a sweep show the effects of their cells, and leave the others empty',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const [first, second, third] = sweepParts('ablate') as [string, string, string];
      const [whole, cells] = h5py<[number[], string[][]]>(
        `effect = h5py.File(sys.argv[1])["experiments/ablate/effect"][0].ravel().tolist()
cells = [[c.decode() for c in h5py.File(p)["experiments/ablate/cells"][:].ravel()] for p in sys.argv[2:]]
print(json.dumps([effect, cells]))`,
        sweep('ablate'),
        first,
        second,
        third,
      );
      await viewer.open([third], '#v=1&s=causal');
      await add(viewer, first, 'partial: 2 of 3 parts');
      const effects = async () => (await viewer.heads()).columns.effect!;
      // Heads that no part at hand has measured are gaps, not zeros.
      const missing = new Set(cells[1]);
      const measured = whole.filter((_, at) => !missing.has(`${Math.floor(at / 8)}.${at % 8}`));
      const some = await effects();
      assert.equal(some.length, measured.length);
      some.forEach((effect, at) => assert.ok(Math.abs(effect - measured[at]!) < 1e-4, String(at)));
      await add(viewer, second, 'all 3 parts');
      (await effects()).forEach((effect, at) => assert.ok(Math.abs(effect - whole[at]!) < 1e-4));
      // The same part again changes nothing.
      await viewer.page.locator('input[type=file]').first().setInputFiles([second]);
      await viewer.page.getByText('open already').waitFor();
      assert.equal((await viewer.state()).files.length, 1);
    }),
);

test(
  'measurements of an interrupted sweep say what they are, and give no effects',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([await measurements()]);
      assert.match(await viewer.page.locator('.partial').innerText(), /partial: 1 of \d+ parts/);
      const { screen, columns } = await viewer.state();
      assert.equal(screen, 'file');
      assert.equal(columns.effect, undefined);
      assert.match(await viewer.page.locator('main').innerText(), /interrupted.*--resume goes on/s);
    }),
);
