/** Lines to paste elsewhere: Python that reads what is shown, commands that make what is missing. */

import { nameOf, type HeadRef } from './heads';

const quote = (text: string): string => JSON.stringify(text);

/** `row` is the prompt of a packed file, null where the dataset is of one prompt. */
export function h5pyStatistic(
  file: string,
  path: string,
  name: string,
  row: number | null,
): string {
  const prompt = row === null ? '' : `${row}, `;
  return [
    'import h5py',
    `with h5py.File(${quote(file)}) as f:`,
    `    stats = f[${quote(path.replace(/^\//, ''))}]  # […, layer, head, statistic]`,
    `    names = [name.decode() for name in stats.attrs["names"]]`,
    `    values = stats[${prompt}:, :, names.index(${quote(name)})]`,
  ].join('\n');
}

/** Arrays of an experiment, in the parts of a sweep that are at hand. */
export interface StoredResult {
  files: readonly string[];
  experiment: string;
  /** Each becomes a variable of its name. */
  arrays: readonly { name: string; axes: readonly string[] }[];
  /** One of the methods, where the first axis is that of methods; null for all. */
  method: number | null;
}

export function h5pyResult({ files, experiment, arrays, method }: StoredResult): string {
  const group = `experiments/${experiment}`;
  const isByMethod = (axes: readonly string[]) => axes[0] === 'method';
  const at = (axes: readonly string[]) => (method !== null && isByMethod(axes) ? method : ':');
  if (files.length < 2) {
    return [
      'import h5py',
      `with h5py.File(${quote(files[0] ?? '')}) as f:`,
      ...arrays.map(({ name, axes }) => {
        const dims = at(axes) === ':' ? axes : axes.slice(1);
        return `    ${name} = f[${quote(`${group}/${name}`)}][${at(axes)}]  # [${dims.join(', ')}]`;
      }),
    ].join('\n');
  }
  // Parts hold some cells each, which need not fill a grid.
  const values = ({ name, axes }: StoredResult['arrays'][0]) =>
    method === null && isByMethod(axes)
      ? `part[${quote(name)}][:].reshape(part[${quote(name)}].shape[0], -1).T`
      : `part[${quote(name)}][${at(axes)}].ravel()`;
  return [
    'import h5py',
    ...arrays.map(({ name }) => `${name} = {}  # by cell`),
    ...files.flatMap((file) => [
      `with h5py.File(${quote(file)}) as f:`,
      `    part = f[${quote(group)}]`,
      '    cells = part["cells"].asstr()[:].ravel()',
      ...arrays.map((array) => `    ${array.name} |= zip(cells, ${values(array)})`),
    ]),
  ].join('\n');
}

export function h5pyLens(file: string, record: string): string {
  return [
    'import h5py',
    `with h5py.File(${quote(file)}) as f:`,
    `    lens = f[${quote(`experiments/${record}`)}]`,
    '    text = lens["top_text"].asstr()[:]  # [stage, position, choice]',
    '    probability = lens["top_prob"][:]',
  ].join('\n');
}

/** Files keep what a model is called and not where it lies; only names of a hub, which have a slash,
 *  lead to it from anywhere. */
function model(name: string): string {
  if (!/^[\w./-]+$/.test(name)) return 'MODEL';
  return name.includes('/') ? name : `FOLDER/${name}`;
}

/** What is to be filled in, for a command that has such words. */
export const FOLDER = 'FOLDER is where the model lies: files keep its name only.';
export const needsFolder = (command: string): boolean => / -m FOLDER\//.test(command);

const inQuotes = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A name as a shell takes it. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+,-]+$/.test(text) && !text.startsWith('-') ? text : inQuotes(text);

/** As a shell takes it; long texts are for the user to fill in. */
const quotedPrompt = (text: string): string =>
  inQuotes(text.length <= MAX_PROMPT ? text || 'TEXT' : 'TEXT');
const MAX_PROMPT = 400;

export function captureCommand(modelName: string, text = ''): string {
  return `attnscope capture -m ${model(modelName)} --prompt ${quotedPrompt(text)} -o run.h5`;
}

/** One prompt has no interval, and needs no answer where predictions are compared as a whole. */
export function ablateOnceCommand(modelName: string, text: string): string {
  return `attnscope ablate -m ${model(modelName)} --prompt ${quotedPrompt(text)} --metric kl -o ablate-one.h5`;
}

export function ablateCommand(modelName: string, heads: readonly HeadRef[]): string {
  const list = heads.length > 0 ? ` --heads ${heads.map(nameOf).join(',')}` : '';
  return `attnscope ablate -m ${model(modelName)} --pairs PAIRS.jsonl${list} --method zero,mean,resample -o ablate.h5`;
}

export function patchCommand(modelName: string, heads: readonly HeadRef[]): string {
  const list = heads.length > 0 ? ` --heads ${heads.map(nameOf).join(',')}` : '';
  return `attnscope patch -m ${model(modelName)} --pairs PAIRS.jsonl --site z --by layer,head${list} -o patch.h5`;
}

export function verdictCommand(modelName: string): string {
  return `attnscope verdict -m ${model(modelName)} --pairs PAIRS.jsonl -o verdict.h5`;
}

export function lensCommand(modelName: string, text = ''): string {
  return `attnscope lens -m ${model(modelName)} --prompt ${quotedPrompt(text)} -o lens.h5`;
}

/** A line of a file of pairs, as `--pairs` reads it. */
export const PAIR_LINE =
  '{"clean": "Anna and Tom went to the shop, and Tom gave the book to", ' +
  '"corrupt": "Anna and Tom went to the shop, and Anna gave the book to", ' +
  '"answer": " Anna", "wrong": " Tom", "group": "shop"}';
