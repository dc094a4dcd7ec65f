/** Does the statistic tell which heads matter? Every head a dot; a box drawn here filters the grid. */

import { useComputed, useSignal } from '@preact/signals';
import { LIGHT_INK, type Ink } from '../draw/ink';
import {
  dotAt,
  drawScatter,
  moveRange,
  rangeOf,
  valueAt,
  zoomRange,
  type Dot,
  type ScatterOptions,
  type ScatterRange,
} from '../draw/scatter';
import type { Size } from '../draw/viewport';
import type { HeadEffect, HeadEffects, PromptChoice } from '../model/effects';
import { measureId, nameOf, type Column } from '../model/heads';
import { plural, pText, short, tabular, tabularSigned } from '../model/numbers';
import { rankCorrelation } from '../model/rank';
import { HALVES, intervalWords } from '../model/result_words';
import { safeText } from '../model/tokens';
import { promptsWordsOf } from '../state/effect_prompts';
import {
  brush,
  hasAllPrompts,
  hovered,
  kept,
  points,
  selectHead,
  selected,
  statistic,
} from '../state/selection';
import { downloadSvg, svgPen } from '../state/export';
import { adjust, choose } from '../state/view';
import { table } from '../state/heads';
import {
  chosenEffects,
  chosenMethod,
  experiments,
  mainRun,
  runIdOf,
  type NamedEffects,
  type OpenRun,
} from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';
import { Pick } from '../ui/controls';
import { HeadTip } from './head_tip';

/** Over all prompts no interval is stored. */
function intervalOf(effect: HeadEffect | null | undefined, simultaneous: boolean) {
  if (!effect || points.value.all) return { low: NaN, high: NaN };
  return simultaneous
    ? { low: effect.simultaneousLow, high: effect.simultaneousHigh }
    : { low: effect.low, high: effect.high };
}

export const dots = () => {
  const { heads, effects } = table.value;
  const { xs, ys } = points.value;
  const simultaneous = chosenEffects.value?.effects.hasSimultaneous ?? false;
  return heads.map((head, at): Dot => {
    const effect = effects[at];
    return {
      x: xs?.[at] ?? NaN,
      y: ys?.[at] ?? NaN,
      ...intervalOf(effect, simultaneous),
      verdict: effect?.verdict ?? null,
      dimmed: !kept.value[at],
      name: nameOf(head),
    };
  });
};

const optionsOf = (effects: HeadEffects, column: Column): Omit<ScatterOptions, 'highlighted'> => ({
  labels: { x: column.label, y: `effect on ${effects.metric || 'the metric'}` },
  delta: effects.delta,
  brush: brush.value,
});

/** Room for three lines below the picture. */
const CAPTION = 62;

/** A file and the run that it is of. */
const sourceName = (run: OpenRun): string =>
  `${safeText(run.summary.name, 60)} (run ${safeText(runIdOf(run), 16)})`;

/** The file that a column is of: what an experiment measured of attention is its own. */
function sourceOf({ id, kind }: Column, effectOf: OpenRun): OpenRun {
  if (id === 'attribution') {
    const lens = experiments.peek().find(({ data }) => data.attributes.kind === 'lens');
    return lens?.run ?? effectOf;
  }
  return kind === 'measure' ? effectOf : (mainRun.peek() ?? effectOf);
}

/** Which files the axes are of, what was done, and on which prompts. */
function captionLines({ run, data, effects }: NamedEffects, column: Column): string[] {
  const across = sourceOf(column, run);
  const files =
    across === run
      ? `${column.label} and effect: ${sourceName(run)}`
      : `${column.label}: ${sourceName(across)}; effect: ${sourceName(run)}`;
  const method = effects.methods[chosenMethod.peek()];
  const how = [data.name, method].filter(Boolean).map((name) => safeText(name!, 40));
  const band = effects.delta > 0 ? `; band: ±δ = ±${tabular(effects.delta)}` : '';
  const prompts = promptsWordsOf(points.peek().all ? 'all' : 'measured');
  return [files, `${how.join(', ')}; ${bars(effects)}${band}`, prompts];
}

