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
  gaps: { x: number; y: number; height: number; text: string }[];
  height: number;
}

const LEFT = 44;
const TOP = 24;
const GAP_HEIGHT = 20;
const MIN_CELL = 14;
const MAX_CELL = 168;
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

/** How wide a cell can be if the layers are folded into `blocks` blocks side by side. */
function fittedCell(table: HeadTable, rows: number, blocks: number, room: RoomFor): number {
  const width = room.width / blocks - LEFT - 12 - room.groupGaps;
  return Math.floor(
    Math.min(width / Math.max(1, table.width), room.height / Math.max(1, Math.ceil(rows / blocks))),
  );
}

interface RoomFor {
  width: number;
  height: number;
  groupGaps: number;
}

const MAX_BLOCKS = 6;

/** Rows are layers, columns heads; heads that share keys and values stand close together. Deep and
 *  narrow models go on in a second block beside the first. */
export function modelLayout(table: HeadTable, width: number, height: number): GridLayout {
  const runs = layerRuns(table);
  const rows = runs.filter((run) => run.stored).length;
  const gapCount = runs.length - rows;
  const groupGap = table.groupSize > 1 && table.width > table.groupSize ? 6 : 0;
  const groupGaps = groupGap * (Math.ceil(table.width / table.groupSize) - 1);
  const room = { width, height: height - TOP - 8 - gapCount * GAP_HEIGHT, groupGaps };
  let blocks = 1;
  for (let more = 2; more <= MAX_BLOCKS; ++more) {
    if (fittedCell(table, rows, more, room) > fittedCell(table, rows, blocks, room)) blocks = more;
  }
  const cell = Math.max(MIN_CELL, Math.min(MAX_CELL, fittedCell(table, rows, blocks, room)));
  const blockWidth = LEFT + table.width * cell + groupGaps + 12;
  const rowsPerBlock = Math.ceil(rows / blocks);

  const layout: GridLayout = { cells: [], cell, caption: 0, labels: [], gaps: [], height: 0 };
  const xOf = (block: number, head: number) =>
    block * blockWidth +
    LEFT +
    head * cell +
    (groupGap ? Math.floor(head / table.groupSize) * groupGap : 0);
  const step = cell >= 22 ? 1 : cell * 2 >= 22 ? 2 : 5;
  const rowOf = new Map<number, { block: number; y: number }>();
  let [block, inBlock, y] = [0, 0, TOP];
  for (const { stored, first, last } of runs) {
    if (stored && inBlock === rowsPerBlock) {
      ++block;
      inBlock = 0;
      y = TOP;
    }
    if (stored) {
      rowOf.set(first, { block, y });
      if (inBlock % step === 0) {
        const x = block * blockWidth + LEFT - 8;
        layout.labels.push({ text: `L${first}`, x, y: y + cell / 2, align: 'right' });
      }
      ++inBlock;
      y += cell;
    } else {
      const text = first === last ? `layer ${first}` : `layers ${first}–${last}`;
      const x = block * blockWidth + LEFT;
      layout.gaps.push({ x, y, height: GAP_HEIGHT, text: `${text}: not in this file` });
      y += GAP_HEIGHT;
    }
    layout.height = Math.max(layout.height, y + 8);
  }
  for (let at = 0; at <= block; ++at) {
    for (let head = 0; head < table.width; head += step) {
      const x = xOf(at, head) + cell / 2;
      layout.labels.push({ text: `${head}`, x, y: TOP - 10, align: 'center' });
    }
  }
  table.heads.forEach(({ layer, head }, index) => {
    const row = rowOf.get(layer);
    if (row) layout.cells.push({ head: index, x: xOf(row.block, head), y: row.y });
  });
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
