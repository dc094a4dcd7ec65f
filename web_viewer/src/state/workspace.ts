/** The files that are open and what has been read from them. */

import { computed, signal } from '@preact/signals';
import type { ExperimentData, PromptData, RunSummary, StackData } from '../format/types';
import type { StackName } from '../format/schema';
import { Client } from '../io/client';
import { IoError, isStale } from '../io/errors';
import type { Part } from '../io/joined_file';
import { partialWords } from '../io/parts';
import type { Source } from '../io/protocol';
import type { RunReader } from '../io/run_file';
import { browserSurroundings } from '../io/surroundings';
import type { PromptTexts } from '../model/effect_prompts';
import { headEffects, isDifference, preferred, stacksOf, type HeadEffects } from '../model/effects';
import { experimentIds, findExperiment, type ExperimentPlace } from '../model/experiment_names';
import { added, isSameCause, type FailureCard, type FailureCode } from '../model/failures';
import { groupSizeOf, modelKey } from '../model/join';
import { WHOLE_MAP, type ViewState } from './hash';
import { view } from './view';

/** A part of a longer run, with what it says itself. */
export interface OpenPart extends Part {
  experiments: readonly ExperimentData[];
  /** Where its bytes come from, to open it again. */
  source: Source;
}

export interface OpenRun {
  id: number;
  file: RunReader;
  summary: RunSummary;
  /** Where its bytes come from, to open it again; null for parts that were joined. */
  source: Source | null;
  foreign: boolean;
  experiments: readonly ExperimentData[];
  /** Of the prompts of its experiments; null without any. */
  texts: PromptTexts | null;
  /** The parts at hand of a run that is not whole. */
  parts: readonly OpenPart[] | null;
}

export interface Failure extends FailureCard {
  id: number;
}

export const client = new Client(browserSurroundings());
export const runs = signal<readonly OpenRun[]>([]);
export const failures = signal<readonly Failure[]>([]);
export const busy = signal<string | null>(null);
/** Files that are about to be opened, by name, until they are open or known to be none. */
export const coming = signal<readonly string[]>([]);
/** Until it is read nobody can say what it lacks. */
export const readingPrompt = signal(false);
/** The chosen prompt, where it could not be read. */
export const unreadPrompt = signal<string | null>(null);
/** The prompt that was read last, and the file it is of. */
export const lastPrompt = signal<{ run: number; data: PromptData } | null>(null);
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
export const newId = (): number => nextId++;

export function fail(name: string, code: FailureCode, message: string): void {
  const known = failures.peek();
  const at = known.findIndex((card) => isSameCause(card, { name, code }));
  failures.value =
    at < 0
      ? [...known, { id: newId(), name, code, messages: [message] }]
      : known.map((card, i) => (i === at ? { ...card, ...added(card, code, message) } : card));
}

export function failWith(name: string, error: unknown): void {
  if (isStale(error)) return;
  if (error instanceof IoError) fail(name, error.code, error.message);
  else throw error;
}

/** What of a prompt is left out, since it does not fit. */
export function tellFaults(name: string, { stacks }: PromptData): void {
  for (const fault of stacks.flatMap(({ faults }) => faults)) fail(name, 'shape', fault);
}

export const dismissAll = (): void => void (failures.value = []);

export function dismiss(id: number): void {
  failures.value = failures.value.filter((failure) => failure.id !== id);
}

export async function closeRun(id: number): Promise<void> {
  const run = runs.value.find((candidate) => candidate.id === id);
  runs.value = runs.value.filter((candidate) => candidate.id !== id);
  failures.value = failures.value.filter(
    ({ code, name }) => code !== 'foreign' || name !== run?.summary.name,
  );
  await run?.file.close();
}

/** What tells runs apart in an address. */
export const runIdOf = ({ summary }: OpenRun): string =>
  String(summary.root.run_id ?? '').slice(0, 16);

/** How many parts of its run a file is made of, in words; null for a whole file. */
export function partialOf({ parts }: OpenRun): string | null {
  return parts && partialWords(parts.length, parts[0]!.shard.total);
}

