/** Python that reads the numbers of all heads that are on screen, from wherever they are stored. */

import { packedRow } from '../format/schema';
import { h5pyResult, h5pyStatistic } from '../model/commands';
import { findPrompts } from '../model/prompts';
import { intervalsOf } from '../model/results';
import { pythonOfMeans, type PromptsOfFile } from '../model/python';
import { promptIds, promptTable, showsMeans } from './prompts';
import { statistic } from './selection';
import { view } from './view';
import {
  chosenEffects,
  chosenMethod,
  mainRun,
  prompt,
  stack,
  type NamedExperiment,
  type OpenRun,
} from './workspace';

/** How many prompts a file has by itself: a part of a run has those of its own. */
function promptsIn(run: OpenRun, file: string): number {
  const part = run.parts?.find(({ summary }) => summary.name === file)?.summary ?? run.summary;
  return part.packedPrompts || part.promptIds.length;
}

/** The prompts that means are over, file by file. */
function meansLines(run: OpenRun, stackName: string, id: string): string | null {
  const rows = promptTable.value;
  const ids = promptIds(run);
  const chosen = rows ? findPrompts(rows, view.promptFilter.value) : ids.map((_, at) => at);
  if (chosen.length === 0) return null;
  const packed = run.summary.packedPrompts > 0;
  const path = `/packed/attention/${stackName}/head_stats`;
  const below = `attention/${stackName}/head_stats`;
  const files = new Map<string, (number | string)[]>();
  for (const at of chosen) {
    const own = run.file.origin(
      packed ? path : `/prompts/${ids[at]}/${below}`,
      packed ? at : undefined,
    );
    const list = files.get(own.file) ?? [];
    list.push(packed ? (own.row ?? at) : (own.path.split('/')[2] ?? ''));
    files.set(own.file, list);
  }
  const places = [...files].map(([file, prompts]): PromptsOfFile => ({
    file,
    prompts: prompts as number[] | string[],
    all: prompts.length === promptsIn(run, file),
  }));
  return pythonOfMeans(places, packed ? path.slice(1) : below, id);
}

/** The statistic of every head that the overview shows; null where the file has none of its own. */
export function statisticLines(): string | null {
  const column = statistic.value;
  const run = mainRun.value!;
  const { file, summary } = run;
  if (column?.kind !== 'statistic') return null;
  const id = prompt.value?.id;
  const name = stack.value?.stack ?? summary.packedStacks[0];
  if (!name) return null;
  if (showsMeans.value || id === undefined) return meansLines(run, name, column.id);
  if (summary.promptIds.includes(id)) {
    const origin = file.origin(`/prompts/${id}/attention/${name}/head_stats`);
    return h5pyStatistic(origin.file, origin.path, column.id, null);
  }
  const origin = file.origin(`/packed/attention/${name}/head_stats`, packedRow(id));
  return h5pyStatistic(origin.file, origin.path, column.id, origin.row ?? null);
}

/** An array of an experiment with its intervals, of one method or all. */
export function resultLines(
  { run, data }: NamedExperiment,
  array: string,
  method: number | null,
): string {
  const files = run.parts ? run.parts.map(({ summary }) => summary.name) : [run.summary.name];
  const arrays = [array, ...intervalsOf(data, array)].map((name) => ({
    name,
    axes: data.dims[name] ?? ['method', ...data.axes],
  }));
  return h5pyResult({ files, experiment: data.name, arrays, method });
}

/** The effects of heads that the overview shows. */
export function effectLines(): string | null {
  const chosen = chosenEffects.value;
  return chosen && resultLines(chosen, 'effect', chosenMethod.value);
}
