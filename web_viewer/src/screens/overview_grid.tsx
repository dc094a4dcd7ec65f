/** All heads at once: their maps, a statistic, or what they cause. */

import { useComputed, useSignal } from '@preact/signals';
import { useCallback, useRef } from 'preact/hooks';
import { cssColor, inkOn, type ColorMapName } from '../draw/color';
import { cellText } from '../draw/axes';
import { headAt, inner, modelLayout, sortedLayout, type GridLayout } from '../draw/grid';
import type { Ink } from '../draw/ink';
import { placeOf, type ScaleSpec } from '../draw/scale';
import { drawMark } from '../draw/scatter';
import { drawThumbnail, paintThumbnails } from '../draw/thumbnails';
import type { Size } from '../draw/viewport';
import { nameOf } from '../model/heads';
import { short } from '../model/numbers';
import {
  hovered,
  kept,
  order,
  selectHead,
  selected,
  statistic,
  stepHead,
  toggleTray,
} from '../state/selection';
import { showsMeans } from '../state/prompts';
import { divergingMap } from '../state/theme';
import { choose, view } from '../state/view';
import { table } from '../state/heads';
import { stack } from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';
import { describeHead } from './head_words';
import { HeadTip } from './head_tip';

/** What the grid can show here: thumbnails need an overview in the file. */
export function gridMode(): 'map' | 'statistic' | 'effect' | 'table' {
  const wanted = view.show.value;
  if (wanted === 'table') return wanted;
  const has = {
    // Pictures are of one prompt; means over several have none.
    map: stack.value?.overview != null && !showsMeans.value,
    statistic: statistic.value !== null,
    effect: table.value.columns.has('effect'),
  };
  if (has[wanted]) return wanted;
  return has.map ? 'map' : has.effect ? 'effect' : 'statistic';
}

function columnScale(values: Float64Array, share: boolean, map: ColorMapName): ScaleSpec {
  const known = values.filter((value) => !Number.isNaN(value));
  const low = share ? 0 : known.reduce((least, value) => Math.min(least, value), Infinity);
  const high = share ? 1 : known.reduce((most, value) => Math.max(most, value), -Infinity);
  return { kind: 'linear', low, high, map };
}

function effectScale(values: Float64Array): ScaleSpec {
  const top = values.reduce((most, v) => (Number.isNaN(v) ? most : Math.max(most, Math.abs(v))), 0);
  return { kind: 'linear', low: -top, high: top, map: divergingMap(), diverging: true };
}

