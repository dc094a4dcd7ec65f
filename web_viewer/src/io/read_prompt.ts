/** One prompt of a file: tokens, statistics of its heads, and which maps are stored. */

import { arrayFault, mapFault } from '../format/shapes';
import { STACKS, packedRow, parsePatternName, type StackName } from '../format/schema';
import type {
  Attributes,
  MapInfo,
  NumberArray,
  PromptData,
  StackData,
  Tokens,
} from '../format/types';
import { IoError } from './errors';
import { orAbsent, orTooLarge, readColumn, type Reading } from './run_file';

const listOf = (values: NumberArray | undefined): number[] => (values ? Array.from(values) : []);

const numbersOf = (value: unknown): number[] | null =>
  Array.isArray(value) && value.every((item) => typeof item === 'number') ? value : null;

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

/** Tokens below a path; of the common arrays of the packed layout those of some rows. */
export async function readTokens(
  file: Reading,
  path: string,
  rows: TokenRows | null = null,
): Promise<Tokens | undefined> {
  const slab = (...more: number[]) =>
    rows
      ? {
          start: [rows.begin, ...more.map(() => 0)],
          count: [rows.end - rows.begin, ...more],
        }
      : undefined;
  const [texts, ids, steps, offsets] = await Promise.all([
    orAbsent(file.texts(`${path}/text`, slab())),
    orAbsent(file.numbers(`${path}/ids`, slab())),
    orAbsent(file.numbers(`${path}/step`, slab())),
    orAbsent(file.numbers(`${path}/char_offsets`, slab(2))),
  ]);
  if (!texts) return undefined;
  return {
    texts,
    ids: ids?.values ?? null,
    steps: steps?.values ?? null,
    offsets: offsets?.values ?? null,
  };
}

export async function readMap(
  file: Reading,
  path: string,
  layer: number,
  levels: MapInfo['levels'] = { max: [], mean: [] },
): Promise<MapInfo | null> {
  const [info, attributes] = await Promise.all([file.describe(path), file.attributes(path)]);
  if (!info || info.shape.length !== 3) return null;
  return {
    path,
    layer,
    shape: info.shape as [number, number, number],
    dtype: info.dtype,
    heads: numbersOf(attributes.heads),
    queryPositions: numbersOf(attributes.q_positions),
    keyPositions: numbersOf(attributes.k_positions),
    causal: attributes.causal === 1,
    window: typeof attributes.window === 'number' ? attributes.window : 0,
    mapDtype: typeof attributes.map_dtype === 'string' ? attributes.map_dtype : info.dtype,
    floor: typeof attributes.floor === 'number' ? attributes.floor : 0,
    rowSum: typeof attributes.row_sum === 'string' ? attributes.row_sum : 'free',
    levels,
    fault: null,
  };
}

/** Judged once the tokens and the heads of the layer are known. */
function judged(map: MapInfo, sides: Sides, layerHeads: number | null): MapInfo {
  const [stored, rows, columns] = map.shape;
  const { queryPositions, keyPositions } = map;
  const fault = mapFault(
    { stored, expected: map.heads?.length ?? layerHeads },
    { stored: rows, positions: queryPositions, tokens: sides.queries },
    { stored: columns, positions: keyPositions, tokens: sides.keys },
  );
  return { ...map, fault };
}

async function readLevels(
  file: Reading,
  stackPath: string,
): Promise<Map<number, MapInfo['levels']>> {
  const levels = new Map<number, MapInfo['levels']>();
  const layers = await file.names(`${stackPath}/pyramid`);
  await Promise.all(
    layers.map(async (layer) => {
      const names = await file.names(`${stackPath}/pyramid/${layer}`);
      const factors = (pool: 'max' | 'mean') =>
        names
          .filter((name) => new RegExp(`^${pool}_\\d+$`).test(name))
          .map((name) => Number(name.slice(pool.length + 1)))
          .sort((a, b) => a - b);
      levels.set(Number(layer), { max: factors('max'), mean: factors('mean') });
    }),
  );
  return levels;
}

/** Cells of an overview along either side, at most. */
const OVERVIEW_EXTENT = 64;

/** Tokens on both sides of the maps of a stack; null where the prompt has none. */
interface Sides {
  queries: number | null;
  keys: number | null;
}

