/** The two maps that are compared: A is the head on screen, B another head, prompt or file. */

import { computed, effect, signal } from '@preact/signals';
import { readPrompt } from '../io/read_prompt';
import type { PromptData, Tokens } from '../format/types';
import { MAX_TILES, TILE } from '../draw/heat_map';
import type { Block } from '../draw/transform';
import { clampView, fitAll, type Viewport } from '../draw/viewport';
import { alignMaps, isAsStored, type Alignment } from '../model/align';
import { nameOf, parseHead, type HeadRef } from '../model/heads';
import { pickTexts, positionOf, type Positions } from '../model/positions';
import { plainToken, tokenLabel } from '../model/tokens';
import { formatVersusLink, parseVersusLink } from '../model/versus';
import { findMap, headMap, type HeadMap } from './map';
import { promptIds } from './prompts';
import { shownHead, trayHeads } from './selection';
import { arrivals, cellValue, tile } from './tiles';
import { view } from './view';
import {
  failWith,
  mainRun,
  prompt,
  runIdOf,
  runs,
  stack,
  type OpenRun,
  tellFaults,
} from './workspace';

/** What `vs` of the address names: file, prompt and head. */
export interface Versus {
  run: OpenRun;
  promptId: string;
  head: HeadRef;
}

export const formatVersus = (run: OpenRun, promptId: string, head: HeadRef): string =>
  formatVersusLink(run.summary.name, runIdOf(run), promptId, nameOf(head));

export const versusLink = computed(() => parseVersusLink(view.versus.value));

/** The file of B: null where the address names one that is not open. */
export const versusRun = computed<OpenRun | null>(() => {
  const { file, place } = versusLink.value;
  if (file === null) return (place === null ? mainRun.value : runs.value[place]) ?? null;
  const named = runs.value.filter(({ summary }) => summary.name === file.name);
  return named.find((run) => runIdOf(run).startsWith(file.run)) ?? named[0] ?? null;
});

