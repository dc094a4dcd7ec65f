/** Which heads are shown, in which order, and which one is meant. */

import { computed, signal } from '@preact/signals';
import { parseFilter } from '../model/filter';
import { nameOf, parseHead, sortHeads, type Column, type HeadRef } from '../model/heads';
import type { ScatterRange } from '../draw/scatter';
import { choose, view } from './view';
import { table } from './heads';

/** Index of the head under the pointer, −1 for none. */
export const hovered = signal(-1);

export const filter = computed(() => parseFilter(table.value, view.filter.value));

/** The statistic that is shown: the chosen one, else the first that has any value. */
export const statistic = computed<Column | null>(() => {
  const { columns } = table.value;
  const wanted = columns.get(view.statistic.value);
  if (wanted && wanted.kind !== 'effect') return wanted;
  const usable = [...columns.values()].filter(
    ({ kind, values }) => kind !== 'effect' && values.some((value) => !Number.isNaN(value)),
  );
  return usable.find(({ id }) => id === 'induction') ?? usable[0] ?? null;
});

export const brush = computed<ScatterRange | null>(() => {
  const [x0, x1, y0, y1] = view.brush.value;
  if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined) return null;
  return { x: [x0, x1], y: [y0, y1] };
});

/** Whether the verdict in use has effects over all prompts beside those of its measured half. */
export const hasAllPrompts = computed<boolean>(
  () => table.value.columns.get('effect')?.allPrompts?.some((y) => !Number.isNaN(y)) ?? false,
);

/** What the scatter draws of every head: effects with intervals are of the half of the prompts
 *  that nothing was chosen on, and on request both axes are of all prompts. */
export const points = computed(() => {
  const all = view.prompts.value === 'all' && hasAllPrompts.value;
  const of = (column: Column | null | undefined): Float64Array | null =>
    (all && column?.allPrompts) || (column?.values ?? null);
  return { all, xs: of(statistic.value), ys: of(table.value.columns.get('effect')) };
});

/** Whether each head passes filter and brush. */
export const kept = computed<boolean[]>(() => {
  const { heads } = table.value;
  const result = filter.value;
  const range = brush.value;
  const { xs, ys } = points.value;
  return heads.map((_, at) => {
    if (result.ok && !result.keep(at)) return false;
    if (!range || !xs || !ys) return true;
    const [x, y] = [xs[at]!, ys[at]!];
    return x >= range.x[0] && x <= range.x[1] && y >= range.y[0] && y <= range.y[1];
  });
});

export const order = computed<number[]>(() =>
  sortHeads(table.value, view.sort.value, view.ascending.value).filter((at) => kept.value[at]),
);

/** Index of the selected head, −1 if the file has no such head. */
export const selected = computed<number>(() => table.value.index.get(view.head.value) ?? -1);

const selectedHead = computed<HeadRef | null>(() => parseHead(view.head.value));

export function selectHead(index: number, change = choose): void {
  const head = table.peek().heads[index];
  if (head) change({ head: nameOf(head) });
}

/** The heads of the tray that this file has. */
export const trayHeads = computed<HeadRef[]>(() => {
  const { heads, index } = table.value;
  return view.tray.value.flatMap((name) => heads[index.get(name) ?? -1] ?? []);
});

export function toggleTray(name: string): void {
  const tray = view.tray.peek();
  choose({ tray: tray.includes(name) ? tray.filter((item) => item !== name) : [...tray, name] });
}

/** The head beside the selected one; layers that are not in the file are skipped. */
export function stepHead(layers: number, heads: number, change = choose): void {
  const { heads: all, index, layers: stored } = table.peek();
  const now = parseHead(view.head.peek()) ?? all[0];
  if (!now) return;
  const row = stored.indexOf(now.layer);
  const layer = stored[Math.min(stored.length - 1, Math.max(0, row + layers))] ?? now.layer;
  const last = all.reduce((top, ref) => (ref.layer === layer ? Math.max(top, ref.head) : top), 0);
  const head = Math.min(last, Math.max(0, now.head + heads));
  const next = index.get(nameOf({ layer, head }));
  if (next !== undefined) selectHead(next, change);
}

/** The head that a screen about one head shows when none is chosen. */
export const shownHead = computed<HeadRef | null>(() => {
  if (selected.value >= 0) return selectedHead.value;
  const column = statistic.value;
  const first = column ? sortHeads(table.value, column.id)[0] : 0;
  return table.value.heads[first ?? 0] ?? null;
});
