/** What the three panels of a comparison draw, on the screen and in exports. */

import type { ColorMapName } from '../draw/color';
import type { Cross } from '../draw/figure';
import { HeatMapPainter } from '../draw/heat_map';
import { lookupTable, type ScaleSpec } from '../draw/scale';
import { RAW } from '../draw/transform';
import { nameOf } from '../model/heads';
import { short } from '../model/numbers';
import { safeText } from '../model/tokens';
import {
  alignedBy,
  comparedView,
  differenceTile,
  isIdentity,
  largestDifference,
  pairedShape,
  panelAxes,
  sideTile,
  type Side,
  type SideName,
} from '../state/compare';
import { divergingMap } from '../state/theme';
import { view } from '../state/view';

export const painters = {
  a: new HeatMapPainter(),
  b: new HeatMapPainter(),
  difference: new HeatMapPainter(),
};
export type Panel = keyof typeof painters;

export function scaleFor(panel: Panel, diverging = divergingMap()): ScaleSpec {
  const kind = view.scale.value;
  if (panel !== 'difference') {
    return { kind: kind === 'rank' ? 'sqrt' : kind, low: 0, high: 1, map: view.color.value };
  }
  const top = view.domain.value === 'unit' ? 1 : largestDifference.value;
  const shape = kind === 'linear' ? 'linear' : 'sqrt';
  return { kind: shape, low: -top, high: top, map: diverging, diverging: true };
}

export function titleOf(side: Side): string {
  return `${nameOf(side.at.head)}, ${side.prompt.id}, ${safeText(side.run.summary.name, 30)}`;
}

/** Everything that is drawn of one panel. */
export function contentOf(
  panel: Panel,
  a: Side,
  b: Side,
  cross: Cross | null,
  diverging: ColorMapName = divergingMap(),
) {
  const scale = scaleFor(panel, diverging);
  const own: SideName = panel === 'b' ? 'b' : 'a';
  const { map } = panel === 'b' ? b.at : a.at;
  const files = [a, b].flatMap(({ run, prompt: { id }, at }) => [
    run.file.id,
    id,
    at.map.path,
    at.index,
  ]);
  const { rows, columns } = panelAxes.value![panel];
  const rule = {
    causal: map.causal,
    window: map.window,
    queryPositions: rows.positions,
    keyPositions: columns.positions,
    hideFirst: false,
    emptyRows: rows.gaps,
    emptyColumns: columns.gaps,
  };
  const difference = panel === 'difference';
  return {
    view: comparedView.value,
    shape: {
      ...pairedShape.value,
      // The largest differences are not those of the largest values.
      levels: difference || !isIdentity.value ? [] : map.levels.max,
    },
    tiles: (level: number, row: number, column: number) =>
      difference ? differenceTile(row, column) : sideTile(own, level, row, column),
    preview: null,
    style: {
      data: `${files.join('|')}|${alignedBy.value}`,
      colors: `${scale.kind}|${scale.high}|${scale.map}`,
      table: lookupTable(scale),
      rule,
      transform: RAW,
      pool: difference ? ('farthest' as const) : ('max' as const),
    },
    scale,
    rowLabels: rows.labels,
    columnLabels: columns.labels,
    rowPositions: rule.queryPositions,
    columnPositions: rule.keyPositions,
    valueAt: () => null,
    cross,
    selectedRows: [],
    selectedColumns: [],
    found: { rows: [], columns: [] },
    bar: (value: number) => short(value, 2),
    rowProfile: null,
    columnProfile: null,
  };
}
