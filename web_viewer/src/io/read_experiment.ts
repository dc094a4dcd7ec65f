/** One experiment of a file: every array of it, by name. */

import type { ExperimentData, RunSummary } from '../format/types';
import { readTokens } from './read_prompt';
import { orAbsent, orTooLarge, readColumn, type Reading, type RunReader } from './run_file';

/** An array of every prompt, of which the others are the estimates. */
const SKIPPED = new Set(['per_prompt']);

async function listOf(file: Reading, path: string): Promise<number[]> {
  const data = await orAbsent(file.numbers(path));
  return data ? Array.from(data.values) : [];
}

/** `name` may go one group deeper, as `lens/p000000` does. */
export async function readExperiment(file: RunReader, name: string): Promise<ExperimentData> {
  const path = `/experiments/${name}`;
  const [attributes, { nodes }] = await Promise.all([file.attributes(path), file.list(path)]);
  const data: ExperimentData = {
    name,
    attributes,
    axes: [],
    methods: [],
    shape: [],
    layers: await listOf(file, `${path}/layers`),
    heads: await listOf(file, `${path}/heads`),
    positions: await listOf(file, `${path}/positions`),
    cells: [],
    numbers: {},
    dims: {},
    texts: {},
    records: nodes.filter(({ kind }) => kind === 'group').map((node) => node.name),
  };
  await Promise.all(
    nodes.map(async (node) => {
      if (!node.dataset || SKIPPED.has(node.name)) return;
      const at = `${path}/${node.name}`;
      if (node.dataset.dtype === 'text') data.texts[node.name] = await file.texts(at);
      else if (node.dataset.dtype !== 'other') {
        const [numbers, { dims }] = await Promise.all([file.numbers(at), file.attributes(at)]);
        data.numbers[node.name] = numbers;
        data.dims[node.name] = typeof dims === 'string' ? dims.split(' ') : [];
      }
    }),
  );
  const effect = data.numbers.effect;
  if (effect) {
    data.axes = data.dims.effect?.slice(1) ?? [];
    data.shape = effect.shape;
  }
  data.methods = data.texts.methods ?? [];
  data.cells = data.texts.cells ?? [];
  return data;
}

/** Tokens of the first prompt, and the text of its corrupt twin where the file keeps it. */
export async function readFirstPair(
  file: RunReader,
  id: string | undefined,
): Promise<{ texts: string[]; corrupt: string | null }> {
  if (id === undefined) {
    const end = (await file.numbers('/offsets')).values[1] ?? 0;
    const tokens = await readTokens(file, '/tokens', { begin: 0, end });
    const corrupt = await orAbsent(file.texts('/prompts/corrupt', { start: [0], count: [1] }));
    return { texts: tokens?.texts ?? [], corrupt: corrupt?.[0] ?? null };
  }
  const path = `/prompts/${id}`;
  const [texts, attributes, long] = await Promise.all([
    file.texts(`${path}/tokens/text`),
    file.attributes(path),
    orAbsent(file.texts(`${path}/columns/corrupt`)),
  ]);
  const short = typeof attributes.corrupt === 'string' ? attributes.corrupt : null;
  return { texts, corrupt: short ?? long?.[0] ?? null };
}

/** Enough to say of a text whether experiments used it. */
const MAX_TEXTS = 10_000;

/** Texts of the prompts that the experiments of a file are of. */
export async function readPromptTexts(
  file: RunReader,
  { promptIds, packedPrompts }: RunSummary,
): Promise<{ texts: string[]; total: number }> {
  if (packedPrompts > 0) {
    const count = Math.min(packedPrompts, MAX_TEXTS);
    const texts = await orTooLarge(readColumn(file, '/prompts/text', count));
    return { texts: texts ?? [], total: packedPrompts };
  }
  const texts = await Promise.all(
    promptIds.slice(0, MAX_TEXTS).map((id) => orAbsent(file.texts(`/prompts/${id}/text`))),
  );
  return { texts: texts.map((text) => text?.[0] ?? ''), total: promptIds.length };
}
