/** What a whole file is made of, counted without reading any values. */

import { BUILT_IN_FILTERS } from '../format/schema';
import type { RunReader } from './run_file';

export interface Survey {
  groups: number;
  datasets: number;
  /** Links are not followed. */
  links: number;
  /** How many datasets pass each filter. */
  filters: Map<string, number>;
  /** Datasets that need a filter that is not built in. */
  unreadable: string[];
  /** False where the file has more than was looked at. */
  complete: boolean;
}

/** A file with more is counted up to here, so that a hostile one ends too. */
const MOST_NODES = 20_000;

export async function surveyFile(file: RunReader): Promise<Survey> {
  const survey: Survey = {
    groups: 0,
    datasets: 0,
    links: 0,
    filters: new Map(),
    unreadable: [],
    complete: true,
  };
  const waiting = ['/'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (survey.groups + survey.datasets > MOST_NODES) return { ...survey, complete: false };
    const { nodes, total } = await file.list(path);
    if (total > nodes.length) survey.complete = false;
    for (const { name, kind, dataset } of nodes) {
      const at = path === '/' ? `/${name}` : `${path}/${name}`;
      if (kind === 'link') ++survey.links;
      if (kind === 'group') {
        ++survey.groups;
        waiting.push(at);
      }
      if (!dataset) continue;
      ++survey.datasets;
      for (const { id, name: called } of dataset.filters) {
        const filter = called || `filter ${id}`;
        survey.filters.set(filter, (survey.filters.get(filter) ?? 0) + 1);
      }
      if (dataset.filters.some(({ id }) => !BUILT_IN_FILTERS.has(id))) survey.unreadable.push(at);
    }
  }
  return survey;
}