export function HeadGrid() {
  const scroll = useSignal(0);
  const size = useSignal<Size>({ width: 600, height: 400 });
  const pointer = useSignal<{ x: number; y: number } | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const layout = useComputed<GridLayout>(() =>
    view.sort.value
      ? sortedLayout(order.value, size.value.width)
      : modelLayout(table.value, size.value.width, size.value.height),
  );
  const thumbnails = useComputed(() => {
    const data = stack.value;
    if (!data?.overview) return null;
    const causal = data.maps.length > 0 && data.maps.every((map) => map.causal);
    return paintThumbnails(data.overview, view.color.value, view.scale.value, causal);
  });

  // Everything it reads is a signal, so one function serves for good.
  const draw = useCallback((context: CanvasRenderingContext2D, place: Size, ink: Ink) => {
    if (place.width !== size.peek().width || place.height !== size.peek().height)
      size.value = place;
    const { cells, cell, caption, labels, gaps } = layout.value;
    const { heads, columns, effects } = table.value;
    const mode = gridMode();
    const column = mode === 'effect' ? columns.get('effect') : statistic.value;
    const effectColumn = columns.get('effect');
    const borders = effectColumn && mode !== 'effect' ? effectScale(effectColumn.values) : null;
    const scale =
      mode === 'effect'
        ? effectScale(column?.values ?? new Float64Array(0))
        : column
          ? columnScale(column.values, column.share, view.color.value)
          : null;
    const stackData = stack.value;
    const rowOf = new Map(stackData?.layers.map((layer, row) => [layer, row]));
    const tray = new Set(view.tray.value);
    context.translate(0, -scroll.value);
    context.font = `12px ${ink.font}`;
    context.textBaseline = 'middle';
    context.fillStyle = ink.muted;
    for (const label of labels) {
      context.textAlign = label.align;
      context.fillText(label.text, label.x, label.y);
    }
    context.textAlign = 'left';
    for (const gap of gaps) {
      context.fillStyle = ink.muted;
      context.fillText(gap.text, gap.x, gap.y + gap.height / 2);
    }
    for (const at of cells) {
      const top = at.y - scroll.value;
      if (top > place.height || top + cell + caption < 0) continue;
      const head = heads[at.head]!;
      const box = inner(at, cell);
      const value = column?.values[at.head] ?? NaN;
      context.globalAlpha = kept.value[at.head] ? 1 : 0.12;
      context.fillStyle = ink.masked;
      context.fillRect(box.x, box.y, box.size, box.size);
      const row = rowOf.get(head.layer);
      if (mode === 'map' && thumbnails.value && stackData && row !== undefined) {
        const index = row * stackData.width + head.head;
        drawThumbnail(context, thumbnails.value, index, box.x, box.y, box.size, box.size);
      } else if (scale && !Number.isNaN(value)) {
        const share = placeOf(scale, value);
        context.fillStyle = cssColor(scale.map, share);
        context.fillRect(box.x, box.y, box.size, box.size);
        if (box.size >= 30) {
          context.fillStyle = inkOn(scale.map, share);
          context.textAlign = 'center';
          context.fillText(cellText(value), box.x + box.size / 2, box.y + box.size / 2);
        }
      } else {
        drawMissing(context, ink, box.x, box.y, box.size);
      }
      const effect = effects[at.head];
      if (effect && borders && cell >= 20) {
        const strength = Math.abs(effect.effect) / (borders.high || 1);
        if (strength > 0.08) {
          context.strokeStyle = effect.effect < 0 ? ink.negative : ink.positive;
          context.lineWidth = 1 + 3 * strength;
          const inset = context.lineWidth / 2;
          context.strokeRect(
            box.x + inset,
            box.y + inset,
            box.size - 2 * inset,
            box.size - 2 * inset,
          );
        }
      }
      if (effect?.verdict && box.size >= 26) {
        const color = effect.effect < 0 ? ink.negative : ink.positive;
        const [mx, my] = [box.x + box.size - 8, box.y + 8];
        context.fillStyle = ink.paper;
        context.beginPath();
        context.arc(mx, my, 6.5, 0, 2 * Math.PI);
        context.fill();
        drawMark(context, effect.verdict, mx, my, color, ink.paper, 3.5);
      }
      if (caption > 0) {
        context.fillStyle = ink.text;
        context.textAlign = 'center';
        const sorted = columns.get(view.sort.value)?.values[at.head] ?? NaN;
        context.fillText(`${nameOf(head)}  ${short(sorted, 2)}`, at.x + cell / 2, at.y + cell + 9);
      }
      if (tray.has(nameOf(head))) {
        context.fillStyle = ink.accent;
        context.fillRect(box.x, box.y + box.size - 3, box.size, 3);
      }
      context.globalAlpha = 1;
      if (at.head === selected.value || at.head === hovered.value) {
        context.strokeStyle = ink.accent;
        context.lineWidth = at.head === selected.value ? 3 : 1.5;
        context.strokeRect(box.x - 1, box.y - 1, box.size + 2, box.size + 2);
      }
    }
  }, []);

  const under = (event: MouseEvent) => {
    const { x, y } = offsetOf(event);
    return headAt(layout.value, x, y + scroll.value);
  };
  const move = (event: PointerEvent) => {
    pointer.value = offsetOf(event);
    hovered.value = under(event);
  };
  const pick = (event: MouseEvent) => {
    const index = under(event);
    if (index < 0) return;
    if (event.ctrlKey || event.metaKey) toggleTray(nameOf(table.value.heads[index]!));
    else selectHead(index);
  };
  const keys = (event: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    const step = steps[event.key];
    if (step) stepInOrder(step, view.sort.value !== '');
    else if (event.key === 'Enter' && selected.value >= 0) choose({ screen: 'head' });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const head = table.value.heads[selected.value];
  return (
    <div
      class="grid-scroll"
      ref={scroller}
      tabIndex={0}
      role="application"
      aria-label="Grid of heads: arrow keys select, Enter opens, a adds to the tray"
      onKeyDown={keys}
      onScroll={(event) => {
        scroll.value = event.currentTarget.scrollTop;
      }}
    >
      <div class="grid-sticky">
        <Canvas
          draw={draw}
          label={head ? describeHead(selected.value) : 'Grid of heads'}
          onPointerMove={move}
          onPointerLeave={() => {
            hovered.value = -1;
            pointer.value = null;
          }}
          onClick={pick}
          onDblClick={(event) => {
            const index = under(event);
            if (index >= 0) choose({ head: nameOf(table.value.heads[index]!), screen: 'head' });
          }}
        />
        {pointer.value && hovered.value >= 0 && (
          <HeadTip
            index={hovered.value}
            x={pointer.value.x}
            y={pointer.value.y}
            room={size.value}
          />
        )}
      </div>
      <div class="grid-spacer" style={{ height: `${layout.value.height}px` }} />
    </div>
  );
}

/** Arrow keys follow the picture: rows and columns of the model, or the sorted list. */
function stepInOrder([down, right]: [number, number], sorted: boolean): void {
  if (!sorted) {
    stepHead(down, right);
    return;
  }
  const list = order.peek();
  const now = list.indexOf(selected.peek());
  const next = list[Math.min(list.length - 1, Math.max(0, now + down + right))];
  if (next !== undefined) selectHead(next);
}

function drawMissing(
  context: CanvasRenderingContext2D,
  ink: Ink,
  x: number,
  y: number,
  size: number,
): void {
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, y + size);
  context.lineTo(x + size, y);
  context.stroke();
}
