import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withViewer, type ComparedCell, type Viewer } from '../support/browser';
import { capture, command, folder, h5py, half, several, without } from '../support/fixtures';
import { storedMap, tokenName } from '../support/stored_map';

/** Length of the longest common subsequence of two lists, by the table of all prefixes. */
const commonLength = (a: readonly string[], b: readonly string[]): number =>
  h5py<number>(
    `a, b = json.loads(sys.argv[1]), json.loads(sys.argv[2])
t = np.zeros((len(a) + 1, len(b) + 1), int)
for i, x in enumerate(a):
    for j, y in enumerate(b):
        t[i + 1, j + 1] = t[i, j] + 1 if x == y else max(t[i, j + 1], t[i + 1, j])
print(int(t[-1, -1]))`,
    JSON.stringify(a),
    JSON.stringify(b),
  );

async function compared(viewer: Viewer): Promise<ComparedCell[][]> {
  const cells = await viewer.page.waitForFunction(() => {
    const { rows, columns } = window.__attnscope.comparedShape();
    if (rows === 0) return null;
    const out = Array.from({ length: rows }, (_, r) =>
      Array.from({ length: columns }, (_, c) => window.__attnscope.compared(r, c)),
    );
    return out.every((row) => row.every((cell) => cell !== null)) ? out : null;
  });
  return (await cells.jsonValue()) as ComparedCell[][];
}

const status = (viewer: Viewer) => viewer.page.locator('.bottom .status').innerText();

test(
  'texts that differ are aligned by their tokens, and A − B is the difference of stored values',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const [a, b] = [storedMap(several(), 'p000000', 1, 7), storedMap(several(), 'p000005', 2, 4)];
      await viewer.open([several()], '#v=1&s=compare&p=p000000&h=1.7&vs=0:p000005:2.4&al=tokens');
      const cells = await compared(viewer);
      const pairs = cells.filter(([cell]) => cell!.query[0]! >= 0 && cell!.query[1]! >= 0);
      assert.equal(pairs.length, commonLength(a.tokens, b.tokens));
      const [onlyA, onlyB] = [a.tokens.length - pairs.length, b.tokens.length - pairs.length];
      assert.equal(cells.length, pairs.length + onlyA + onlyB);
      assert.match(
        await status(viewer),
        new RegExp(
          `queries: ${onlyA} only in A, ${onlyB} only in B \\(hatched\\) · keys: ${onlyA}`,
        ),
      );
      for (const { query, key, ...cell } of cells.flat()) {
        const [qa, qb] = query as [number, number];
        const [ka, kb] = key as [number, number];
        if (qa >= 0 && ka >= 0) assert.equal(cell.a, a.map[qa]![ka]);
        if (qb >= 0 && kb >= 0) assert.equal(cell.b, b.map[qb]![kb]);
        if (Math.min(qa, qb, ka, kb) < 0) continue;
        assert.equal(a.tokens[qa], b.tokens[qb]);
        assert.equal(cell.difference, Math.fround(a.map[qa]![ka]! - b.map[qb]![kb]!));
      }
      // Aligned by position, only what is longer is left over.
      await viewer.page
        .locator('label.pick', { hasText: 'Align' })
        .locator('select')
        .selectOption('position');
      const longer = Math.max(a.tokens.length, b.tokens.length);
      await viewer.page.waitForFunction(
        (rows) => window.__attnscope.comparedShape().rows === rows,
        longer,
      );
      assert.equal((await viewer.state()).align, 'position');
      const [first] = (await compared(viewer))[2]!;
      assert.deepEqual(first!.query, [2, 2]);
    }),
);

/** Two prompts of as many tokens, some of which differ. */
function alike(path: string): [string, string] {
  const ids = h5py<string[]>(
    'with h5py.File(sys.argv[1]) as f: print(json.dumps(sorted(f["prompts"])))',
    path,
  );
  const texts = ids.map((id) => storedMap(path, id, 0, 0).tokens);
  for (const [i, a] of texts.entries()) {
    const j = texts.findIndex(
      (b, at) => at > i && b.length === a.length && b.join('|') !== a.join('|'),
    );
    if (j >= 0) return [ids[i]!, ids[j]!];
  }
  throw new Error('no two prompts of one length');
}

test(
  'maps of one size are compared cell by cell unless tokens are asked for',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const [first, second] = alike(several());
      const [a, b] = [storedMap(several(), first, 1, 7), storedMap(several(), second, 1, 7)];
      await viewer.open(
        [several()],
        `#v=1&s=compare&p=${first}&h=1.7&vs=several.h5::${second}:1.7`,
      );
      const cells = await compared(viewer);
      assert.equal(cells.length, a.tokens.length);
      cells.flat().forEach(({ query, key, difference }) => {
        const [q, k] = [query[0]!, key[0]!];
        assert.deepEqual(
          [query, key],
          [
            [q, q],
            [k, k],
          ],
        );
        assert.equal(difference, Math.fround(a.map[q]![k]! - b.map[q]![k]!));
      });
      await page.getByText('The texts differ; equal positions stand beside each other').waitFor();
      const pick = page.locator('label.pick', { hasText: 'Align' }).locator('select');
      assert.equal(await pick.inputValue(), 'position');
      // Of the row that is pointed at both tokens are said where they differ.
      const differ = a.tokens.findIndex((token, at) => token !== b.tokens[at]);
      const box = (await page.locator('.compare-panel canvas').first().boundingBox())!;
      const said = page.locator('.compare-readout');
      for (let y = 0.2; y < 0.9; y += 0.02) {
        await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * y);
        if ((await said.innerText()).startsWith(`query ${differ} `)) break;
      }
      assert.ok(
        (await said.innerText()).startsWith(
          `query ${differ} ${tokenName(a.tokens[differ]!)} / ${differ} ${tokenName(b.tokens[differ]!)} → key`,
        ),
        await said.innerText(),
      );
      await pick.selectOption('tokens');
      const { align } = await viewer.state();
      assert.equal(align, 'tokens');
      await page.getByText('The texts differ; equal tokens stand beside each other').waitFor();
      assert.ok((await compared(viewer)).length > a.tokens.length);
    }),
);

