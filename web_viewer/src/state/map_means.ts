/** The mean of a head's map over the prompts that were found, and how much they differ from it: made
 *  in the worker tile by tile, some prompts at a time, only as far as it is looked at. */

import { computed, effect, signal } from '@preact/signals';
import { Lru } from '../draw/lru';
import { TILE } from '../draw/heat_map';
import type { Block } from '../draw/transform';
import type { PromptMap } from '../format/types';
import type { MapOfPrompt, Moments, MomentsArguments, RestSums } from '../io/protocol';
import { pathIn, readSameMap } from '../io/read_same_map';
import { plural } from '../model/numbers';
import { positionOf } from '../model/positions';
import { findPrompts } from '../model/prompts';
import { sharedTokens, whyNoMean } from '../model/same_map';
import { headMap, type HeadMap } from './map';
import { isNoPromptChosen, noPromptTable, promptTable, shownPrompts } from './prompts';
import { arrivals } from './tiles';
import { adjust, choose, view } from './view';
import { client, failWith, mainRun, prompt, stack, type OpenRun } from './workspace';

const LANE = 'means';
/** Prompts of one request, so that other reads need not wait for long. */
const AT_ONCE = 16;
const CACHE_BYTES = 64 * 1024 * 1024;
const RESTS_BYTES = 16 * 1024 * 1024;
/** A page can wait for so many, and no longer. */
const MOST_PROMPTS = 1000;

/** Which maps are averaged, and what becomes of each before. */
export interface MapMeans {
  /** Tells apart what gives other numbers. */
  key: string;
  run: OpenRun;
  at: HeadMap;
  ids: readonly string[];
  hideFirst: boolean;
  weighed: boolean;
  /** Group with what is kept of rows and keys, and how many keys there are. */
  stack: string;
  keys: number;
}

/** A tile of means over prompts, with their spread. */
export interface MeanTile {
  mean: Block;
  deviation: Block;
  /** Prompts of each row: less than all where of some nothing is left. */
  counts: Uint32Array;
}

/** Prompts that the list finds, in order of the file. */
const foundIds = computed<readonly string[]>(() => {
  const rows = promptTable.value;
  return rows ? findPrompts(rows, view.promptFilter.value).map((at) => rows.ids[at]!) : [];
});

export const foundCount = computed<number>(() => foundIds.value.length);

/** Whether a mean is wanted: of maps, and only where one is drawn. */
export const wantsMeans = computed<boolean>(
  () => view.over.value !== 'off' && view.view.value === 'map' && view.screen.value === 'head',
);

interface Survey {
  key: string;
  /** null where some could not be read. */
  prompts: readonly PromptMap[] | null;
}

const survey = signal<Survey | null>(null);

const surveyKey = computed<string | null>(() => {
  const run = mainRun.value;
  const at = headMap.value;
  if (!wantsMeans.value || !run || !at || promptTable.value === null) return null;
  if (foundCount.value > MOST_PROMPTS) return null;
  return [run.file.id, at.map.path, ...foundIds.value].join('|');
});

/** Of all prompts found what their map of this layer is, read when a mean is wanted. */
export function followMapMeans(): void {
  effect(() => {
    const key = surveyKey.value;
    const run = mainRun.peek();
    const at = headMap.peek();
    if (key === null || !run || !at || survey.peek()?.key === key) return;
    const ids = foundIds.peek();
    void readAll(run, at, ids, () => surveyKey.peek() === key).then(
      (prompts) => prompts && (survey.value = { key, prompts }),
      (error: unknown) => {
        failWith(run.summary.name, error);
        if (surveyKey.peek() === key) survey.value = { key, prompts: null };
      },
    );
  });
  effect(() => {
    if (!means.value) forget('');
  });
  effect(() => {
    // The mean of the prompts of a packed file needs one of them, and none is chosen at first.
    if (!wantsMeans.value || view.prompt.value !== '' || !isNoPromptChosen.value) return;
    if (mainRun.value?.summary.packedPrompts === 0) return;
    const rows = promptTable.value;
    const first = rows?.ids[shownPrompts.value[0] ?? -1];
    if (first !== undefined) adjust({ prompt: first, mean: false });
  });
}

async function readAll(
  run: OpenRun,
  at: HeadMap,
  ids: readonly string[],
  isWanted: () => boolean,
): Promise<PromptMap[] | null> {
  const out: PromptMap[] = [];
  for (let first = 0; first < ids.length; first += AT_ONCE) {
    const some = ids.slice(first, first + AT_ONCE);
    out.push(...(await Promise.all(some.map((id) => readSameMap(run.file, at.map, id)))));
    if (!isWanted()) return null;
  }
  return out;
}

const surveyOfNow = computed<Survey | null>(() =>
  survey.value?.key === surveyKey.value ? survey.value : null,
);

const surveyed = computed<readonly PromptMap[] | null>(() => surveyOfNow.value?.prompts ?? null);