/** The scatter as a picture for a paper. */
export function exportScatter(): void {
  const named = chosenEffects.peek();
  const column = statistic.peek();
  if (!named || !column) return;
  const size = { width: 720, height: 520 };
  const pen = svgPen(size.width, size.height + CAPTION);
  const shown = dots();
  drawScatter(pen, LIGHT_INK, size, shown, rangeOf(shown), {
    ...optionsOf(named.effects, column),
    highlighted: selected.peek() >= 0 ? [selected.peek()] : [],
    brush: null,
  });
  pen.font = `12px ${LIGHT_INK.font}`;
  pen.textAlign = 'left';
  pen.textBaseline = 'top';
  pen.fillStyle = LIGHT_INK.muted;
  captionLines(named, column).forEach((line, at) =>
    pen.fillText(line, 12, size.height + 4 + 18 * at, size.width - 24),
  );
  const file = named.run.summary.name.replace(/\.h5$/, '');
  downloadSvg(`${file}-${named.data.name}-scatter.svg`, pen);
}

const known = (values: ArrayLike<number> | null | undefined, at: number): boolean =>
  !Number.isNaN(values?.[at] ?? NaN);

/** The rank correlation that the verdict itself holds of this measure: within layers, over all
 *  prompts, with an interval and p. */
function storedCorrelation(effects: HeadEffects, column: Column, method: number): string | null {
  const at = effects.measures.findIndex((name) => measureId(name) === column.id);
  const rank = at < 0 ? null : effects.rankOf(method, at);
  if (!rank) return null;
  const of = table.value.columns.get('effect');
  const pairs = table.value.heads.filter((_, head) =>
    hasAllPrompts.value
      ? known(column.allPrompts, head) && known(of?.allPrompts, head)
      : known(column.values, head) && known(of?.values, head),
  ).length;
  const range = Number.isNaN(rank.low)
    ? ' (no interval)'
    : ` [${tabular(rank.low)}, ${tabular(rank.high)}]`;
  const p = pText(rank.p, rank.smallestP);
  const chance = p === '–' ? '' : `, p ${p.startsWith('≤') ? '' : '= '}${p}`;
  const reach = Number.isNaN(rank.attainable)
    ? ''
    : ` A perfect measure would reach ${tabular(rank.attainable)}.`;
  const prompts = effects.prompts ? ` over all ${effects.prompts.all} prompts` : '';
  return (
    `Rank correlation of ${column.label} with the |effect| of ${effects.methods[method] ?? ''}, ` +
    `within layers,${prompts}: τ-b ${tabularSigned(rank.tau)}${range}${chance}, ` +
    `n = ${plural(pairs, 'head')}.${reach}`
  );
}

/** What the page computes of the dots it draws; it has no interval. */
function shownCorrelation(effects: HeadEffects, column: Column): string {
  const { xs, ys } = points.value;
  if (effects.headsPerUnit > 1) {
    return (
      `The heads of a key-value group were changed together and share one effect, so that there ` +
      `is no rank correlation over heads. Effect: ${effects.metric}.`
    );
  }
  const { tauB, rho, n } = rankCorrelation(xs ?? [], (ys ?? new Float64Array()).map(Math.abs));
  return (
    `Rank correlation of ${column.label} with the size of the effect, over all heads: τ-b ` +
    `${short(tauB, 2)}, ρ ${short(rho, 2)}, n = ${plural(n, 'head')}. It describes these heads ` +
    `and has no interval.`
  );
}

/** Of which prompts the dots are; only a verdict keeps two halves apart. */
export function PromptsPick({ effects }: { effects: HeadEffects }) {
  const { prompts } = effects;
  if (!prompts) return null;
  if (!hasAllPrompts.value) {
    return (
      <p class="small" title={HALVES}>
        The dots are of the {prompts.measured} prompts that nothing was chosen on.
      </p>
    );
  }
  return (
    <Pick
      label="Dots of"
      hideLabel
      title={
        `The ${prompts.measured} prompts on which nothing was chosen, with intervals and ` +
        `verdicts, or all ${prompts.all}, which τ-b compares. ${HALVES}`
      }
      value={points.value.all ? 'all' : 'measured'}
      options={[
        {
          value: 'measured',
          label: `${prompts.measured} prompts`,
          title: 'The half of the prompts on which nothing was chosen; with intervals and verdicts',
        },
        {
          value: 'all',
          label: `all ${prompts.all} prompts`,
          title: 'What the rank correlation compares; without intervals',
        },
      ]}
      onPick={(value) => choose({ prompts: value as PromptChoice, brush: [] })}
    />
  );
}

type Point = { x: number; y: number };

/** Pixels that a pointer may wander and still click. */
const SLACK = 4;
const WHEEL_SPEED = 0.0015;

