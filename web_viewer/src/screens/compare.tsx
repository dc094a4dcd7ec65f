/** Two maps side by side and their difference: heads, prompts or files. */

import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { drawFigure, figureLayout, type Cross, type FigureLayout } from '../draw/figure';
import type { DrawReport } from '../draw/heat_map';
import type { Ink } from '../draw/ink';
import { clampView, type Size, type Viewport } from '../draw/viewport';
import { alignmentSentence } from '../model/align';
import { nameOf } from '../model/heads';
import { exact, plural, short, signed } from '../model/numbers';
import {
  comparedView,
  isSameMap,
  pairedShape,
  pairedValue,
  pairing,
  pairingWords,
  panelAxes,
  sideA,
  sideB,
  type Pairing,
  type Side,
  type SideName,
} from '../state/compare';
import { chosenPromptsWords } from '../state/effect_prompts';
import { viewStatus } from '../state/status';
import { arrivals, waitingWords } from '../state/tiles';
import { adjust, choose } from '../state/view';
import { table } from '../state/heads';
import { useKeys } from '../ui/use_keys';
import { Canvas } from '../ui/canvas';
import { useMapGestures } from '../ui/map_gestures';
import { exportCompared } from './compare_export';
import { NoPair } from './compare_missing';
import { CompareToolbar, DiffLine, swapSides } from './compare_tools';
import { contentOf, painters, scaleFor, titleOf, type Panel } from './compare_panels';
import { effectSentence, rangeTitle } from './head_words';

interface PanelProps {
  panel: Panel;
  a: Side;
  b: Side;
  cross: Cross | null;
  onCross: (cross: Cross | null) => void;
  onReport: (report: DrawReport) => void;
}

function PanelMap({ panel, a, b, cross, onCross, onReport }: PanelProps) {
  const layout = useSignal<FigureLayout | null>(null);
  const side = panel === 'b' ? b : a;
  const draw = (context: CanvasRenderingContext2D, size: Size, ink: Ink) => {
    arrivals.value;
    const { rows, columns } = pairedShape.value;
    const place = figureLayout(size, columns, rows);
    layout.value = place;
    const content = contentOf(panel, a, b, cross);
    onReport(drawFigure(context, ink, place, painters[panel], content, devicePixelRatio));
  };
  const gestures = useMapGestures({
    place: () => layout.value?.map ?? null,
    extent: () => pairedShape.value,
    view: () => comparedView.value,
    setView,
    fit: () => choose({ zoom: [] }),
    point: onCross,
  });
  return (
    <section class="compare-panel" aria-label={`Panel ${panel}`}>
      <h2>{panel === 'difference' ? 'A − B' : `${panel.toUpperCase()}: ${titleOf(side)}`}</h2>
      <Canvas
        draw={draw}
        label={panel === 'difference' ? 'Difference of A and B' : `Map of ${titleOf(side)}`}
        {...gestures}
      />
    </section>
  );
}

/** All panels share one window. */
function setView(next: Viewport): void {
  const { rows, columns } = pairedShape.peek();
  const { x, y, width, height } = clampView(next, columns, rows);
  adjust({ zoom: width >= columns && height >= rows ? [] : [x, y, width, height] });
}

/** What the panels leave out, reduce or have not read yet. */
function statusOf(reports: Partial<Record<Panel, DrawReport>>): string {
  const parts = [...pairingWords.value];
  const all = Object.values(reports);
  const sum = (of: (report: DrawReport) => number) => all.reduce((n, one) => n + of(one), 0);
  if (all.some((report) => report.tooLarge)) parts.push('A − B needs a closer view: zoom in');
  const [tiles, waiting] = [sum((report) => report.tiles), sum((report) => report.waiting)];
  const files = [...new Set([sideA.value!.run.file, sideB.value!.run.file])];
  parts.push(...waitingWords(files, { tiles, waiting }));
  const factor = Math.max(1, ...all.map((report) => report.factor));
  if (factor > 1) parts.push(`one pixel shows the largest of ${factor} × ${factor} cells`);
  const missing = sum((report) => report.missing);
  if (missing > 0) parts.push(`${plural(missing, 'cell')} without a number (hatched)`);
  return parts.join(' · ');
}

