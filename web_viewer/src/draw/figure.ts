/** One map with everything around it, on the screen and in exports alike. */

import type { Pen } from './pen';
import { drawCellNumbers, drawColumnLabels, drawRowLabels } from './axes';
import { cssColor, inkOn } from './color';
import type { DrawReport, HeatMapPainter, MapShape, MapStyle, TileLookup } from './heat_map';
import type { Ink } from './ink';
import { logFloor, placeOf, type ScaleSpec } from './scale';
import { drawThumbnail, type Thumbnails } from './thumbnails';
import type { Size, Viewport } from './viewport';

export interface Box extends Size {
  x: number;
  y: number;
}

export interface FigureLayout {
  map: Box;
  /** Room for the labels of rows. */
  left: number;
  /** Profiles beside and below the map. */
  right: Box;
  bottom: Box;
}

const LEFT = 156;
/** Narrow panels have less room for labels and shorter titles. */
const NARROW = 520;
const NARROW_LEFT = [64, 96] as const;
const TOP = 104;
const STRIP = 46;
const GAP = 8;

/** Cells are square unless the map is much longer than wide. */
export function figureLayout(size: Size, columns: number, rows: number): FigureLayout {
  const [least, most] = NARROW_LEFT;
  const narrow = Math.min(most, Math.max(least, Math.floor(size.width / 5)));
  const left = size.width < NARROW ? narrow : LEFT;
  const roomX = Math.max(40, size.width - left - STRIP - GAP - 10);
  const roomY = Math.max(40, size.height - TOP - STRIP - GAP - 6);
  const ratio = Math.min(2.5, Math.max(0.4, columns / rows));
  const width = Math.floor(Math.min(roomX, roomY * ratio));
  const height = Math.floor(Math.min(roomY, roomX / ratio));
  const x = left + Math.floor((roomX - width) / 2);
  return {
    map: { x, y: TOP, width, height },
    left,
    right: { x: x + width + GAP, y: TOP, width: STRIP, height },
    bottom: { x, y: TOP + height + GAP, width, height: STRIP },
  };
}

export interface Cross {
  row: number;
  column: number;
}

export interface FigureContent {
  view: Viewport;
  shape: MapShape;
  tiles: TileLookup;
  /** The whole map in small, shown where tiles are still on their way. */
  preview: Thumbnails | null;
  style: Omit<MapStyle, 'paper'>;
  scale: ScaleSpec;
  rowLabels: readonly (string | null)[];
  columnLabels: readonly (string | null)[];
  rowPositions: readonly number[] | null;
  columnPositions: readonly number[] | null;
  /** What is drawn of a cell, null while unknown or masked. */
  valueAt: (row: number, column: number) => number | null;
  cross: Cross | null;
  selectedRows: readonly number[];
  selectedColumns: readonly number[];
  /** Tokens that the search found, marked on both axes. */
  found: { rows: readonly number[]; columns: readonly number[] };
  /** Values along the axes, drawn beside and below the map. */
  /** How the ends of the colour bar are written; null where there is none. */
  bar: ((value: number) => string) | null;
  rowProfile: Profile | null;
  columnProfile: Profile | null;
}

export interface Profile {
  values: ArrayLike<number>;
  /** A full bar stands for the largest visible value, but at least for this. */
  least: number;
  /** What the bars are, in a word or two. */
  caption: string;
}

function within(context: Pen, box: Box, draw: () => void): void {
  context.save();
  context.translate(box.x, box.y);
  draw();
  context.restore();
}