/** Tokens of the prompt on screen, whose map lends its rows and columns. */
const here = computed<PromptMap | null>(() => {
  const at = headMap.value;
  const data = prompt.value;
  const name = stack.value?.stack;
  if (!at || !data || !name) return null;
  const rows = promptTable.value;
  const length = rows?.columns.tokens?.[rows.ids.indexOf(data.id)] ?? '';
  return {
    id: data.id,
    map: at.map,
    queries: data.queryTokens[name]?.texts ?? [],
    keys: data.keyTokens[name]?.texts ?? [],
    length,
  };
});

/** Why there is no mean though one is wanted; empty where there is one or it is not known yet. */
export const noMeanWords = computed<string>(() => {
  if (!wantsMeans.value || !headMap.value) return '';
  if (noPromptTable.value) return 'The list of prompts could not be read.';
  if (foundCount.value > MOST_PROMPTS) {
    return `Maps of up to ${MOST_PROMPTS} prompts are averaged here; the list finds ${foundCount.value}.`;
  }
  if (surveyOfNow.value?.prompts === null) return 'Not all prompts found could be read.';
  return surveyed.value && here.value ? whyNoMean(surveyed.value, here.value) : '';
});

/** Whether a mean is wanted and nobody knows yet what it is of: one map is drawn until then. */
export const meansPending = computed<boolean>(
  () => wantsMeans.value && headMap.value !== null && !means.value && noMeanWords.value === '',
);

/** Whether rows can be rescaled without their first key: only whole rows can. */
export const canHideFirst = computed<boolean>(() => !headMap.value?.map.keyPositions);

/** What is averaged now; null where single maps are drawn. */
export const means = computed<MapMeans | null>(() => {
  const run = mainRun.value;
  const at = headMap.value;
  const prompts = surveyed.value;
  if (!wantsMeans.value || !run || !at || !prompts || noMeanWords.value !== '') return null;
  const ids = prompts.map(({ id }) => id);
  const hideFirst = !view.sink.value && canHideFirst.value;
  const weighed = view.valueWeighted.value && (stack.value?.hasValueNorm ?? false);
  return {
    key: keyWith(at, hideFirst, weighed),
    run,
    at,
    ids,
    hideFirst,
    weighed,
    stack: stack.value?.stack ?? 'self',
    keys: prompts[0]!.keys.length,
  };
});

const keyWith = (at: HeadMap, hideFirst: boolean, weighed: boolean): string =>
  [surveyKey.peek(), at.index, hideFirst, weighed].join('|');

/** The same of weights as they are stored. */
export const unchanged = (of: MapMeans): MapMeans => ({
  ...of,
  hideFirst: false,
  weighed: false,
  key: keyWith(of.at, false, false),
});

/** “mean of 8 prompts”; for the name of a file with dashes. */
export const meansName = (): string =>
  `${view.over.value === 'sd' ? 'sd' : 'mean'} of ${plural(means.value?.ids.length ?? 0, 'prompt')}`;

/** Tokens along the axes by position: null where prompts differ. */
export const sharedQueries = computed(() =>
  means.value ? sharedTokens(surveyed.value!.map(({ queries }) => queries)) : null,
);
export const sharedKeys = computed(() =>
  means.value ? sharedTokens(surveyed.value!.map(({ keys }) => keys)) : null,
);

/** Maps that were read, of those that are wanted now. */
export const meansProgress = signal<{ done: number; total: number } | null>(null);

interface Job {
  key: string;
  of: MapMeans;
  row: number;
  column: number;
  lane: string;
  resolve: (tile: MeanTile) => void;
  reject: (error: unknown) => void;
}

const cache = new Lru<MeanTile>(CACHE_BYTES);
const rests = new Lru<Float64Array>(RESTS_BYTES);
const asked = new Map<string, Promise<MeanTile>>();
let jobs: Job[] = [];
let running = false;
let done = 0;
/** Whose tiles are on screen. */
let owner = '';

/** From now on only what is asked for again is worth reading. */
function forget(next: string): void {
  owner = next;
  done = 0;
  client.advance(LANE);
  jobs = jobs.filter(({ lane }) => lane !== LANE);
  asked.clear();
}

/** Back to the map of one prompt, if means are being read. */
export function stopMeans(): boolean {
  if (meansProgress.peek() === null || !means.peek()) return false;
  choose({ over: 'off' });
  return true;
}

const keyOf = (of: MapMeans, row: number, column: number): string => `${of.key}|${row}|${column}`;

/** A tile once it is made; tiles are made one after the other. */
export function meanTile(
  of: MapMeans,
  row: number,
  column: number,
  lane = LANE,
): Promise<MeanTile> {
  const key = keyOf(of, row, column);
  const known = cache.get(key);
  if (known) return Promise.resolve(known);
  const before = asked.get(key);
  if (before) return before;
  const made = new Promise<MeanTile>((resolve, reject) => {
    jobs.push({ key, of, row, column, lane, resolve, reject });
  });
  asked.set(key, made);
  // Not at once: whoever draws must not change a signal.
  if (!running) queueMicrotask(() => void runJobs());
  return made;
}

export const knownMeanTile = (of: MapMeans, row: number, column: number): MeanTile | undefined =>
  cache.get(keyOf(of, row, column));

