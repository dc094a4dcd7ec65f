// A folder of src/ may import itself and folders before it in this list, nothing after it.
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const layers = ['format', 'io', 'model', 'draw', 'state', 'ui', 'screens'];
const maxLines = 600;
const source = join(dirname(fileURLToPath(import.meta.url)), '../src');

const layerOf = (file) => {
  const top = relative(source, file).split('/')[0];
  // main.tsx lies above every folder.
  return top.includes('.') ? layers.length : layers.indexOf(top);
};

const faults = [];
for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(tsx?|css)$/.test(entry.name)) continue;
  const file = join(entry.parentPath ?? entry.path, entry.name);
  const text = await readFile(file, 'utf8');
  const here = layerOf(file);
  if (here < 0) faults.push(`${relative(source, file)}: its folder is no layer`);
  const lines = text.split('\n').length;
  if (lines > maxLines)
    faults.push(`${relative(source, file)}: ${lines} lines, at most ${maxLines}`);
  for (const [, target] of text.matchAll(/from '(\.[^']*)'/g)) {
    if (layerOf(resolve(dirname(file), target)) > here) {
      faults.push(`${relative(source, file)}: may not import ${target}`);
    }
  }
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
