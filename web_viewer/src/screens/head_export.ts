/** Exports of the Head screen: pictures drawn anew, and the numbers of what is seen or stored. */

import { effect, untracked } from '@preact/signals';
import { drawColorBar, drawFigure, figureLayout } from '../draw/figure';
import { LIGHT_INK } from '../draw/ink';
import { isMasked } from '../draw/paint';
import type { Pen } from '../draw/pen';
import { positionsAt } from '../model/axis';
import { nameOf } from '../model/heads';
import { short } from '../model/numbers';
import { safeText } from '../model/tokens';
import { storedWords } from '../model/warnings';
import {
  changes,
  dataVersion,
  emptyRows,
  isMerged,
  maskRule,
  shownValue,
  transformPending,
} from '../state/cells';
import { mapScale, scaleWords } from '../state/colors';
import { download } from '../state/export';
import type { TableFormat } from '../state/export_map';
import { held, keyPieces, queryPieces, selectedColumns, selectedRows } from '../state/focus';
import { blendName, drawnMaps, headMap, isBlend, pool } from '../state/map';
import { means, meansName, meansPending } from '../state/map_means';
import { restSums } from '../state/row_sums';
import { view } from '../state/view';
import { say, mainRun, prompt, stack } from '../state/workspace';
import { copyText } from '../ui/controls';
import type { ExportActions } from './export_menu';
import { figureContent, painter } from './head_map';
import {
  isOfSeveral,
  regionName,
  seenName,
  storedName,
  seenTable,
  storedTable,
  tableOf,
} from './head_tables';
import { drawWhole, pictureActions, type Picture } from './pictures';

const CAPTION = 58;

function captionLines(): [string, string] {
  const run = mainRun.peek()!;
  const { head, map } = headMap.peek()!;
  const heads = drawnMaps.peek().map((drawn) => nameOf(drawn.head));
  const what =
    heads.length > 1 ? `${blendName()} of heads ${heads.join(', ')}` : `head ${nameOf(head)}`;
  const text = means.peek()
    ? `${meansName()}${view.promptFilter.peek() && ` with ${safeText(view.promptFilter.peek(), 60)}`}`
    : safeText(prompt.peek()?.text ?? '', 90);
  const scale = mapScale.peek();
  const words = scaleWords.peek() && ` (${scaleWords.peek()})`;
  return [
    `${run.summary.model.name ?? ''} ${what}, ${stack.peek()?.stack} attention. ${text}`,
    `Scale ${scale.kind}, ${short(scale.low)} to ${short(scale.high)}${words}; stored as ${storedWords(map.mapDtype)}. attnscope ${run.summary.root.tool_version ?? ''}`,
  ];
}

const SIZE = { width: 900, height: 900 };

/** What is seen with axes, colour bar and caption; false while some of it is on the way. */
function drawAll(pen: Pen, ratio: number): boolean {
  const { row, rows, column, columns } = seenTable().region;
  const layout = figureLayout(SIZE, columns, rows);
  const bottom = bottomOf();
  // Whole cells, as tables have them.
  const view = { x: column, y: row, width: columns, height: rows };
  const content = { ...figureContent(held.peek()), view, preview: null, bar: null };
  const report = drawFigure(pen, LIGHT_INK, layout, painter, content, ratio);
  if (report.waiting > 0) return false;
  const [first, second] = captionLines();
  const kind = pool.peek() === 'mean' ? 'mean' : 'largest';
  const level =
    report.factor > 1 ? ` One pixel: ${kind} of ${report.factor} × ${report.factor}.` : '';
  pen.font = `12px ${LIGHT_INK.font}`;
  pen.textAlign = 'left';
  pen.textBaseline = 'top';
  pen.fillStyle = LIGHT_INK.text;
  pen.fillText(first, 12, bottom + 14, SIZE.width - 230);
  pen.fillStyle = LIGHT_INK.muted;
  pen.fillText(second + level, 12, bottom + 32, SIZE.width - 230);
  const bar = { x: SIZE.width - 200, y: bottom + 14, width: 180, height: 10 };
  drawColorBar(pen, LIGHT_INK, bar, content.scale, short);
  return true;
}

/** What is drawn is not yet what was asked for: rows are being read, or prompts looked at. */
const isPending = (): boolean => meansPending.value || transformPending.value;

/** Waits until nothing that is to be written is on the way. */
export async function settled(pending: () => boolean): Promise<void> {
  if (!untracked(pending)) return;
  say('Waiting for the rest of the map …');
  await new Promise<void>((resolve) => {
    const stop = effect(() => {
      if (pending()) return;
      queueMicrotask(() => stop());
      resolve();
    });
  });
}

function bottomOf(): number {
  const { rows, columns } = seenTable().region;
  const { bottom } = figureLayout(SIZE, columns, rows);
  return bottom.y + bottom.height;
}

export async function headPicture(): Promise<Picture> {
  await settled(isPending);
  return {
    name: `${seenName()}${regionName(seenTable())}`,
    size: { width: SIZE.width, height: bottomOf() + CAPTION },
    draw: drawAll,
    version: () => dataVersion.peek(),
  };
}

async function exportSeen(format: TableFormat): Promise<void> {
  await settled(isPending);
  const table = seenTable();
  const name = `${seenName()}${regionName(table)}.${format}`;
  const blob = await tableOf(table, format);
  if (blob) download(name, blob);
}

async function exportStored(whole: 'whole' | 'in view', format: TableFormat): Promise<void> {
  await settled(isPending);
  const table = storedTable(whole);
  const name = `${storedName()}${regionName(table)}.${format}`;
  const blob = await tableOf(table, format);
  if (blob) download(name, blob);
}

