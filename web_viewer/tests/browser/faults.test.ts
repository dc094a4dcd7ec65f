import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import { capture, folder, h5py, halves, several, storedCell, without } from '../support/fixtures';
import { serve } from '../support/server';

const cards = (viewer: Viewer) => viewer.page.locator('.failure');
const status = (viewer: Viewer) => viewer.page.locator('.bottom .status');
const to = (viewer: Viewer, hash: string) =>
  viewer.page.evaluate((next) => (location.hash = next), hash);

test(
  'a file that vanished is said to be gone, and nothing else is said of what it held',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      viewer.expected.push(/404/);
      const path = join(folder, 'vanishing.h5');
      copyFileSync(several(), path);
      const files = { 'run.h5': capture(), 'vanishing.h5': path };
      const server = await serve({ files, listed: true });
      await viewer.goto(`${server.url}#v=1&s=head&h=1.7`);
      await viewer.page.waitForFunction(() => window.__attnscope.state().files.length === 2);
      await viewer.value(5, 2);
      renameSync(path, `${path}.away`);
      await to(viewer, '#v=1&s=head&h=1.7&fi=vanishing.h5&p=p000002');
      await cards(viewer).filter({ hasText: 'vanishing.h5 is gone' }).waitFor();
      const page = viewer.page.locator('main');
      await page.getByText('p000002 could not be read').waitFor();
      assert.doesNotMatch(await page.innerText(), /is stored here|attnscope capture/);
      assert.equal(await cards(viewer).count(), 1);

      renameSync(`${path}.away`, path);
      await viewer.page.getByRole('button', { name: 'Reload' }).click();
      await cards(viewer).waitFor({ state: 'detached' });
      await viewer.value(5, 2);
      assert.equal((await viewer.state()).prompt, 'p000002');
      await server.close();
      rmSync(path);
    }),
);

test(
  'a server that is stopped, and one that was started anew, are one card with the way on',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      viewer.expected.push(/ERR_/, /401/);
      const path = heavy();
      const files = { 'many-maps.h5': path, 'run.h5': capture() };
      const first = await serve({ files, listed: true });
      const port = Number(new URL(first.url).port);
      await viewer.goto(`${first.url}#v=1&s=head&h=0.0`);
      await viewer.page.waitForFunction(() => window.__attnscope.state().files.length === 2);
      await viewer.value(5, 2);
      await first.close();

      await to(viewer, '#v=1&s=head&h=0.2');
      await cards(viewer).filter({ hasText: 'The server was stopped' }).waitFor();
      const text = await cards(viewer).innerText();
      assert.ok(text.includes(`attnscope view ${path} ${capture()}`), text);
      assert.doesNotMatch(text, /verify/);
      await status(viewer)
        .filter({ hasText: /^4 tiles could not be read/ })
        .waitFor();

      // Of a prompt that cannot be read, the one before it is not shown in its place.
      await to(viewer, '#v=1&s=head&h=0.2&p=p000001');
      await viewer.page.locator('main').getByText('p000001 could not be read').waitFor();
      assert.equal(await viewer.page.evaluate(() => window.__attnscope.value(5, 2)), null);
      await to(viewer, '#v=1&s=head&h=0.2');

      const locked = await serve({ files, port, locked: true });
      await to(viewer, '#v=1&s=head&h=0.3');
      await cards(viewer).filter({ hasText: 'The server was started anew' }).waitFor();
      assert.equal(await cards(viewer).count(), 1);
      assert.doesNotMatch(await cards(viewer).innerText(), /verify/);
      await locked.close();

      const again = await serve({ files, port, listed: true });
      await viewer.page.getByRole('button', { name: 'Try again' }).click();
      await cards(viewer).waitFor({ state: 'detached' });
      assert.equal(await viewer.value(300, 20), storedCell(path, '0.3', 300, 20));
      assert.deepEqual((await viewer.state()).files, ['many-maps.h5', 'run.h5']);
      await again.close();
    }),
);

