/** What the three views of the Head screen write to files. */

import { drawBipartite } from '../draw/bipartite';
import { LIGHT_INK } from '../draw/ink';
import type { Pen } from '../draw/pen';
import { placeOf } from '../draw/scale';
import { drawFlow, flowLayout, type FlowToken } from '../draw/text_flow';
import { nameOf } from '../model/heads';
import { safeText, wordLabel } from '../model/tokens';
import { mapScale } from '../state/colors';
import { edgeRange, edges, keySide, querySide, type Side } from '../state/edges';
import { csv, download } from '../state/export';
import { headMap } from '../state/map';
import { currentRows } from '../state/rows';
import { shownHead } from '../state/selection';
import { currentHash, view } from '../state/view';
import { mainRun, prompt, say, stack } from '../state/workspace';
import type { ExportActions } from './export_menu';
import { headPicture, mapActions, settled } from './head_export';
import { fixedRows, linesTop, ROW_HEIGHT } from './head_lines';
import { seenName } from './head_tables';
import {
  isOneText,
  shadedQueries,
  shades,
  shadesPending,
  SHOWN,
  textOf,
  textTokens,
} from './head_text';
import { pictureActions, savePng, type Picture } from './pictures';

const CAPTION = 34;
const MARGIN = 12;

/** Model, head and text below a picture. */
function drawCaption(pen: Pen, y: number, width: number, words: string): void {
  const run = mainRun.peek()!;
  const head = shownHead.peek();
  const name = `${run.summary.model.name ?? ''} head ${head ? nameOf(head) : ''}`;
  const text = safeText(prompt.peek()?.text ?? '', 90);
  pen.font = `12px ${LIGHT_INK.font}`;
  pen.textAlign = 'left';
  pen.textBaseline = 'top';
  pen.fillStyle = LIGHT_INK.muted;
  const line = `${name}, ${stack.peek()?.stack} attention, ${words}. ${text}`;
  pen.fillText(line, MARGIN, y + 10, width - 2 * MARGIN);
}

/** More rows than this are a picture that nobody looks at: then those from the first visible on. */
const MOST_ROWS = 300;
const LINES_WIDTH = 700;

function linesPicture(): Picture {
  const [queries, keys] = [querySide.peek().labels, keySide.peek().labels];
  const all = Math.max(queries.length, keys.length);
  const top = all > MOST_ROWS ? Math.floor(linesTop.peek()) : 0;
  const room = { width: LINES_WIDTH, height: Math.min(MOST_ROWS, all - top) * ROW_HEIGHT };
  const draw = (pen: Pen) => {
    const shown = { edges: edges.peek(), range: edgeRange.peek(), limit: Infinity };
    const options = { queries, keys, ...shown, ...fixedRows() };
    drawBipartite(pen, LIGHT_INK, room, { top, rowHeight: ROW_HEIGHT }, options);
    const words = `the ${currentRows.peek()?.topCount ?? 0} strongest keys of each query`;
    drawCaption(pen, room.height, room.width, words);
    return true;
  };
  const size = { width: room.width, height: room.height + CAPTION };
  return { name: seenName('lines'), size, draw, version: currentHash };
}

const place = (positions: readonly number[]): string =>
  positions.length > 1 ? `${positions[0]}–${positions.at(-1)}` : `${positions[0]}`;

/** Positions of a row of the Lines view: of a word those of its pieces. */
function positionsOf({ starts, count }: Side, row: number): number[] {
  const first = starts[row]!;
  return Array.from({ length: (starts[row + 1] ?? count) - first }, (_, i) => first + i);
}

function exportLines(): void {
  const [queries, keys] = [querySide.peek(), keySide.peek()];
  const rows = [...edges.peek()]
    .sort((a, b) => a.query - b.query || b.weight - a.weight)
    .map(({ query, key, weight }) => [
      place(positionsOf(queries, query)),
      queries.labels[query]!,
      place(positionsOf(keys, key)),
      keys.labels[key]!,
      weight,
    ]);
  const title = ['query', 'query token', 'key', 'key token', 'weight'];
  download(`${seenName('lines')}.csv`, new Blob([csv([title, ...rows])], { type: 'text/csv' }));
}

