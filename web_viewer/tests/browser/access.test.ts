import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { SCREENS } from '../../src/state/hash';
import { PAGE, withViewer, type Viewer } from '../support/browser';
import { capture, lens, several, verdict, without } from '../support/fixtures';

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
            await viewer.page.evaluate(
              (name) => (location.hash = `#v=1&h=1.7&tray=1.7&s=${name}`),
              screen,
            );
            await viewer.page.waitForFunction(
              (name) => window.__attnscope.state().screen === name,
              screen,
            );
            await check(viewer, screen);
          }
          for (const view of ['lines', 'text']) {
            await viewer.page.evaluate(
              (name) => (location.hash = `#v=1&h=1.7&s=head&w=${name}`),
              view,
            );
            await viewer.page.waitForTimeout(200);
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
      await viewer.page.evaluate((name) => (location.hash = `#v=1&h=1.7&s=${name}`), screen);
      await viewer.page.waitForTimeout(150);
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