export const versus = computed<Versus | null>(() => {
  const here = shownHead.value;
  const run = versusRun.value;
  if (!run || !here) return null;
  const { prompt: promptId, head: name } = versusLink.value;
  const ids = promptIds(run);
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
  return trayHeads.value.find((head) => nameOf(head) !== nameOf(here)) ?? here;
}

const keyOf = ({ run, promptId }: Versus): string => `${run.id}|${promptId}`;

/** The prompt of B; null where it could not be read. */
const versusPrompt = signal<{ key: string; data: PromptData | null } | null>(null);
let owner = '';

export function followCompare(): void {
  effect(() => {
    const wanted = versus.value;
    if (view.screen.value !== 'compare' || !wanted) return;
    const key = keyOf(wanted);
    if (key === owner) return;
    owner = key;
    readPrompt(wanted.run.file, wanted.promptId).then(
      (data) => {
        if (owner !== key) return;
        versusPrompt.value = { key, data };
        tellFaults(wanted.run.summary.name, data);
      },
      (error: unknown) => {
        if (owner === key) versusPrompt.value = { key, data: null };
        failWith(wanted.run.summary.name, error);
      },
    );
  });
}

/** Until it is read nobody can say what it lacks. */
export const isReadingB = computed<boolean>(
  () => versus.value !== null && versusPrompt.value?.key !== keyOf(versus.value),
);

export interface Side {
  run: OpenRun;
  prompt: PromptData;
  /** Which attention it is of; B may have another one only where it lacks that of A. */
  stack: string;
  at: HeadMap;
}

export const sideA = computed<Side | null>(() => {
  const run = mainRun.value;
  const at = headMap.value;
  const name = stack.value?.stack;
  return run && prompt.value && at && name ? { run, prompt: prompt.value, stack: name, at } : null;
});

export const sideB = computed<Side | null>(() => {
  const wanted = versus.value;
  const read = versusPrompt.value;
  // Prompts of two files may have the same name.
  if (!wanted || !read?.data || read.key !== keyOf(wanted)) return null;
  const name = stack.value?.stack;
  const { stacks } = read.data;
  const found = stacks.find((candidate) => candidate.stack === name) ?? stacks[0];
  const at = found ? findMap(found.maps, found.layers, wanted.head) : null;
  return found && at ? { run: wanted.run, prompt: read.data, stack: found.stack, at } : null;
});

/** Whether nothing is compared yet. */
export const isSameMap = computed<boolean>(() => {
  const [a, b] = [sideA.value, sideB.value];
  if (!a || !b || a.run !== b.run || a.prompt.id !== b.prompt.id || a.stack !== b.stack)
    return false;
  return nameOf(a.at.head) === nameOf(b.at.head);
});

/** Texts of the rows or columns of a map, as two vocabularies write them alike. */
function textsOf(side: Side, tokens: PromptData['queryTokens'], stored: Positions): string[] {
  const own: Tokens | undefined = tokens[side.stack as keyof typeof tokens];
  return pickTexts(own?.texts.map(plainToken) ?? [], stored);
}

const rowTexts = (side: Side): string[] =>
  textsOf(side, side.prompt.queryTokens, side.at.map.queryPositions);
const columnTexts = (side: Side): string[] =>
  textsOf(side, side.prompt.keyTokens, side.at.map.keyPositions);

export interface Pairing {
  rows: Alignment;
  columns: Alignment;
}

/** Without a choice maps of one size are compared cell by cell, as of prompts of one template. */
export const alignedBy = computed<'tokens' | 'position'>(() => {
  if (view.align.value !== 'auto') return view.align.value;
  const [a, b] = [sideA.value?.at.map.shape, sideB.value?.at.map.shape];
  return a && b && a[1] === b[1] && a[2] === b[2] ? 'position' : 'tokens';
});

/** Which rows and columns of A and B stand beside each other. */
export const pairing = computed<Pairing | null>(() => {
  const [a, b] = [sideA.value, sideB.value];
  if (!a || !b) return null;
  const paired = (axis: 1 | 2, texts: (side: Side) => string[]): Alignment => {
    const lengths = [a.at.map.shape[axis], b.at.map.shape[axis]] as const;
    return alignMaps(lengths, texts(a), texts(b), alignedBy.value);
  };
  return { rows: paired(1, rowTexts), columns: paired(2, columnTexts) };
});

export const pairedShape = computed(() => ({
  rows: pairing.value?.rows.a.length ?? 0,
  columns: pairing.value?.columns.a.length ?? 0,
}));

/** The window of all panels. */
export const comparedView = computed<Viewport>(() => {
  const { rows, columns } = pairedShape.value;
  const [x, y, width, height] = view.zoom.value;
  if (x === undefined || y === undefined || !width || !height) return fitAll(columns, rows);
  return clampView({ x, y, width, height }, columns, rows);
});

export type SideName = 'a' | 'b';

/** Whether every row and column of both stands where it is stored. */
export const isIdentity = computed<boolean>(
  () => !pairing.value || (isAsStored(pairing.value.rows) && isAsStored(pairing.value.columns)),
);

/** Stored row and column of a paired cell, null where the side has no such token. */
function storedCell(name: SideName, row: number, column: number): [number, number] | null {
  const pairs = pairing.value;
  const [r, c] = [pairs?.rows[name][row] ?? -1, pairs?.columns[name][column] ?? -1];
  return r < 0 || c < 0 ? null : [r, c];
}

export const sideOf = (name: SideName): Side | null => (name === 'a' ? sideA.value : sideB.value);

/** The stored value of a paired cell: null while it is read, NaN where the side has none. */
export function pairedValue(name: SideName, row: number, column: number): number | null {
  const side = sideOf(name);
  const cell = storedCell(name, row, column);
  if (!side) return null;
  if (!cell) return NaN;
  return cellValue(side.run.file, side.at.map, side.at.index, cell[0], cell[1]);
}

/** A cell of the three panels, as it is drawn; null while it is read. */
export function comparedCell(row: number, column: number) {
  const [a, b] = [pairedValue('a', row, column), pairedValue('b', row, column)];
  const block = differenceTile(Math.floor(row / TILE), Math.floor(column / TILE));
  if (a === null || b === null || !block || !pairing.value) return null;
  const { rows, columns } = pairing.value;
  return {
    query: [rows.a[row]!, rows.b[row]!],
    key: [columns.a[column]!, columns.b[column]!],
    a,
    b,
    difference: block.values[(row % TILE) * block.columns + (column % TILE)]!,
  };
}

/** A tile of one side, rows and columns moved to where they are paired; gaps hold 0. */
export function sideTile(name: SideName, level: number, row: number, column: number): Block | null {
  const side = sideOf(name);
  const pairs = pairing.value;
  if (!side || !pairs) return null;
  const { map, index } = side.at;
  if (isIdentity.value) return tile(side.run.file, map, index, level, row, column);
  const rows = pairs.rows[name].subarray(row * TILE, (row + 1) * TILE);
  const columns = pairs.columns[name].subarray(column * TILE, (column + 1) * TILE);
  const values = new Float32Array(rows.length * columns.length);
  const blocks = new Map<number, Block | null>();
  const across = Math.ceil(map.shape[2] / TILE);
  let complete = true;
  rows.forEach((q, r) => {
    columns.forEach((k, c) => {
      if (q < 0 || k < 0) return;
      const at = Math.floor(q / TILE) * across + Math.floor(k / TILE);
      let block = blocks.get(at);
      if (block === undefined) {
        block = tile(side.run.file, map, index, 1, Math.floor(q / TILE), Math.floor(k / TILE));
        blocks.set(at, block);
      }
      if (!block) complete = false;
      else values[r * columns.length + c] = block.values[(q % TILE) * block.columns + (k % TILE)]!;
    });
  });
  return complete ? { values, rows: rows.length, columns: columns.length } : null;
}

/** A − B at full detail. */
export function differenceTile(row: number, column: number): Block | null {
  const [left, right] = [sideTile('a', 1, row, column), sideTile('b', 1, row, column)];
  if (!left || !right) return null;
  return { ...left, values: left.values.map((value, at) => value - right.values[at]!) };
}

export type PanelName = SideName | 'difference';

/** One axis of a panel. */
export interface PanelAxis {
  /** Its own tokens, null where it has none; both of A − B where they differ. */
  labels: (string | null)[];
  /** Positions, for masks and numbers; a gap has that of the token before. */
  positions: number[];
  /** Marks of what the panel has nothing of; null if there is none. */
  gaps: Uint8Array | null;
}

function panelAxis(pairs: Alignment, panel: PanelName, stored: Positions, texts: Texts): PanelAxis {
  const own = panel === 'b' ? 'b' : 'a';
  const labelOf = (name: SideName, at: number) =>
    pairs[name][at]! < 0 ? null : tokenLabel(texts[name][pairs[name][at]!] ?? '');
  const bothOf = (at: number) => {
    const [a, b] = [labelOf('a', at), labelOf('b', at)];
    if (a === null || b === null) return null;
    return a === b ? a : `${a} / ${b}`;
  };
  const lacks = (name: SideName, at: number) => pairs[name][at]! < 0;
  let last = 0;
  const positions = Array.from(pairs[own], (index) => {
    if (index >= 0) last = positionOf(stored, index);
    return last;
  });
  const labels = Array.from(pairs.a, (_, at) =>
    panel === 'difference' ? bothOf(at) : labelOf(panel, at),
  );
  const marks = Uint8Array.from(pairs.a, (_, at) =>
    panel === 'difference' ? +(lacks('a', at) || lacks('b', at)) : +lacks(panel, at),
  );
  return { labels, positions, gaps: marks.includes(1) ? marks : null };
}

type Texts = Record<SideName, string[]>;

/** Rows and columns of every panel. */
export const panelAxes = computed(() => {
  const [a, b, pairs] = [sideA.value, sideB.value, pairing.value];
  if (!a || !b || !pairs) return null;
  const rows: Texts = { a: rowTexts(a), b: rowTexts(b) };
  const columns: Texts = { a: columnTexts(a), b: columnTexts(b) };
  const axesOf = (panel: PanelName) => {
    const { queryPositions, keyPositions } = (panel === 'b' ? b : a).at.map;
    return {
      rows: panelAxis(pairs.rows, panel, queryPositions, rows),
      columns: panelAxis(pairs.columns, panel, keyPositions, columns),
    };
  };
  return { a: axesOf('a'), b: axesOf('b'), difference: axesOf('difference') };
});

/** The largest difference of what is here; 1 where the map is too long to be read as a whole. */
export const largestDifference = computed<number>(() => {
  const { rows, columns } = pairedShape.value;
  const pairs = pairing.value;
  arrivals.value;
  const [down, across] = [Math.ceil(rows / TILE), Math.ceil(columns / TILE)];
  if (!pairs || down * across > MAX_TILES / 2) return 1;
  const axes = panelAxes.value!.difference;
  const gaps = { rows: axes.rows.gaps, columns: axes.columns.gaps };
  let most = 0;
  for (let row = 0; row < down; ++row) {
    for (let column = 0; column < across; ++column) {
      const block = differenceTile(row, column);
      block?.values.forEach((value, i) => {
        const r = row * TILE + Math.floor(i / block.columns);
        const c = column * TILE + (i % block.columns);
        if (gaps.rows?.[r] || gaps.columns?.[c]) return;
        if (Math.abs(value) > most) most = Math.abs(value);
      });
    }
  }
  return most || 1;
});

/** What only one of the texts has. */
export const pairingWords = computed<string[]>(() => {
  const pairs = pairing.value;
  if (!pairs) return [];
  const words = (noun: string, { onlyA, onlyB }: Alignment): string[] =>
    onlyA + onlyB > 0 ? [`${noun}: ${onlyA} only in A, ${onlyB} only in B (hatched)`] : [];
  return [...words('queries', pairs.rows), ...words('keys', pairs.columns)];
});
