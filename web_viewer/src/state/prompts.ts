/** The prompts of the main file: their table, statistics over them, and which one is read. */

import { computed, effect, signal } from '@preact/signals';
import { packedId } from '../format/schema';
import { isStale } from '../io/errors';
import {
  readGroupStats,
  readLengths,
  readPackedStats,
  readPackedTable,
  readPrompt,
  readPromptGroups,
  type PromptStats,
} from '../io/read_prompt';
import { findPrompts, meansOver, sortPrompts, type PromptRows } from '../model/prompts';
import { view } from './view';
import {
  client,
  failWith,
  lastPrompt,
  mainRun,
  prompt,
  readingPrompt,
  say,
  tellFaults,
  unreadPrompt,
  type OpenRun,
} from './workspace';

export const promptTable = signal<PromptRows | null>(null);
/** Whether there is none because it could not be read. */
export const noPromptTable = signal(false);
export const promptStats = signal<PromptStats | null>(null);

/** Names of all prompts, of either layout. */
export function promptIds(run: OpenRun): string[] {
  const { promptIds: groups, packedPrompts } = run.summary;
  if (packedPrompts === 0) return groups;
  return Array.from({ length: packedPrompts }, (_, index) => packedId(index));
}

/** Indices of the prompts that pass the search, in the chosen order. */
export const shownPrompts = computed<number[]>(() => {
  const rows = promptTable.value;
  if (!rows) return [];
  return sortPrompts(rows, findPrompts(rows, view.promptFilter.value), view.promptSort.value);
});

/** Whether none of the prompts is meant though some are kept on their own, perhaps with maps. */
export const isNoPromptChosen = computed<boolean>(
  () =>
    prompt.value === null &&
    unreadPrompt.value === null &&
    (mainRun.value?.summary.promptIds.length ?? 0) > 0,
);

/** Whether the overview shows means over prompts: when asked to, or while none is chosen. */
export const showsMeans = computed<boolean>(() => {
  const run = mainRun.value;
  if (!run || !promptStats.value) return false;
  return view.mean.value || (run.summary.packedPrompts > 0 && view.prompt.value === '');
});

export const promptMeans = computed(() => {
  const stats = promptStats.value;
  if (!stats || !showsMeans.value) return null;
  const rows = promptTable.value;
  const chosen = rows
    ? findPrompts(rows, view.promptFilter.value)
    : Array.from({ length: stats.prompts }, (_, i) => i);
  const { means, deviations } = meansOver(stats.values, stats.prompts, chosen);
  const { layers, headCounts, width, names } = stats;
  return {
    stack: { layers, headCounts, width, statNames: names, headStats: means },
    deviations,
    prompts: chosen.length,
  };
});

async function loadTable(run: OpenRun): Promise<void> {
  const ids = promptIds(run);
  const packed = run.summary.packedPrompts > 0;
  const stack = run.summary.packedStacks[0];
  const [table, lengths, stats] = await Promise.all([
    packed ? readPackedTable(run.file, ids.length) : readPromptGroups(run.file, ids),
    readLengths(run.file, ids, packed),
    packed
      ? stack && readPackedStats(run.file, stack)
      : ids.length > 1
        ? readGroupStats(run.file, ids, 'self')
        : null,
  ]);
  if (mainRun.peek() !== run) return;
  // A column of the input goes before ours of its name.
  promptTable.value = { ids, texts: table.texts, columns: { tokens: lengths, ...table.columns } };
  promptStats.value = stats ?? null;
  if (packed && stack && !stats) {
    say('Statistics of so many prompts cannot be averaged here; choose a prompt.');
  }
}

async function loadPrompt(run: OpenRun, id: string): Promise<void> {
  const data = await readPrompt(run.file, id);
  if (wanted !== `${run.id}|${id}`) return;
  lastPrompt.value = { run: run.id, data };
  tellFaults(run.summary.name, data);
}

let wanted = '';

/** Reads table and prompt whenever file or choice change. */
export function followPrompts(): void {
  effect(() => {
    const run = mainRun.value;
    promptTable.value = null;
    promptStats.value = null;
    noPromptTable.value = false;
    if (!run) return;
    loadTable(run).catch((error: unknown) => {
      failWith(run.summary.name, error);
      if (mainRun.peek() === run) noPromptTable.value = true;
    });
  });
  effect(() => {
    const run = mainRun.value;
    const chosen = view.prompt.value;
    if (!run) {
      wanted = '';
      readingPrompt.value = false;
      lastPrompt.value = null;
      return;
    }
    const ids = promptIds(run);
    // A packed file begins with means over all of its prompts, so none is read.
    const first = run.summary.packedPrompts > 0 ? undefined : ids[0];
    const id = ids.includes(chosen) ? chosen : first;
    const key = id === undefined ? '' : `${run.id}|${id}`;
    if (key === wanted && key !== '') return;
    wanted = key;
    unreadPrompt.value = null;
    if (id === undefined) {
      readingPrompt.value = false;
      lastPrompt.value = null;
      return;
    }
    client.advance('tiles');
    readingPrompt.value = true;
    loadPrompt(run, id)
      .catch((error: unknown) => {
        failWith(run.summary.name, error);
        if (wanted !== key || isStale(error)) return;
        // The prompt before it would be taken for this one.
        lastPrompt.value = null;
        unreadPrompt.value = id;
      })
      .finally(() => {
        if (wanted === key) readingPrompt.value = false;
      });
  });
}
