/** Exports of the Compare screen: the three panels as a picture, each as a table. */

import { drawFigure, figureLayout } from '../draw/figure';
import { LIGHT_INK } from '../draw/ink';
import type { Pen } from '../draw/pen';
import { alignmentSentence } from '../model/align';
import { safeText } from '../model/tokens';
import { storedWords } from '../model/warnings';
import { pairing, sideA, sideB, type PanelName, type Side } from '../state/compare';
import { download } from '../state/export';
import { comparedName, comparedRegion, comparedTable } from '../state/export_compare';
import type { TableFormat } from '../state/export_map';
import { currentHash } from '../state/view';
import { say } from '../state/workspace';
import { contentOf, painters, titleOf } from './compare_panels';
import type { ExportActions } from './export_menu';
import { pictureActions, savePng, type Picture } from './pictures';

const PANEL = { width: 440, height: 470 };
const TITLE = 28;
const CAPTION = 58;
const PANELS = ['a', 'b', 'difference'] as const;

const ofSide = (name: string, { run, stack, prompt, at }: Side): string =>
  `${name}: ${run.summary.model.name ?? ''} ${stack} attention, stored as ${storedWords(at.map.mapDtype)}. ${safeText(prompt.text, 90)}`;

function drawText(pen: Pen, text: string, y: number, style: string, width: number): void {
  pen.font = `12px ${LIGHT_INK.font}`;
  pen.textAlign = 'left';
  pen.textBaseline = 'top';
  pen.fillStyle = style;
  pen.fillText(text, 12, y, width);
}

function drawPanels(pen: Pen, ratio: number, size: Picture['size']): boolean {
  const [a, b] = [sideA.peek(), sideB.peek()];
  if (!a || !b) return true;
  const { row, rows, column, columns } = comparedRegion();
  const view = { x: column, y: row, width: columns, height: rows };
  const layout = figureLayout(PANEL, columns, rows);
  let whole = true;
  PANELS.forEach((panel, at) => {
    pen.save();
    pen.translate(at * PANEL.width, 0);
    pen.font = `600 13px ${LIGHT_INK.font}`;
    pen.textAlign = 'left';
    pen.textBaseline = 'top';
    pen.fillStyle = LIGHT_INK.text;
    const side = panel === 'b' ? b : a;
    const title = panel === 'difference' ? 'A − B' : `${panel.toUpperCase()}: ${titleOf(side)}`;
    pen.fillText(title, 12, 8, PANEL.width - 24);
    pen.translate(0, TITLE);
    const content = { ...contentOf(panel, a, b, null, 'blue-orange'), view };
    const { waiting } = drawFigure(pen, LIGHT_INK, layout, painters[panel], content, ratio);
    if (waiting > 0) whole = false;
    pen.restore();
  });
  const pairs = pairing.peek();
  const said = pairs ? alignmentSentence(pairs.rows, pairs.columns) : '';
  const tool = `attnscope ${a.run.summary.root.tool_version ?? ''}`;
  const bottom = size.height - CAPTION;
  const width = size.width - 24;
  drawText(pen, ofSide('A', a), bottom, LIGHT_INK.text, width);
  drawText(pen, ofSide('B', b), bottom + 18, LIGHT_INK.text, width);
  drawText(pen, `${said} ${tool}`.trim(), bottom + 36, LIGHT_INK.muted, width);
  return whole;
}

function comparedPicture(): Picture | null {
  if (!sideA.peek() || !sideB.peek()) {
    say('There are no two maps here to export.');
    return null;
  }
  const { rows, columns } = comparedRegion();
  const { bottom } = figureLayout(PANEL, columns, rows);
  const size = {
    width: PANELS.length * PANEL.width,
    height: TITLE + bottom.y + bottom.height + CAPTION,
  };
  const draw = (pen: Pen, ratio: number) => drawPanels(pen, ratio, size);
  return { name: comparedName(), size, draw, version: currentHash };
}

/** What the key does. */
export function exportCompared(): void {
  const picture = comparedPicture();
  if (picture) void savePng(picture, 2);
}

const PANEL_NAMES: Record<PanelName, [file: string, label: string]> = {
  a: ['a', 'A'],
  b: ['b', 'B'],
  difference: ['a-minus-b', 'A − B'],
};

function tableAction(panel: PanelName, format: TableFormat): ExportActions[string] {
  const [file, label] = PANEL_NAMES[panel];
  const run = async () => {
    const name = `${comparedName()}-${file}.${format}`;
    const blob = await comparedTable(panel, format);
    if (blob) download(name, blob);
  };
  return { label: `${format.toUpperCase()} of ${label}`, run };
}

export const COMPARE_ACTIONS: ExportActions = {
  ...pictureActions(comparedPicture),
  csvA: tableAction('a', 'csv'),
  csvB: tableAction('b', 'csv'),
  csvDifference: tableAction('difference', 'csv'),
  npyA: tableAction('a', 'npy'),
  npyB: tableAction('b', 'npy'),
  npyDifference: tableAction('difference', 'npy'),
};
