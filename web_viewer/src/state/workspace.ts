/** The files that are open and what has been read from them. */

import { computed, signal } from '@preact/signals';
import type { ExperimentData, PromptData, RunSummary, StackData } from '../format/types';
import type { StackName } from '../format/schema';
import { Client } from '../io/client';
import { IoError, isStale, type IoErrorCode } from '../io/errors';
import type { Source } from '../io/protocol';
import { readExperiment } from '../io/read_experiment';
import { JoinedFile, joinedSummary, shardOf, type Part } from '../io/joined_file';
import { RunFile, readSummary, type RunReader } from '../io/run_file';
import { browserSurroundings } from '../io/surroundings';
import { headEffects, preferred, stacksOf, type HeadEffects } from '../model/effects';
import { groupSizeOf, modelKey } from '../model/join';
import type { Screen } from './hash';
import { choose, view } from './view';

export interface OpenRun {
  id: number;
  file: RunReader;
  summary: RunSummary;
  foreign: boolean;
  experiments: ExperimentData[];
}

export interface Failure {
  id: number;
  name: string;
  code: IoErrorCode | 'newer' | 'foreign';
  message: string;
}

export const client = new Client(browserSurroundings());
export const runs = signal<readonly OpenRun[]>([]);
export const failures = signal<readonly Failure[]>([]);
export const busy = signal<string | null>(null);
export const prompt = signal<PromptData | null>(null);
/** A word about what just happened; it makes room for the status line again. */
export const notice = signal<string>('');
const NOTICE_MS = 6000;
let fading: ReturnType<typeof setTimeout> | null = null;

export function say(text: string): void {
  notice.value = text;
  if (fading !== null) clearTimeout(fading);
  fading = setTimeout(() => (notice.value = ''), NOTICE_MS);
}

let nextId = 1;

function fail(name: string, code: Failure['code'], message: string): void {
  if (failures.peek().some((known) => known.name === name && known.message === message)) return;
  failures.value = [...failures.value, { id: nextId++, name, code, message }];
}

export function failWith(name: string, error: unknown): void {
  if (isStale(error)) return;
  if (error instanceof IoError) fail(name, error.code, error.message);
  else throw error;
}

export function dismiss(id: number): void {
  failures.value = failures.value.filter((failure) => failure.id !== id);
}

/** A link names the run that it was made for; another file of that name may be another run. */
function checkLink(summary: RunSummary): void {
  const wanted = view.runId.peek();
  if (wanted === '' || view.file.peek() !== summary.name) return;
  if (String(summary.root.run_id ?? '').startsWith(wanted)) return;
  say(`The link was made for another run (${wanted}) in a file of this name.`);
}

const partsOf = ({ file, summary }: OpenRun): Part[] => {
  if (file instanceof JoinedFile) return [...file.parts];
  return [{ file, shard: shardOf(summary)!, promptIds: summary.promptIds }];
};

/** A first file without heads opens where it has something to show. */
function openAtContent({ summary, experiments: all }: OpenRun): void {
  if (view.screen.peek() !== 'overview' || summary.root.kind === 'capture') return;
  if (all.some((data) => stacksOf(data).some((stack) => headEffects(data, { stack })))) return;
  const screens: Partial<Record<string, Screen>> = { lens: 'lens', diff: 'compare' };
  const screen = screens[String(summary.root.kind)] ?? (all.length > 0 ? 'causal' : undefined);
  if (screen) choose({ screen });
}

/** Parts of one run become one: its prompts are then browsed as if they lay in one file. */
function addRun(run: OpenRun): void {
  const mate =
    shardOf(run.summary) &&
    runs.value.find(
      ({ summary }) => shardOf(summary) && summary.root.run_id === run.summary.root.run_id,
    );
  if (!mate) {
    if (runs.value.length === 0) openAtContent(run);
    runs.value = [...runs.value, run];
    return;
  }
  const [part] = partsOf(run);
  if (partsOf(mate).some(({ shard }) => shard[0] === part!.shard[0])) {
    say('This part is open already.');
    void run.file.close();
    return;
  }
  const file = new JoinedFile([...partsOf(mate), part!]);
  const joined = { ...run, file, summary: joinedSummary(run.summary, file) };
  runs.value = runs.value.map((other) => (other === mate ? joined : other));
}