/** A tile if it is here; else it is asked for. */
export function shownMeanTile(of: MapMeans, row: number, column: number): MeanTile | null {
  if (of.key !== owner) forget(of.key);
  const key = keyOf(of, row, column);
  const known = cache.get(key);
  if (known || asked.has(key)) return known ?? null;
  meanTile(of, row, column).then(
    () => ++arrivals.value,
    (error: unknown) => failWith(of.run.file.name, error),
  );
  return null;
}

/** Of this job and those behind it. */
function beginProgress({ of }: Job): void {
  meansProgress.value = { done, total: done + (jobs.length + 1) * of.ids.length };
}

function addProgress(maps: number): void {
  done += maps;
  meansProgress.value = { done, total: Math.max(done, meansProgress.peek()?.total ?? 0) };
}

async function runJobs(): Promise<void> {
  if (running) return;
  running = true;
  for (let job = jobs.shift(); job; job = jobs.shift()) {
    beginProgress(job);
    try {
      const tile = await makeTile(job);
      cache.set(job.key, tile, 2 * tile.mean.values.byteLength + tile.counts.byteLength);
      asked.delete(job.key);
      job.resolve(tile);
    } catch (error) {
      // What failed stays asked for, or every redraw would try again.
      job.reject(error);
    }
  }
  running = false;
  done = 0;
  meansProgress.value = null;
}

/** Nothing is stored where a causal mask covers all of a tile. */
function isBehindMask({ at: { map } }: MapMeans, row: number, column: number): boolean {
  const lastQuery = Math.min(map.shape[1], (row + 1) * TILE) - 1;
  const [query, key] = [
    positionOf(map.queryPositions, lastQuery),
    positionOf(map.keyPositions, column * TILE),
  ];
  return map.causal && key > query;
}

async function makeTile(job: Job): Promise<MeanTile> {
  const { of, row, column, lane } = job;
  const [, allRows, allColumns] = of.at.map.shape;
  const region = {
    row: row * TILE,
    rows: Math.min(TILE, allRows - row * TILE),
    column: column * TILE,
    columns: Math.min(TILE, allColumns - column * TILE),
  };
  let moments: Moments | null = null;
  const first = isBehindMask(of, row, column) ? of.ids.length : 0;
  for (let at = first; at < of.ids.length; at += AT_ONCE) {
    const some = of.ids.slice(at, at + AT_ONCE);
    const maps = await Promise.all(some.map((id) => mapOf(job, id)));
    const args: MomentsArguments = { maps, region, before: moments };
    moments = await client.ask('moments', 0, args, { lane, priority: 1 });
    addProgress(some.length);
  }
  return tileOf(moments, region);
}

function tileOf(
  moments: Moments | null,
  { rows, columns }: { rows: number; columns: number },
): MeanTile {
  const block = (values: Float32Array): Block => ({ values, rows, columns });
  if (!moments) {
    const nothing = block(new Float32Array(rows * columns));
    return { mean: nothing, deviation: nothing, counts: new Uint32Array(0) };
  }
  const { counts, means: averages, squares } = moments;
  const countAt = (at: number) => counts[Math.floor(at / columns)]!;
  return {
    mean: block(Float32Array.from(averages, (mean, at) => (countAt(at) > 0 ? mean : NaN))),
    deviation: block(
      Float32Array.from(squares, (sum, at) => {
        const count = countAt(at);
        return count > 1 ? Math.sqrt(sum / (count - 1)) : NaN;
      }),
    ),
    counts,
  };
}

async function mapOf({ of, lane }: Job, id: string): Promise<MapOfPrompt> {
  const [restsOf, keyFactor] = await Promise.all([
    of.hideFirst ? restsIn(of, id, lane) : null,
    of.weighed ? normsIn(of, id, lane) : null,
  ]);
  return {
    ...of.run.file.place(pathIn(of.at.map.path, id)),
    index: of.at.index,
    rests: restsOf,
    keyFactor,
  };
}

async function restsIn({ run, at }: MapMeans, id: string, lane: string): Promise<Float64Array> {
  const { file, path } = run.file.place(pathIn(at.map.path, id));
  const key = `${file}|${path}|${at.index}`;
  const known = rests.get(key);
  if (known) return known;
  const [, rows, columns] = at.map.shape;
  const args: RestSums = { path, index: at.index, rows, columns };
  const { values } = await client.ask('rests', file, args, { lane, priority: 1 });
  rests.set(key, values, values.byteLength);
  return values;
}

/** Lengths of what the keys that are stored add to the residual stream. */
async function normsIn({ run, at, stack: name, keys }: MapMeans, id: string, lane: string) {
  const path = `/prompts/${id}/attention/${name}/value_norm`;
  const slab = { start: [at.row, at.head.head, 0], count: [1, 1, keys] };
  const { values } = await run.file.numbers(path, slab, { lane, priority: 1 });
  const { keyPositions, shape } = at.map;
  return Float32Array.from(
    { length: shape[2] },
    (_, key) => values[positionOf(keyPositions, key)]!,
  );
}
