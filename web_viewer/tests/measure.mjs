// Times what a user waits for, in headless Chromium, prints a table and writes it to FIGURES.md:
// node tests/measure.mjs
import * as esbuild from 'esbuild';
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { build, commonOptions } from '../build.mjs';
import { huge, large, long } from './measure_files.mjs';
import {
  everyHead,
  firstPaint,
  heldKey,
  opened,
  panFrames,
  reach,
  recolour,
  switchTo,
} from './measure_page.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const PAGE = pathToFileURL(join(root, 'dist/attnscope-viewer.html')).href;
const TILES = 16;

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const share = (values, part) => [...values].sort((a, b) => a - b)[Math.floor(values.length * part)];
const mib = (bytes) => bytes / 2 ** 20;

const rows = [];
/** What was measured, its goal, and what others take for the nearest thing they can do. */
const row = (what, value, goal = '', peers = '') => rows.push({ what, value, goal, peers });

/** The server of the tests, which answers as attnscope view does. */
async function serverOfTests() {
  const out = join(root, 'build/measure/server.mjs');
  const { options } = await commonOptions();
  await esbuild.build({
    ...options,
    entryPoints: [join(root, 'tests/support/server.ts')],
    outfile: out,
    platform: 'node',
    target: ['node18'],
    define: { VIEWER_ROOT: JSON.stringify(root) },
  });
  return (await import(pathToFileURL(out).href)).serve;
}

const packed = (name) => gzipSync(readFileSync(join(root, 'dist/served', name))).length / 1024;

function measureSizes() {
  const page = packed('app.js') + packed('chunk.js') + packed('app.css');
  row('first page: scripts and style, gzipped', `${page.toFixed(1)} KiB`, '80 KiB');
  row('the other screens, fetched after it', `${packed('later.js').toFixed(1)} KiB`, '');
  row('worker beside it, without wasm', `${packed('worker.js').toFixed(1)} KiB`);
}

async function pick(page, file) {
  await page.goto('about:blank');
  await page.goto(PAGE);
  await page.evaluate(() => {
    document.addEventListener('change', () => (window.__picked = performance.now()), true);
  });
  await page.locator('input[type=file]').first().setInputFiles([file]);
}

/** Three times, of which the middle one counts: page and wasm are then as warm as they get. */
async function measureOpening(page) {
  const paints = [];
  const times = [];
  for (let run = 0; run < 3; ++run) {
    await pick(page, large());
    paints.push(await page.evaluate(firstPaint));
    times.push(await page.evaluate(opened));
  }
  row('first paint of the page', `${median(paints).toFixed(0)} ms`, '300 ms');
  const heads = await page.evaluate(() => window.__attnscope.state().heads);
  row(
    `file picked to overview of ${heads.toLocaleString('en')} heads, wasm start included`,
    `${median(times).toFixed(0)} ms`,
    '1000 ms',
  );
}

async function measureHead(page) {
  await page.evaluate(switchTo, '1.0');
  const switches = [];
  for (let head = 1; head < 9; ++head) switches.push(await page.evaluate(switchTo, `1.${head}`));
  row(
    'next head to its full map, 1,024 tokens',
    `${median(switches).toFixed(0)} ms`,
    '100 ms',
    'BertViz 12 heads, 128 tokens: 3.1 s, 192: 10.5 s · CircuitsVis 64 tokens: 3.0 s, 128: 15 s, 256: 78 s · Inspectus one head, 256 tokens: 3.4 s, 512: 13.5 s',
  );
  const rate = await page.evaluate(heldKey, 60);
  row('heads passed while a key is held', `${rate.toFixed(0)} /s`, '15 /s');
  await page.evaluate(switchTo, '1.0');
  const frames = await page.evaluate(panFrames);
  row(
    'frame while panning, 95 %',
    `${share(frames, 0.95).toFixed(1)} ms`,
    '8 ms',
    'BertViz hover, 128 tokens: 260 ms, 192: 1300 ms',
  );
  row(
    'other colours, two frames included',
    `${(await page.evaluate(recolour)).toFixed(0)} ms`,
    '60 ms',
  );
}