async function readStack(
  file: Reading,
  prompt: string,
  stack: StackName,
  cacheNames: string[],
  sides: Sides,
): Promise<StackData | null> {
  const path = `${prompt}/attention/${stack}`;
  const names = new Set(await file.names(path));
  const sites = cacheNames
    .map((name) => ({ name, site: parsePatternName(name) }))
    .filter((entry) => entry.site?.stack === stack);
  if (names.size === 0 && sites.length === 0) return null;

  const optional = <T>(name: string, read: (path: string) => Promise<T>): Promise<T | null> =>
    names.has(name) ? read(`${path}/${name}`) : Promise.resolve(null);
  const [layers, counts, storedStats, statAttributes, storedOverview, rowAttributes, levels] =
    await Promise.all([
      optional('layers', (at) => file.numbers(at)),
      optional('n_heads', (at) => file.numbers(at)),
      optional('head_stats', (at) => file.numbers(at)),
      optional('head_stats', (at) => file.attributes(at)),
      // Without it the grid shows statistics.
      optional('overview', (at) => orTooLarge(file.numbers(at))),
      optional('row_stats', (at) => file.attributes(at)),
      names.has('pyramid') ? readLevels(file, path) : new Map<number, MapInfo['levels']>(),
    ]);
  const maps = await Promise.all(
    sites.map(({ name, site }) =>
      readMap(file, `${prompt}/cache/${name}`, site!.layer, levels.get(site!.layer)),
    ),
  );
  const found = maps.filter((map) => map !== null).sort((a, b) => a.layer - b.layer);

  const layerList = layers ? listOf(layers.values) : found.map((map) => map.layer);
  const countList = counts ? listOf(counts.values) : null;
  const headsOf = (layer: number) => countList?.[layerList.indexOf(layer)] ?? null;
  const storedMaps = found.map((map) => judged(map, sides, headsOf(map.layer)));
  const widestMap = Math.max(0, ...storedMaps.map((map) => map.shape[0]));
  const statNames = textsOf(statAttributes?.names);
  const faults = storedMaps.flatMap(({ path: at, fault }) => (fault ? [`${at}: ${fault}`] : []));
  const fitting = <T extends { shape: number[] }>(
    name: string,
    data: T | null,
    last: (number | null)[],
  ) => {
    if (!data) return null;
    const widest = countList ? Math.max(0, ...countList) : null;
    const fault = arrayFault(data.shape, [layerList.length, widest, ...last]);
    if (fault) faults.push(`${path}/${name}: ${fault}`);
    return fault ? null : data;
  };
  const thumb = (tokens: number | null) => tokens && Math.min(OVERVIEW_EXTENT, tokens);
  const stats = fitting('head_stats', storedStats, [statNames.length]);
  const overview = fitting('overview', storedOverview, [thumb(sides.queries), thumb(sides.keys)]);
  // What is kept of rows and keys is read head by head, and has to fit before that.
  const kept = async (name: string, last: (number | null)[]) =>
    fitting(name, await optional(name, (at) => file.describe(at)), last);
  const rowNames = textsOf(rowAttributes?.names);
  const top = await kept('topk_index', [sides.queries, null]);
  const [rowStats, keySum, valueNorm, topValues] = await Promise.all([
    kept('row_stats', [sides.queries, rowNames.length || null]),
    kept('key_sum', [sides.keys]),
    kept('value_norm', [sides.keys]),
    kept('topk_value', [sides.queries, top?.shape[3] ?? null]),
  ]);
  const width = stats?.shape[1] ?? overview?.shape[1] ?? widestMap;
  return {
    stack,
    layers: layerList,
    headCounts: counts ? listOf(counts.values) : layerList.map(() => width),
    width,
    statNames,
    headStats: stats ? Float32Array.from(stats.values) : new Float32Array(0),
    overview: overview
      ? {
          rows: overview.shape[2] ?? 0,
          columns: overview.shape[3] ?? 0,
          values: overview.values as Uint8Array,
        }
      : null,
    rowStatNames: rowStats ? rowNames : [],
    topCount: topValues ? (top?.shape[3] ?? 0) : 0,
    hasKeySum: keySum !== null,
    hasValueNorm: valueNorm !== null,
    maps: storedMaps,
    faults,
  };
}

/** Where the packed layout has the tokens of a prompt. */
interface TokenRows {
  begin: number;
  end: number;
}

/** Row of a prompt in the arrays of the packed layout, and those of its tokens; null in the other. */
async function packedPlace(
  file: Reading,
  id: string,
): Promise<{ row: number; tokens: TokenRows } | null> {
  const offsets = await file.describe('/offsets');
  if (!offsets) return null;
  const row = packedRow(id);
  const { values } = await file.numbers('/offsets', { start: [row], count: [2] });
  const [begin, end] = [values[0] ?? 0, values[1] ?? 0];
  if (begin < 0 || end < begin) {
    throw new IoError(
      'shape',
      `/offsets: the tokens of ${id} would be those from ${begin} to ${end}`,
    );
  }
  return { row, tokens: { begin, end } };
}

