// Bundles the tests of a folder and runs them; what follows `--` is for node:
// node tests/run.mjs unit|browser [name …] [-- --test-name-pattern=zoom]
import * as esbuild from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, commonOptions } from '../build.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const words = process.argv.slice(2);
const cut = words.includes('--') ? words.indexOf('--') : words.length;
const [kind = 'unit', ...wanted] = words.slice(0, cut);
const forNode = words.slice(cut + 1);
const out = join(root, 'build/tests', kind);

const files = (await readdir(join(root, 'tests', kind)))
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const { options, wasm } = await commonOptions();
await writeFile(join(out, 'hdf5.wasm'), wasm);
await esbuild.build({
  ...options,
  entryPoints: files.map((name) => join(root, 'tests', kind, name)),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  platform: 'node',
  target: ['node18'],
  external: ['playwright-core', 'axe-core'],
  define: { VIEWER_ROOT: JSON.stringify(root) },
});
if (kind === 'browser') await build();
const tests = files.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
const run = spawnSync(process.execPath, ['--test', '--test-concurrency=1', ...forNode, ...tests], {
  stdio: 'inherit',
});
process.exit(run.status ?? 1);