export function HeadScatter() {
  const shown = useComputed(dots);
  const all = useComputed(() => rangeOf(shown.value));
  /** What is seen when zoomed in; null for all. */
  const closer = useSignal<ScatterRange | null>(null);
  const range = useComputed(() => closer.value ?? all.value);
  const size = useSignal<Size>({ width: 0, height: 0 });
  const pointer = useSignal<Point | null>(null);
  const start = useSignal<(Point & { pans: boolean; range: ScatterRange }) | null>(null);
  const named = chosenEffects.value;
  const column = statistic.value;
  if (!named || !column) return null;
  const { effects } = named;

  const draw = (context: CanvasRenderingContext2D, place: Size, ink: Ink) => {
    size.value = place;
    const marked = [selected.value, hovered.value].filter((at) => at >= 0);
    drawScatter(context, ink, place, shown.value, range.value, {
      ...optionsOf(effects, column),
      highlighted: [...new Set(marked)],
    });
  };
  const valueOf = (at: Point, of = range.value): Point => valueAt(of, size.value, at.x, at.y);
  const boxOf = (begin: Point, end: Point): number[] => {
    const [a, b] = [valueOf(begin), valueOf(end)];
    return [Math.min(a.x, b.x), Math.max(a.x, b.x), Math.min(a.y, b.y), Math.max(a.y, b.y)];
  };
  const far = (a: Point, b: Point) => Math.hypot(a.x - b.x, a.y - b.y) > SLACK;
  const move = (event: PointerEvent) => {
    const at = offsetOf(event);
    pointer.value = at;
    const from = start.value;
    if (!from || !far(at, from)) {
      hovered.value = dotAt(shown.value, range.value, size.value, at.x, at.y);
    } else if (from.pans) {
      const [a, b] = [valueOf(from, from.range), valueOf(at, from.range)];
      closer.value = moveRange(from.range, a.x - b.x, a.y - b.y);
    } else adjust({ brush: boxOf(from, at) });
  };
  const release = (event: PointerEvent) => {
    const at = offsetOf(event);
    const from = start.value;
    start.value = null;
    if (!from) return;
    if (!far(at, from)) {
      if (hovered.value >= 0) selectHead(hovered.value);
      else choose({ brush: [] });
    } else if (!from.pans) choose({ brush: boxOf(from, at) });
  };
  const words =
    storedCorrelation(effects, column, chosenMethod.value) ?? shownCorrelation(effects, column);
  return (
    <section class="scatter" aria-label="Statistic against effect">
      <div class="plot">
        <Canvas
          draw={draw}
          label={`${column.label} against effect. ${words}`}
          onWheel={(event) => {
            event.preventDefault();
            const factor = Math.exp(event.deltaY * WHEEL_SPEED);
            const next = zoomRange(range.value, valueOf(offsetOf(event)), factor, all.value);
            closer.value = next === all.value ? null : next;
          }}
          onDblClick={() => (closer.value = null)}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            const pans = closer.value !== null && !event.shiftKey;
            start.value = { ...offsetOf(event), pans, range: range.value };
          }}
          onPointerMove={move}
          onPointerUp={release}
          onPointerLeave={() => {
            hovered.value = -1;
            pointer.value = null;
          }}
        ></Canvas>
        {pointer.value && hovered.value >= 0 && !start.value && (
          <HeadTip
            index={hovered.value}
            {...pointer.value}
            room={size.value}
            all={points.value.all}
          />
        )}
      </div>
      <Legend effects={effects} />
      <p class="small">
        {promptsWordsOf(points.value.all ? 'all' : 'measured')} {words}
      </p>
    </section>
  );
}

/** What the bars are, or why there are none. */
function bars({ hasIntervals, hasSimultaneous }: HeadEffects): string {
  if (points.value.all) return 'no bars: intervals are of the other choice';
  if (!hasIntervals) return 'no bars: too few groups of prompts';
  return hasSimultaneous ? 'bars: 95 %, all units at once' : 'bars: 95 %, each unit alone';
}

function Legend({ effects }: { effects: HeadEffects }) {
  const method = effects.methods[chosenMethod.value] ?? '';
  const what = bars(effects);
  return (
    <p
      class="small legend"
      title={`Bars are ${intervalWords(effects.hasSimultaneous)}${method ? `, under ${method}` : ''}. In the grid a border is as strong as the effect, blue −, orange +. The wheel zooms; then a drag pans, with shift it selects, and a double click shows all.`}
    >
      {effects.hasVerdicts && (
        <>
          <span class="mark filled" /> causal <span class="mark hollow" /> undetermined{' '}
          <span class="mark cross">×</span> no effect ·{' '}
        </>
      )}
      {what}
      {effects.delta > 0 && ` · band: ±δ = ±${tabular(effects.delta)}`} · drag a box to filter,
      click to clear
    </p>
  );
}
