/** The two maps that are compared: A is the head on screen, B another head, prompt or file. */

import { computed, effect, signal } from '@preact/signals';
import { readPrompt } from '../io/read_prompt';
import type { PromptData } from '../format/types';
import { MAX_TILES, TILE } from '../draw/heat_map';
import type { Block } from '../draw/transform';
import { nameOf, parseHead, type HeadRef } from '../model/heads';
import { findMap, headMap, type HeadMap } from './map';
import { shownHead } from './selection';
import { arrivals, tile } from './tiles';
import { view } from './view';
import { failWith, mainRun, prompt, runs, stack, type OpenRun } from './workspace';

/** What `vs` of the address names: file, prompt and head. */
export interface Versus {
  run: OpenRun;
  promptId: string;
  head: HeadRef;
}

export const formatVersus = (run: OpenRun, promptId: string, head: HeadRef): string =>
  [runs.peek().indexOf(run), promptId, nameOf(head)].join(':');

export const versus = computed<Versus | null>(() => {
  const main = mainRun.value;
  const here = shownHead.value;
  if (!main || !here) return null;
  const [file = '', promptId = '', name = ''] = view.versus.value.split(':');
  const run = runs.value[Number(file)] ?? main;
  const ids = run.summary.promptIds;
  const sameId = prompt.value?.id ?? ids[0];
  const id = ids.includes(promptId)
    ? promptId
    : sameId !== undefined && ids.includes(sameId)
      ? sameId
      : ids[0];
  if (id === undefined) return null;
  return { run, promptId: id, head: parseHead(name) ?? trayHead(here) };
});

/** Without a choice, the first head of the tray that is another one. */
function trayHead(here: HeadRef): HeadRef {
  const other = view.tray.value
    .map(parseHead)
    .find((head) => head && nameOf(head) !== nameOf(here));
  return other ?? here;
}

export const versusPrompt = signal<PromptData | null>(null);
let owner = '';

export function followCompare(): void {
  effect(() => {
    const wanted = versus.value;
    if (view.screen.value !== 'compare' || !wanted) return;
    const key = `${wanted.run.id}|${wanted.promptId}`;
    if (key === owner) return;
    owner = key;
    readPrompt(wanted.run.file, wanted.promptId).then(
      (data) => {
        if (owner === key) versusPrompt.value = data;
      },
      (error: unknown) => failWith(wanted.run.summary.name, error),
    );
  });
}

export interface Side {
  run: OpenRun;
  prompt: PromptData;
  at: HeadMap;
}

export const sideA = computed<Side | null>(() => {
  const run = mainRun.value;
  const at = headMap.value;
  return run && prompt.value && at ? { run, prompt: prompt.value, at } : null;
});

export const sideB = computed<Side | null>(() => {
  const wanted = versus.value;
  const data = versusPrompt.value;
  if (!wanted || data?.id !== wanted.promptId) return null;
  const name = stack.value?.stack;
  const found = data.stacks.find((candidate) => candidate.stack === name) ?? data.stacks[0];
  const at = found ? findMap(found.maps, found.layers, wanted.head) : null;
  return at ? { run: wanted.run, prompt: data, at } : null;
});

export const sideTile = (side: Side, level: number, row: number, column: number): Block | null =>
  tile(side.run.file, side.at.map, side.at.index, level, row, column);

/** A − B where both have cells. */
export function differenceTile(
  a: Side,
  b: Side,
  level: number,
  row: number,
  column: number,
): Block | null {
  const [left, right] = [sideTile(a, level, row, column), sideTile(b, level, row, column)];
  if (!left || !right) return null;
  const rows = Math.min(left.rows, right.rows);
  const columns = Math.min(left.columns, right.columns);
  const values = new Float32Array(rows * columns);
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < columns; ++c) {
      values[r * columns + c] =
        left.values[r * left.columns + c]! - right.values[r * right.columns + c]!;
    }
  }
  return { values, rows, columns };
}

/** Cells that both maps have: tokens are aligned by index. */
export const commonShape = computed(() => {
  const a = sideA.value?.at.map.shape;
  const b = sideB.value?.at.map.shape;
  if (!a || !b) return null;
  return {
    rows: Math.min(a[1], b[1]),
    columns: Math.min(a[2], b[2]),
    equal: a[1] === b[1] && a[2] === b[2],
  };
});

/** The largest difference of what is here; 1 where the map is too long to be read as a whole. */
export const largestDifference = computed<number>(() => {
  const [a, b] = [sideA.value, sideB.value];
  const shape = commonShape.value;
  arrivals.value;
  if (!a || !b || !shape) return 1;
  const rows = Math.ceil(shape.rows / TILE);
  const columns = Math.ceil(shape.columns / TILE);
  if (rows * columns > MAX_TILES / 2) return 1;
  let most = 0;
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      for (const value of differenceTile(a, b, 1, row, column)?.values ?? []) {
        if (Math.abs(value) > most) most = Math.abs(value);
      }
    }
  }
  return most || 1;
});
