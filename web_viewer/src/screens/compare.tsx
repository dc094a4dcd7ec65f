/** Two maps side by side and their difference: heads, prompts or files. */

import { useSignal } from '@preact/signals';
import { drawFigure, figureLayout, type Cross, type FigureLayout } from '../draw/figure';
import { HeatMapPainter } from '../draw/heat_map';
import type { Ink } from '../draw/ink';
import { lookupTable, type ScaleSpec } from '../draw/scale';
import { RAW } from '../draw/transform';
import { clampView, fitAll, type Size, type Viewport } from '../draw/viewport';
import { h5pyDifference } from '../model/commands';
import { differencesOf } from '../model/differences';
import { nameOf, parseHead } from '../model/heads';
import { exact, short, signed } from '../model/numbers';
import { pickTexts, positionOf } from '../model/positions';
import { safeText, tokenLabel } from '../model/tokens';
import {
  commonShape,
  differenceTile,
  formatVersus,
  largestDifference,
  sideA,
  sideB,
  sideTile,
  versus,
  type Side,
} from '../state/compare';
import { shownHead } from '../state/selection';
import { arrivals, cellValue } from '../state/tiles';
import { divergingMap } from '../state/theme';
import { adjust, choose, view } from '../state/view';
import { table } from '../state/heads';
import { experiments, mainRun, prompt, runs, stack } from '../state/workspace';
import { Canvas } from '../ui/canvas';
import { Absent, copyText, Pick } from '../ui/controls';
import { useMapGestures } from '../ui/map_gestures';
import { ColorPicks } from './overview';
import { effectSentence } from './head_words';

const painters = {
  a: new HeatMapPainter(),
  b: new HeatMapPainter(),
  difference: new HeatMapPainter(),
};
type Panel = keyof typeof painters;

function labelsOf({ prompt: { queryTokens }, at }: Side): string[] {
  const texts = (queryTokens[stack.value?.stack ?? 'self']?.texts ?? []).map((t) => tokenLabel(t));
  return pickTexts(texts, at.map.queryPositions);
}

function keyLabelsOf({ prompt: { keyTokens }, at }: Side): string[] {
  const texts = (keyTokens[stack.value?.stack ?? 'self']?.texts ?? []).map((t) => tokenLabel(t));
  return pickTexts(texts, at.map.keyPositions);
}

function scaleFor(panel: Panel): ScaleSpec {
  const kind = view.scale.value;
  if (panel !== 'difference') {
    return { kind: kind === 'rank' ? 'sqrt' : kind, low: 0, high: 1, map: view.color.value };
  }
  const top = view.domain.value === 'head' ? largestDifference.value : 1;
  const shape = kind === 'linear' ? 'linear' : 'sqrt';
  return { kind: shape, low: -top, high: top, map: divergingMap(), diverging: true };
}

function titleOf(side: Side): string {
  return `${nameOf(side.at.head)}, ${side.prompt.id}, ${safeText(side.run.summary.name, 30)}`;
}

interface PanelProps {
  panel: Panel;
  a: Side;
  b: Side;
  see: Viewport;
  cross: Cross | null;
  onCross: (cross: Cross | null) => void;
}