type Sided = Pick<PromptData, 'queryTokens' | 'keyTokens'>;

/** Tokens of a prompt of either layout, as those of queries and of keys. */
export async function readSides(file: Reading, id: string): Promise<Sided> {
  const place = await packedPlace(file, id);
  const path = `/prompts/${id}/tokens`;
  const twoSided = !place && (await file.names(path)).includes('source');
  const [first, second] = await Promise.all(
    place
      ? [readTokens(file, '/tokens', place.tokens), undefined]
      : twoSided
        ? [readTokens(file, `${path}/source`), readTokens(file, `${path}/target`)]
        : [readTokens(file, path), undefined],
  );
  return {
    queryTokens: { self: first, encoder: first, decoder: second, cross: second },
    keyTokens: { self: first, encoder: first, decoder: second, cross: first },
  };
}

async function readText(file: Reading, id: string): Promise<string> {
  const own = await orAbsent(file.texts(`/prompts/${id}/text`));
  if (own) return own[0] ?? '';
  const row = { start: [packedRow(id)], count: [1] };
  return (await orAbsent(file.texts('/prompts/text', row)))?.[0] ?? '';
}

/** One prompt of either layout. The packed one has its text and tokens in common arrays, and a group
 *  of its own only where maps or statistics of rows are kept. */
export async function readPrompt(file: Reading, id: string): Promise<PromptData> {
  const path = `/prompts/${id}`;
  const [attributes, text, sides, cacheNames, packedNames] = await Promise.all([
    file.attributes(path),
    readText(file, id),
    readSides(file, id),
    file.names(`${path}/cache`),
    file.names('/packed/attention'),
  ]);
  const stacks = await Promise.all(
    STACKS.map(async (name) => {
      const count = (tokens: Sided['queryTokens']) => tokens[name]?.texts.length ?? null;
      const both = { queries: count(sides.queryTokens), keys: count(sides.keyTokens) };
      const own = await readStack(file, path, name, cacheNames, both);
      return own ?? (packedNames.includes(name) ? readPackedStack(file, name, id) : null);
    }),
  );
  return {
    id,
    text,
    attributes,
    ...sides,
    stacks: stacks.filter((stack) => stack !== null),
  };
}

/** Columns of the table of prompts, of either layout. */
export interface PromptTable {
  texts: string[];
  columns: Record<string, string[]>;
}

export async function readPackedTable(file: Reading, count: number): Promise<PromptTable> {
  const names = (await file.names('/prompts')).filter((name) => !/^p\d{6}$/.test(name));
  const columns: Record<string, string[]> = {};
  await Promise.all(
    names.map(async (name) => {
      const path = `/prompts/${name}`;
      const info = await file.describe(path);
      if (!info || info.shape[0] !== count) return;
      columns[name] =
        info.dtype === 'text'
          ? await readColumn(file, path, count)
          : Array.from((await file.numbers(path)).values, String);
    }),
  );
  const texts = columns.text ?? new Array<string>(count).fill('');
  delete columns.text;
  return { texts, columns };
}

/** The table of prompts of the per-prompt layout: short columns are attributes of the groups. */
export async function readPromptGroups(file: Reading, ids: string[]): Promise<PromptTable> {
  const rows = await Promise.all(
    ids.map(async (id) => {
      const [attributes, text] = await Promise.all([
        file.attributes(`/prompts/${id}`),
        orAbsent(file.texts(`/prompts/${id}/text`)),
      ]);
      return { attributes, text: text?.[0] ?? '' };
    }),
  );
  const names = new Set(rows.flatMap((row) => Object.keys(row.attributes)));
  const columns: Record<string, string[]> = {};
  for (const name of names) columns[name] = rows.map((row) => String(cell(row.attributes, name)));
  return { texts: rows.map((row) => row.text), columns };
}

const cell = (attributes: Attributes, name: string) => attributes[name] ?? '';

/** “18”, or “7+9” of a source and a target. */
export const lengthWords = (lengths: readonly number[]): string => lengths.join('+');