/** Both stored values of the cell that is pointed at. */
function Readout({ at }: { at: Cross | null }) {
  arrivals.value;
  const rest = `Colours: 0 to 1; A − B up to ±${short(scaleFor('difference').high)}.`;
  if (!at) return <>Point at a cell to read both stored values. {rest}</>;
  const values = { a: pairedValue('a', at.row, at.column), b: pairedValue('b', at.row, at.column) };
  if (values.a === null || values.b === null) return <>Reading …</>;
  const tokenOf = (name: SideName, axis: keyof Pairing, index: number) => {
    const { labels, positions } = panelAxes.value![name][axis];
    return labels[index] === null ? null : `${positions[index]} ${labels[index]}`;
  };
  const place = (axis: keyof Pairing, index: number) => {
    const [own, other] = [tokenOf('a', axis, index), tokenOf('b', axis, index)];
    if (own === null) return `${other} (only in B)`;
    if (other === null) return `${own} (only in A)`;
    return own === other ? own : `${own} / ${other}`;
  };
  const number = (value: number) => (Number.isNaN(value) ? 'none' : exact(value));
  const difference = values.a - values.b;
  return (
    <>
      {`query ${place('rows', at.row)} → key ${place('columns', at.column)}: ` +
        `A ${number(values.a)}, B ${number(values.b)}, ` +
        `A − B ${Number.isNaN(difference) ? 'none' : signed(difference, 4)}`}
    </>
  );
}

export function CompareScreen() {
  const cross = useSignal<Cross | null>(null);
  const reports = useSignal<Partial<Record<Panel, DrawReport>>>({});
  const [a, b, pairs] = [sideA.value, sideB.value, pairing.value];
  const words = a && b ? statusOf(reports.value) : '';
  useLayoutEffect(() => {
    viewStatus.value = words;
  }, [words]);
  useLayoutEffect(() => () => void (viewStatus.value = ''), []);
  useKeys({ x: swapSides, e: exportCompared });
  if (!a || !b || !pairs) {
    return (
      <div class="overview">
        <CompareToolbar />
        <DiffLine />
        <NoPair />
      </div>
    );
  }
  const panels = ['a', 'b', 'difference'] as const;
  const { rows, columns } = pairedShape.value;
  const at =
    cross.value && cross.value.row < rows && cross.value.column < columns ? cross.value : null;
  const index = table.value.index.get(nameOf(a.at.head)) ?? -1;
  return (
    <div class="head-screen">
      <CompareToolbar />
      <DiffLine />
      <p class="banner">
        <strong>Attention is not effect.</strong>{' '}
        {effectSentence(index) ? (
          <>
            For A, <span title={rangeTitle(index)}>{effectSentence(index)}</span>.{' '}
            {chosenPromptsWords.value}{' '}
          </>
        ) : (
          'No causal result of A is stored. '
        )}
        {isSameMap.value
          ? 'A and B are the same map: choose another head, prompt or file for B.'
          : alignmentSentence(pairs.rows, pairs.columns)}
      </p>
      <div class="compare">
        {panels.map((panel) => (
          <PanelMap
            key={panel}
            panel={panel}
            a={a}
            b={b}
            cross={at}
            onCross={(next) => (cross.value = next)}
            onReport={(report) => {
              const before = reports.peek();
              if (JSON.stringify(before[panel]) === JSON.stringify(report)) return;
              reports.value = { ...before, [panel]: report };
            }}
          />
        ))}
      </div>
      <p class="compare-readout" role="status">
        <Readout at={at} />
      </p>
    </div>
  );
}
