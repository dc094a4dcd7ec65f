/** Where the address names what is not there, and the address of what is shown instead. */

import { computed, signal } from '@preact/signals';
import {
  absentFile,
  absentPart,
  byPlace,
  notUnderstood,
  otherRun,
  otherVersion,
} from '../model/link_words';
import { findExperiment } from '../model/experiment_names';
import { nameOf } from '../model/heads';
import { formatVersus, versus, versusLink, versusRun } from './compare';
import { HASH_VERSION, type ViewState } from './hash';
import { table } from './heads';
import { promptIds, promptTable } from './prompts';
import { selected, shownHead, statistic, trayHeads } from './selection';
import { choose, misread, view } from './view';
import {
  busy,
  chosenEffects,
  experiments,
  mainRun,
  prompt,
  readingPrompt,
  runIdOf,
  runs,
  stackName,
  type OpenRun,
} from './workspace';

export interface Discrepancy {
  words: string;
  /** What to change, so that the address names what is shown. */
  patch: Partial<ViewState>;
}

function ofFile(main: OpenRun): Discrepancy[] {
  const { summary } = main;
  const wanted = view.mainFile.value || view.file.value;
  const run = view.runId.value;
  const patch = { mainFile: '', file: '', runId: '' };
  const open = runs.value.some((one) => !one.foreign && one.summary.name === wanted);
  if (wanted !== '' && !open) return [{ words: absentFile(wanted, summary.name), patch }];
  if (run === '' || view.file.value !== summary.name) return [];
  if (runIdOf(main).startsWith(run)) return [];
  return [{ words: otherRun(summary.name, run), patch: { file: '', runId: '' } }];
}

function ofPrompt(run: OpenRun): Discrepancy[] {
  const wanted = view.prompt.value;
  const ids = promptIds(run);
  if (wanted === '' || ids.length === 0 || ids.includes(wanted)) return [];
  const lacks = `${run.summary.name} has no prompt`;
  return [{ words: absentPart(lacks, wanted, prompt.value?.id ?? ''), patch: { prompt: '' } }];
}

function ofHeads({ summary: { name } }: OpenRun): Discrepancy[] {
  const out: Discrepancy[] = [];
  const { heads, columns, index } = table.value;
  if (heads.length === 0) return out;
  const { head, stack, tray, statistic: shown } = view;
  if (head.value !== '' && selected.value < 0) {
    const one = ['head', 'compare'].includes(view.screen.value) ? shownHead.value : null;
    const words = absentPart(`${name} has no head`, head.value, one ? nameOf(one) : '');
    out.push({ words, patch: { head: '' } });
  }
  if (stack.value !== 'self' && stack.value !== stackName.value) {
    const words = absentPart(`${name} has no attention of kind`, stack.value, stackName.value);
    out.push({ words, patch: { stack: 'self' } });
  }
  const strange = tray.value.filter((one) => !index.has(one));
  if (strange.length > 0) {
    const words = absentPart(`${name} has no head for the tray,`, strange.join(', '), '');
    out.push({ words, patch: { tray: trayHeads.value.map(nameOf) } });
  }
  if (shown.value !== '' && !columns.has(shown.value)) {
    const words = absentPart(`${name} has no statistic`, shown.value, statistic.value?.id ?? '');
    out.push({ words, patch: { statistic: '' } });
  }
  return out;
}

function ofExperiment(): Discrepancy[] {
  const wanted = view.experiment.value;
  if (wanted === '' || findExperiment(experiments.value, wanted)) return [];
  const onScreen = view.screen.value === 'overview' ? (chosenEffects.value?.id ?? '') : '';
  const words = absentPart('No open file has the experiment', wanted, onScreen);
  return [{ words, patch: { experiment: '', method: 0 } }];
}