/** How many tokens every prompt has. */
export async function readLengths(
  file: Reading,
  ids: readonly string[],
  packed: boolean,
): Promise<string[]> {
  if (packed) {
    const { values } = await file.numbers('/offsets');
    return ids.map((_, at) => `${(values[at + 1] ?? 0) - (values[at] ?? 0)}`);
  }
  return Promise.all(
    ids.map(async (id) => {
      const path = `/prompts/${id}/tokens`;
      const twoSided = (await file.names(path)).includes('source');
      const paths = twoSided ? [`${path}/source`, `${path}/target`] : [path];
      const infos = await Promise.all(paths.map((at) => file.describe(`${at}/text`)));
      return lengthWords(infos.map((info) => info?.shape[0] ?? 0));
    }),
  );
}

/** Statistics of every head on many prompts, [prompt][layer][head][statistic]. */
export interface PromptStats {
  stack: StackName;
  prompts: number;
  layers: number[];
  headCounts: number[];
  width: number;
  names: string[];
  values: Float32Array;
}

/** Statistics of more prompts than this would fill the memory of the page. */
const STATS_BYTES = 256 * 1024 * 1024;
const PART_BYTES = 16 * 1024 * 1024;

/** What the statistics of a packed file are of; null where it has none. */
async function describePacked(file: Reading, stack: StackName) {
  const path = `/packed/attention/${stack}`;
  const info = await file.describe(`${path}/head_stats`);
  if (!info || info.shape.length !== 4) return null;
  const [attributes, layers, counts] = await Promise.all([
    file.attributes(`${path}/head_stats`),
    orAbsent(file.numbers(`${path}/layers`)),
    orAbsent(file.numbers(`${path}/n_heads`)),
  ]);
  const [prompts, layerCount, width, statistics] = info.shape as [number, number, number, number];
  return {
    prompts,
    size: layerCount * width * statistics,
    shared: {
      stack,
      layers: listOf(layers?.values),
      headCounts: listOf(counts?.values),
      width,
    },
    names: textsOf(attributes.names),
    read: async (first: number, count: number) => {
      const slab = { start: [first, 0, 0, 0], count: [count, layerCount, width, statistics] };
      return (await file.numbers(`${path}/head_stats`, slab)).values;
    },
  };
}

/** All statistics of a packed file; null where it has none, or more than memory should hold. */
export async function readPackedStats(
  file: Reading,
  stack: StackName,
): Promise<PromptStats | null> {
  const packed = await describePacked(file, stack);
  if (!packed || packed.prompts * packed.size * 4 > STATS_BYTES) return null;
  const { prompts, size, shared, names, read } = packed;
  const values = new Float32Array(prompts * size);
  const step = Math.max(1, Math.floor(PART_BYTES / (4 * size)));
  for (let first = 0; first < prompts; first += step) {
    values.set(await read(first, Math.min(step, prompts - first)), first * size);
  }
  return { ...shared, prompts, names, values };
}

/** The same of the per-prompt layout; null unless all prompts have statistics of one shape. */
export async function readGroupStats(
  file: Reading,
  ids: readonly string[],
  stack: StackName,
): Promise<PromptStats | null> {
  const first = `/prompts/${ids[0]}/attention/${stack}`;
  const [attributes, layers, counts, ...stats] = await Promise.all([
    file.attributes(`${first}/head_stats`),
    orAbsent(file.numbers(`${first}/layers`)),
    orAbsent(file.numbers(`${first}/n_heads`)),
    ...ids.map((id) => orAbsent(file.numbers(`/prompts/${id}/attention/${stack}/head_stats`))),
  ]);
  const size = stats[0]?.values.length ?? 0;
  if (size === 0 || stats.some((one) => one?.values.length !== size)) return null;
  const values = new Float32Array(ids.length * size);
  stats.forEach((one, at) => values.set(one!.values, at * size));
  return {
    stack,
    prompts: ids.length,
    layers: listOf(layers?.values),
    headCounts: listOf(counts?.values),
    width: stats[0]!.shape[1] ?? 0,
    names: textsOf(attributes.names),
    values,
  };
}

/** What a packed file knows of a prompt that has no group of its own: statistics, and no maps. */
async function readPackedStack(
  file: Reading,
  stack: StackName,
  id: string,
): Promise<StackData | null> {
  const packed = await describePacked(file, stack);
  if (!packed) return null;
  return {
    ...packed.shared,
    statNames: packed.names,
    headStats: Float32Array.from(await packed.read(packedRow(id), 1)),
    overview: null,
    rowStatNames: [],
    topCount: 0,
    hasKeySum: false,
    hasValueNorm: false,
    maps: [],
    faults: [],
  };
}