test(
  'zoom and crosshair are of all three panels, and what is pointed at is said with both values',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      const [a, b] = [storedMap(several(), 'p000000', 1, 7), storedMap(several(), 'p000001', 1, 7)];
      await viewer.open([several()], '#v=1&s=compare&p=p000000&h=1.7&vs=0:p000001:1.7&al=position');
      await compared(viewer);
      const read = async (panel: number) => {
        const box = (await page.locator('.compare-panel canvas').nth(panel).boundingBox())!;
        await page.mouse.move(box.x + box.width * 0.45, box.y + box.height * 0.5);
        await page.waitForFunction(() =>
          /query \d.*A − B/.test(document.querySelector('.compare-readout')?.textContent ?? ''),
        );
        return page.locator('.compare-readout').innerText();
      };
      const line = await read(0);
      assert.equal(await read(2), line, 'the same place of any panel is the same cell');
      const numbers = /^query (\d+) .* → key (\d+) .*: A ([\d.e-]+), B ([\d.e-]+),/.exec(line)!;
      const [q, k, left, right] = numbers.slice(1).map(Number) as [number, number, number, number];
      assert.equal(Math.fround(left), a.map[q]![k]);
      assert.equal(Math.fround(right), b.map[q]![k]);
      await page.mouse.wheel(0, -300);
      await page.waitForFunction(() => (window.__attnscope.state().zoom as number[]).length === 4);
      await page.keyboard.press('x');
      const { prompt, versus, zoom } = await viewer.state();
      assert.equal(prompt, 'p000001');
      assert.match(String(versus), /^several\.h5:[0-9a-f]{16}:p000000:1\.7$/);
      assert.equal((zoom as number[]).length, 4, 'sides are swapped under the same window');
    }),
);

test('what a diff found opens the maps of both files', { skip: without('command', 'python') }, () =>
  withViewer(async (viewer) => {
    const path = join(folder, 'diff.h5');
    const files = [capture(), half()];
    if (!existsSync(path))
      execFileSync(command!, ['diff', ...files, '-o', path], { stdio: 'pipe' });
    const { page } = viewer;
    await viewer.open([path, ...files], '#v=1&s=compare');
    const first = page.locator('.diff-line .chip').first();
    await first.waitFor();
    const line = page.locator('.diff-line');
    const before = await line.innerText();
    assert.match(before, /other maps than these, run\.h5 and half\.h5, differ most in head/);
    assert.equal(await line.locator('.chip').count(), 1, 'beside other maps it takes one line');
    assert.ok((await line.boundingBox())!.height < 45);
    assert.doesNotMatch(before, /rounding alone/);
    const [name, value] = (await first.innerText()).split(' ');
    await first.click();
    await line.getByText('may be rounding alone').waitFor();
    assert.match(await line.innerText(), /between run\.h5 \(a\) and half\.h5 \(b\)/);
    assert.ok((await line.locator('.chip').count()) > 1);
    assert.match(await status(viewer), /A is of run\.h5 now, B of half\.h5\./);
    const [layer, head] = name!.split('.').map(Number);
    const [a, b] = files.map((file) => storedMap(file, 'p000000', layer!, head!).map);
    const cells = await compared(viewer);
    let most = 0;
    cells.forEach((row, q) =>
      row.forEach((cell, k) => {
        assert.deepEqual([cell.a, cell.b], [a![q]![k], b![q]![k]]);
        most = Math.max(most, Math.abs(cell.difference));
      }),
    );
    const expected = h5py<number>(
      `with h5py.File(sys.argv[1]) as f:
    e = f["experiments"]; print(float(e[sorted(e)[0]]["effect"][0].max()))`,
      path,
    );
    assert.ok(Math.abs(most - expected) < 1e-12, `${most} ${expected} ${value}`);
  }),
);

test('a map beside itself says that something is to be chosen', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([several()], '#v=1&s=compare&p=p000000&h=1.7');
    const banner = page.locator('.banner');
    const same = /A and B are the same map: choose another head, prompt or file for B/;
    await banner.filter({ hasText: same }).waitFor();
    for (const other of ['p000000:2.4', 'p000005:1.7']) {
      const hash = `#v=1&s=compare&p=p000000&h=1.7&vs=0:${other}`;
      await viewer.go(hash);
      await banner.filter({ hasNotText: same }).waitFor();
      await compared(viewer);
      assert.doesNotMatch(await banner.innerText(), same);
    }
  }),
);
