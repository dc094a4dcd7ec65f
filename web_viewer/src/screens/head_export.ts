/** Exports of the Head screen. */

import { drawColorBar, drawFigure, figureLayout } from '../draw/figure';
import { LIGHT_INK } from '../draw/ink';
import { fitAll } from '../draw/viewport';
import { nameOf } from '../model/heads';
import { exact, short } from '../model/numbers';
import { safeText } from '../model/tokens';
import { extent, keyLabels, queryLabels, viewport } from '../state/focus';
import { csv, download } from '../state/export';
import { headMap, mapScale, storedValue } from '../state/map';
import { notice, mainRun, prompt, stack } from '../state/workspace';
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
  const text = safeText(prompt.peek()?.text ?? '', 90);
  const scale = mapScale.peek();
  return [
    `${run.summary.model.name ?? ''} head ${nameOf(head)}, ${stack.peek()?.stack} attention. ${text}`,
    `Scale ${scale.kind}, 0 to ${short(scale.high)}; stored as ${map.mapDtype}. attnscope ${run.summary.root.tool_version ?? ''}`,
  ];
}

/** A picture of what is seen, with axes, colour bar and caption, at 1, 2 or 4 times the size. */
export function exportPng(ratio: number): void {
  const { rows, columns } = extent.peek();
  const size = { width: 900, height: 900 };
  const layout = figureLayout(size, columns, rows);
  const canvas = document.createElement('canvas');
  const bottom = layout.bottom.y + layout.bottom.height;
  canvas.width = size.width * ratio;
  canvas.height = (bottom + CAPTION) * ratio;
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  context.fillStyle = LIGHT_INK.paper;
  context.fillRect(0, 0, size.width, bottom + CAPTION);
  const content = { ...figureContent(), cross: null };
  const report = drawFigure(context, LIGHT_INK, layout, painter, content, ratio);
  if (report.waiting > 0) {
    notice.value = 'The map is still being read; try again in a moment.';
    return;
  }
  const [first, second] = captionLines();
  context.font = `12px ${LIGHT_INK.font}`;
  context.textAlign = 'left';
  context.textBaseline = 'top';
  context.fillStyle = LIGHT_INK.text;
  context.fillText(first, 12, bottom + 14, size.width - 230);
  context.fillStyle = LIGHT_INK.muted;
  const level =
    report.factor > 1 ? ` One pixel: largest of ${report.factor} × ${report.factor}.` : '';
  context.fillText(second + level, 12, bottom + 32, size.width - 230);
  drawColorBar(
    context,
    LIGHT_INK,
    { x: size.width - 200, y: bottom + 14, width: 180, height: 10 },
    content.scale,
    short,
  );
  canvas.toBlob((blob) => blob && download(`${baseName()}.png`, blob), 'image/png');
}

/** The exact stored values of the visible window, with token labels. */
export function exportCsv(): void {
  const { rows, columns } = extent.peek();
  const see = viewport.peek() ?? fitAll(columns, rows);
  const [y0, y1] = [Math.floor(see.y), Math.min(rows, Math.ceil(see.y + see.height))];
  const [x0, x1] = [Math.floor(see.x), Math.min(columns, Math.ceil(see.x + see.width))];
  if ((y1 - y0) * (x1 - x0) > MAX_CELLS) {
    notice.value = 'More than 4 million cells: zoom in first, or read the file with h5py.';
    return;
  }
  const head: (string | number)[] = ['query', 'query token'];
  for (let k = x0; k < x1; ++k) head.push(`${k} ${keyLabels.peek()[k] ?? ''}`);
  const lines = [head];
  for (let q = y0; q < y1; ++q) {
    const line: (string | number)[] = [q, queryLabels.peek()[q] ?? ''];
    for (let k = x0; k < x1; ++k) {
      const value = storedValue(q, k);
      if (value === null) {
        notice.value = 'The map is still being read; try again in a moment.';
        return;
      }
      line.push(exact(value));
    }
    lines.push(line);
  }
  download(`${baseName()}.csv`, new Blob([csv(lines)], { type: 'text/csv' }));
}
