import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import { encoderDecoder, writtenByH5py, without } from '../support/fixtures';

/** Effects of one head of each kind and one whole MLP, of the model of `encoderDecoder()`. */
const effects = (): string =>
  writtenByH5py(
    'encoder_decoder_effects.h5',
    `g = h5py.File(${JSON.stringify(encoderDecoder())})
for k, v in g.attrs.items(): f.attrs[k] = v
f.attrs["kind"] = np.bytes_(b"ablate")
g.copy("model", f)
e = f.create_group("experiments/ablate")
e.attrs["kind"] = np.bytes_(b"ablate"); e.attrs["metric"] = np.bytes_(b"logit-diff")
e["methods"] = np.array([b"zero"])
cells = [b"%s:%d.%d" % (s, l, h) for s in (b"enc", b"dec", b"cross") for l in range(2) for h in range(3)]
e["cells"] = np.array(cells + [b"mlp:0"])
d = e.create_dataset("effect", data=np.arange(19, dtype="f8")[None] - 9.5)
d.attrs["dims"] = np.bytes_(b"method cell")`,
  );

test(
  'encoder, decoder and cross attention each have their effects',
  { skip: without('library', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([encoderDecoder(), effects()], '#v=1&g=effect');
      await viewer.heads();
      const picked = page.locator('.toolbar .pick', { hasText: /^Attention/ }).locator('select');
      for (const [at, stack] of ['encoder', 'decoder', 'cross'].entries()) {
        await picked.selectOption(stack);
        assert.equal((await viewer.state()).stack, stack);
        const { columns } = await viewer.state();
        const expected = Array.from({ length: 6 }, (_, i) => 6 * at + i - 9.5);
        assert.deepEqual(columns.effect, expected, stack);
      }
      await page.keyboard.press('4');
      await page.locator('.causal-grids canvas').waitFor();
      await page.getByRole('button', { name: 'List', exact: true }).click();
      const names = await page.locator('.unit-list tbody th').allInnerTexts();
      assert.deepEqual(names.slice(0, 3), ['enc:0.0', 'enc:0.1', 'mlp:0']);
      await page.getByRole('button', { name: 'cross:1.2' }).click();
      const { screen, stack, head } = await viewer.state();
      assert.deepEqual([screen, stack, head], ['head', 'cross', '1.2']);
    }),
);

test(
  'effects alone, without maps, still tell the stacks apart',
  { skip: without('library', 'python') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([effects()], '#v=1&a=cross');
      const { columns, heads } = await viewer.heads();
      assert.equal(heads, 6);
      assert.deepEqual(columns.effect, [2.5, 3.5, 4.5, 5.5, 6.5, 7.5]);
    }),
);