/** The file that the address names, while it is yet to be opened: nothing is shown in its place. */
export const awaited = computed<string>(() => {
  const isOpen = (name: string) => runs.value.some(({ summary }) => summary.name === name);
  const names = [view.mainFile.value, view.file.value].filter(Boolean);
  const first = names.find((name) => isOpen(name) || coming.value.includes(name));
  return first === undefined || isOpen(first) ? '' : first;
});

/** The file whose prompts are browsed: the chosen one, that of the link, the first capture. */
export const mainRun = computed<OpenRun | null>(() => {
  if (awaited.value !== '') return null;
  const ours = runs.value.filter((run) => !run.foreign);
  return (
    ours.find((run) => run.summary.name === view.mainFile.value) ??
    ours.find((run) => run.summary.name === view.file.value) ??
    ours.find((run) => run.summary.root.kind === 'capture') ??
    ours[0] ??
    null
  );
});

/** The prompt on screen; null until it is read after another file became the main one. */
export const prompt = computed<PromptData | null>(() => {
  const last = lastPrompt.value;
  return last && last.run === mainRun.value?.id ? last.data : null;
});

/** Files of the same model: their experiments speak about the same heads. */
const sameModelRuns = computed<readonly OpenRun[]>(() => {
  const main = mainRun.value;
  if (!main) return [];
  const key = modelKey(main.summary);
  return runs.value.filter((run) => !run.foreign && modelKey(run.summary) === key);
});

/** Captures of the same model beside the chosen file. */
export const otherCaptures = computed<string[]>(() =>
  sameModelRuns.value
    .filter((run) => run !== mainRun.value && run.summary.root.kind === 'capture')
    .map(({ summary }) => summary.name),
);

export interface NamedExperiment {
  /** What the address calls it: its name, with its file where several have one of that name. */
  id: string;
  place: ExperimentPlace;
  run: OpenRun;
  data: ExperimentData;
}

export const experiments = computed<readonly NamedExperiment[]>(() => {
  const found = sameModelRuns.value.flatMap((run) =>
    run.experiments.map((data) => {
      const place = runs.value.indexOf(run) + 1;
      return { run, data, place: { name: data.name, file: run.summary.name, place } };
    }),
  );
  const ids = experimentIds(found.map(({ place }) => place));
  return found.map((one, at) => ({ id: ids[at]!, ...one }));
});

/** Results of interventions, whatever was changed. */
export const results = computed<readonly NamedExperiment[]>(() =>
  experiments.value.filter(({ data }) => data.numbers.effect && !isDifference(data)),
);

export interface NamedEffects extends NamedExperiment {
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
  experiments.value.flatMap((one) => {
    const { run, data } = one;
    const groupSize = groupSizeOf(run.summary.model);
    const effects = headEffects(data, { stack: stackName.value, groupSize });
    return effects ? [{ ...one, effects }] : [];
  }),
);

/** Those of the file that the user chose; the first capture is only where the page begins. */
export const ofChosenFile = <T extends NamedExperiment>(all: readonly T[]): readonly T[] =>
  all.filter(({ run }) => run.summary.name === view.mainFile.value);

/** The one that the address names, else what tells most: of the chosen file, if it has any. */
export const chosenEffects = computed<NamedEffects | null>(() => {
  const all = allEffects.value;
  const wanted = findExperiment(all, view.experiment.value);
  if (wanted) return wanted;
  const own = ofChosenFile(all);
  const among = own.length > 0 ? own : all;
  const best = preferred(among.map(({ effects }) => effects));
  return among.find(({ effects }) => effects === best) ?? null;
});

/** Another file: its own results go before those that another one has. */
export function fileChoice(run: OpenRun): Partial<ViewState> {
  const place = { prompt: '', ...WHOLE_MAP };
  const mainFile = run.summary.name;
  if (run.experiments.length === 0) return { mainFile, ...place };
  return { mainFile, ...place, experiment: '', method: 0, array: '', unitSort: '' };
}

export const chosenMethod = computed<number>(() => {
  const count = chosenEffects.value?.effects.methods.length ?? 0;
  return view.method.value < count ? view.method.value : 0;
});

export const stack = computed<StackData | null>(
  () => prompt.value?.stacks.find((candidate) => candidate.stack === stackName.value) ?? null,
);
