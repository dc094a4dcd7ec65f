/** Queries and keys side by side, joined by the strongest weights of every query. */

import { signal, useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import {
  drawBipartite,
  MOVING_EDGES,
  RESTING_EDGES,
  rowAt,
  SIDE,
  type BipartiteView,
} from '../draw/bipartite';
import type { Ink } from '../draw/ink';
import type { Size } from '../draw/viewport';
import { plural } from '../model/numbers';
import { edgeRange, edges, keySide, querySide, type Side } from '../state/edges';
import { wordsOfSides } from '../state/cells';
import { currentRows } from '../state/rows';
import { viewStatus } from '../state/status';
import { choose, view } from '../state/view';
import { Canvas, offsetOf } from '../ui/canvas';

export const ROW_HEIGHT = 18;

/** First row that is visible. */
export const linesTop = signal(0);

/** Time without a move after which all lines are drawn. */
const REST_MS = 120;

/** The row whose lines are shown alone because it was chosen; −1 for none. */
export function fixedRows(): { query: number; key: number } {
  const rowOf = (side: Side, [first]: readonly number[]) =>
    first === undefined ? -1 : side.rowOf(first);
  const query = rowOf(querySide.value, view.queries.value);
  return { query, key: query >= 0 ? -1 : rowOf(keySide.value, view.keys.value) };
}

export function HeadLines() {
  const [queries, keys] = [querySide, keySide];
  const moving = useSignal(false);
  const rest = useRef<ReturnType<typeof setTimeout> | null>(null);
  const top = linesTop;
  const size = useSignal<Size>({ width: 0, height: 0 });
  const query = useSignal(-1);
  const key = useSignal(-1);
  const drag = useRef<number | null>(null);
  const rows = Math.max(queries.value.labels.length, keys.value.labels.length);
  const place = (): BipartiteView => ({ top: top.value, rowHeight: ROW_HEIGHT });

  const scrollBy = (count: number) => {
    const last = Math.max(0, rows - size.value.height / ROW_HEIGHT);
    top.value = Math.min(last, Math.max(0, top.value + count));
    moving.value = true;
    if (rest.current !== null) clearTimeout(rest.current);
    rest.current = setTimeout(() => (moving.value = false), REST_MS);
  };

  const draw = (context: CanvasRenderingContext2D, room: Size, ink: Ink) => {
    size.value = room;
    const fixed = fixedRows();
    const chosen = query.value >= 0 || key.value >= 0;
    const left = drawBipartite(context, ink, room, place(), {
      queries: queries.value.labels,
      keys: keys.value.labels,
      edges: edges.value,
      range: edgeRange.value,
      limit: moving.value ? MOVING_EDGES : RESTING_EDGES,
      query: chosen ? query.value : fixed.query,
      key: chosen ? key.value : fixed.key,
    });
    const shown = currentRows.value?.topCount ?? 0;
    const cut = left > 0 ? `, ${left} weak lines left out` : '';
    const words = wordsOfSides.value.queries ? ', put together by words' : '';
    viewStatus.value =
      shown > 0 ? `the ${plural(shown, 'strongest key')} of each query${words}${cut}` : '';
  };
  useLayoutEffect(
    () => () => {
      viewStatus.value = '';
      linesTop.value = 0;
    },
    [],
  );

  if (currentRows.value && !currentRows.value.topIndex) {
    return <p class="absent">This file does not hold the strongest keys of each query.</p>;
  }
  return (
    <div class="lines">
      <div class="lines-heads" aria-hidden="true">
        <span style={{ width: `${SIDE}px` }}>query, attends from</span>
        <span style={{ width: `${SIDE}px` }}>key, attended to</span>
      </div>
      <Canvas
        draw={draw}
        label="Lines from queries to the keys they attend to most"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = event.clientY;
        }}
        onPointerMove={(event) => {
          const at = offsetOf(event);
          if (drag.current !== null && Math.abs(event.clientY - drag.current) > 3) {
            scrollBy((drag.current - event.clientY) / ROW_HEIGHT);
            drag.current = event.clientY;
            return;
          }
          const row = rowAt(place(), at.y);
          query.value = at.x < SIDE && row < queries.value.labels.length ? row : -1;
          key.value = at.x > size.value.width - SIDE && row < keys.value.labels.length ? row : -1;
        }}
        onPointerUp={() => {
          drag.current = null;
          const pieces = (side: Side, row: number) => {
            const [first, end] = [side.starts[row]!, side.starts[row + 1] ?? Infinity];
            const size = Math.min(end, side.count) - first;
            return Array.from({ length: size }, (_, i) => first + i);
          };
          if (query.value >= 0) choose({ queries: pieces(queries.value, query.value), keys: [] });
          else if (key.value >= 0) choose({ queries: [], keys: pieces(keys.value, key.value) });
        }}
        onPointerLeave={() => {
          query.value = -1;
          key.value = -1;
        }}
        onWheel={(event) => {
          event.preventDefault();
          scrollBy(event.deltaY / ROW_HEIGHT);
        }}
        onDblClick={() => choose({ queries: [], keys: [] })}
      />
    </div>
  );
}