function drawSelection(
  context: Pen,
  ink: Ink,
  box: Box,
  { view, selectedRows, selectedColumns, cross }: FigureContent,
): void {
  const width = box.width / view.width;
  const height = box.height / view.height;
  const xOf = (column: number) => (column - view.x) * width;
  const yOf = (row: number) => (row - view.y) * height;
  context.save();
  context.beginPath();
  context.rect(0, 0, box.width, box.height);
  context.clip();
  context.fillStyle = ink.accent;
  context.globalAlpha = 0.22;
  for (const row of selectedRows) context.fillRect(0, yOf(row), box.width, Math.max(1, height));
  for (const column of selectedColumns) {
    context.fillRect(xOf(column), 0, Math.max(1, width), box.height);
  }
  context.globalAlpha = 1;
  if (cross) {
    context.strokeStyle = ink.accent;
    context.lineWidth = 1;
    const [x, y] = [xOf(cross.column), yOf(cross.row)];
    context.globalAlpha = 0.55;
    context.beginPath();
    for (const at of [y, y + height]) {
      context.moveTo(0, at);
      context.lineTo(box.width, at);
    }
    for (const at of [x, x + width]) {
      context.moveTo(at, 0);
      context.lineTo(at, box.height);
    }
    context.stroke();
    context.globalAlpha = 1;
    // Light around dark, so that it is seen on every colour.
    for (const [style, lineWidth] of [
      [ink.paper, 4],
      [ink.accent, 2],
    ] as const) {
      context.strokeStyle = style;
      context.lineWidth = lineWidth;
      context.strokeRect(x, y, Math.max(2, width), Math.max(2, height));
    }
  }
  context.restore();
}

/** Bars along one axis; each stands for the cells of one pixel or more, and shows their largest. */
function drawProfile(
  context: Pen,
  ink: Ink,
  box: Box,
  { values, least }: Profile,
  begin: number,
  extent: number,
  upright: boolean,
): void {
  const length = upright ? box.height : box.width;
  const depth = upright ? box.width : box.height;
  const [first, last] = [Math.max(0, Math.floor(begin)), Math.min(values.length, begin + extent)];
  let most = least;
  for (let i = first; i < last; ++i) most = Math.max(most, values[i] || 0);
  context.fillStyle = ink.muted;
  if (most === 0) return;
  const cell = length / extent;
  const step = Math.max(1, Math.ceil(extent / length));
  for (let i = first; i < last; i += step) {
    let top = 0;
    for (let j = i; j < Math.min(values.length, i + step); ++j) top = Math.max(top, values[j] || 0);
    // Of a cell that the window cuts, the part beside it.
    const at = Math.max(0, (i - begin) * cell);
    const end = Math.min(length, (i + step - begin) * cell - (cell > 4 ? 1 : 0));
    const size = Math.max(1, end - at);
    const bar = (top / most) * (depth - 2);
    if (upright) context.fillRect(0, at, bar, size);
    else context.fillRect(at, 0, size, bar);
  }
}

function drawProfiles(
  context: Pen,
  ink: Ink,
  { right, bottom }: FigureLayout,
  { rowProfile, columnProfile, view }: FigureContent,
): void {
  context.textAlign = 'left';
  context.font = `12px ${ink.font}`;
  if (rowProfile) {
    context.fillStyle = ink.muted;
    context.textBaseline = 'alphabetic';
    context.fillText(rowProfile.caption, right.x, right.y - 8);
    within(context, right, () =>
      drawProfile(context, ink, right, rowProfile, view.y, view.height, true),
    );
  }
  if (columnProfile) {
    context.fillStyle = ink.muted;
    context.textBaseline = 'top';
    context.fillText(columnProfile.caption, bottom.x + bottom.width + GAP, bottom.y + 2);
    within(context, bottom, () =>
      drawProfile(context, ink, bottom, columnProfile, view.x, view.width, false),
    );
  }
}

/** Its cells stand for many, so that those on the diagonal reach behind the mask. */
function drawPreview(
  context: Pen,
  ink: Ink,
  box: Box,
  preview: Thumbnails,
  { view, shape, style }: FigureContent,
): void {
  const [width, height] = [
    (box.width * shape.columns) / view.width,
    (box.height * shape.rows) / view.height,
  ];
  context.save();
  context.beginPath();
  context.rect(0, 0, box.width, box.height);
  context.clip();
  const [x, y] = [(-view.x / shape.columns) * width, (-view.y / shape.rows) * height];
  drawThumbnail(context, preview, 0, x, y, width, height);
  if (style.rule.causal) {
    context.fillStyle = ink.masked;
    context.beginPath();
    context.moveTo(x + width / shape.columns, y);
    context.lineTo(x + width, y);
    context.lineTo(x + width, y + height - height / shape.rows);
    context.fill();
  }
  context.restore();
}

