/** Opening files: picked, dropped, served beside the page, inside the page, or the demo. */

import type { ExperimentData, RunSummary, ServedFile } from '../format/types';
import { JoinedFile, joinedSummary } from '../io/joined_file';
import { isSameRun, shardOf } from '../io/parts';
import { probe } from '../io/probe';
import type { Source } from '../io/protocol';
import { readExperiment, readPromptTexts } from '../io/read_experiment';
import { RunFile, readSummary } from '../io/run_file';
import { servedFiles } from '../io/served';
import { demoSource, insideFiles } from '../io/surroundings';
import { shellWord } from '../model/commands';
import { headEffects, stacksOf } from '../model/effects';
import { isSameCause } from '../model/failures';
import { joinExperiment } from '../model/joined_experiment';
import type { Screen } from './hash';
import { remember } from './recent';
import { choose, view } from './view';
import {
  awaited,
  busy,
  client,
  coming,
  dismiss,
  fail,
  failures,
  failWith,
  mainRun,
  newId,
  runs,
  say,
  type OpenPart,
  type OpenRun,
} from './workspace';

/** A first file without heads opens where it has something to show. */
function openAtContent({ summary, experiments: all, parts }: OpenRun): void {
  if (view.screen.peek() !== 'overview' || summary.root.kind === 'capture') return;
  if (all.some((data) => stacksOf(data).some((stack) => headEffects(data, { stack })))) return;
  const screens: Partial<Record<string, Screen>> = { lens: 'lens', diff: 'compare' };
  const other = all.length > 0 ? 'causal' : undefined;
  const measured = parts?.some(({ shard }) => shard.kind === 'measurements');
  const screen = measured ? 'file' : (screens[String(summary.root.kind)] ?? other);
  if (screen) choose({ screen });
}

function place(run: OpenRun, former: OpenRun | undefined): void {
  if (runs.value.length === 0 && awaited.peek() === '') openAtContent(run);
  runs.value = former
    ? runs.value.map((other) => (other === former ? run : other))
    : [...runs.value, run];
}

function joinedExperiments(parts: readonly OpenPart[]): ExperimentData[] {
  const [first, ...others] = parts;
  if (first!.shard.kind !== 'cells') return [...first!.experiments];
  return first!.experiments.flatMap((data) => {
    const pieces = others.map(({ experiments }) =>
      experiments.find(({ name }) => name === data.name),
    );
    return pieces.every((piece) => piece !== undefined) ? [joinExperiment([data, ...pieces])] : [];
  });
}

/** Parts of one run become one: they are then browsed as if they lay in one file. */
function addPart(run: OpenRun, part: OpenPart): void {
  const mate = runs.value.find(
    ({ parts }) => parts !== null && isSameRun(parts[0]!.summary, part.summary),
  );
  const known = mate?.parts ?? [];
  const before = known.find(({ shard }) => shard.index === part.shard.index);
  if (before && !isSameSource(before.source, part.source)) {
    say('This part is open already.');
    void part.file.close();
    return;
  }
  const parts = [...known.filter((one) => one !== before), part].sort(
    (a, b) => a.shard.index - b.shard.index,
  );
  const experiments = joinedExperiments(parts);
  if (parts.length === 1) place({ ...run, parts, experiments }, mate);
  else {
    const file = new JoinedFile(parts);
    place({ ...run, file, source: null, summary: joinedSummary(file), parts, experiments }, mate);
  }
  if (before) void leave(before);
}

/** Whether a part comes from the address that it was read from before: it was asked for again. */
const isSameSource = (a: Source, b: Source): boolean =>
  a.kind === 'url' && b.kind === 'url' && a.url === b.url;

function addRun(run: OpenRun & { source: Source }): void {
  const { summary, file, experiments, source } = run;
  const shard = run.foreign ? null : shardOf(summary);
  if (shard) {
    addPart(run, { file, shard, summary, experiments, source });
    return;
  }
  const again = runs.value.find((other) => isReplaced(other, summary));
  place(run, again);
  if (again) void leave(again);
}

const told = new Set<number>();

/** A file of another program is in no list of runs; where it is alone the page is of it anyway. */
function tellForeign(): void {
  if (!mainRun.peek()) return;
  for (const { id, foreign, summary } of runs.peek()) {
    if (!foreign || told.has(id)) continue;
    told.add(id);
    fail(summary.name, 'foreign', 'Its root has no attribute “schema” of attnscope');
  }
}

const toldChanged = (name: string) =>
  failures.value.filter((failure) => isSameCause(failure, { name, code: 'changed' }));

/** The same file once more: the same run, or one that is known to have changed on disk. */
function isReplaced({ summary: old }: OpenRun, summary: RunSummary): boolean {
  if (old.name !== summary.name) return false;
  return old.root.run_id === summary.root.run_id || toldChanged(old.name).length > 0;
}

