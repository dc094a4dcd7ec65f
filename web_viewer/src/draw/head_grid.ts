/** The grid of heads: pictures or values, what they cause around them, which are meant. */

import type { HeadEffect } from '../model/effects';
import { short } from '../model/numbers';
import { cellTextWithin, MINUS_WIDTH } from './axes';
import { cssColor, inkOn } from './color';
import { inner, type GridCell, type GridLayout } from './grid';
import type { Ink } from './ink';
import type { Pen } from './pen';
import { placeOf, type ScaleSpec } from './scale';
import { drawMark } from './scatter';
import { drawThumbnail, type Thumbnails } from './thumbnails';

/** Everything is by the index of a head in the table. */
export interface GridContent {
  layout: GridLayout;
  /** Rows of the layout above the first visible pixel. */
  scroll: number;
  thumbnails: Thumbnails | null;
  /** Place of a head among the thumbnails, −1 where it has none. */
  pictureOf: (head: number) => number;
  /** What is coloured where there are no thumbnails. */
  values: ArrayLike<number> | null;
  scale: ScaleSpec | null;
  effects: readonly (HeadEffect | null)[];
  /** A border of full width; 0 for no borders. */
  largestEffect: number;
  names: readonly string[];
  /** What stands below the cells of a sorted list. */
  captions: ArrayLike<number> | null;
  kept: readonly boolean[];
  tray: ReadonlySet<string>;
  selected: number;
  hovered: number;
}

interface Square {
  x: number;
  y: number;
  size: number;
}

/** Effects below this share of the largest get no border. */
const FAINT = 0.08;
const MIN_FOR_NUMBER = 30;
const MIN_FOR_MARK = 26;
const SHARED_CELL = 48;
const MIN_FOR_BORDER = 18;

function drawLabels(pen: Pen, ink: Ink, { labels, gaps }: GridLayout): void {
  pen.fillStyle = ink.muted;
  for (const { text, x, y, align } of labels) {
    pen.textAlign = align;
    pen.fillText(text, x, y);
  }
  pen.textAlign = 'left';
  for (const { text, x, y, height } of gaps) pen.fillText(text, x, y + height / 2);
}

function drawInside(pen: Pen, ink: Ink, box: Square, head: number, content: GridContent): void {
  const { thumbnails, pictureOf, values, scale } = content;
  pen.fillStyle = ink.masked;
  pen.fillRect(box.x, box.y, box.size, box.size);
  const picture = pictureOf(head);
  const value = values?.[head] ?? NaN;
  if (thumbnails && picture >= 0) {
    drawThumbnail(pen, thumbnails, picture, box.x, box.y, box.size, box.size);
  } else if (scale && !Number.isNaN(value)) {
    const place = placeOf(scale, value);
    pen.fillStyle = cssColor(scale.map, place);
    pen.fillRect(box.x, box.y, box.size, box.size);
    if (box.size < MIN_FOR_NUMBER) return;
    pen.fillStyle = inkOn(scale.map, place);
    pen.textAlign = 'center';
    // In a small cell the number makes room for the mark of the verdict.
    const marked = content.effects[head]?.verdict && box.size < SHARED_CELL;
    const text = cellTextWithin(value, box.size - (scale.diverging ? MINUS_WIDTH : 0));
    pen.fillText(text, box.x + box.size / 2, box.y + box.size * (marked ? 0.72 : 0.5));
  } else {
    // A stroke through the cell: nothing is known, which is not 0.
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(box.x, box.y + box.size);
    pen.lineTo(box.x + box.size, box.y);
    pen.stroke();
  }
}

function drawEffect(pen: Pen, ink: Ink, box: Square, effect: HeadEffect, largest: number): void {
  const color = effect.effect < 0 ? ink.negative : ink.positive;
  const strength = largest > 0 ? Math.abs(effect.effect) / largest : 0;
  if (strength > FAINT && box.size >= MIN_FOR_BORDER) {
    pen.strokeStyle = color;
    pen.lineWidth = 1 + 3 * strength;
    const inset = pen.lineWidth / 2;
    pen.strokeRect(box.x + inset, box.y + inset, box.size - 2 * inset, box.size - 2 * inset);
  }
  if (effect.verdict && box.size >= MIN_FOR_MARK) {
    const [x, y] = [box.x + box.size - 8, box.y + 8];
    pen.fillStyle = ink.paper;
    pen.beginPath();
    pen.arc(x, y, 6.5, 0, 2 * Math.PI);
    pen.fill();
    drawMark(pen, effect.verdict, x, y, color, ink.paper, 3.5);
  }
}

function drawCell(pen: Pen, ink: Ink, at: GridCell, content: GridContent): void {
  const { layout, effects, captions, names, tray } = content;
  const { head } = at;
  const box = inner(at, layout.cell);
  const name = names[head]!;
  pen.globalAlpha = content.kept[head] ? 1 : 0.12;
  drawInside(pen, ink, box, head, content);
  const effect = effects[head];
  if (effect) drawEffect(pen, ink, box, effect, content.largestEffect);
  if (captions) {
    pen.fillStyle = ink.text;
    pen.textAlign = 'center';
    const text = `${name}  ${short(captions[head] ?? NaN, 2)}`;
    pen.fillText(text, at.x + layout.cell / 2, at.y + layout.cell + 9);
  }
  if (tray.has(name)) {
    pen.fillStyle = ink.accent;
    pen.fillRect(box.x, box.y + box.size - 3, box.size, 3);
  }
  pen.globalAlpha = 1;
  if (head === content.selected || head === content.hovered) {
    pen.strokeStyle = ink.accent;
    pen.lineWidth = head === content.selected ? 3 : 1.5;
    pen.strokeRect(box.x - 1, box.y - 1, box.size + 2, box.size + 2);
  }
}

export function drawHeadGrid(pen: Pen, ink: Ink, height: number, content: GridContent): void {
  const { layout, scroll } = content;
  pen.save();
  pen.translate(0, -scroll);
  pen.font = `12px ${ink.font}`;
  pen.textBaseline = 'middle';
  drawLabels(pen, ink, layout);
  for (const at of layout.cells) {
    const top = at.y - scroll;
    if (top > height || top + layout.cell + layout.caption < 0) continue;
    drawCell(pen, ink, at, content);
  }
  pen.restore();
}