function ofOther(): Discrepancy[] {
  if (view.screen.value !== 'compare' || view.versus.value === '') return [];
  const { file, place, prompt: id } = versusLink.value;
  const run = versusRun.value;
  if (!run) {
    const name = file?.name ?? `File ${(place ?? 0) + 1}`;
    return [{ words: absentFile(name, '', 'B'), patch: { versus: '' } }];
  }
  const shown = versus.value;
  const { name } = run.summary;
  const patch = shown ? { versus: formatVersus(shown.run, shown.promptId, shown.head) } : {};
  const out: Discrepancy[] = [];
  if (file && !runIdOf(run).startsWith(file.run)) {
    out.push({ words: otherRun(name, file.run, 'B'), patch });
  }
  if (place !== null && runs.value.length > 1) out.push({ words: byPlace(name), patch });
  const head = versusLink.value.head;
  if (head !== '' && shown && nameOf(shown.head) !== head) {
    out.push({ words: absentPart(`B, ${name}, has no head`, head, nameOf(shown.head)), patch });
  }
  if (id !== '' && shown && shown.promptId !== id) {
    out.push({ words: absentPart(`B, ${name}, has no prompt`, id, shown.promptId), patch });
  }
  return out;
}

/** What screens that come later look for in the address. */
export const laterChecks = signal<readonly (() => Discrepancy[])[]>([]);

/** Columns that lists are sorted by, and what is shown of units. */
function ofColumns({ summary: { name } }: OpenRun): Discrepancy[] {
  const out: Discrepancy[] = [];
  const { columns, heads } = table.value;
  if (view.sort.value !== '' && heads.length > 0 && !columns.has(view.sort.value)) {
    const words = absentPart(`${name} has no column to sort by called`, view.sort.value, '');
    out.push({ words, patch: { sort: '' } });
  }
  const order = view.promptSort.value.replace(/^-/, '');
  const known = promptTable.value;
  if (known && !['', 'id', 'text'].includes(order) && !known.columns[order]) {
    const words = absentPart(`The prompts of ${name} have no column`, order, '');
    out.push({ words, patch: { promptSort: '' } });
  }
  if (experiments.value.length === 0) return out;
  const arrays = new Set(experiments.value.flatMap(({ data }) => Object.keys(data.numbers)));
  const lacks = 'No open file has results called';
  if (view.array.value !== '' && !arrays.has(view.array.value)) {
    out.push({ words: absentPart(lacks, view.array.value, ''), patch: { array: '' } });
  }
  const sort = view.unitSort.value.replace(/^-/, '');
  if (!['', 'unit'].includes(sort) && !arrays.has(sort)) {
    out.push({ words: absentPart(lacks, sort, ''), patch: { unitSort: '' } });
  }
  const methods = Math.max(1, ...experiments.value.map(({ data }) => data.methods.length));
  if (view.method.value >= methods) {
    const words = absentPart('No open file has a method', `${view.method.value}`, '');
    out.push({ words, patch: { method: 0 } });
  }
  return out;
}

const discrepancies = computed<Discrepancy[]>(() => {
  const run = mainRun.value;
  // While files are being opened, what the address names may still come.
  if (!run || busy.value !== null) return [];
  const later = laterChecks.value.flatMap((check) => check());
  const inFile = readingPrompt.value ? [] : [...ofPrompt(run), ...ofHeads(run), ...later];
  return [...ofFile(run), ...inFile, ...ofColumns(run), ...ofExperiment(), ...ofOther()];
});

/** In sentences; none where everything that the address names is on screen. */
export const linkWords = computed<string[]>(() => {
  const { version, refused } = misread.value;
  return [
    ...(version === HASH_VERSION ? [] : [otherVersion(version)]),
    ...(refused.length > 0 ? [notUnderstood(refused)] : []),
    ...discrepancies.value.map(({ words }) => words),
  ];
});

/** From here on the address names what is shown. */
export function keepWhatIsShown(): void {
  misread.value = { version: HASH_VERSION, refused: [] };
  choose(
    Object.assign({}, ...discrepancies.peek().map(({ patch }) => patch)) as Partial<ViewState>,
  );
}
