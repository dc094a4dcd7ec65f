// Times what a user waits for, in headless Chromium: node tests/measure.mjs [FILE.h5 …]
// Without files it makes one of 1,024 heads at 1,024 tokens with h5py (ATTNSCOPE_PYTHON).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { build } from '../build.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const LARGE = `
import h5py, sys, numpy as np
L, H, T = 32, 32, 1024
rng = np.random.default_rng(0)
with h5py.File(sys.argv[1], "w", libver=("v110", "v110")) as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["run_id"] = np.bytes_(b"large")
    p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"a long text")
    p["tokens/text"] = np.array([b"token%d" % i for i in range(T)])
    a = p.create_group("attention/self")
    a["layers"] = np.arange(L); a["n_heads"] = np.full(L, H)
    names = ["entropy", "max", "self", "induction", "sink", "previous"]
    s = a.create_dataset("head_stats", data=rng.random((L, H, len(names)), dtype="f4"))
    s.attrs["names"] = np.array([n.encode() for n in names])
    a.create_dataset("overview", data=rng.integers(0, 255, (L, H, 64, 64), dtype="u1"), chunks=(1, H, 64, 64), compression=1, shuffle=True)
    for layer in range(3):
        m = np.tril(rng.random((H, T, T), dtype="f4")) ** 4
        m /= m.sum(-1, keepdims=True)
        bits = m.view("u4"); bits[:] = (bits + 0x1000) & 0xffffe000
        d = p.create_dataset("cache/blocks.%d.attn.hook_pattern" % layer, data=m, chunks=(1, 256, 256), compression=1, shuffle=True)
        d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"r10")
`;

/** One head of 32,768 tokens; what is not written of it reads as 0 and takes no room. */
const LONG = `
import h5py, sys, numpy as np
T = 32768
rng = np.random.default_rng(0)
with h5py.File(sys.argv[1], "w", libver=("v110", "v110")) as f:
    f.attrs["schema"] = np.bytes_(b"attnscope/1"); f.attrs["schema_version"] = [1, 0]
    f.attrs["kind"] = np.bytes_(b"capture"); f.attrs["run_id"] = np.bytes_(b"long")
    p = f.create_group("prompts/p000000"); p["text"] = np.bytes_(b"a very long text")
    p["tokens/text"] = np.array([b"t%d" % i for i in range(T)])
    a = p.create_group("attention/self")
    a["layers"] = np.array([0]); a["n_heads"] = np.array([1])
    s = a.create_dataset("head_stats", data=np.full((1, 1, 1), 0.5, dtype="f4"))
    s.attrs["names"] = np.array([b"entropy"])
    d = p.create_dataset("cache/blocks.0.attn.hook_pattern", (1, T, T), "f4", chunks=(1, 256, 256), compression=1, shuffle=True)
    d.attrs["causal"] = 1; d.attrs["map_dtype"] = np.bytes_(b"r10")
    for row in range(0, 12):
        for column in range(0, row + 1):
            at = (20480 + 256 * row, 20480 + 256 * column)
            d[0, at[0] : at[0] + 256, at[1] : at[1] + 256] = rng.random((256, 256), dtype="f4") ** 8
    for k in (4, 16, 64):
        n = T // k
        q = a.create_dataset("pyramid/0/max_%d" % k, (1, n, n), "f4", chunks=(1, 256, 256), compression=1, shuffle=True)
        if k > 4: q[0] = np.tril(rng.random((n, n), dtype="f4")) ** 8
`;

function made(name, code) {
  const folder = join(root, 'build/fixtures');
  const path = join(folder, name);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  execFileSync(process.env.ATTNSCOPE_PYTHON ?? 'python3', ['-c', code, `${path}.part`]);
  renameSync(`${path}.part`, path);
  return path;
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const share = (values, part) => [...values].sort((a, b) => a - b)[Math.floor(values.length * part)];

await build();
const files = process.argv.length > 2 ? process.argv.slice(2) : [made('large.h5', LARGE)];
const context = await chromium.launchPersistentContext('', {
  executablePath: process.env.ATTNSCOPE_CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--js-flags=--expose-gc',
  ],
  viewport: { width: 1280, height: 720 },
});
const page = await context.newPage();
const rows = [];
const row = (what, value, goal) => rows.push([what, value, goal]);

const packed = (name) => gzipSync(readFileSync(join(root, 'dist/served', name))).length / 1024;
row(
  'page and style, gzipped',
  `${(packed('app.js') + packed('app.css')).toFixed(1)} KiB`,
  '80 KiB',
);
row(
  'with the worker, without its wasm',
  `${(packed('app.js') + packed('app.css') + packed('worker.js')).toFixed(1)} KiB`,
  '',
);

await page.goto(pathToFileURL(join(root, 'dist/attnscope-viewer.html')).href);
const paint = await page.evaluate(
  () =>
    new Promise((resolve) => {
      new PerformanceObserver((list) => {
        const entry = list.getEntries().find(({ name }) => name === 'first-contentful-paint');
        if (entry) resolve(entry.startTime);
      }).observe({ type: 'paint', buffered: true });
    }),
);
row('first paint of the page', `${paint.toFixed(0)} ms`, '300 ms');

const input = page.locator('input[type=file]').first();
await page.evaluate(() => {
  window.__picked = 0;
  document.addEventListener('change', () => (window.__picked = performance.now()), true);
});
await input.setInputFiles(files);
const opened = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const look = () => {
        const { heads } = window.__attnscope.state();
        if (heads > 0 && document.querySelector('.grid-scroll canvas')) {
          requestAnimationFrame(() => resolve(performance.now() - window.__picked));
        } else requestAnimationFrame(look);
      };
      look();
    }),
);
const heads = await page.evaluate(() => window.__attnscope.state().heads);
row(
  `file picked to overview of ${heads} heads, wasm start included`,
  `${opened.toFixed(0)} ms`,
  '1000 ms',
);

await page.evaluate(() => (location.hash = '#v=1&s=head&h=1.0'));
const switchTo = (head) =>
  page.evaluate(
    (name) =>
      new Promise((resolve) => {
        const begin = performance.now();
        location.hash = `#v=1&s=head&h=${name}`;
        const look = () => {
          const line = document.querySelector('.bottom .status')?.textContent ?? '';
          const shown = document.querySelector('.stepper h2')?.textContent === `Head ${name}`;
          if (shown && !line.includes('reading') && window.__attnscope.value(900, 10) !== null) {
            resolve(performance.now() - begin);
          } else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
    head,
  );
