import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import { lens, patching, several, verdict, without } from '../support/fixtures';

const VIEWS: Record<string, string> = {
  overview: '#v=1',
  effect: '#v=1&g=effect',
  table: '#v=1&g=table&o=size',
  prompts: '#v=1&pd=1',
  head: '#v=1&s=head&h=3.1',
  weighed: '#v=1&s=head&h=3.1&sink=0&vw=1&d=fixed&tray=3.1,0.2,1.7&f=the',
  lines: '#v=1&s=head&h=3.1&w=lines',
  text: '#v=1&s=head&h=3.1&w=text&q=17&j=10,11',
  compare: '#v=1&s=compare&h=3.1',
  causal: '#v=1&s=causal',
  patching: '#v=1&s=causal&e=patch_layer_pos',
  lens: '#v=1&s=lens',
  file: '#v=1&s=file',
};

/** What reaches over the right edge of the window, and is not in a part that scrolls by itself. */
const tooWide = (viewer: Viewer): Promise<string[]> =>
  viewer.page.evaluate(() => {
    const scrolls = (element: Element | null): boolean => {
      for (let at = element; at && at.tagName !== 'MAIN' && at !== document.body;) {
        const { overflowX } = getComputedStyle(at);
        if (overflowX !== 'visible' && at.getBoundingClientRect().right <= innerWidth) return true;
        at = at.parentElement;
      }
      return false;
    };
    return [...document.querySelectorAll('body *')]
      .filter((element) => {
        const { right, width, height } = element.getBoundingClientRect();
        return width > 1 && height > 1 && right > innerWidth + 0.5;
      })
      .filter((element) => !scrolls(element.parentElement))
      .map((element) => `${element.tagName}.${element.className}`);
  });

for (const [width, height] of [
  [320, 480],
  [500, 800],
  [780, 600],
] as const) {
  test(
    `at ${width} × ${height} nothing is wider than the window, and maps stand above numbers`,
    { skip: without('command') },
    () =>
      withViewer(
        async (viewer) => {
          const { page } = viewer;
          assert.deepEqual(await tooWide(viewer), []);
          await viewer.open([several(), verdict(), patching(), lens()]);
          await viewer.heads();
          assert.deepEqual(await tooWide(viewer), [], 'welcome');
          for (const [view, hash] of Object.entries(VIEWS)) {
            await viewer.go(hash);
            if (process.env.ATTNSCOPE_PICTURES) {
              await page.screenshot({
                path: `${process.env.ATTNSCOPE_PICTURES}/${view}-${width}.png`,
              });
            }
            assert.deepEqual(await tooWide(viewer), [], `${view} fits`);
            const scrolled = await page.evaluate(() => [
              document.documentElement.scrollWidth - innerWidth,
              document.querySelector('main')!.scrollWidth -
                document.querySelector('main')!.clientWidth,
            ]);
            assert.deepEqual(scrolled, [0, 0], `${view} is not scrolled sideways`);
            const [stage, aside] = await page.evaluate(() =>
              ['.stage, .grid-scroll', 'main aside'].map((name) =>
                document.querySelector(name)?.getBoundingClientRect().toJSON(),
              ),
            );
            if (!aside || !stage) continue;
            assert.ok(stage.y + stage.height <= aside.y, `${view}: the map is above`);
            const room = (await page.locator('main').boundingBox())!.width;
            assert.ok(stage.width >= room - 30, `${view}: ${stage.width} of ${room}`);
            assert.ok(stage.height >= 250, `${view}: ${stage.height} high`);
          }
          const panels = page.locator('.compare-panel .canvas');
          await viewer.go('#v=1&s=compare&h=3.1');
          await panels.nth(2).waitFor();
          const boxes = await Promise.all([0, 1, 2].map((at) => panels.nth(at).boundingBox()));
          for (const box of boxes) assert.ok(box!.width >= width - 30, `${box!.width}`);
        },
        { width, height },
      ),
  );
}