/** Of queries what they give to a key, else what it gets. */
const shadeWords = (): string => {
  const queries = shadedQueries.peek();
  if (queries.length === 0) return 'mean weight of the rows that see a key';
  return queries.length === 1
    ? `weight from query ${queries[0]}`
    : `mean weight from queries ${queries.join(' ')}`;
};

const weightOf = (positions: readonly number[]): number =>
  positions.reduce((sum, at) => sum + (shades.peek()?.[at] ?? NaN), 0);

/** Until then the shades are those of another head, or of other queries. */
const shaded = (): Promise<void> => settled(() => shadesPending.value);

async function exportText(): Promise<void> {
  await shaded();
  const rows = textTokens('keys').map(({ positions, texts }) => {
    const weight = weightOf(positions);
    return [place(positions), wordLabel(texts), Number.isNaN(weight) ? '' : weight];
  });
  const title = ['key', 'key token', shadeWords()];
  download(`${seenName('text')}.csv`, new Blob([csv([title, ...rows])], { type: 'text/csv' }));
}

const TEXT_WIDTH = 760;

function flowTokens(kind: 'queries' | 'keys'): FlowToken[] {
  const oneText = isOneText();
  const queries = kind === 'queries' || oneText ? shadedQueries.peek() : [];
  const chosen = new Set([...queries, ...(kind === 'keys' ? view.keys.peek() : [])]);
  return textTokens(kind).map(({ positions, texts }) => {
    const weight = kind === 'keys' ? weightOf(positions) : 0;
    return {
      text: textOf(texts, SHOWN),
      share: Number.isNaN(weight) ? 0 : placeOf(mapScale.peek(), weight),
      chosen: positions.some((at) => chosen.has(at)),
    };
  });
}

async function textPicture(): Promise<Picture> {
  await shaded();
  const room = TEXT_WIDTH - 2 * MARGIN;
  const measure = document.createElement('canvas').getContext('2d')!;
  const parts = (isOneText() ? (['keys'] as const) : (['queries', 'keys'] as const)).map((kind) =>
    flowLayout(measure, LIGHT_INK, flowTokens(kind), room),
  );
  const height = parts.reduce((sum, part) => sum + part.height + MARGIN, MARGIN);
  const draw = (pen: Pen) => {
    pen.save();
    pen.translate(MARGIN, MARGIN);
    for (const part of parts) {
      drawFlow(pen, LIGHT_INK, part.placed);
      pen.translate(0, part.height + MARGIN);
    }
    pen.restore();
    drawCaption(pen, height - MARGIN, TEXT_WIDTH, shadeWords());
    return true;
  };
  const size = { width: TEXT_WIDTH, height: height + CAPTION };
  return { name: seenName('text'), size, draw, version: currentHash };
}

const LINES_ACTIONS: ExportActions = {
  ...pictureActions(linesPicture),
  csv: { label: 'CSV of the lines', run: exportLines },
};

const TEXT_ACTIONS: ExportActions = {
  ...pictureActions(textPicture),
  csv: { label: 'CSV of tokens and weights', run: exportText },
};

/** What the view on screen can write; null where it shows nothing. */
export function headActions(): ExportActions | null {
  if (view.view.value === 'lines') return currentRows.value?.topIndex ? LINES_ACTIONS : null;
  if (!headMap.value) return null;
  return view.view.value === 'text' ? TEXT_ACTIONS : mapActions();
}

/** What the key does: a picture of what is on screen. */
export async function exportHead(): Promise<void> {
  if (!headActions()) {
    say('Nothing is shown here that could be exported.');
    return;
  }
  const make = { map: headPicture, lines: linesPicture, text: textPicture }[view.view.peek()];
  await savePng(await make(), 2);
}
