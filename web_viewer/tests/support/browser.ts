/** A page in Debian's Chromium. Any request off the machine and any console error fail the test. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type BrowserContext, type Page } from 'playwright-core';

/** Whom Chromium calls by itself; what a page asks of them is seen by the route. */
const BROWSERS_OWN = /^\w+ (https?:\/\/)?[\w.-]+\.(google|googleapis|gstatic|gvt1)\.com[:/]/;

/** A proxy that answers nobody. What no route sees (service workers, prefetch, icons) ends here. */
function setTrap(note: (line: string) => void): Promise<Server> {
  const trap = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (data) => {
      const [line = ''] = String(data).split('\r\n');
      if (!BROWSERS_OWN.test(line)) note(`request to ${line}`);
      socket.destroy();
    });
  });
  trap.unref();
  return new Promise((resolve) => trap.listen(0, '127.0.0.1', () => resolve(trap)));
}

export const PAGE = pathToFileURL(join(VIEWER_ROOT, 'dist/attnscope-viewer.html')).href;

export interface Shown {
  files: string[];
  failures: { name: string; code: string; message: string }[];
  heads: number;
  columns: Record<string, number[]>;
  [field: string]: unknown;
}

export interface ComparedCell {
  /** Stored rows (columns) of A and B, −1 where one has no such token. */
  query: number[];
  key: number[];
  a: number;
  b: number;
  difference: number;
}

interface Surface {
  state(): Shown;
  value(query: number, key: number): number | null;
  pixel(query: number, key: number): number[] | null;
  memory(): Promise<{ heap: number; blocks: number }>;
  reading(): number;
  shown(row: number, column: number): number | null;
  range(): number[];
  margins(): { rows: number[] | null; columns: number[] | null };
  edges(): { query: number; key: number; weight: number }[];
  edgeRange(): number[];
  comparedShape(): { rows: number; columns: number };
  compared(row: number, column: number): ComparedCell | null;
}

declare global {
  interface Window {
    __attnscope: Surface;
  }
}

export class Viewer {
  readonly page: Page;
  readonly faults: string[] = [];
  /** Console messages that a test provokes on purpose. */
  readonly expected: RegExp[] = [];
  /** Requests that no route stopped, but the trap did. */
  readonly caught: string[];
  readonly #context: BrowserContext;
  readonly #folder: string;
  readonly #trap: Server;

  private constructor(
    context: BrowserContext,
    page: Page,
    folder: string,
    trap: Server,
    caught: string[],
  ) {
    this.#context = context;
    this.page = page;
    this.#folder = folder;
    this.#trap = trap;
    this.caught = caught;
  }

