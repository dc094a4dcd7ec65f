/** Exports of the Head screen: pictures drawn anew, and the stored numbers of what is seen. */

import { drawColorBar, drawFigure, figureLayout } from '../draw/figure';
import { LIGHT_INK } from '../draw/ink';
import type { Pen } from '../draw/pen';
import { spanOf, type Axis } from '../model/axis';
import { nameOf } from '../model/heads';
import { short } from '../model/numbers';
import { indicesOf, positionOf, type Positions } from '../model/positions';
import { safeText } from '../model/tokens';
import { dataVersion, keyAxis, queryAxis } from '../state/cells';
import { mapScale, scaleWords } from '../state/colors';
import { csvField, download, downloadSvg, svgPen } from '../state/export';
import {
  mapTable,
  mayWrite,
  type Region,
  type TableFormat,
  type TableOptions,
} from '../state/export_map';
import { extent, keyPieces, keyTexts, queryPieces, queryTexts, viewport } from '../state/focus';
import { blendName, drawnMaps, headMap, pool, storedValue } from '../state/map';
import { arrivals } from '../state/tiles';
import { view } from '../state/view';
import { say, mainRun, prompt, stack } from '../state/workspace';
import { copyText, Pick } from '../ui/controls';
import { figureContent, painter } from './head_map';

const CAPTION = 58;

function baseName(): string {
  const file = mainRun.peek()?.summary.name.replace(/\.h5$/, '') ?? 'map';
  const at = headMap.peek();
  return `${file}-${prompt.peek()?.id}-${at ? nameOf(at.head) : ''}`;
}

function captionLines(): [string, string] {
  const run = mainRun.peek()!;
  const { head, map } = headMap.peek()!;
  const means = drawnMaps.peek().map((drawn) => nameOf(drawn.head));
  const what =
    means.length > 1 ? `${blendName()} of heads ${means.join(', ')}` : `head ${nameOf(head)}`;
  const text = safeText(prompt.peek()?.text ?? '', 90);
  const scale = mapScale.peek();
  const words = scaleWords.peek() && ` (${scaleWords.peek()})`;
  return [
    `${run.summary.model.name ?? ''} ${what}, ${stack.peek()?.stack} attention. ${text}`,
    `Scale ${scale.kind}, ${short(scale.low)} to ${short(scale.high)}${words}; stored as ${map.mapDtype}. attnscope ${run.summary.root.tool_version ?? ''}`,
  ];
}

const SIZE = { width: 900, height: 900 };