/** Draws everything and says what was read, reduced and missing. */
export function drawFigure(
  context: Pen,
  ink: Ink,
  layout: FigureLayout,
  painter: HeatMapPainter,
  content: FigureContent,
  pixelRatio: number,
): DrawReport {
  const { map, left } = layout;
  const { view, scale } = content;
  context.fillStyle = ink.masked;
  context.fillRect(map.x, map.y, map.width, map.height);
  let report: DrawReport | null = null;
  within(context, map, () => {
    if (content.preview) drawPreview(context, ink, map, content.preview, content);
    report = painter.draw(
      context,
      map,
      view,
      content.shape,
      content.tiles,
      { ...content.style, paper: ink.masked },
      pixelRatio,
    );
    drawCellNumbers(
      context,
      view,
      map,
      content.valueAt,
      (value) => inkOn(scale.map, placeOf(scale, value)),
      ink.font,
    );
    drawSelection(context, ink, map, content);
  });
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.strokeRect(map.x - 0.5, map.y - 0.5, map.width + 1, map.height + 1);

  // In this order they have labels where there is no room for all.
  const { cross, selectedRows, selectedColumns, found } = content;
  const rowMarks = [...(cross ? [cross.row] : []), ...selectedRows, ...found.rows];
  const columnMarks = [...(cross ? [cross.column] : []), ...selectedColumns, ...found.columns];
  within(context, { ...map, x: map.x - left }, () =>
    drawRowLabels(context, ink, view, map, {
      labels: content.rowLabels,
      positions: content.rowPositions,
      marked: new Set(rowMarks),
      room: left,
    }),
  );
  within(context, { ...map, y: map.y - TOP }, () =>
    drawColumnLabels(context, ink, view, map, {
      labels: content.columnLabels,
      positions: content.columnPositions,
      marked: new Set(columnMarks),
      room: TOP,
    }),
  );
  context.font = `12px ${ink.font}`;
  context.fillStyle = ink.text;
  context.textAlign = 'right';
  context.textBaseline = 'alphabetic';
  const narrow = left < LEFT;
  const end = map.x - (narrow ? 8 : 16);
  context.fillText(narrow ? 'key →' : 'key, attended to →', end, map.y - 30);
  context.fillText(narrow ? 'query ↓' : 'query, attends from ↓', end, map.y - 12);
  drawProfiles(context, ink, layout, content);
  if (content.bar) {
    const box = { x: map.x - left + 8, y: layout.bottom.y + 4, width: left - 30, height: 8 };
    drawColorBar(context, ink, box, scale, content.bar);
  }
  return report!;
}

/** A bar that says what the colours mean, with its ends. */
export function drawColorBar(
  context: Pen,
  ink: Ink,
  box: Box,
  scale: ScaleSpec,
  endText: (value: number) => string,
): void {
  const steps = Math.max(2, Math.round(box.width));
  const { low } = scale;
  const ranks = scale.kind === 'rank' && !scale.diverging;
  const floored = scale.kind === 'log' && !scale.diverging;
  for (let i = 0; i < steps; ++i) {
    const share = (i + 0.5) / steps;
    // Ranks have no even steps of values, and most of a log scale would be one colour.
    const even = ranks || floored;
    const place = even ? share : placeOf(scale, low + (scale.high - low) * share);
    context.fillStyle = cssColor(scale.map, place);
    context.fillRect(box.x + i, box.y, 1.5, box.height);
  }
  const least = floored ? `≤ ${endText(logFloor(scale))}` : endText(low);
  context.font = `12px ${ink.font}`;
  context.fillStyle = ink.muted;
  context.textBaseline = 'top';
  context.textAlign = 'left';
  context.fillText(ranks ? 'least' : least, box.x, box.y + box.height + 3);
  context.textAlign = 'right';
  const most = ranks ? 'most' : endText(scale.high);
  context.fillText(most, box.x + box.width, box.y + box.height + 3);
}
