/** Does the statistic tell which heads matter? Every head a dot; a box drawn here filters the grid. */

import { useComputed, useSignal } from '@preact/signals';
import { LIGHT_INK, type Ink } from '../draw/ink';
import { dotAt, drawScatter, rangeOf, valueAt, type Dot, type ScatterRange } from '../draw/scatter';
import type { Size } from '../draw/viewport';
import { measureId, nameOf } from '../model/heads';
import { interval, short } from '../model/numbers';
import { rankCorrelation } from '../model/rank';
import { brush, hovered, kept, selectHead, selected, statistic } from '../state/selection';
import { downloadSvg, svgPen } from '../state/export';
import { adjust, choose } from '../state/view';
import { table } from '../state/heads';
import { chosenEffects, chosenMethod } from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';
import { HeadTip } from './head_tip';

export const dots = () => {
  const { heads, effects } = table.value;
  const xs = statistic.value?.values;
  return heads.map((head, at): Dot => {
    const effect = effects[at];
    return {
      x: xs?.[at] ?? NaN,
      y: effect?.effect ?? NaN,
      low: effect?.low ?? NaN,
      high: effect?.high ?? NaN,
      verdict: effect?.verdict ?? null,
      dimmed: !kept.value[at],
      name: nameOf(head),
    };
  });
};

const correlation = () =>
  rankCorrelation(statistic.value?.values ?? [], table.value.columns.get('size')?.values ?? []);

/** The scatter as a picture for a paper. */
export function exportScatter(): void {
  const named = chosenEffects.peek();
  const column = statistic.peek();
  if (!named || !column) return;
  const size = { width: 720, height: 520 };
  const pen = svgPen(size.width, size.height);
  const shown = dots();
  drawScatter(pen, LIGHT_INK, size, shown, rangeOf(shown), {
    labels: { x: column.label, y: `effect on ${named.effects.metric || 'the metric'}` },
    highlighted: selected.peek() >= 0 ? [selected.peek()] : [],
    brush: null,
  });
  downloadSvg('scatter.svg', pen);
}

/** What the verdict itself says of this measure, which is within layers and has an interval. */
function ownRank(): string {
  const effects = chosenEffects.value?.effects;
  const at = effects?.measures.findIndex((name) => measureId(name) === statistic.value?.id) ?? -1;
  const rank = at < 0 ? null : effects!.rankOf(chosenMethod.value, at);
  return rank
    ? ` Within layers, by the verdict: τ-b ${short(rank.tau)} ${interval(rank.low, rank.high)}.`
    : '';
}

export function HeadScatter() {
  const points = useComputed(dots);
  const range = useComputed(() => rangeOf(points.value));
  const size = useSignal<Size>({ width: 0, height: 0 });
  const pointer = useSignal<{ x: number; y: number } | null>(null);
  const start = useSignal<{ x: number; y: number } | null>(null);
  const named = chosenEffects.value;
  const column = statistic.value;
  if (!named || !column) return null;

  const draw = (context: CanvasRenderingContext2D, place: Size, ink: Ink) => {
    size.value = place;
    const marked = [selected.value, hovered.value].filter((at) => at >= 0);
    drawScatter(context, ink, place, points.value, range.value, {
      labels: { x: column.label, y: `effect on ${named.effects.metric || 'the metric'}` },
      highlighted: [...new Set(marked)],
      brush: brush.value,
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
    } else hovered.value = dotAt(points.value, range.value, size.value, at.x, at.y);
  };
  const { tauB, rho, n } = correlation();
  return (
    <section class="scatter" aria-label="Statistic against effect">
      <p
        class="small"
        title="Kendall’s τ-b and Spearman’s ρ over the heads that are here. They describe these heads and have no interval."
      >
        Rank correlation of {column.label} with the size of the effect, over all heads: τ-b{' '}
        {short(tauB, 2)}, ρ {short(rho, 2)}, n = {n}.{ownRank()}
      </p>
      <Canvas
        draw={draw}
        label={`${column.label} against effect, ${n} heads, Kendall tau-b ${short(tauB, 2)}`}
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
      <Legend
        verdicts={named.effects.hasVerdicts}
        method={named.effects.methods[chosenMethod.value] ?? ''}
      />
    </section>
  );
}

function Legend({ verdicts, method }: { verdicts: boolean; method: string }) {
  return (
    <p class="small legend">
      {verdicts && (
        <>
          <span class="mark filled" /> causal <span class="mark hollow" /> undetermined{' '}
          <span class="mark cross">×</span> no effect ·{' '}
        </>
      )}
      bars: 95 % intervals{method ? ` under ${method}` : ''} · in the grid, a border as strong as
      the effect, blue −, orange + · drag a box to filter, click to clear
    </p>
  );
}