/** Every tile of 24 heads of one layer, one head after the other. */
async function measureTiles(page, where, goal) {
  const heads = Array.from({ length: 24 }, (_, head) => `2.${head}`);
  const elapsed = await page.evaluate(everyHead, heads);
  row(
    `tiles read and drawn, ${where}`,
    `${((1000 * TILES * heads.length) / elapsed).toFixed(0)} /s`,
    goal,
  );
}

async function measureServed(page) {
  const serve = await serverOfTests();
  const server = await serve({ files: { 'large.h5': large() }, listed: true });
  await page.goto(server.url);
  await page.waitForFunction(() => window.__attnscope?.state().heads > 0);
  await page.evaluate(switchTo, '1.0');
  await measureTiles(page, 'over HTTP', '60 /s');
  await server.close();
}

async function measureLong(page) {
  const file = long();
  if (file === null) {
    console.log('views of 32,768 tokens: skipped, ATTNSCOPE_VIEWER_FILES is not set');
    return;
  }
  await pick(page, file);
  await page.waitForFunction(() => window.__attnscope.state().heads > 0);
  const fit = await page.evaluate(reach, '#v=1&s=head&h=0.1');
  row('fit view of 32,768 tokens', `${fit.toFixed(0)} ms`, '200 ms');
  const near = await page.evaluate(reach, '#v=1&s=head&h=0.1&z=21000,21000,1200,1200');
  row('near view of 32,768 tokens', `${near.toFixed(0)} ms`);
}

/** Memory of the processes that draw pages, as the system counts it. */
async function rendererMemory(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8')));
  return Math.max(...sizes.map((found) => Number(found?.[1] ?? 0) * 1024));
}

async function measureMemory(browser, page) {
  const { bavail, bsize } = statfsSync(root);
  if (bavail * bsize < 8e9) {
    console.log('memory with a file of 5 GB: skipped, less than 8 GB of disk are free');
    return;
  }
  await pick(page, huge());
  await page.waitForFunction(() => window.__attnscope.state().heads === 1280);
  for (let layer = 0; layer < 40; layer += 3)
    await page.evaluate(reach, `#v=1&s=head&h=${layer}.7`);
  await page.evaluate(switchTo, '39.7');
  const script = await page.evaluate(() => {
    window.gc?.();
    return performance.memory.usedJSHeapSize;
  });
  const { heap, blocks } = await page.evaluate(() => window.__attnscope.memory());
  row(
    'JavaScript heap and wasm, file of 5 GB open, 15 heads seen',
    `${mib(script + heap + blocks).toFixed(0)} MiB`,
    '350 MiB',
    'CircuitsVis, 256 tokens: 523 MiB heap',
  );
  row('whole renderer process with it', `${mib(await rendererMemory(browser)).toFixed(0)} MiB`);
}

function write(version) {
  const lines = rows.map(
    ({ what, value, goal, peers }) => `| ${what} | ${goal || '–'} | ${value} | ${peers || '–'} |`,
  );
  const text = `# What a user waits for

Made by \`npm run measure\` in headless ${version} without a GPU, ${cpus().length} cores. Files are made by h5py
(1,024 heads at 1,024 tokens, and 5 GB of maps) and as attnscope writes them (32,768 tokens with pyramids). Figures of other viewers come from replicas of their
drawing code on a machine of this kind; what has no counterpart there has a dash.

| what | goal | measured | others |
|---|---|---|---|
${lines.join('\n')}
`;
  const path = join(root, 'FIGURES.md');
  writeFileSync(path, text);
  execFileSync(join(root, 'node_modules/.bin/prettier'), ['--write', path], { stdio: 'ignore' });
  console.log(`written to ${basename(path)}`);
}

await build();
const browser = await chromium.launch({
  executablePath: process.env.ATTNSCOPE_CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--enable-precise-memory-info',
    '--js-flags=--expose-gc',
  ],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
measureSizes();
await measureOpening(page);
await measureHead(page);
await measureTiles(page, 'local file', '150 /s');
await measureServed(page);
await measureLong(page);
await measureMemory(browser, page);
const version = `Chromium ${browser.version()}`;
await browser.close();
const width = Math.max(...rows.map(({ what }) => what.length));
for (const { what, value, goal } of rows) {
  console.log(`${what.padEnd(width)}  ${value.padStart(9)}  ${goal && `goal ${goal}`}`);
}
write(version);
