import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEYS } from '../../src/state/keys';
import { withViewer, type Shown, type Viewer } from '../support/browser';
import { capture, h5py, several, without } from '../support/fixtures';

interface Press {
  key: string;
  /** Where it is pressed; the Head screen of head 1.3 otherwise. */
  at?: string;
  /** The element that has the focus. */
  focus?: string;
  before?: (viewer: Viewer) => Promise<unknown>;
  /** What of the state it changes. */
  state?: Record<string, unknown>;
  /** What else is to be seen. */
  then?: (viewer: Viewer, state: Shown) => Promise<unknown>;
}

const HEAD = '#v=1&s=head&h=1.3';
const OVERVIEW = '#v=1&h=1.3';
const runId = (path: string): string =>
  h5py<string>(
    `with h5py.File(sys.argv[1]) as f: print(json.dumps(f.attrs["run_id"].decode()))`,
    path,
  );

const COMPARE = '#v=1&s=compare&h=1.3&vs=0:p000002:0.4';

const readout = (viewer: Viewer) => viewer.page.locator('.readout').innerText();
const search = async ({ page }: Viewer) => {
  await page.locator('.find').fill('Frank');
  await page.locator('.find').blur();
};
const zoomed = (_: Viewer, { zoom }: Shown) =>
  Promise.resolve(assert.equal((zoom as number[]).length, 4));

const PRESSES: Press[] = [
  ...(['overview', 'head', 'compare', 'causal', 'lens', 'file'] as const).map((screen, at) => ({
    key: `${at + 1}`,
    at: screen === 'head' ? OVERVIEW : HEAD,
    state: { screen },
  })),
  { key: 'ArrowLeft', state: { head: '1.2' } },
  { key: 'ArrowRight', state: { head: '1.4' } },
  { key: 'ArrowUp', state: { head: '0.3' } },
  { key: 'ArrowDown', state: { head: '2.3' } },
  ...['ArrowRight', 'ArrowDown'].map((key) => ({
    key,
    focus: '.head-map',
    state: { head: '1.3' },
    then: async (viewer: Viewer) => {
      const place = key === 'ArrowRight' ? /query 0[^]*key 1\s/ : /query 1\s[^]*key 0\s/;
      assert.match(await readout(viewer), place);
    },
  })),
  ...['ArrowLeft', 'ArrowUp'].map((key) => ({
    key,
    focus: '.head-map',
    before: async ({ page }: Viewer) => {
      for (const one of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight']) {
        await page.keyboard.press(one);
      }
    },
    then: async (viewer: Viewer) => {
      const place = key === 'ArrowLeft' ? /query 2[^]*key 1\s/ : /query 1\s[^]*key 2\s/;
      assert.match(await readout(viewer), place);
    },
  })),
  { key: 'Enter', at: OVERVIEW, state: { screen: 'head', head: '1.3' } },
  { key: 'Escape', state: { screen: 'overview' } },
  { key: 'Escape', at: `${HEAD}&q=1-3&j=2`, state: { queries: [], keys: [], screen: 'head' } },
  { key: 'Escape', at: `${OVERVIEW}&b=0,1,0,1`, state: { brush: [], head: '1.3' } },
  { key: 'Escape', at: OVERVIEW, state: { head: '' } },
  { key: 't', at: OVERVIEW, state: { show: 'statistic' } },
  { key: ']', at: OVERVIEW, state: { sort: 'induction' } },
  { key: '[', at: `${OVERVIEW}&o=induction`, state: { sort: '' } },
  { key: 'm', at: `${HEAD}&w=text`, state: { view: 'map' } },
  { key: 'b', state: { view: 'lines' } },
  { key: 'v', state: { view: 'text' } },
  { key: 'k', state: { sink: false } },
  { key: 'k', at: `${HEAD}&sink=0`, state: { sink: true } },
  { key: '+', then: zoomed },
  { key: '=', then: zoomed },
  {
    key: '-',
    at: `${HEAD}&z=4,4,8,8`,
    then: (_, { zoom }) => Promise.resolve(assert.ok(!((zoom as number[])[2]! <= 8))),
  },
  { key: '0', at: `${HEAD}&z=4,4,8,8`, state: { zoom: [] } },
  {
    key: '/',
    then: async ({ page }) =>
      assert.equal(await page.evaluate(() => document.activeElement?.className), 'find'),
  },
  // Of “Frank”, which is at positions 2 and 11.
  { key: 'n', before: search, then: async (v) => assert.match(await readout(v), /key 2\s+·Frank/) },
  {
    key: 'N',
    before: search,
    then: async (v) => assert.match(await readout(v), /key 11\s+·Frank/),
  },
  { key: 'c', state: { color: 'viridis' } },
  { key: 's', state: { scale: 'linear' } },
  { key: 'a', state: { tray: ['1.3'] } },
  { key: 'a', at: `${HEAD}&tray=0.1,1.3`, state: { tray: ['0.1'] } },
  { key: 'p', state: { drawer: true } },
  { key: 'p', at: `${HEAD}&pd=1`, state: { drawer: false } },
  { key: 'w', state: { words: true } },
  { key: 'h', at: `${HEAD}&tray=0.1,1.3`, state: { trayMode: 'mean' } },
  { key: 'h', at: `${HEAD}&tray=0.1,1.3&tm=mean`, state: { trayMode: 'max' } },
  { key: 'h', at: `${HEAD}&tray=0.1,1.3&tm=max`, state: { trayMode: 'off' } },
  {
    key: 'x',
    at: COMPARE,
    before: ({ page }) => page.locator('.compare-panel').first().waitFor(),
    state: { head: '0.4', prompt: 'p000002' },
    then: (_, state) => {
      const run = runId(several()).slice(0, 16);
      assert.equal(state.versus, `several.h5:${run}:p000000:1.3`);
      return Promise.resolve();
    },
  },
  {
    key: 'y',
    at: `${HEAD}&k=log&sink=0`,
    then: async ({ page }, state) => {
      await page.getByText('Link copied').waitFor();
      const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
      const fields = new URLSearchParams(link.hash.slice(1));
      const run = runId(several());
      assert.deepEqual(
        ['s', 'h', 'k', 'sink', 'file', 'run'].map((name) => fields.get(name)),
        ['head', '1.3', 'log', '0', state.files[0], run.slice(0, 16)],
      );
    },
  },
  { key: '?', then: ({ page }) => page.locator('dialog[open]').waitFor() },
];