/** What is seen with axes, colour bar and caption; false while some of it is on the way. */
function drawAll(pen: Pen, ratio: number): boolean {
  const { rows, columns } = extent.peek();
  const layout = figureLayout(SIZE, columns, rows);
  const bottom = bottomOf();
  pen.fillStyle = LIGHT_INK.paper;
  pen.fillRect(0, 0, SIZE.width, bottom + CAPTION);
  const content = { ...figureContent(), cross: null, preview: null, bar: null };
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

/** Draws again with every tile that comes, until all are there. */
async function drawWhole(draw: () => boolean): Promise<boolean> {
  const shown = dataVersion.peek();
  while (!draw()) {
    say('Waiting for the rest of the map …');
    const before = arrivals.peek();
    await new Promise<void>((resolve) => {
      const stop = arrivals.subscribe((now) => {
        if (now === before) return;
        // The subscription is not there yet when it is heard for the first time.
        queueMicrotask(() => stop());
        resolve();
      });
    });
    if (dataVersion.peek() !== shown) return false;
  }
  return true;
}

function bottomOf(): number {
  const { rows, columns } = extent.peek();
  const { bottom } = figureLayout(SIZE, columns, rows);
  return bottom.y + bottom.height;
}

/** A picture of what is seen, at 1, 2 or 4 times the size. */
export async function exportPng(ratio: number): Promise<void> {
  const canvas = document.createElement('canvas');
  canvas.width = SIZE.width * ratio;
  canvas.height = (bottomOf() + CAPTION) * ratio;
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  const name = `${baseName()}.png`;
  if (!(await drawWhole(() => drawAll(context, ratio)))) return;
  canvas.toBlob((blob) => blob && download(name, blob), 'image/png');
}

/** The same with axes and text as vectors; the map is one picture at its own resolution. */
async function exportSvg(): Promise<void> {
  const name = `${baseName()}.svg`;
  let pen = svgPen(SIZE.width, bottomOf() + CAPTION);
  const whole = await drawWhole(() => {
    pen = svgPen(SIZE.width, bottomOf() + CAPTION);
    return drawAll(pen, 4);
  });
  if (whole) downloadSvg(name, pen);
}

/** Stored rows and columns of what is seen. */
function visibleRegion(): Region {
  const see = viewport.peek();
  const span = (axis: Axis, begin: number, size: number): [number, number] => {
    const last = Math.min(axis.count, Math.ceil(begin + size)) - 1;
    const first = spanOf(axis, Math.floor(begin))[0];
    return [first, spanOf(axis, last)[1] - first];
  };
  const [row, rows] = span(queryAxis.peek(), see.y, see.height);
  const [column, columns] = span(keyAxis.peek(), see.x, see.width);
  return { row, rows, column, columns };
}

function wholeRegion(): Region {
  const [, rows, columns] = headMap.peek()!.map.shape;
  return { row: 0, rows, column: 0, columns };
}

/** Position and token of stored rows and columns, exact stored values: words are not put together. */
function tableOptions(region: Region, format: TableFormat): TableOptions {
  const [queries, keys] = [queryTexts.peek(), keyTexts.peek()];
  const { queryPositions, keyPositions } = headMap.peek()!.map;
  // A tab or line break inside a token would shift a table; labels have symbols for both.
  const field = format === 'csv' ? csvField : String;
  const separator = format === 'csv' ? ',' : '\t';
  const titles = ['query', 'query token'];
  for (let k = region.column; k < region.column + region.columns; ++k) {
    const position = positionOf(keyPositions, k);
    titles.push(field(`${position} ${keys[position] ?? ''}`));
  }
  return {
    format,
    title: titles.join(separator),
    head: (row) => {
      const position = positionOf(queryPositions, row);
      return `${position}${separator}${field(queries[position] ?? '')}${separator}`;
    },
  };
}

async function tableOf(region: Region, format: TableFormat): Promise<Blob | null> {
  const run = mainRun.peek();
  if (!run || !mayWrite(region, format)) return null;
  return mapTable(run.file, drawnMaps.peek(), region, tableOptions(region, format));
}

async function exportTable(region: Region, format: TableFormat): Promise<void> {
  const name = `${baseName()}.${format}`;
  const blob = await tableOf(region, format);
  if (blob) download(name, blob);
}

/** More than this is no use in a clipboard. */
const MAX_COPIED = 1_000_000;
const MAX_RECORD = 250_000;

async function copyTsv(): Promise<void> {
  const region = visibleRegion();
  if (region.rows * region.columns > MAX_COPIED) {
    say('More than a million cells: zoom in, or write a file.');
    return;
  }
  const blob = await tableOf(region, 'tsv');
  if (blob) void copyText((await blob.text()).trimEnd(), 'Table');
}

/** Null where the page has no secure context, as on a foreign host without TLS. */
async function sha256(text: string): Promise<string | null> {
  const subtle = crypto.subtle as SubtleCrypto | undefined;
  if (!subtle) return null;
  const hash = new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The selection, else what is seen, with where it comes from. */
async function exportJson(): Promise<void> {
  const run = mainRun.peek();
  const at = headMap.peek();
  if (!run || !at) return;
  const region = visibleRegion();
  const range = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => first + i);
  const chosen = (
    wanted: readonly number[],
    stored: Positions,
    [first, count]: [number, number],
  ) => (wanted.length > 0 ? [...indicesOf(stored, wanted)] : range(first, count));
  const { queryPositions, keyPositions } = at.map;
  const rows = chosen(view.queries.peek(), queryPositions, [region.row, region.rows]);
  const columns = chosen(view.keys.peek(), keyPositions, [region.column, region.columns]);
  if (rows.length * columns.length > MAX_RECORD) {
    say('More than 250,000 cells: select some or zoom in, or write a CSV or NPY file.');
    return;
  }
  const name = `${baseName()}.json`;
  const text = prompt.peek()?.text ?? '';
  const maps = drawnMaps.peek().map((drawn) => nameOf(drawn.head));
  const values: (number | null)[][] = [];
  for (const row of rows) values.push(columns.map((column) => storedValue(row, column)));
  if (values.some((line) => line.includes(null))) {
    // What was missing has been asked for by that.
    const whole = () => rows.every((r) => columns.every((c) => storedValue(r, c) !== null));
    return (await drawWhole(whole)) ? exportJson() : undefined;
  }
  const { root, model, name: file } = run.summary;
  const position = (stored: Positions) => (index: number) => positionOf(stored, index);
  const [queries, keys] = [rows.map(position(queryPositions)), columns.map(position(keyPositions))];
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
    prompt: { id: prompt.peek()?.id, text, sha256: await sha256(text) },
    dataset: at.map.path,
    index: at.index,
    stored_as: at.map.mapDtype,
    heads: maps,
    made_of_heads: maps.length > 1 ? view.trayMode.peek() : null,
    queries,
    keys,
    query_tokens: queries.map((q) => queryPieces.peek()[q]),
    key_tokens: keys.map((k) => keyPieces.peek()[k]),
    values,
  };
  // What is not a number has no place in JSON otherwise.
  const json = JSON.stringify(record, (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
  download(name, new Blob([json], { type: 'application/json' }));
}

const ACTIONS: Record<string, { label: string; run: () => Promise<void> }> = {
  png1: { label: 'PNG', run: () => exportPng(1) },
  png2: { label: 'PNG, 2×', run: () => exportPng(2) },
  png4: { label: 'PNG, 4×', run: () => exportPng(4) },
  svg: { label: 'SVG', run: exportSvg },
  csv: { label: 'CSV of what is seen', run: () => exportTable(visibleRegion(), 'csv') },
  npy: { label: 'NPY of what is seen', run: () => exportTable(visibleRegion(), 'npy') },
  csvAll: { label: 'CSV of the whole map', run: () => exportTable(wholeRegion(), 'csv') },
  npyAll: { label: 'NPY of the whole map', run: () => exportTable(wholeRegion(), 'npy') },
  json: { label: 'JSON with provenance', run: exportJson },
  tsv: { label: 'Copy as table', run: copyTsv },
};

export function ExportMenu() {
  return (
    <Pick
      label="Export"
      hideLabel
      value=""
      options={[
        { value: '', label: 'Export …' },
        ...Object.entries(ACTIONS).map(([value, { label }]) => ({ value, label })),
      ]}
      onPick={(name) => void ACTIONS[name]?.run()}
    />
  );
}