function PanelMap({ panel, a, b, see, cross, onCross }: PanelProps) {
  const layout = useSignal<FigureLayout | null>(null);
  const { rows, columns } = commonShape.value!;
  const side = panel === 'b' ? b : a;
  const draw = (context: CanvasRenderingContext2D, size: Size, ink: Ink) => {
    arrivals.value;
    const place = figureLayout(size, columns, rows);
    layout.value = place;
    const scale = scaleFor(panel);
    const map = side.at.map;
    const files = [a, b].flatMap(({ run, at }) => [run.file.id, at.map.path, at.index]);
    drawFigure(
      context,
      ink,
      place,
      painters[panel],
      {
        view: see,
        shape: { rows, columns, levels: panel === 'difference' ? [] : map.levels },
        tiles: (level, row, column) =>
          panel === 'difference'
            ? differenceTile(a, b, level, row, column)
            : sideTile(side, level, row, column),
        preview: null,
        style: {
          data: files.join('|'),
          colors: `${scale.kind}|${scale.high}|${scale.map}`,
          table: lookupTable(scale),
          rule: {
            causal: map.causal,
            window: map.window,
            queryPositions: map.queryPositions,
            keyPositions: map.keyPositions,
            hideFirst: false,
          },
          transform: RAW,
        },
        scale,
        rowLabels: labelsOf(side).slice(0, rows),
        columnLabels: keyLabelsOf(side).slice(0, columns),
        rowPositions: map.queryPositions,
        columnPositions: map.keyPositions,
        valueAt: () => null,
        cross,
        selectedRows: [],
        selectedColumns: [],
        found: { rows: [], columns: [] },
        rowProfile: null,
        columnProfile: null,
      },
      devicePixelRatio,
    );
  };
  const gestures = useMapGestures({
    place: () => layout.value?.map ?? null,
    extent: () => commonShape.value ?? { rows: 0, columns: 0 },
    view: currentView,
    setView: (next) => setView(next, layout.value!.map),
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

const SHOWN_DIFFERENCES = 8;

/** The heads that a diff of two files names, each a step from its two maps. */
function DiffLine() {
  const found = experiments.value
    .map(({ run, data }) => ({ run, differences: differencesOf(data) }))
    .find(({ differences }) => differences !== null);
  if (!found?.differences) return null;
  const { a, b, method, metric, heads, equal } = found.differences;
  const place = (id: string) => runs.value.findIndex(({ summary }) => summary.root.run_id === id);
  const [first, second] = [place(a), place(b)];
  const open = first >= 0 && second >= 0;
  const show = (head: string) =>
    choose({
      mainFile: runs.value[first]!.summary.name,
      head,
      versus: `${second}:${prompt.value?.id ?? ''}:${head}`,
    });
  return (
    <p class="diff-line">
      <span class="muted">
        {safeText(found.run.summary.name, 40)}: {method} {metric}
      </span>
      {heads.slice(0, SHOWN_DIFFERENCES).map(({ head, value }) => (
        <button key={head} type="button" class="chip" disabled={!open} onClick={() => show(head)}>
          {head} {short(value, 2)}
        </button>
      ))}
      <span class="muted">
        {heads.length === 0 && 'no map differs'}
        {equal > 0 && heads.length > 0 && `${equal} heads are equal`}
        {!open && '; open both captures beside it to see their maps'}
      </span>
    </p>
  );
}

/** All panels share one window. */
function setView(next: Viewport, screen: Size): void {
  const { rows, columns } = commonShape.peek()!;
  const { x, y, width, height } = clampView(next, columns, rows, screen);
  adjust({ zoom: width >= columns && height >= rows ? [] : [x, y, width, height] });
}

function currentView(): Viewport {
  const { rows, columns } = commonShape.value!;
  const [x, y, width, height] = view.zoom.value;
  if (x === undefined || y === undefined || !width || !height) return fitAll(columns, rows);
  return clampView({ x, y, width, height }, columns, rows, { width: 400, height: 400 });
}

function Toolbar() {
  const other = versus.value;
  if (!other) return null;
  const here = shownHead.value!;
  const heads = table.value.heads.map((head) => ({ value: nameOf(head), label: nameOf(head) }));
  const ids = other.run.summary.promptIds;
  return (
    <div class="toolbar">
      <Pick
        label="A: head"
        value={nameOf(here)}
        options={heads}
        onPick={(head) => choose({ head })}
      />
      <Pick
        label="B: head"
        value={nameOf(other.head)}
        options={heads}
        onPick={(name) =>
          choose({ versus: formatVersus(other.run, other.promptId, parseHead(name)!) })
        }
      />
      {ids.length > 1 && (
        <Pick
          label="prompt"
          value={other.promptId}
          options={ids.map((value) => ({ value, label: value }))}
          onPick={(id) => choose({ versus: formatVersus(other.run, id, other.head) })}
        />
      )}
      {runs.value.length > 1 && (
        <Pick
          label="file"
          value={String(runs.value.indexOf(other.run))}
          options={runs.value.map(({ summary }, at) => ({
            value: String(at),
            label: safeText(summary.name, 30),
          }))}
          onPick={(at) => choose({ versus: `${at}:${other.promptId}:${nameOf(other.head)}` })}
        />
      )}
      <button
        type="button"
        title="Swap A and B (x)"
        disabled={other.run !== mainRun.value}
        onClick={swapSides}
      >
        Swap
      </button>
      <button
        type="button"
        title="Python lines that read both maps"
        disabled={!sideA.value || !sideB.value}
        onClick={copyLines}
      >
        Copy h5py
      </button>
      <span class="spring" />
      <Pick
        label="Range of A − B"
        value={view.domain.value}
        options={[
          { value: 'unit', label: '−1 to 1' },
          { value: 'head', label: 'to the largest' },
        ]}
        onPick={(domain) => choose({ domain: domain as 'unit' })}
      />
      <ColorPicks />
    </div>
  );
}

function copyLines(): void {
  const [a, b] = [sideA.peek(), sideB.peek()];
  if (!a || !b) return;
  const stored = ({ run, at }: Side) => ({ ...run.file.origin(at.map.path), index: at.index });
  void copyText(h5pyDifference(stored(a), stored(b)), 'Code');
}

/** A becomes B. A is always of the first file, so only its own heads and prompts can be swapped. */
export function swapSides(): void {
  const other = versus.peek();
  const here = shownHead.peek();
  const a = sideA.peek();
  if (!other || !here || !a || other.run !== mainRun.peek()) return;
  choose({
    head: nameOf(other.head),
    prompt: other.promptId,
    versus: formatVersus(a.run, a.prompt.id, here),
  });
}

export function CompareScreen() {
  const cross = useSignal<Cross | null>(null);
  const [a, b] = [sideA.value, sideB.value];
  const shape = commonShape.value;
  if (!a || !b || !shape) {
    return (
      <div class="overview">
        <Toolbar />
        <DiffLine />
        <Absent title="There are no two maps to compare">
          <p>Choose a head, prompt and file for B whose attention map is stored.</p>
        </Absent>
      </div>
    );
  }
  arrivals.value;
  const at = cross.value;
  const values = at && {
    a: cellValue(a.run.file, a.at.map, a.at.index, at.row, at.column),
    b: cellValue(b.run.file, b.at.map, b.at.index, at.row, at.column),
  };
  const sameTokens = labelsOf(a).join('\n') === labelsOf(b).join('\n');
  const panels = ['a', 'b', 'difference'] as const;
  const index = table.value.index.get(nameOf(a.at.head)) ?? -1;
  return (
    <div class="head-screen">
      <Toolbar />
      <DiffLine />
      <p class="banner">
        <strong>Attention is not effect.</strong>{' '}
        {effectSentence(index)
          ? `For A, ${effectSentence(index)}. `
          : 'No causal result of A is stored. '}
        {!shape.equal
          ? `The texts differ in length; the first ${shape.rows} tokens are aligned by position. `
          : !sameTokens && 'The texts differ; tokens are aligned by position. '}
      </p>
      <div class="compare">
        {panels.map((panel) => (
          <PanelMap
            key={panel}
            panel={panel}
            a={a}
            b={b}
            see={currentView()}
            cross={at}
            onCross={(next) => (cross.value = next)}
          />
        ))}
      </div>
      <p class="compare-readout" role="status">
        {at && values && values.a !== null && values.b !== null
          ? `query ${positionOf(a.at.map.queryPositions, at.row)} ${labelsOf(a)[at.row] ?? ''} → key ${positionOf(a.at.map.keyPositions, at.column)} ${keyLabelsOf(a)[at.column] ?? ''}: ` +
            `A ${exact(values.a)}, B ${exact(values.b)}, A − B ${signed(values.a - values.b, 4)}`
          : `Point at a cell to read both stored values. Colours: 0 to 1; A − B up to ±${short(scaleFor('difference').high)}.`}
      </p>
    </div>
  );
}
