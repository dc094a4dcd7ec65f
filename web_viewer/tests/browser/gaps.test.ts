import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { withViewer, type Viewer } from '../support/browser';
import {
  capture,
  command,
  lens,
  model,
  pairs,
  several,
  verdict,
  without,
} from '../support/fixtures';

/** A folder as a user has it: the model and a file of pairs under the names of the commands. */
function workFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'attnscope-gaps-'));
  mkdirSync(join(folder, 'FOLDER'));
  symlinkSync(model, join(folder, 'FOLDER/tiny-english'));
  const some = readFileSync(pairs(), 'utf8').split('\n').slice(0, 24);
  writeFileSync(join(folder, 'PAIRS.jsonl'), some.join('\n'));
  return folder;
}

/** Runs what the page shows, as a shell would, and returns the file that it writes. */
function runShown(shown: string, folder: string): string {
  const [, out] = /^attnscope .* -o (\S+\.h5)$/.exec(shown)!;
  rmSync(join(folder, out!), { force: true });
  const line = shown.replace(/^attnscope/, `"${command}"`);
  execFileSync('sh', ['-c', line], { cwd: folder, stdio: 'pipe' });
  return join(folder, out!);
}

const snippets = (viewer: Viewer) => viewer.page.locator('.snippet pre').allInnerTexts();

interface Gap {
  name: string;
  files: () => string[];
  hash: string;
  /** How many commands are shown. */
  commands: number;
  /** What is on the screen once the result is open. */
  filled: string;
}

const GAPS: Gap[] = [
  {
    name: 'causal',
    files: () => [capture()],
    hash: '#v=1&s=causal',
    commands: 4,
    filled: '.causal-grids',
  },
  { name: 'lens', files: () => [capture()], hash: '#v=1&s=lens', commands: 1, filled: '.lens' },
  {
    name: 'overview of effects',
    files: () => [capture()],
    hash: '#v=1',
    commands: 1,
    filled: '.scatter canvas',
  },
  {
    name: 'overview of heads',
    files: () => [lens()],
    hash: '#v=1&s=overview&g=statistic',
    commands: 1,
    filled: '.grid-scroll canvas',
  },
];

for (const { name, files, hash, commands, filled } of GAPS) {
  test(
    `what is missing is made by the command that is shown: ${name}`,
    { skip: without('command') },
    () =>
      withViewer(async (viewer) => {
        const folder = workFolder();
        const { page } = viewer;
        const at = async () => {
          await viewer.open(files());
          await viewer.go(hash);
        };
        await at();
        await page.locator('.snippet pre').first().waitFor();
        assert.equal(await page.locator(filled).count(), 0);
        const shown = (await snippets(viewer)).filter((text) => text.startsWith('attnscope'));
        assert.equal(shown.length, commands);
        for (const line of shown) {
          const made = runShown(line, folder);
          await at();
          await viewer.pick([made]);
          await page.locator(filled).first().waitFor();
          assert.equal(await page.locator('.absent').count(), 0, line);
          const { failures } = await viewer.state();
          assert.deepEqual(failures, []);
        }
        rmSync(folder, { recursive: true });
      }),
  );
}

test(
  'the File screen says what is missing, rounded and filtered',
  { skip: without('command') },
  () =>
    withViewer(async (viewer) => {
      const { page } = viewer;
      await viewer.open([capture(), verdict()], '#v=1&s=file');
      const run = page.locator('.file').first();
      const text = await run.innerText();
      assert.match(text, /Undefined on p000000, which is not 0: next token for 32 of 32 heads/);
      assert.match(text, /rounded to 10 bits of mantissa \(r10\)/);
      await run.getByRole('button', { name: 'Count datasets and filters' }).click();
      await run.getByText(/Filters: .*deflate on \d+/).waitFor();
    }),
);

test('the File screen begins with the chosen file', { skip: without('command') }, () =>
  withViewer(async (viewer) => {
    const { page } = viewer;
    await viewer.open([capture(), verdict(), several()], '#v=1&s=file&fi=many.h5');
    const order = (first: string, ...rest: string[]) =>
      page.waitForFunction(
        (wanted) =>
          [...document.querySelectorAll('.file h2')].map((one) => one.textContent).join() ===
          wanted,
        [first, ...rest].join(),
      );
    const [a, b, c] = [capture(), verdict(), several()].map((path) => basename(path));
    await page.locator('header select').first().selectOption(c!);
    await order(c!, a!, b!);
    await page.locator('header select').first().selectOption(a!);
    await order(a!, b!, c!);
  }),
);
