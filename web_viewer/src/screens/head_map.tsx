/** The heat map of a head: zoom, pan, crosshair, selection. */

import { useSignal } from '@preact/signals';
import { useCallback, useLayoutEffect } from 'preact/hooks';
import { drawFigure, figureLayout, type Cross, type FigureLayout } from '../draw/figure';
import { HeatMapPainter, type DrawReport } from '../draw/heat_map';
import type { Ink } from '../draw/ink';
import { RAW } from '../draw/transform';
import { zoomAt, type Size } from '../draw/viewport';
import { plural, short } from '../model/numbers';
import { sumsOver } from '../model/axis';
import { pick } from '../model/positions';
import {
  crosshair,
  extent,
  found,
  held,
  hold,
  keyAt,
  keyLabels,
  keysAt,
  moveCrosshair,
  pointed,
  queriesAt,
  queryAt,
  queryLabels,
  selectedColumns,
  selectedRows,
  setViewport,
  stepFound,
  viewport,
} from '../state/focus';
import {
  changes,
  dataVersion,
  emptyRows,
  isMerged,
  keyAxis,
  maskRule,
  shownLevels,
  shownTile,
  shownTransform,
  shownValue,
  transform,
} from '../state/cells';
import { colorVersion, isSpread, mapScale, mapTable } from '../state/colors';
import { faultyRows, firstMissing } from '../state/faults';
import { headMap, pool, prefetchNext, preview } from '../state/map';
import {
  means,
  meansName,
  meansPending,
  meansProgress,
  noMeanWords,
  wantsMeans,
} from '../state/map_means';
import { currentRows } from '../state/rows';
import { canSumRows } from '../state/row_sums';
import { isRaw, shownMargins } from '../state/margins';
import { viewStatus } from '../state/status';
import { arrivals, waitingWords } from '../state/tiles';
import { mainRun } from '../state/workspace';
import { choose } from '../state/view';
import { arrowStep } from '../ui/arrow_keys';
import { Canvas } from '../ui/canvas';
import { useMapGestures } from '../ui/map_gestures';
import { useKeys } from '../ui/use_keys';

/** Cells of a selection by dragging are listed in the URL, so there cannot be too many. */
const MAX_SELECTED = 512;

/** Cells across and down for which profiles follow the crosshair. */
const MAX_PROFILE = 4096;

export const painter = new HeatMapPainter();

/** Values along the crosshair where there is one, else what each row and key gets at most. */
function profiles(rows: number, columns: number, cross: Cross | null) {
  const see = viewport.value;
  // Along a whole long map, the values under the crosshair would be read tile by tile.
  if (cross && see.width + see.height <= MAX_PROFILE) {
    const [fromX, toX] = [Math.floor(see.x), Math.min(columns, Math.ceil(see.x + see.width))];
    const [fromY, toY] = [Math.floor(see.y), Math.min(rows, Math.ceil(see.y + see.height))];
    const along = new Float32Array(columns);
    const down = new Float32Array(rows);
    for (let k = fromX; k < toX; ++k) along[k] = shownValue(cross.row, k) ?? 0;
    for (let q = fromY; q < toY; ++q) down[q] = shownValue(q, cross.column) ?? 0;
    const least = mapScale.value.high / 50;
    return {
      rowProfile: { values: down, least, caption: `key ${keyAt(cross.column)}` },
      columnProfile: { values: along, least, caption: `query ${queryAt(cross.row)}` },
    };
  }
  const { largest, sums } = marginsAlong();
  return {
    rowProfile: largest ? { values: largest, least: 0, caption: 'largest' } : null,
    // A sum of spreads is none of sums.
    columnProfile: sums && !isSpread.value ? { values: sums, least: 0, caption: 'sum' } : null,
  };
}

/** The largest of each row and the sum of each column: from the file, else of what is drawn. */
function marginsAlong(): { largest: Float32Array | null; sums: Float32Array | null } {
  const data = currentRows.value;
  const { map } = headMap.value!;
  const strongest = isRaw.value && !isMerged.value ? data?.columns.get('max') : undefined;
  const kept = isRaw.value ? data?.keySum : undefined;
  const drawn = strongest && kept ? null : shownMargins.value;
  return {
    largest: strongest ? pick(strongest, map.queryPositions) : (drawn?.largest ?? null),
    sums: kept ? sumsOver(keyAxis.value, pick(kept, map.keyPositions)) : (drawn?.sums ?? null),
  };
}

export function figureContent(cross = crosshair.value) {
  const { rows, columns } = extent.value;
  return {
    view: viewport.value,
    shape: { rows, columns, levels: shownLevels.value },
    tiles: shownTile,
    preview: isRaw.value && !isMerged.value ? preview.value : null,
    style: {
      data: dataVersion.value,
      colors: colorVersion.value,
      table: mapTable.value,
      rule: maskRule.value,
      transform: shownTransform.value,
      pool: pool.value,
    },
    scale: mapScale.value,
    rowLabels: queryLabels.value,
    columnLabels: keyLabels.value,
    rowPositions: maskRule.value.queryPositions,
    columnPositions: maskRule.value.keyPositions,
    valueAt: shownValue,
    cross,
    selectedRows: selectedRows.value,
    selectedColumns: selectedColumns.value,
    found: found.value,
    bar: short,
    ...profiles(rows, columns, cross),
  };
}

const range = (a: number, b: number): number[] => {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return Array.from({ length: Math.min(MAX_SELECTED, high - low + 1) }, (_, i) => low + i);
};

