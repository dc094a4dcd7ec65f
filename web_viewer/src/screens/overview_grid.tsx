/** All heads at once: their maps, a statistic, or what they cause. */

import { computed, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useCallback, useRef } from 'preact/hooks';
import { headAt, modelLayout, sortedLayout, type GridLayout } from '../draw/grid';
import { drawHeadGrid, type GridContent } from '../draw/head_grid';
import { LIGHT_INK, type Ink } from '../draw/ink';
import type { ColorMapName } from '../draw/color';
import type { ScaleSpec } from '../draw/scale';
import { paintThumbnails } from '../draw/thumbnails';
import type { Size } from '../draw/viewport';
import { nameOf, type Column } from '../model/heads';
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
import { downloadSvg, svgPen } from '../state/export';
import { divergingMap } from '../state/theme';
import { choose, view } from '../state/view';
import { table } from '../state/heads';
import { stack } from '../state/workspace';
import { arrowStep } from '../ui/arrow_keys';
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

/** Statistics are coloured over their range, shares over 0 to 1, effects about 0. */
function scaleOf({ kind, share, values }: Column, diverging: ColorMapName): ScaleSpec {
  if (kind === 'effect') return effectScale(values, diverging);
  const known = values.filter((value) => !Number.isNaN(value));
  const low = share ? 0 : known.reduce((least, value) => Math.min(least, value), Infinity);
  const high = share ? 1 : known.reduce((most, value) => Math.max(most, value), -Infinity);
  // What has both signs is coloured about 0, like effects.
  if (low < 0 && high > 0) return effectScale(values, diverging);
  return { kind: 'linear', low, high, map: view.color.value };
}

function effectScale(values: Float64Array, map: ColorMapName): ScaleSpec {
  const top = values.reduce((most, v) => (Number.isNaN(v) ? most : Math.max(most, Math.abs(v))), 0);
  return { kind: 'linear', low: -top, high: top, map, diverging: true };
}

const thumbnails = computed(() => {
  const data = stack.value;
  if (!data?.overview) return null;
  const causal = data.maps.length > 0 && data.maps.every((map) => map.causal);
  return paintThumbnails(data.overview, view.color.value, view.scale.value, causal);
});

/** What the grid shows of every head; colours of effects depend on the paper. */
function gridContent(layout: GridLayout, diverging: ColorMapName): GridContent {
  const { heads, columns, effects } = table.value;
  const mode = gridMode();
  const effectColumn = columns.get('effect');
  const column = mode === 'effect' ? effectColumn : statistic.value;
  const data = stack.value;
  const rowOf = new Map(data?.layers.map((layer, row) => [layer, row]));
  return {
    layout,
    scroll: 0,
    thumbnails: mode === 'map' ? thumbnails.value : null,
    pictureOf: (index) => {
      const { layer, head } = heads[index]!;
      const row = rowOf.get(layer);
      return data && row !== undefined ? row * data.width + head : -1;
    },
    values: column?.values ?? null,
    scale: column ? scaleOf(column, diverging) : null,
    effects,
    largestEffect:
      mode === 'effect' || !effectColumn ? 0 : effectScale(effectColumn.values, diverging).high,
    names: heads.map(nameOf),
    captions: columns.get(view.sort.value)?.values ?? null,
    kept: kept.value,
    tray: new Set(view.tray.value),
    selected: selected.value,
    hovered: hovered.value,
  };
}

/** The grid as it is sorted and filtered, as a picture for a paper. */
export function exportGrid(): void {
  const width = 1000;
  const layout = view.sort.peek()
    ? sortedLayout(order.peek(), width)
    : modelLayout(table.peek(), width, 700);
  const pen = svgPen(width, layout.height);
  const content = gridContent(layout, 'blue-orange');
  drawHeadGrid(pen, LIGHT_INK, layout.height, { ...content, selected: -1, hovered: -1 });
  downloadSvg('heads.svg', pen);
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

  // Everything it reads is a signal, so one function serves for good.
  const draw = useCallback((context: CanvasRenderingContext2D, place: Size, ink: Ink) => {
    const { width, height } = size.peek();
    if (place.width !== width || place.height !== height) size.value = place;
    const content = gridContent(layout.value, divergingMap());
    drawHeadGrid(context, ink, place.height, { ...content, scroll: scroll.value });
  }, []);

  // In a long list the selected head is brought into view.
  useSignalEffect(() => {
    const { cells, cell, caption } = layout.value;
    const at = cells.find(({ head }) => head === selected.value);
    const element = scroller.current;
    if (!at || !element) return;
    const bottom = at.y + cell + caption + 8;
    if (at.y < element.scrollTop) element.scrollTop = at.y - 8;
    else if (bottom > element.scrollTop + element.clientHeight) {
      element.scrollTop = bottom - element.clientHeight;
    }
  });

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
    const step = arrowStep(event);
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
