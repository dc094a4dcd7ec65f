import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenLabel } from '../../src/model/tokens';
import { PAGE, withViewer } from '../support/browser';
import { lens, patching, several, verdict, without } from '../support/fixtures';

test('signs for what cannot be seen are in the font, and are no boxes', () =>
  withViewer(async (viewer) => {
    await viewer.goto(PAGE);
    const labels = [' ', '\n', '\t', '\r', '\0', '\u202e', ' \n', 'Ġ', 'Ċ', 'ĉ'].map((token) =>
      tokenLabel(token),
    );
    const boxes = await viewer.page.evaluate((texts) => {
      const drawn = (text: string) => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [24, 24];
        const context = canvas.getContext('2d')!;
        context.font = `16px ${getComputedStyle(document.body).fontFamily}`;
        context.fillText(text, 2, 18);
        return canvas.toDataURL();
      };
      // No font has what is not a character.
      const none = [drawn('\u{10fffd}'), drawn('\u{1fffe}'), drawn(' ')];
      return [...new Set(texts.join(''))].filter((sign) => none.includes(drawn(sign)));
    }, labels);
    assert.deepEqual(boxes, []);
  }));

test(
  'what is chosen in a list is written out, or stands in its tooltip where it does not fit',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([several(), verdict(), patching(), lens()]);
      await viewer.heads();
      let cut = 0;
      for (const screen of ['overview', 'head', 'compare', 'causal', 'lens', 'file']) {
        await viewer.go(`#v=1&s=${screen}&h=3.1`);
        const lists = await page.evaluate(() =>
          [...document.querySelectorAll('select')].map((list) => {
            const context = document.createElement('canvas').getContext('2d')!;
            context.font = getComputedStyle(list).font;
            const text = list.selectedOptions[0]?.textContent ?? '';
            const fits = context.measureText(text).width + 20 <= list.clientWidth;
            return { text, fits, told: list.title.includes(text) };
          }),
        );
        for (const { text, fits, told } of lists) {
          assert.ok(fits || told, `${screen}: ${text}`);
          if (!fits) ++cut;
        }
      }
      assert.ok(cut > 0, 'a name of a result is too long for its list');
    }),
);