  static async start(options: { width?: number; height?: number; dark?: boolean } = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'attnscope-viewer-'));
    const caught: string[] = [];
    const trap = await setTrap((line) => caught.push(line));
    const { port } = trap.address() as AddressInfo;
    const context = await chromium.launchPersistentContext(folder, {
      executablePath: process.env.ATTNSCOPE_CHROMIUM ?? '/usr/bin/chromium',
      headless: true,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
      proxy: { server: `http://127.0.0.1:${port}`, bypass: '127.0.0.1,127.0.0.2' },
      viewport: { width: options.width ?? 1280, height: options.height ?? 720 },
      colorScheme: options.dark ? 'dark' : 'light',
      acceptDownloads: true,
    });
    // A busy machine is slow, and no fault of the page.
    context.setDefaultTimeout(120_000);
    const page = context.pages()[0] ?? (await context.newPage());
    const viewer = new Viewer(context, page, folder, trap, caught);
    await context.route('**/*', (route) => {
      const { protocol, hostname } = new URL(route.request().url());
      if (['file:', 'blob:', 'data:'].includes(protocol) || hostname === '127.0.0.1') {
        return route.continue();
      }
      viewer.faults.push(`request to ${route.request().url()}`);
      return route.abort();
    });
    const note = (text: string) => {
      if (!viewer.expected.some((pattern) => pattern.test(text))) viewer.faults.push(text);
    };
    page.on('pageerror', (error) => note(error.stack ?? String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') note(message.text());
    });
    return viewer;
  }

  async goto(address: string): Promise<void> {
    // A change of the hash alone would not load the page anew.
    await this.page.goto('about:blank');
    await this.page.goto(address);
    if ((await this.page.locator('#app').count()) > 0) await this.ready();
  }

  /** Waits for the screens that come after the first, and what tests read. */
  async ready(): Promise<void> {
    await this.page.waitForFunction(() => '__attnscope' in window);
  }

  /** Opens the one-file page, picks files, and waits until they are shown. */
  async open(files: string[], hash = ''): Promise<Shown> {
    await this.goto(PAGE + hash);
    await this.pick(files);
    await this.rest();
    return this.state();
  }

  async pick(files: string[]): Promise<Shown> {
    const before = await this.state();
    const wanted = before.files.length + before.failures.length + files.length;
    await this.page.locator('input[type=file]').first().setInputFiles(files);
    await this.page.waitForFunction((count) => {
      const { files: open, failures } = window.__attnscope.state();
      return open.length + failures.length >= count;
    }, wanted);
    return this.state();
  }

  /** Waits until all that the page asked for has come and is drawn: the frames behind the last
   *  answer are those in which it is laid out, asks for more, and is painted. */
  async rest(): Promise<void> {
    await this.page.evaluate(async () => {
      for (let calm = 0; calm < 3; ++calm) {
        await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
        if (window.__attnscope.reading() > 0) calm = -1;
      }
    });
  }

  /** Shows what an address says, and waits until it is drawn. */
  async go(hash: string): Promise<void> {
    await this.page.evaluate((to) => (location.hash = to), hash);
    await this.rest();
  }

  state(): Promise<Shown> {
    return this.page.evaluate(() => window.__attnscope.state());
  }

  /** The value shown for a cell, once its tile is there. */
  async value(query: number, key: number): Promise<number> {
    const handle = await this.page.waitForFunction(
      ([q, k]) => {
        const value = window.__attnscope.value(q!, k!);
        return value === null ? null : { value };
      },
      [query, key],
    );
    return ((await handle.jsonValue()) as { value: number }).value;
  }

  /** A file that the Export menu of a head writes. */
  async exported(kind: string): Promise<{ path: string; name: string }> {
    const waiting = this.page.waitForEvent('download');
    await this.page.getByLabel('Export').selectOption(kind);
    const download = await waiting;
    return { path: await download.path(), name: download.suggestedFilename() };
  }

  async heads(): Promise<Shown> {
    await this.ready();
    // A page that leads on to another has no heads yet.
    await this.page.waitForFunction(
      () => ((window as Partial<Window>).__attnscope?.state().heads ?? 0) > 0,
    );
    return this.state();
  }

  /** Lines on which the controls of the toolbar stand. */
  toolbarLines(): Promise<number> {
    return this.page.locator('.toolbar').evaluate((toolbar) => {
      const middles = [...toolbar.querySelectorAll('button, select, input, h2')].map((element) => {
        const { top, height } = element.getBoundingClientRect();
        return Math.round((top + height / 2) / 20);
      });
      return new Set(middles).size;
    });
  }

  async stop(): Promise<void> {
    await this.#context.close();
    this.#trap.close();
    rmSync(this.#folder, { recursive: true, force: true });
    assert.deepEqual([...this.faults, ...this.caught], []);
  }
}

/** Runs a test with a page of its own. */
export async function withViewer(
  use: (viewer: Viewer) => Promise<void>,
  options: { width?: number; height?: number; dark?: boolean } = {},
): Promise<void> {
  const viewer = await Viewer.start(options);
  try {
    await use(viewer);
  } catch (error) {
    viewer.faults.length = 0;
    viewer.caught.length = 0;
    throw error;
  } finally {
    await viewer.stop();
  }
}