async function leave({ file, summary }: Pick<OpenRun, 'file' | 'summary'>): Promise<void> {
  // Reads that are under way fail before the file is closed, and say so once more.
  await file.close().catch(() => {});
  for (const { id } of toldChanged(summary.name)) dismiss(id);
}

async function openSource(source: Source, name: string): Promise<void> {
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
    // Without the texts the page says less, and whatever ails them is said where they are shown.
    const texts =
      experiments.length > 0 ? await readPromptTexts(opened, summary).catch(() => null) : null;
    const foreign = schema.kind === 'foreign';
    const run = { id: newId(), file: opened, summary, source, foreign, experiments, texts };
    addRun({ ...run, parts: null });
    tellForeign();
    if (source.kind === 'file') remember(name, source.file.size);
  } catch (error) {
    failWith(name, error);
    // Closing can fail too, where the worker died.
    await file?.close().catch(() => {});
  } finally {
    busy.value = null;
  }
}

/** One after the other, all of them announced. */
async function inTurn<Of extends { name: string }>(
  files: readonly Of[],
  open: (file: Of) => Promise<void> | void,
): Promise<void> {
  coming.value = [...coming.value, ...files.map(({ name }) => name)];
  for (const file of files) {
    await open(file);
    const at = coming.value.indexOf(file.name);
    coming.value = coming.value.filter((_, i) => i !== at);
  }
}

export const openFiles = (files: Iterable<File>): Promise<void> =>
  inTurn([...files], (file) => openSource({ kind: 'file', file }, file.name));

async function openUrl(url: string, name: string): Promise<void> {
  busy.value = name;
  try {
    await openSource(await probe(url), name);
  } catch (error) {
    failWith(name, error);
  } finally {
    busy.value = null;
  }
}

interface Served {
  name: string;
  url: string;
}

/** The files on a server that an open one is made of: itself, or its parts. */
export const servedBy = ({ source, summary, parts }: OpenRun): Served[] =>
  (parts ?? [{ source, summary }]).flatMap((one) =>
    one.source?.kind === 'url' ? [{ name: one.summary.name, url: one.source.url }] : [],
  );

/** Of the open file of a name, or whose part has that name. */
function servedAs(name: string): Served[] {
  const isIt = ({ summary, parts }: OpenRun) =>
    summary.name === name || (parts?.some((part) => part.summary.name === name) ?? false);
  const run = runs.value.find(isIt);
  return run ? servedBy(run) : [];
}

/** Whether a server has an open file; another one has to be picked again. */
export const isServed = (name: string): boolean => servedAs(name).length > 0;

/** Opens what a server has now under the address of a file that changed. */
export async function reload(name: string): Promise<void> {
  for (const { url, name: called } of servedAs(name)) await openUrl(url, called);
}

/** Asks the server anew for all of its files; what comes takes the place of what is open. */
export async function reloadServed(card: number): Promise<void> {
  dismiss(card);
  for (const { url, name } of runs.value.flatMap(servedBy)) await openUrl(url, name);
}

/** How a server calls its files, by their addresses. */
const pathOf = new Map<string, string>();

/** The command that serves what this page has of its server, from whatever folder. */
export function serveAgain(): string {
  const files = runs.value.flatMap(servedBy).map(({ url, name }) => pathOf.get(url) ?? name);
  return ['attnscope view', ...files.map(shellWord)].join(' ');
}

const openServed = (files: readonly ServedFile[]): Promise<void> =>
  inTurn(files, async (file) => {
    if ('url' in file) {
      if (file.path !== undefined) pathOf.set(file.url, file.path);
      await openUrl(file.url, file.name);
    } else fail(file.name, 'unreadable', file.error);
  });

/** Files that the address names: ?file=URL, as often as needed, from where the page came from. */
function namedFiles(): ServedFile[] {
  return new URLSearchParams(location.search).getAll('file').flatMap((url): ServedFile[] => {
    if (!URL.canParse(url, location.href)) return [];
    const { href, origin, pathname } = new URL(url, location.href);
    if (origin !== location.origin) return [];
    return [{ name: decodeURIComponent(pathname.split('/').pop() ?? url), url: href }];
  });
}

/** What a page opens by itself: files inside it, those of its address, or those of its server. */
export async function openAtStart(): Promise<void> {
  const inside = insideFiles();
  await inTurn(inside, ({ bytes, name }) => openSource({ kind: 'bytes', bytes }, name));
  if (inside.length > 0 || !location.protocol.startsWith('http')) return;
  const named = namedFiles();
  if (named.length === 0) busy.value = 'the files of this server';
  try {
    await openServed(named.length > 0 ? named : await servedFiles(document.baseURI));
  } finally {
    busy.value = null;
  }
}

const DEMO = ['demo-capture.h5', 'demo-verdict.h5'];

export async function openDemo(): Promise<void> {
  for (const name of DEMO) {
    const source = await demoSource(name).catch((error: unknown) => failWith(name, error));
    if (source) await openSource(source, name);
  }
}