/** Of how many prompts the picture is, and how much of them is read. */
function meansParts(): string[] {
  if (!wantsMeans.value || noMeanWords.value !== '') return [];
  if (!means.value) return ['looking at the prompts found; this is the map of one'];
  const progress = meansProgress.value;
  return [
    meansName(),
    ...(progress ? [`${progress.done} of ${progress.total} maps read (Esc stops)`] : []),
  ];
}

/** What the picture reduces, leaves out or cannot show. */
function reportParts(done: DrawReport): string[] {
  const parts = meansParts();
  const what = pool.value === 'mean' ? 'mean' : 'largest';
  if (done.tooLarge) {
    parts.push('too large to be read at once, and the file has no coarser levels: zoom in');
  }
  if (!means.value) parts.push(...waitingWords([mainRun.value!.file], done));
  else if (done.waiting > 0 && !meansProgress.value) {
    parts.push(`${plural(done.waiting, 'tile')} could not be read`);
  }
  if (done.level > 1) {
    parts.push(`level ×${done.level} (${what} of ${done.level} × ${done.level} cells)`);
  }
  if (done.factor > done.level) {
    parts.push(`one pixel shows the ${what} of ${done.factor} × ${done.factor} cells`);
  }
  if (done.missing > 0) parts.push(notNumbers(done.missing));
  const faulty = faultyRows.value.count;
  if (faulty > 0) parts.push(`${plural(faulty, 'row')} not summing to 1`);
  const empty = emptyRows.value?.reduce((sum, mark) => sum + mark, 0) ?? 0;
  if (empty > 0) parts.push(`${plural(empty, 'row')} all on the first token (hatched)`);
  if (changes.value.weighed) {
    parts.push(`weight × length of value, up to ${short(mapScale.value.high)}`);
  }
  if (transform.value.hideFirst && !canSumRows.value) {
    parts.push('rows rescaled by their statistics: they sum to 1 but for rounding');
  }
  if (done.factor > 1 && shownTransform.value !== RAW) {
    const near = pool.value === 'mean' ? 'approximate' : 'upper bounds';
    parts.push(`rescaled values are ${near} here`);
  }
  return parts;
}

export function HeadMap() {
  const layout = useSignal<FigureLayout | null>(null);
  const report = useSignal('');

  // Everything it reads is a signal, so one function serves for good.
  const draw = useCallback((context: CanvasRenderingContext2D, size: Size, ink: Ink) => {
    arrivals.value;
    const { rows, columns } = extent.value;
    if (!headMap.value || rows === 0) return;
    const place = figureLayout(size, columns, rows);
    layout.value = place;
    const done = drawFigure(context, ink, place, painter, figureContent(), devicePixelRatio);
    firstMissing.value = done.firstMissing;
    const parts = reportParts(done);
    report.value = parts.join(' · ');
    if (done.waiting === 0 && !done.tooLarge && !wantsMeans.value) prefetchNext();
  }, []);

  useLayoutEffect(() => {
    viewStatus.value = report.value;
  }, [report.value]);
  useLayoutEffect(() => () => void (viewStatus.value = ''), []);

  const gestures = useMapGestures({
    place: () => layout.value?.map ?? null,
    extent: () => extent.value,
    view: () => viewport.value,
    setView: setViewport,
    fit: () => choose({ zoom: [] }),
    point: (cell) => (pointed.value = cell),
    // A click holds the crosshair where it is, a second one lets it go.
    click: (cell) => (held.peek() ? choose({ cell: [] }) : hold(cell)),
    select: (from, to) =>
      choose({
        queries: range(from.row, to.row).flatMap(queriesAt),
        keys: range(from.column, to.column).flatMap(keysAt),
      }),
  });

  const zoom = (factor: number) => () =>
    setViewport(zoomAt(viewport.peek(), factor, 0.5, 0.5), true);
  useKeys({
    '+': zoom(1.5),
    '=': zoom(1.5),
    '-': zoom(1 / 1.5),
    '0': () => choose({ zoom: [] }),
    n: () => stepFound(1),
    N: () => stepFound(-1),
  });
  useLayoutEffect(() => () => void (pointed.value = null), []);

  const keys = (event: KeyboardEvent) => {
    const step = arrowStep(event);
    if (step) {
      const now = crosshair.value ?? { row: 0, column: 0 };
      const stride = event.shiftKey ? 10 : 1;
      moveCrosshair({ row: now.row + step[0] * stride, column: now.column + step[1] * stride });
    } else if (event.key === 'Enter' && crosshair.value) {
      choose({
        queries: queriesAt(crosshair.value.row),
        keys: keysAt(crosshair.value.column),
      });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      class={`head-map${meansPending.value ? ' pending' : ''}`}
      tabIndex={0}
      role="application"
      aria-label="Attention map: arrow keys move the crosshair, plus and minus zoom, Enter selects"
      onKeyDown={keys}
    >
      <Canvas draw={draw} label={mapLabel()} {...gestures} />
    </div>
  );
}

const notNumbers = (count: number): string =>
  count === 1 ? '1 cell is not a number (hatched)' : `${count} cells are not numbers (hatched)`;

function mapLabel(): string {
  const head = headMap.value?.head;
  const { rows, columns } = extent.value;
  if (!head) return 'Attention map';
  const cross = crosshair.value;
  const at = cross
    ? `, at query ${queryAt(cross.row)} ${queryLabels.value[cross.row] ?? ''}, key ${keyAt(cross.column)}`
    : '';
  const of = means.value ? ` (${meansName()})` : '';
  return `Attention map of head ${head.layer}.${head.head}${of}, ${rows} queries by ${columns} keys${at}`;
}
