/** Where each head stands in the grid. Pure arithmetic, in CSS pixels. */

import type { HeadTable } from '../model/heads';

export interface GridCell {
  /** Index into the table of heads. */
  head: number;
  x: number;
  y: number;
}

export interface GridLabel {
  text: string;
  x: number;
  y: number;
  align: 'left' | 'right' | 'center';
}

export interface GridLayout {
  cells: GridCell[];
  /** Extent of a cell; captions stand below it. */
  cell: number;
  caption: number;
  labels: GridLabel[];
  /** Rows that stand for layers the file does not hold. */
  gaps: { y: number; height: number; text: string }[];
  height: number;
}

const LEFT = 44;
const TOP = 24;
const GAP_HEIGHT = 20;
const MIN_CELL = 14;
const MAX_CELL = 84;
const SORTED_CELL = 64;
const CAPTION = 18;
const PAD = 2;

/** Runs of layers that are there or not, in order. */
function layerRuns(table: HeadTable): { stored: boolean; first: number; last: number }[] {
  const stored = new Set(table.layers);
  const runs: { stored: boolean; first: number; last: number }[] = [];
  for (let layer = 0; layer < table.layerCount; ++layer) {
    const is = stored.has(layer);
    const last = runs.at(-1);
    if (last && last.stored === is && !is) last.last = layer;
    else runs.push({ stored: is, first: layer, last: layer });
  }
  return runs;
}

/** Rows are layers, columns heads; heads that share keys and values stand close together. */
export function modelLayout(table: HeadTable, width: number, height: number): GridLayout {
  const runs = layerRuns(table);
  const rows = runs.filter((run) => run.stored).length;
  const gapCount = runs.length - rows;
  const groups = table.groupSize > 1 ? Math.ceil(table.width / table.groupSize) - 1 : 0;
  const groupGap = groups > 0 ? 6 : 0;
  const roomX = width - LEFT - 12 - groups * groupGap;
  const roomY = height - TOP - 8 - gapCount * GAP_HEIGHT;
  const fitted = Math.floor(Math.min(roomX / Math.max(1, table.width), roomY / Math.max(1, rows)));
  const cell = Math.max(MIN_CELL, Math.min(MAX_CELL, fitted));
  const xOf = (head: number) =>
    LEFT + head * cell + (groupGap ? Math.floor(head / table.groupSize) * groupGap : 0);

  const layout: GridLayout = { cells: [], cell, caption: 0, labels: [], gaps: [], height: 0 };
  const step = cell >= 22 ? 1 : cell * 2 >= 22 ? 2 : 5;
  for (let head = 0; head < table.width; head += step) {
    layout.labels.push({ text: `${head}`, x: xOf(head) + cell / 2, y: TOP - 10, align: 'center' });
  }
  let y = TOP;
  const rowOf = new Map<number, number>();
  for (const { stored, first, last } of runs) {
    if (stored) {
      rowOf.set(first, y);
      if (first % step === 0) {
        layout.labels.push({ text: `L${first}`, x: LEFT - 8, y: y + cell / 2, align: 'right' });
      }
      y += cell;
    } else {
      const text = first === last ? `layer ${first}` : `layers ${first}–${last}`;
      layout.gaps.push({ y, height: GAP_HEIGHT, text: `${text}: not in this file` });
      y += GAP_HEIGHT;
    }
  }
  table.heads.forEach(({ layer, head }, index) => {
    layout.cells.push({ head: index, x: xOf(head), y: rowOf.get(layer) ?? TOP });
  });
  layout.height = y + 8;
  return layout;
}

/** Heads in the given order, line by line. */
export function sortedLayout(order: readonly number[], width: number): GridLayout {
  const cell = SORTED_CELL;
  const pitch = cell + 8;
  const across = Math.max(1, Math.floor((width - 12) / pitch));
  const cells = order.map((head, place) => ({
    head,
    x: 10 + (place % across) * pitch,
    y: 10 + Math.floor(place / across) * (pitch + CAPTION),
  }));
  const lines = Math.ceil(order.length / across);
  return {
    cells,
    cell,
    caption: CAPTION,
    labels: [],
    gaps: [],
    height: 18 + lines * (pitch + CAPTION),
  };
}

/** The head under a point, −1 if there is none. */
export function headAt(layout: GridLayout, x: number, y: number): number {
  const { cell, caption } = layout;
  const hit = layout.cells.find(
    (at) => x >= at.x && x < at.x + cell && y >= at.y && y < at.y + cell + caption,
  );
  return hit?.head ?? -1;
}

/** Room inside a cell. */
export const inner = ({ x, y }: GridCell, cell: number) => ({
  x: x + PAD / 2,
  y: y + PAD / 2,
  size: cell - PAD,
});