await switchTo('1.0');
await page.waitForTimeout(500);
const switches = [];
for (let head = 1; head < 9; ++head) switches.push(await switchTo(`1.${head}`));
row(
  'next head to its full map, 1,024 tokens, median',
  `${median(switches).toFixed(0)} ms`,
  '100 ms',
);

await switchTo('2.0');
await page.waitForTimeout(500);
/** A key that is held: one step a frame, each of which shows its head at least in small. */
const held = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const begin = performance.now();
      const shown = new Set();
      const step = (count) => {
        const options = { key: 'ArrowRight', bubbles: true, repeat: count > 0 };
        document.body.dispatchEvent(new KeyboardEvent('keydown', options));
        requestAnimationFrame(() =>
          setTimeout(() => {
            shown.add(document.querySelector('.stepper h2')?.textContent);
            if (count < 29) step(count + 1);
            else resolve((1000 * shown.size) / (performance.now() - begin));
          }),
        );
      };
      step(0);
    }),
);
row('held key, heads a second, 1,024 tokens', `${held.toFixed(0)}`, '15');

const frames = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const times = [];
      const holder = document.querySelector('.head-map .canvas');
      const box = holder.getBoundingClientRect();
      const at = (type, x, y, buttons) =>
        holder.dispatchEvent(
          new PointerEvent(type, {
            clientX: box.left + x,
            clientY: box.top + y,
            bubbles: true,
            buttons,
            pointerId: 1,
          }),
        );
      holder.setPointerCapture = () => {};
      holder.dispatchEvent(
        new WheelEvent('wheel', {
          deltaY: -500,
          clientX: box.left + 400,
          clientY: box.top + 250,
          bubbles: true,
          cancelable: true,
        }),
      );
      at('pointerdown', 400, 250, 1);
      let step = 0;
      const next = () => {
        const begin = performance.now();
        at('pointermove', 400 - step, 250 - step, 1);
        times.push(performance.now() - begin);
        if (++step < 120) requestAnimationFrame(next);
        else resolve(times);
      };
      requestAnimationFrame(next);
    }),
);
row('frame while panning, 95 %', `${share(frames, 0.95).toFixed(1)} ms`, '8 ms');

const recolour = await page.evaluate(async () => {
  const begin = performance.now();
  location.hash = location.hash.replace(/&c=\w+/, '') + '&c=viridis';
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return performance.now() - begin;
});
row('other colours, two frames included', `${recolour.toFixed(0)} ms`, '60 ms');

/** Milliseconds until a view is complete. */
const reach = (hash) =>
  page.evaluate(
    (address) =>
      new Promise((resolve) => {
        const begin = performance.now();
        location.hash = address;
        const look = () => {
          const line = document.querySelector('.bottom .status')?.textContent ?? '';
          if (performance.now() - begin > 16 && !line.includes('reading')) {
            resolve(performance.now() - begin);
          } else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
    hash,
  );

if (process.argv.length === 2) {
  await page.reload();
  await page.locator('input[type=file]').first().setInputFiles(made('long.h5', LONG));
  await page.waitForFunction(() => window.__attnscope.state().heads === 1);
  const fit = await reach('#v=1&s=head&h=0.0');
  row('fit view of 32,768 tokens', `${fit.toFixed(0)} ms`, '200 ms');
  const near = await reach('#v=1&s=head&h=0.0&z=21000,21000,1200,1200');
  row('near view of 32,768 tokens', `${near.toFixed(0)} ms`, '');
}
const heap = await page.evaluate(() => {
  window.gc?.();
  return performance.memory.usedJSHeapSize / 2 ** 20;
});
row('JavaScript heap of the page', `${heap.toFixed(0)} MiB`, '');
await context.close();
const width = Math.max(...rows.map(([what]) => what.length));
for (const [what, value, goal] of rows)
  console.log(`${what.padEnd(width)}  ${value.padStart(9)}  ${goal ? `goal ${goal}` : ''}`);