test(
  'parts of a run that lie on a server are asked for again as well, in place of the old ones',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      viewer.expected.push(/ERR_/);
      const [one, two] = halves() as [string, string];
      const files = { 'half-1.h5': one, 'half-2.h5': two, 'many-maps.h5': heavy() };
      const first = await serve({ files, listed: true });
      const port = Number(new URL(first.url).port);
      await viewer.goto(`${first.url}#v=1&s=head&h=1.7`);
      await viewer.page.locator('.partial', { hasText: 'all 2 parts' }).waitFor();
      await viewer.page.waitForFunction(() => window.__attnscope.state().files.length === 2);
      await to(viewer, '#v=1&s=file');
      await status(viewer).filter({ hasText: 'served file' }).waitFor();
      await first.close();
      await to(viewer, '#v=1&s=head&h=0.2&fi=many-maps.h5');
      await cards(viewer).filter({ hasText: 'The server was stopped' }).waitFor();
      const text = await cards(viewer).innerText();
      assert.ok(text.includes(`attnscope view ${one} ${two} ${heavy()}`), text);

      const again = await serve({ files, port, listed: true });
      await viewer.page.getByRole('button', { name: 'Try again' }).click();
      await cards(viewer).waitFor({ state: 'detached' });
      assert.equal(
        await viewer.value(300, 20),
        storedCell(join(folder, 'many-maps.h5'), '0.2', 300, 20),
      );
      assert.deepEqual((await viewer.state()).files, ['half-1.h5', 'many-maps.h5']);
      for (const at of [0, 1]) assert.ok(again.requests.some((path) => path.startsWith(`${at} `)));
      for (const id of ['p000001', 'p000006']) {
        await to(viewer, `#v=1&s=head&h=1.7&fi=half-1.h5&p=${id}`);
        await viewer.page.waitForFunction(
          (value) => window.__attnscope.value(5, 2) === value,
          storedCell(several(), '1.7', 5, 2, id),
        );
      }
      await again.close();
    }),
);

/** Maps that fill several blocks, so that not all of them are read at once. */
function heavy(): string {
  const path = join(folder, 'many-maps.h5');
  h5py<null>(
    `rng = np.random.default_rng(1)
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["run_id"] = np.bytes_(b"0123")
    for name in ("p000000", "p000001"):
        p = f.create_group("prompts/" + name); p["text"] = np.bytes_(b"many")
        p.create_dataset("cache/blocks.0.attn.hook_pattern", data=rng.random((4, 512, 512), dtype="f4"), chunks=(1, 256, 256))
        f.flush()
        p["tokens/text"] = np.array([(b"t%d" % i).ljust(2000, b"x") for i in range(512)])
print("null")`,
    path,
  );
  return path;
}

test(
  'cards never lie over the screen, can be folded, and are closed all at once',
  { skip: without('command', 'python') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      mkdirSync(folder, { recursive: true });
      const broken = Array.from({ length: 8 }, (_, i) => join(folder, `broken-${i}.h5`));
      for (const path of broken) writeFileSync(path, 'not HDF5 at all');
      await viewer.open([capture(), ...broken], '#v=1&s=head&h=1.7');
      assert.equal(await cards(viewer).count(), 8);
      const region = (await page.locator('.failures').boundingBox())!;
      assert.ok(region.height <= 720 / 3, `${region.height} of 720 pixels`);
      for (const part of ['main', '.head-columns aside', '.bottom', '.top']) {
        const box = (await page.locator(part).first().boundingBox())!;
        const apart = box.y + box.height <= region.y + 1 || region.y + region.height <= box.y + 1;
        assert.ok(apart, `${part} lies under the cards`);
      }
      // The last export can be reached.
      await page.locator('aside button').last().click({ trial: true });

      await page.getByRole('button', { name: '8 problems' }).click();
      assert.equal(await cards(viewer).count(), 0);
      assert.ok((await page.locator('.failures').boundingBox())!.height < 40);
      await page.getByRole('button', { name: '8 problems' }).click();
      await cards(viewer).first().getByRole('button', { name: 'Close' }).click();
      assert.equal(await cards(viewer).count(), 7);
      await page.getByRole('button', { name: 'Close all' }).click();
      assert.equal(await page.locator('.failures').count(), 0);
      assert.deepEqual((await viewer.state()).failures, []);
    }),
);
