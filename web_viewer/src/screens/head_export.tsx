/** Exports of the Head screen: pictures drawn anew, and the stored numbers of what is seen. */

import { drawColorBar, drawFigure, figureLayout } from '../draw/figure';
import { LIGHT_INK } from '../draw/ink';
import type { Pen } from '../draw/pen';
import { nameOf } from '../model/heads';
import { exact, short } from '../model/numbers';
import { safeText } from '../model/tokens';
import { extent, keyAt, keyLabels, queryAt, queryLabels, viewport } from '../state/focus';
import { csv, download, downloadSvg, npy, svgPen } from '../state/export';
import { mapScale } from '../state/colors';
import { drawnMaps, headMap, storedValue } from '../state/map';
import { say, mainRun, prompt, stack } from '../state/workspace';
import { copyText, Pick } from '../ui/controls';
import { figureContent, painter } from './head_map';

const CAPTION = 58;
const MAX_CELLS = 4_000_000;

function baseName(): string {
  const file = mainRun.peek()?.summary.name.replace(/\.h5$/, '') ?? 'map';
  const at = headMap.peek();
  return `${file}-${prompt.peek()?.id}-${at ? nameOf(at.head) : ''}`;
}

function captionLines(): [string, string] {
  const run = mainRun.peek()!;
  const { head, map } = headMap.peek()!;
  const means = drawnMaps.peek().map((drawn) => nameOf(drawn.head));
  const what = means.length > 1 ? `mean of heads ${means.join(', ')}` : `head ${nameOf(head)}`;
  const text = safeText(prompt.peek()?.text ?? '', 90);
  const scale = mapScale.peek();
  return [
    `${run.summary.model.name ?? ''} ${what}, ${stack.peek()?.stack} attention. ${text}`,
    `Scale ${scale.kind}, 0 to ${short(scale.high)}; stored as ${map.mapDtype}. attnscope ${run.summary.root.tool_version ?? ''}`,
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
  const content = { ...figureContent(), cross: null, preview: null };
  const report = drawFigure(pen, LIGHT_INK, layout, painter, content, ratio);
  if (report.waiting > 0) {
    say('The map is still being read; try again in a moment.');
    return false;
  }
  const [first, second] = captionLines();
  const level =
    report.factor > 1 ? ` One pixel: largest of ${report.factor} × ${report.factor}.` : '';
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

function bottomOf(): number {
  const { rows, columns } = extent.peek();
  const { bottom } = figureLayout(SIZE, columns, rows);
  return bottom.y + bottom.height;
}

/** A picture of what is seen, at 1, 2 or 4 times the size. */
export function exportPng(ratio: number): void {
  const canvas = document.createElement('canvas');
  canvas.width = SIZE.width * ratio;
  canvas.height = (bottomOf() + CAPTION) * ratio;
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  if (!drawAll(context, ratio)) return;
  canvas.toBlob((blob) => blob && download(`${baseName()}.png`, blob), 'image/png');
}

/** The same with axes and text as vectors. */
function exportSvg(): void {
  const pen = svgPen(SIZE.width, bottomOf() + CAPTION);
  if (!drawAll(pen, 4)) return;
  downloadSvg(`${baseName()}.svg`, pen);
}

interface Window {
  rows: number[];
  columns: number[];
  values: Float32Array;
}

/** The exact stored values of what is seen; null (and a word about it) while some are on the way. */
function visibleWindow(): Window | null {
  const { rows, columns } = extent.peek();
  const see = viewport.peek();
  const span = (begin: number, size: number, count: number) => {
    const [from, to] = [Math.floor(begin), Math.min(count, Math.ceil(begin + size))];
    return Array.from({ length: to - from }, (_, i) => from + i);
  };
  const window: Window = {
    rows: span(see.y, see.height, rows),
    columns: span(see.x, see.width, columns),
    values: new Float32Array(0),
  };
  if (window.rows.length * window.columns.length > MAX_CELLS) {
    say('More than 4 million cells: zoom in first, or read the file with h5py.');
    return null;
  }
  window.values = new Float32Array(window.rows.length * window.columns.length);
  let [at, missing] = [0, 0];
  for (const q of window.rows) {
    for (const k of window.columns) {
      const value = storedValue(q, k);
      if (value === null) ++missing;
      window.values[at++] = value ?? NaN;
    }
  }
  if (missing === 0) return window;
  say('The map is still being read; try again in a moment.');
  return null;
}

function table({ rows, columns, values }: Window): (string | number)[][] {
  const label = (labels: readonly string[], at: number) => labels[at] ?? '';
  const head = [
    'query',
    'query token',
    ...columns.map((k) => `${keyAt(k)} ${label(keyLabels.peek(), k)}`),
  ];
  const body = rows.map((q, r) => [
    queryAt(q),
    label(queryLabels.peek(), q),
    ...columns.map((_, c) => exact(values[r * columns.length + c]!)),
  ]);
  return [head, ...body];
}

function exportCsv(): void {
  const window = visibleWindow();
  if (window) download(`${baseName()}.csv`, new Blob([csv(table(window))], { type: 'text/csv' }));
}

function copyTsv(): void {
  const window = visibleWindow();
  if (!window) return;
  // A tab or line break inside a token would shift the table; labels have symbols for both.
  const lines = table(window).map((row) => row.join('\t'));
  void copyText(lines.join('\n'), 'Table');
}

function exportNpy(): void {
  const window = visibleWindow();
  if (!window) return;
  const file = npy(window.values, [window.rows.length, window.columns.length]);
  download(`${baseName()}.npy`, new Blob([file]));
}

/** The selection with where it comes from. */
function exportJson(): void {
  const window = visibleWindow();
  const run = mainRun.peek();
  const at = headMap.peek();
  if (!window || !run || !at) return;
  const { root, model, name } = run.summary;
  const record = {
    file: name,
    run_id: root.run_id,
    tool_version: root.tool_version,
    model: { name: model.name, weights_sha256: model.weights_sha256 },
    prompt: { id: prompt.peek()?.id, text: prompt.peek()?.text },
    dataset: at.map.path,
    index: at.index,
    heads: drawnMaps.peek().map((drawn) => nameOf(drawn.head)),
    queries: window.rows.map(queryAt),
    keys: window.columns.map(keyAt),
    query_tokens: window.rows.map((q) => queryLabels.peek()[q]),
    key_tokens: window.columns.map((k) => keyLabels.peek()[k]),
    values: window.rows.map((_, r) =>
      Array.from(
        window.values.subarray(r * window.columns.length, (r + 1) * window.columns.length),
      ),
    ),
  };
  download(`${baseName()}.json`, new Blob([JSON.stringify(record)], { type: 'application/json' }));
}

const ACTIONS: Record<string, { label: string; run: () => void }> = {
  png1: { label: 'PNG', run: () => exportPng(1) },
  png2: { label: 'PNG, 2×', run: () => exportPng(2) },
  png4: { label: 'PNG, 4×', run: () => exportPng(4) },
  svg: { label: 'SVG', run: exportSvg },
  csv: { label: 'CSV of what is seen', run: exportCsv },
  npy: { label: 'NPY of what is seen', run: exportNpy },
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
      onPick={(name) => ACTIONS[name]?.run()}
    />
  );
}