export async function openSource(source: Source, name: string): Promise<void> {
  busy.value = name;
  let file: RunFile | null = null;
  try {
    file = await RunFile.open(client, source, name);
    const opened = file;
    const { schema, summary } = await readSummary(opened);
    if (schema.kind === 'newer') {
      await opened.close();
      fail(name, 'newer', schema.version);
      return;
    }
    const experiments = await Promise.all(
      summary.experiments.map((experiment) => readExperiment(opened, experiment)),
    );
    const foreign = schema.kind === 'foreign';
    addRun({ id: nextId++, file: opened, summary, foreign, experiments });
    checkLink(summary);
  } catch (error) {
    failWith(name, error);
    // Closing can fail too, where the worker died.
    await file?.close().catch(() => {});
  } finally {
    busy.value = null;
  }
}

export async function openFiles(files: Iterable<File>): Promise<void> {
  for (const file of files) await openSource({ kind: 'file', file }, file.name);
}

export async function closeRun(id: number): Promise<void> {
  const run = runs.value.find((candidate) => candidate.id === id);
  runs.value = runs.value.filter((candidate) => candidate.id !== id);
  await run?.file.close();
}

/** The file whose prompts are browsed: the chosen one, else the first capture, else the first. */
export const mainRun = computed<OpenRun | null>(() => {
  const ours = runs.value.filter((run) => !run.foreign);
  return (
    ours.find((run) => run.summary.name === view.mainFile.value) ??
    ours.find((run) => run.summary.root.kind === 'capture') ??
    ours[0] ??
    null
  );
});

/** Files of the same model: their experiments speak about the same heads. */
export const sameModelRuns = computed<readonly OpenRun[]>(() => {
  const main = mainRun.value;
  if (!main) return [];
  const key = modelKey(main.summary);
  return runs.value.filter((run) => !run.foreign && modelKey(run.summary) === key);
});

export interface NamedExperiment {
  /** Its name, with the place of its file where several files have one of that name. */
  id: string;
  run: OpenRun;
  data: ExperimentData;
}

export const experiments = computed<readonly NamedExperiment[]>(() => {
  const out: NamedExperiment[] = [];
  for (const run of sameModelRuns.value) {
    for (const data of run.experiments) {
      const taken = out.some(({ id }) => id === data.name);
      const place = runs.value.indexOf(run) + 1;
      out.push({ id: taken ? `${data.name}@${place}` : data.name, run, data });
    }
  }
  return out;
});

/** Results of interventions, whatever was changed. */
export const results = computed<readonly NamedExperiment[]>(() =>
  experiments.value.filter(({ data }) => data.numbers.effect && data.attributes.kind !== 'diff'),
);

export interface NamedEffects {
  id: string;
  run: OpenRun;
  effects: HeadEffects;
}

/** Kinds of attention that the prompt has maps of, then those that only experiments speak of. */
export const stackNames = computed<readonly StackName[]>(() => {
  const captured = prompt.value?.stacks.map(({ stack: name }) => name) ?? [];
  const tested = experiments.value.flatMap(({ data }) => stacksOf(data));
  return [...new Set([...captured, ...tested])];
});

export const stackName = computed<StackName>(
  () => stackNames.value.find((name) => name === view.stack.value) ?? stackNames.value[0] ?? 'self',
);

/** Experiments that say something about single heads of this kind of attention. */
export const allEffects = computed<readonly NamedEffects[]>(() =>
  experiments.value.flatMap(({ id, run, data }) => {
    const groupSize = groupSizeOf(run.summary.model);
    const effects = headEffects(data, { stack: stackName.value, groupSize });
    return effects ? [{ id, run, effects }] : [];
  }),
);

export const chosenEffects = computed<NamedEffects | null>(() => {
  const all = allEffects.value;
  const wanted = all.find(({ id }) => id === view.experiment.value);
  if (wanted) return wanted;
  const best = preferred(all.map(({ effects }) => effects));
  return all.find(({ effects }) => effects === best) ?? null;
});

export const chosenMethod = computed<number>(() => {
  const count = chosenEffects.value?.effects.methods.length ?? 0;
  return view.method.value < count ? view.method.value : 0;
});

export const stack = computed<StackData | null>(
  () => prompt.value?.stacks.find((candidate) => candidate.stack === stackName.value) ?? null,
);
