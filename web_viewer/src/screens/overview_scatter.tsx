/** Does the statistic tell which heads matter? Every head a dot; a box drawn here filters the grid. */

import { useComputed, useSignal } from '@preact/signals';
import { LIGHT_INK, type Ink } from '../draw/ink';
import {
  dotAt,
  drawScatter,
  rangeOf,
  valueAt,
  type Dot,
  type ScatterOptions,
  type ScatterRange,
} from '../draw/scatter';
import type { Size } from '../draw/viewport';
import type { HeadEffect, HeadEffects, PromptChoice } from '../model/effects';
import { measureId, nameOf, type Column } from '../model/heads';
import { plural, pText, short, tabular, tabularSigned } from '../model/numbers';
import { rankCorrelation } from '../model/rank';
import { intervalWords } from '../model/result_words';
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
import { chosenEffects, chosenMethod } from '../state/workspace';
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

/** The scatter as a picture for a paper. */
export function exportScatter(): void {
  const named = chosenEffects.peek();
  const column = statistic.peek();
  if (!named || !column) return;
  const size = { width: 720, height: 520 };
  const pen = svgPen(size.width, size.height);
  const shown = dots();
  drawScatter(pen, LIGHT_INK, size, shown, rangeOf(shown), {
    ...optionsOf(named.effects, column),
    highlighted: selected.peek() >= 0 ? [selected.peek()] : [],
    brush: null,
  });
  downloadSvg('scatter.svg', pen);
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
      <p class="small">
        The dots are of the {prompts.measured} prompts that nothing was chosen on.
      </p>
    );
  }
  return (
    <Pick
      label="Dots of"
      value={points.value.all ? 'all' : 'measured'}
      options={[
        {
          value: 'measured',
          label: `${prompts.measured} prompts, nothing chosen on them`,
          title: 'The half of the prompts on which nothing was chosen; with intervals and verdicts',
        },
        {
          value: 'all',
          label: `all ${prompts.all} prompts, as τ-b`,
          title: 'What the rank correlation compares; without intervals',
        },
      ]}
      onPick={(value) => choose({ prompts: value as PromptChoice, brush: [] })}
    />
  );
}

export function HeadScatter() {
  const shown = useComputed(dots);
  const range = useComputed(() => rangeOf(shown.value));
  const size = useSignal<Size>({ width: 0, height: 0 });
  const pointer = useSignal<{ x: number; y: number } | null>(null);
  const start = useSignal<{ x: number; y: number } | null>(null);
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
  type Point = { x: number; y: number };
  const boxOf = (begin: Point, end: Point): ScatterRange => {
    const a = valueAt(range.value, size.value, begin.x, begin.y);
    const b = valueAt(range.value, size.value, end.x, end.y);
    return {
      x: [Math.min(a.x, b.x), Math.max(a.x, b.x)],
      y: [Math.min(a.y, b.y), Math.max(a.y, b.y)],
    };
  };
  const move = (event: PointerEvent) => {
    const at = offsetOf(event);
    pointer.value = at;
    const from = start.value;
    if (from && Math.hypot(at.x - from.x, at.y - from.y) > 4) {
      const box = boxOf(from, at);
      adjust({ brush: [...box.x, ...box.y] });
    } else hovered.value = dotAt(shown.value, range.value, size.value, at.x, at.y);
  };
  const words =
    storedCorrelation(effects, column, chosenMethod.value) ?? shownCorrelation(effects, column);
  return (
    <section class="scatter" aria-label="Statistic against effect">
      <p class="small">{words}</p>
      <Canvas
        draw={draw}
        label={`${column.label} against effect. ${words}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.value = offsetOf(event);
        }}
        onPointerMove={move}
        onPointerUp={(event) => {
          const at = offsetOf(event);
          const from = start.value;
          start.value = null;
          if (!from) return;
          if (Math.hypot(at.x - from.x, at.y - from.y) > 4) {
            const box = boxOf(from, at);
            choose({ brush: [...box.x, ...box.y] });
          } else if (hovered.value >= 0) selectHead(hovered.value);
          else choose({ brush: [] });
        }}
        onPointerLeave={() => {
          hovered.value = -1;
          pointer.value = null;
        }}
      ></Canvas>
      {pointer.value && hovered.value >= 0 && !start.value && (
        <HeadTip index={hovered.value} x={pointer.value.x} y={pointer.value.y} room={size.value} />
      )}
      <Legend effects={effects} />
    </section>
  );
}

function Legend({ effects }: { effects: HeadEffects }) {
  const method = effects.methods[chosenMethod.value] ?? '';
  const what = points.value.all
    ? 'no bars: intervals are of the other choice'
    : !effects.hasIntervals
      ? 'no bars: too few groups of prompts'
      : effects.hasSimultaneous
        ? 'bars: 95 %, all units at once'
        : 'bars: 95 %, each unit alone';
  return (
    <p
      class="small legend"
      title={`Bars are ${intervalWords(effects.hasSimultaneous)}${method ? `, under ${method}` : ''}. In the grid a border is as strong as the effect, blue −, orange +.`}
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
