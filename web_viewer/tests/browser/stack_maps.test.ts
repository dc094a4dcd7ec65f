import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import { capture, encoderDecoder, h5py, long, without } from '../support/fixtures';

const ARRAY = `
with h5py.File(sys.argv[1]) as f:
    a = f["prompts/" + sys.argv[2]][...].astype("f8")
    print(json.dumps(np.where(np.isfinite(a), a, -1).tolist()))
`;
const array = <T>(path: string, name: string) => h5py<T>(ARRAY, path, name);

const stacks = [
  ['encoder', 'encoder', 'attn'],
  ['decoder', 'decoder', 'attn'],
  ['cross', 'decoder', 'cross_attn'],
] as const;

for (const [stack, side, block] of stacks) {
  test(
    `${stack} maps and statistics of an encoder–decoder file are those stored`,
    { skip: without('library', 'python') },
    () =>
      withViewer(async (viewer) => {
        const path = encoderDecoder();
        await viewer.open([path], `#v=1&s=head&a=${stack}&h=1.2`);
        for (const prompt of ['p000000', 'p000001']) {
          await viewer.go(`#v=1&s=head&a=${stack}&h=1.2&p=${prompt}`);
          await viewer.page.waitForFunction(
            (wanted) => window.__attnscope.state().prompt === wanted,
            prompt,
          );
          const maps = array<number[][][]>(path, `${prompt}/cache/${side}.1.${block}.hook_pattern`);
          for (const [q, row] of maps[2]!.entries()) {
            for (const [k, value] of row.entries()) assert.equal(await viewer.value(q, k), value);
          }
          const stats = array<number[][][]>(path, `${prompt}/attention/${stack}/head_stats`);
          const { columns } = await viewer.heads();
          assert.deepEqual(
            columns.entropy!.map((value) => Math.fround(value)),
            stats.flat().map((head) => Math.fround(head[0]!)),
          );
        }
      }),
  );
}

test(
  'a long map of some heads is fitted from its pyramid and exact where it is near',
  { skip: without('library', 'python') },
  () =>
    withViewer(async (viewer) => {
      const path = long(4096);
      await viewer.open([path], '#v=1&s=head&h=5.3');
      await viewer.page.waitForFunction(() =>
        /level ×4 \(largest of 4 × 4 cells\)|level ×16 \(largest/.test(
          document.querySelector('.bottom .status')?.textContent ?? '',
        ),
      );
      const read = `
with h5py.File(sys.argv[1]) as f:
    d = f["prompts/p000000/cache/blocks.5.attn.hook_pattern"]
    assert list(d.attrs["heads"]) == [1, 3]
    print(json.dumps([float(d[1, q, k]) for q, k in [(4000, 0), (3000, 2003), (3999, 3999), (7, 9)]]))
`;
      const expected = h5py<number[]>(read, path);
      const shown = [];
      for (const [q, k] of [
        [4000, 0],
        [3000, 2003],
        [3999, 3999],
        [7, 9],
      ] as const) {
        shown.push(await viewer.value(q, k));
      }
      assert.deepEqual(shown, expected);
    }),
);

test(
  'another main file is read by its own layers, whatever was on screen before',
  { skip: without('command', 'library', 'python') },
  () =>
    withViewer(async (viewer) => {
      const path = long(1100);
      await viewer.open([capture(), path], '#v=1&s=head&h=1.7');
      await viewer.value(5, 2);
      await viewer.go('#v=1&fi=long-1100.h5&s=head&h=5.3');
      const [expected] = h5py<number[]>(
        `
with h5py.File(sys.argv[1]) as f:
    print(json.dumps([float(f["prompts/p000000/cache/blocks.5.attn.hook_pattern"][1, 1050, 53])]))
`,
        path,
      );
      assert.equal(await viewer.value(1050, 53), expected);
      assert.deepEqual((await viewer.state()).failures, []);
    }),
);

test(
  'no colour stands above the diagonal, whatever was drawn while tiles were read',
  { skip: without('library') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const address = (zoom: string) => `#v=1&s=head&h=5.3${zoom}`;
      await viewer.open([long(300)], address(''));
      const views = [
        ['', 0, 0, 300],
        ['&z=0,0,120,120', 0, 0, 120],
        ['&z=180,180,60,60', 180, 180, 60],
      ] as const;
      for (const [zoom, left, top, side] of views) {
        await viewer.go(address(zoom));
        await page.mouse.move(2, 2);
        await viewer.rest();
        const seen = await page.evaluate(
          ([x, y, n]) => {
            const colors = new Set<string>();
            for (let q = y! + 1; q < y! + n! - 2; ++q) {
              for (let k = q + 2; k < x! + n! - 1; ++k)
                colors.add(String(window.__attnscope.pixel(q, k)));
            }
            return [...colors];
          },
          [left, top, side],
        );
        // Where two tiles meet the browser blends the same paper twice, and rounds.
        const paper = [236, 238, 240, 255];
        const far = seen.filter((color) =>
          color.split(',').some((part, i) => Math.abs(Number(part) - paper[i]!) > 1),
        );
        assert.deepEqual(far, [], zoom);
      }
    }),
);