/** Writes of a key in the list of the page. */
const WRITTEN: Record<string, string> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'Esc',
  '-': '−',
};

test(
  'every key of the list does what it says, and every key that does something is tested',
  {
    skip: without('command', 'python'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await viewer.open([several()], HEAD);
      const go = async (address: string) => {
        await page.evaluate(() => {
          document.querySelectorAll('dialog').forEach((dialog) => dialog.close());
          (document.activeElement as HTMLElement | null)?.blur();
        });
        await viewer.go(address);
      };
      for (const { key, at = HEAD, focus, before, state = {}, then } of PRESSES) {
        const where = `${key} at ${at}`;
        await go('#v=1&s=file');
        await go(at);
        if (at.includes('s=head') && !at.includes('w=')) await viewer.value(3, 3);
        if (focus) await page.locator(focus).focus();
        await before?.(viewer);
        const now = await viewer.state();
        await page.keyboard.press(key);
        const next = await viewer.state();
        for (const [field, value] of Object.entries(state)) {
          assert.deepEqual(
            next[field],
            value,
            `${field} after ${where}, before ${String(now[field])}`,
          );
        }
        await then?.(viewer, next);
      }
      const tested = new Set(PRESSES.map(({ key }) => WRITTEN[key] ?? key));
      const listed = KEYS.flatMap(({ keys }) =>
        keys === '1 – 6' ? ['1', '2', '3', '4', '5', '6'] : keys.split(' '),
      );
      const untested = listed.filter((key) => !tested.has(key));
      // Its picture is a download, which has a test of its own.
      assert.deepEqual(untested, ['e']);
    }),
);

test(
  'a key that is held goes through the heads, and ends at the map of the last',
  {
    skip: without('command', 'python'),
  },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture()], '#v=1&s=head&h=0.0');
      await viewer.value(8, 8);
      const length = await page.evaluate(() => history.length);
      // Repeats come with the first press still held.
      await page.keyboard.down('ArrowRight');
      const names: unknown[] = [];
      for (let i = 0; i < 6; ++i) {
        await page.keyboard.down('ArrowRight');
        names.push((await viewer.state()).head);
      }
      await page.keyboard.up('ArrowRight');
      assert.deepEqual(names, ['0.2', '0.3', '0.4', '0.5', '0.6', '0.7']);
      const expected = h5py<number[][]>(
        `with h5py.File(sys.argv[1]) as f:
    print(json.dumps(f["prompts/p000000/cache/blocks.0.attn.hook_pattern"][7].astype("f8").tolist()))`,
        capture(),
      );
      for (let k = 0; k < 9; ++k) assert.equal(await viewer.value(8, k), expected[8]![k]);
      assert.equal(await page.evaluate(() => history.length), length + 1, 'one step to go back');
      await page.waitForFunction(() => /[#&]h=0\.7/.test(location.hash));
    }),
);

/** Presses keys one task after another, all of them before the page draws its next frame. */
const pressInOneFrame = ({ page }: Viewer, keys: string) =>
  page.evaluate(async (all) => {
    await new Promise(requestAnimationFrame);
    for (const key of all) {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      await new Promise((next) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = next;
        port2.postMessage(null);
      });
    }
  }, keys);

test(
  'keys that come faster than frames are those of the screen that was just chosen',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      await viewer.open([several()], '#v=1&s=file');
      await viewer.heads();
      const cases: [from: string, keys: string, state: Record<string, unknown>][] = [
        ['file', '1t', { screen: 'overview', show: 'statistic' }],
        ['file', '2k', { screen: 'head', sink: false }],
        ['file', '3x', { screen: 'compare', head: '0.4', prompt: 'p000002' }],
        // Those of the screen before do nothing.
        ['overview', '4t', { screen: 'causal', show: 'map' }],
        ['head', '1k', { screen: 'overview', sink: true }],
        ['compare', '6x', { screen: 'file', head: '1.3' }],
        ['overview', '2t1', { screen: 'overview', show: 'map' }],
      ];
      for (const [from, keys, wanted] of cases) {
        const hash = `#v=1&s=${from}&p=p000000&h=1.3&vs=several.h5::p000002:0.4`;
        await viewer.go(hash);
        await pressInOneFrame(viewer, keys);
        const state = await viewer.state();
        for (const [field, value] of Object.entries(wanted)) {
          assert.deepEqual(state[field], value, `${field} after ${keys} at ${from}`);
        }
      }
    }),
);
