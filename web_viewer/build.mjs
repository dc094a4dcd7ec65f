// Builds the page twice from the same sources: dist/attnscope-viewer.html, one file to open from
// disk, and dist/served/, separate files for a server whose policy forbids inline scripts.
import * as esbuild from 'esbuild';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

const root = dirname(fileURLToPath(import.meta.url));
const hdf5Source = join(root, 'node_modules/h5wasm/dist/esm/hdf5_util.js');

/** h5wasm keeps its WebAssembly in a string of its script, one byte a character. */
function splitHdf5(source) {
  const opening = 'function findWasmBinary(){return binaryDecode(';
  const begin = source.indexOf(opening) + opening.length;
  const quote = source[begin];
  let end = begin + 1;
  while (source[end] !== quote) end += source[end] === '\\' ? 2 : 1;
  const text = new Function(`return ${source.slice(begin, end + 1)}`)();
  const wasm = Uint8Array.from(text, (character) => {
    const code = character.charCodeAt(0);
    return (~code >> 8) & code;
  });
  if (wasm[1] !== 0x61 || wasm[2] !== 0x73 || wasm[3] !== 0x6d) {
    throw new Error(`${hdf5Source}: no WebAssembly where h5wasm 0.10.3 has it`);
  }
  return { script: `${source.slice(0, begin)}''${source.slice(end + 1)}`, wasm };
}

/** The files of the demo, by name. */
async function demoFiles() {
  const folder = join(root, 'demo');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.h5')).sort();
  return Promise.all(
    names.map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })),
  );
}

/** Bytes as text for a script element that is no script. */
const packed = (bytes) => gzipSync(bytes, { level: 9 }).toString('base64');
const inert = (id, text) => `<script type="text/plain" id="${id}">${text}</script>\n`;

/** The esbuild options that the page, the worker and the tests have in common. */
export async function commonOptions() {
  const { script, wasm } = splitHdf5(await readFile(hdf5Source, 'utf8'));
  const plugin = {
    name: 'hdf5-without-wasm',
    setup(build) {
      build.onLoad({ filter: /hdf5_util\.js$/ }, () => ({ contents: script, loader: 'js' }));
    },
  };
  const options = {
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    target: ['es2022'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    alias: { 'hdf5-core': hdf5Source },
    plugins: [plugin],
    logLevel: 'warning',
  };
  return { options, wasm };
}

/** The text of every file that is made, by name. */
async function bundles(options, entry) {
  const result = await esbuild.build({
    ...options,
    entryPoints: [join(root, entry)],
    outdir: root,
    minify: true,
    write: false,
    legalComments: 'none',
  });
  return new Map(result.outputFiles.map(({ path, text }) => [basename(path), text]));
}

const bundle = async (options, entry) => [...(await bundles(options, entry)).values()][0];

/** The scripts of a served page: app.js, the screens that come later, and what both use. */
async function splitBundles(options) {
  const names = { entryNames: 'app', chunkNames: '[name]' };
  const scripts = await bundles({ ...options, ...names, splitting: true }, 'src/main.tsx');
  const found = [...scripts.keys()].sort().join(' ');
  if (found !== 'app.js chunk.js later.js')
    throw new Error(`made ${found}; the server knows others`);
  return scripts;
}

const page = (head, body) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>attnscope</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
<div id="app"></div>
${body}
</body>
</html>
`;

/** Text inside a script element must not contain what would end it. */
const inScript = (text) => text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');

/** What the one-file page may do; inline scripts are allowed by their hash alone in no browser
 *  for file:, so the policy names what it must not do: talk to anybody. */
const filePolicy =
  "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; " +
  "style-src 'unsafe-inline'; img-src blob: data:; connect-src blob: data:";

/** Makes the page in `out`. */
export async function build(out = join(root, 'dist')) {
  const { options, wasm } = await commonOptions();
  const [app, scripts, worker, css] = await Promise.all([
    bundle(options, 'src/main.tsx'),
    splitBundles(options),
    // A classic script: from file: Chromium starts no module worker of a blob.
    bundle(
      { ...options, format: 'iife', define: { 'import.meta.url': 'undefined' } },
      'src/io/worker.ts',
    ),
    bundle({ ...options, loader: { '.css': 'css' } }, 'src/ui/app.css'),
  ]);
  const served = join(out, 'served');
  await rm(served, { recursive: true, force: true });
  await mkdir(served, { recursive: true });
  await writeFile(
    join(served, 'index.html'),
    page(
      '<link rel="stylesheet" href="app.css">\n<link rel="modulepreload" href="chunk.js">',
      '<script type="module" src="app.js"></script>',
    ),
  );
  for (const [name, text] of scripts) await writeFile(join(served, name), text);
  await writeFile(join(served, 'worker.js'), worker);
  await writeFile(join(served, 'app.css'), css);
  await writeFile(join(served, 'hdf5.wasm'), wasm);
  const demo = await demoFiles();
  for (const { name, bytes } of demo) await writeFile(join(served, name), bytes);
  await writeFile(
    join(out, 'attnscope-viewer.html'),
    page(
      `<meta http-equiv="Content-Security-Policy" content="${filePolicy}">\n<style>${css}</style>`,
      inert('worker-source', inScript(worker)) +
        inert('hdf5-wasm', packed(wasm)) +
        demo.map(({ name, bytes }) => inert(name, packed(bytes))).join('') +
        `<script type="module">${inScript(app)}</script>`,
    ),
  );
  const kib = (bytes) => (bytes / 1024).toFixed(1);
  const size = (...texts) => kib(texts.reduce((sum, text) => sum + gzipSync(text).length, 0));
  console.log(
    `first page ${size(scripts.get('app.js'), scripts.get('chunk.js'), css)} KiB, other screens ` +
      `${size(scripts.get('later.js'))}, worker ${size(worker)}, HDF5 ${size(wasm)}, all gzipped`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: { out: { type: 'string' } } });
  await build(values.out && resolve(values.out));
}
