import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withViewer } from '../support/browser';
import { lens, patching, several, verdict, without } from '../support/fixtures';

/** Pictures for a human eye, and for the README, are left here. */
const out = join(VIEWER_ROOT, 'build/screens');

const VIEWS: Record<string, string> = {
  overview: '#v=1',
  sorted: '#v=1&o=size&h=3.1',
  effect: '#v=1&g=effect&h=3.1&pd=1',
  table: '#v=1&g=table&o=size',
  head: '#v=1&s=head&h=3.1&p=p000003',
  tray: '#v=1&s=head&h=3.1&p=p000003&tray=3.1,0.2,1.7',
  lines: '#v=1&s=head&h=3.1&p=p000003&w=lines',
  text: '#v=1&s=head&h=3.1&p=p000003&w=text&q=17&j=10,11',
  compare: '#v=1&s=compare&h=3.1&vs=several.h5:p000000:1.7',
  causal: '#v=1&s=causal',
  patching: '#v=1&s=causal&e=patch_layer_pos',
  lens: '#v=1&s=lens',
  file: '#v=1&s=file',
};

for (const [width, height, dark] of [
  [1280, 720, false],
  [1920, 1080, true],
] as const) {
  const name = `${width}${dark ? '-dark' : ''}`;
  test(`every screen fits ${width} × ${height} and draws`, { skip: without('command') }, () =>
    withViewer(
      async (viewer) => {
        mkdirSync(out, { recursive: true });
        const { page } = viewer;
        await viewer.open([several(), verdict(), patching(), lens()]);
        await viewer.heads();
        for (const [view, hash] of Object.entries(VIEWS)) {
          await viewer.go(hash);
          await page.screenshot({ path: join(out, `${view}-${name}.png`) });
          const overflow = await page.evaluate(() => {
            const { scrollWidth, scrollHeight, clientWidth, clientHeight } =
              document.documentElement;
            return [scrollWidth - clientWidth, scrollHeight - clientHeight];
          });
          assert.deepEqual(overflow, [0, 0], `${view} needs no scrolling of the page`);
          assert.equal(await page.locator('.link-words').count(), 0, `${view} is what is shown`);
          if (await page.locator('.toolbar').count()) {
            assert.equal(await viewer.toolbarLines(), 1, `${view} has its controls on one line`);
          }
          if (view === 'overview') {
            // The scatter is seen with its legend.
            const legend = await page.locator('.legend').boundingBox();
            const aside = await page.locator('aside').boundingBox();
            assert.ok(legend!.y + legend!.height <= aside!.y + aside!.height);
          }
          // A canvas on which nothing was drawn is one colour throughout.
          const flat = await page.evaluate(
            () =>
              [...document.querySelectorAll('canvas')].filter((canvas) => {
                const { data } = canvas
                  .getContext('2d')!
                  .getImageData(0, 0, canvas.width, canvas.height);
                const pixels = new Uint32Array(data.buffer);
                return pixels.every((pixel) => pixel === pixels[0]);
              }).length,
          );
          assert.equal(flat, 0, `${view} draws on every canvas`);
        }
      },
      { width, height, dark },
    ),
  );
}