/** More than this is no use in a clipboard. */
const MAX_COPIED = 1_000_000;
const MAX_RECORD = 250_000;

async function copyTsv(): Promise<void> {
  await settled(isPending);
  const table = seenTable();
  const { region } = table;
  if (region.rows * region.columns > MAX_COPIED) {
    say('More than a million cells: zoom in, or write a file.');
    return;
  }
  const blob = await tableOf(table, 'tsv');
  if (blob) void copyText((await blob.text()).trimEnd(), 'Table');
}

/** Null where the page has no secure context, as on a foreign host without TLS. */
async function sha256(text: string): Promise<string | null> {
  const subtle = crypto.subtle as SubtleCrypto | undefined;
  if (!subtle) return null;
  const hash = new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The number of a cell as tables hold it: 0 behind the mask, null while it is being read. */
function drawnNumber(row: number, column: number): number | null {
  if (emptyRows.peek()?.[row] === 1) return NaN;
  return isMasked(maskRule.peek(), row, column) ? 0 : shownValue(row, column);
}

/** What was done to the stored weights. */
function shownModes() {
  const { hideFirst, weighed } = changes.peek();
  const sums = restSums.peek() || means.peek() ? 'sums of stored rows' : 'statistics of rows';
  return {
    first_token: hideFirst ? 'left out' : 'kept',
    rows_rescaled_by: hideFirst ? sums : null,
    weighed_by_value: weighed,
    words: isMerged.peek() ? 'sums over keys, means over queries' : null,
  };
}

/** The selection, else what is seen, as it is drawn and with where it comes from. */
async function exportJson(): Promise<void> {
  await settled(isPending);
  const run = mainRun.peek();
  const at = headMap.peek();
  if (!run || !at) return;
  const table = seenTable();
  const { region } = table;
  const chosen = (wanted: readonly number[], first: number, count: number): readonly number[] =>
    wanted.length > 0 ? wanted : Array.from({ length: count }, (_, i) => first + i);
  const rows = chosen(selectedRows.peek(), region.row, region.rows);
  const columns = chosen(selectedColumns.peek(), region.column, region.columns);
  if (rows.length * columns.length > MAX_RECORD) {
    say('More than 250,000 cells: select some or zoom in, or write a CSV or NPY file.');
    return;
  }
  const name = `${seenName()}.json`;
  const text = prompt.peek()?.text ?? '';
  const of = means.peek();
  const maps = drawnMaps.peek().map((drawn) => nameOf(drawn.head));
  const values = rows.map((row) => columns.map((column) => drawnNumber(row, column)));
  if (values.some((line) => line.includes(null))) {
    // What was missing has been asked for by that.
    const whole = () => rows.every((r) => columns.every((c) => drawnNumber(r, c) !== null));
    return (await drawWhole(whole, () => dataVersion.peek())) ? exportJson() : undefined;
  }
  const { root, model, name: file } = run.summary;
  // Of a word the positions and texts of its pieces.
  const each = <Of>(list: readonly Of[]): Of | readonly Of[] => (isMerged.peek() ? list : list[0]!);
  const [queries, keys] = [
    rows.map((row) => positionsAt(table.cells.rows, row)),
    columns.map((column) => positionsAt(table.cells.columns, column)),
  ];
  const record = {
    file,
    run_id: root.run_id,
    tool_version: root.tool_version,
    git_commit: root.git_commit,
    model: {
      name: model.name,
      config_sha256: model.config_sha256,
      weights_sha256: model.weights_sha256,
      tokenizer_sha256: model.tokenizer_sha256,
    },
    prompt: of ? null : { id: prompt.peek()?.id, text, sha256: await sha256(text) },
    over_prompts: of && { is: view.over.peek(), prompts: of.ids },
    dataset: of ? at.map.path.replace(/^\/prompts\/[^/]+/, '/prompts/*') : at.map.path,
    index: at.index,
    stored_as: at.map.mapDtype,
    heads: maps,
    made_of_heads: isBlend.peek() ? blendName() : null,
    shown: shownModes(),
    queries: queries.map(each),
    keys: keys.map(each),
    query_tokens: queries.map((list) => each(list.map((q) => queryPieces.peek()[q] ?? null))),
    key_tokens: keys.map((list) => each(list.map((k) => keyPieces.peek()[k] ?? null))),
    values,
  };
  // What is not a number has no place in JSON otherwise.
  const json = JSON.stringify(record, (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
  download(name, new Blob([json], { type: 'application/json' }));
}

export function mapActions(): ExportActions {
  const stored = isOfSeveral() ? 'of stored weights' : 'stored';
  return {
    ...pictureActions(headPicture),
    csv: { label: 'CSV of what is seen', run: () => exportSeen('csv') },
    npy: { label: 'NPY of what is seen', run: () => exportSeen('npy') },
    tsv: { label: 'Copy what is seen', run: copyTsv },
    json: { label: 'JSON of what is seen', run: exportJson },
    csvStored: { label: `CSV, ${stored}, in view`, run: () => exportStored('in view', 'csv') },
    npyStored: { label: `NPY, ${stored}, in view`, run: () => exportStored('in view', 'npy') },
    csvAll: { label: `CSV, ${stored}, whole map`, run: () => exportStored('whole', 'csv') },
    npyAll: { label: `NPY, ${stored}, whole map`, run: () => exportStored('whole', 'npy') },
  };
}
