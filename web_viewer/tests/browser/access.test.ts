import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { SCREENS } from '../../src/state/hash';
import { PAGE, withViewer, type Viewer } from '../support/browser';
import {
  capture,
  lens,
  several,
  verdict,
  without,
  folder,
  sweepParts,
  writtenByH5py,
} from '../support/fixtures';

const axeSource = readFileSync(
  createRequire(join(VIEWER_ROOT, 'package.json')).resolve('axe-core/axe.min.js'),
  'utf8',
);

interface Violation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

async function check(viewer: Viewer, what: string): Promise<void> {
  // The page's policy forbids inline scripts, not what the browser's own tools run.
  await viewer.page.evaluate(axeSource);
  const violations = await viewer.page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: unknown }> };
    };
    return (await axe.run()).violations as Violation[];
  });
  const told = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n  ${nodes[0]?.html}\n  ${nodes[0]?.failureSummary}`,
  );
  assert.deepEqual(told, [], what);
}

for (const dark of [false, true]) {
  test(
    `axe finds nothing on any screen, ${dark ? 'dark' : 'light'}`,
    { skip: without('command') },
    () =>
      withViewer(
        async (viewer) => {
          await viewer.goto(PAGE);
          await check(viewer, 'welcome');
          await viewer.open([several(), verdict(), lens()], '#v=1&h=1.7&pd=1&tray=1.7,0.2');
          await viewer.heads();
          for (const screen of SCREENS) {
            await viewer.go(`#v=1&h=1.7&tray=1.7&s=${screen}`);
            assert.equal((await viewer.state()).screen, screen);
            await check(viewer, screen);
          }
          for (const view of ['lines', 'text']) {
            await viewer.go(`#v=1&h=1.7&s=head&w=${view}`);
            await check(viewer, view);
          }
          await viewer.page.keyboard.press('?');
          await check(viewer, 'help');
        },
        { dark },
      ),
  );
}

test('every text is at least 12 pixels high', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    await viewer.open([capture(), verdict()], '#v=1&h=1.7');
    await viewer.heads();
    for (const screen of SCREENS) {
      await viewer.go(`#v=1&h=1.7&s=${screen}`);
      const small = await viewer.page.evaluate(() =>
        [...document.querySelectorAll('body *')]
          .filter((element) =>
            [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim()),
          )
          .filter((element) => !['SCRIPT', 'STYLE'].includes(element.tagName))
          .filter((element) => parseFloat(getComputedStyle(element).fontSize) < 12)
          .map((element) => element.outerHTML.slice(0, 80)),
      );
      assert.deepEqual(small, [], screen);
    }
  }),
);

test(
  'axe finds nothing in the list of prompts, the table of heads and a card',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open(
        [several(), verdict(), join(VIEWER_ROOT, 'package.json')],
        '#v=1&pd=1&g=table&o=size',
      );
      await viewer.heads();
      await viewer.page.locator('.drawer-row').first().waitFor();
      await viewer.page.locator('.failure').waitFor();
      await check(viewer, 'drawer, table and card');
    }),
);

for (const dark of [false, true]) {
  test(
    `axe finds nothing in cards with buttons, the reminder of names and a part, ${dark ? 'dark' : 'light'}`,
    { skip: without('command', 'python') },
    () =>
      withViewer(
        async (viewer) => {
          const { page } = viewer;
          const changing = join(folder, 'vanishing.h5');
          copyFileSync(writtenByH5py('one_map.h5', ONE_MAP), changing);
          const newer = writtenByH5py(
            'newer.h5',
            'f.attrs["schema"] = np.bytes_(b"attnscope/2"); f.attrs["schema_version"] = [2, 1]',
          );
          await viewer.open([changing, newer, join(VIEWER_ROOT, 'package.json')]);
          await viewer.heads();
          writeFileSync(changing, 'gone');
          await page.evaluate(() => (location.hash = '#v=1&s=head&h=0.1'));
          await page.getByRole('button', { name: 'Pick it again' }).waitFor();
          await check(viewer, 'cards');
          await viewer.goto(PAGE);
          await page.getByRole('button', { name: 'Forget these names' }).waitFor();
          await check(viewer, 'names');
          await viewer.open([sweepParts('ablate')[0]!], '#v=1&s=file');
          await page.locator('.partial').waitFor();
          await check(viewer, 'part');
        },
        { dark },
      ),
  );
}

const ONE_MAP = `f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
f.attrs["kind"] = np.bytes_(b"capture")
p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"one map")
p["tokens/text"] = np.array([b"t%d" % i for i in range(512)])
p.create_dataset("cache/blocks.0.attn.hook_pattern", data=np.random.default_rng(3).random((2, 512, 512), dtype="f4"), chunks=(1, 256, 256))`;

/** Presses Tab until the element in focus has this name; all on the way show that they have it. */
async function tabTo(viewer: Viewer, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; ++presses) {
    await viewer.page.keyboard.press('Tab');
    const focused = await viewer.page.evaluate(() => {
      const element = document.activeElement as HTMLElement;
      // After the last element the page itself has its turn.
      if (element === document.body) return { name: '', seen: true };
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const name = element.getAttribute('aria-label') ?? element.textContent ?? '';
      return {
        name: name.slice(0, 200),
        seen: outlineStyle !== 'none' && parseFloat(outlineWidth) > 0,
      };
    });
    assert.ok(focused.seen, `${focused.name} shows no focus`);
    if (name.test(focused.name)) return;
  }
  assert.fail(`Tab never reaches ${name}`);
}

test(
  'files, prompts and cards are reached and used by keyboard alone',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.goto(PAGE);
      const pick = async (button: RegExp, files: string[]) => {
        const choosing = page.waitForEvent('filechooser');
        await tabTo(viewer, button);
        await page.keyboard.press('Enter');
        await (await choosing).setFiles(files);
      };
      await pick(/^Pick files$/, [several()]);
      await viewer.heads();
      await page.keyboard.press('p');
      await page.locator('.drawer-row').first().waitFor();
      await tabTo(viewer, /Search prompts/);
      const first = (await viewer.state()).prompt;
      const word = (await page.locator('.drawer-row').nth(5).innerText()).split(' ')[3]!;
      await page.keyboard.type(word);
      await page.locator('.drawer-head [role=status]', { hasText: / of 8/ }).waitFor();
      await tabTo(viewer, new RegExp(`${word}.*p00000`, 's'));
      await page.keyboard.press('Enter');
      assert.notEqual((await viewer.state()).prompt, first);
      await pick(/^Open$/, [join(VIEWER_ROOT, 'package.json')]);
      await page.locator('.failure').waitFor();
      await tabTo(viewer, /^Close$/);
      await tabTo(viewer, /^Close$/);
      await page.keyboard.press('Enter');
      await page.locator('.failure').waitFor({ state: 'detached' });
      await page.keyboard.press('?');
      await page.locator('dialog[open]').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('dialog[open]').waitFor({ state: 'detached' });
      assert.equal((await viewer.state()).drawer, true);
    }),
);
