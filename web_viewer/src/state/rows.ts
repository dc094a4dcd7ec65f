/** What the file keeps of every row of the head on screen: statistics, strongest keys, sums. */

import { computed, effect, signal } from '@preact/signals';
import { isStale } from '../io/errors';
import { orAbsent } from '../io/run_file';
import type { HeadRef } from '../model/heads';
import { shownHead } from './selection';
import { forgetQueuedTiles } from './tiles';
import { view } from './view';
import { client, failWith, mainRun, prompt, stack } from './workspace';

/** Statistics of the rows of one head, by name, all of them by position. */
export interface RowData {
  key: string;
  /** How many queries the head has, stored or not. */
  queries: number;
  columns: Map<string, Float32Array>;
  keySum: Float32Array | null;
  valueNorm: Float32Array | null;
  topIndex: Int32Array | null;
  topValue: Float32Array | null;
  topCount: number;
}

const rowData = signal<RowData | null>(null);
const LANE = 'rows';

const keyOf = (file: number, promptId: string, stackName: string, { layer, head }: HeadRef) =>
  `${file}|${promptId}|${stackName}|${layer}.${head}`;

async function loadRows(wanted: string): Promise<void> {
  const run = mainRun.peek();
  const data = stack.peek();
  const id = prompt.peek()?.id;
  const head = shownHead.peek();
  if (!run || !data || id === undefined || !head) return;
  const row = data.layers.indexOf(head.layer);
  const base = `/prompts/${id}/attention/${data.stack}`;
  const queries = prompt.peek()?.queryTokens[data.stack]?.texts.length ?? 0;
  const keys = prompt.peek()?.keyTokens[data.stack]?.texts.length ?? 0;
  const options = { lane: LANE, priority: 5 };
  const read = (name: string, present: boolean, count: number[]) => {
    const slab = {
      start: [row, head.head, ...count.map(() => 0)],
      count: [1, 1, ...count],
    };
    return present && count.every((extent) => extent > 0)
      ? orAbsent(run.file.numbers(`${base}/${name}`, slab, options))
      : Promise.resolve(null);
  };
  const names = data.rowStatNames;
  const [rows, keySum, valueNorm, topIndex, topValue] = await Promise.all([
    read('row_stats', names.length > 0, [queries, names.length]),
    read('key_sum', data.hasKeySum, [keys]),
    read('value_norm', data.hasValueNorm, [keys]),
    read('topk_index', data.topCount > 0, [queries, data.topCount]),
    read('topk_value', data.topCount > 0, [queries, data.topCount]),
  ]);
  // Rows that are here already may be wanted again by now.
  if (wantedKey.peek() !== wanted) return;
  const columns = new Map<string, Float32Array>();
  names.forEach((name, column) => {
    if (!rows) return;
    const at = (q: number) => rows.values[q * names.length + column]!;
    columns.set(
      name,
      Float32Array.from({ length: queries }, (_, q) => at(q)),
    );
  });
  rowData.value = {
    key: wanted,
    queries,
    columns,
    keySum: keySum ? Float32Array.from(keySum.values) : null,
    valueNorm: valueNorm ? Float32Array.from(valueNorm.values) : null,
    topIndex: topIndex ? Int32Array.from(topIndex.values) : null,
    topValue: topValue ? Float32Array.from(topValue.values) : null,
    topCount: data.topCount,
  };
}

const wantedKey = computed<string | null>(() => {
  const run = mainRun.value;
  const data = stack.value;
  const id = prompt.value?.id;
  const head = shownHead.value;
  if (!run || !data || id === undefined || !head) return null;
  return keyOf(run.file.id, id, data.stack, head);
});

/** Reads the rows of a head whenever another one is shown; what was asked of the old one is dropped. */
export function followHead(): void {
  effect(() => {
    const key = wantedKey.value;
    if (view.screen.value !== 'head' || key === null || rowData.peek()?.key === key) return;
    forgetQueuedTiles();
    client.advance(LANE);
    loadRows(key).catch((error: unknown) => {
      if (!isStale(error)) failWith(mainRun.peek()?.summary.name ?? '', error);
    });
  });
}

/** Row data only if it is that of the head on screen. */
export const currentRows = computed<RowData | null>(() => {
  const rows = rowData.value;
  return rows && rows.key === wantedKey.value ? rows : null;
});
