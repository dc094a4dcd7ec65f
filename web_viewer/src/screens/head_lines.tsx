/** Queries and keys side by side, joined by the strongest weights of every query. */

import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { drawBipartite, rowAt, SIDE, type BipartiteView, type Edge } from '../draw/bipartite';
import type { Ink } from '../draw/ink';
import { transformed } from '../draw/transform';
import type { Size } from '../draw/viewport';
import { plural } from '../model/numbers';
import { keyTexts, queryTexts } from '../state/focus';
import { currentRows, fullTransform } from '../state/map';
import { viewStatus } from '../state/status';
import { choose, view } from '../state/view';
import { Canvas, offsetOf } from '../ui/canvas';

const ROW_HEIGHT = 18;

/** Edges of all queries, strongest first. */
function edgesOf(): Edge[] {
  const rows = currentRows.value;
  if (!rows?.topIndex || !rows.topValue) return [];
  const edges: Edge[] = [];
  for (let at = 0; at < rows.topIndex.length; ++at) {
    const key = rows.topIndex[at]!;
    if (key < 0) continue;
    const query = Math.floor(at / rows.topCount);
    const weight = transformed(fullTransform.value, rows.topValue[at]!, query, key);
    if (weight > 0) edges.push({ query, key, weight });
  }
  return edges.sort((a, b) => b.weight - a.weight);
}

export function HeadLines() {
  const edges = useComputed(edgesOf);
  const top = useSignal(0);
  const size = useSignal<Size>({ width: 0, height: 0 });
  const query = useSignal(-1);
  const key = useSignal(-1);
  const drag = useRef<number | null>(null);
  const rows = Math.max(queryTexts.value.length, keyTexts.value.length);
  const place = (): BipartiteView => ({ top: top.value, rowHeight: ROW_HEIGHT });

  const scrollBy = (count: number) => {
    const last = Math.max(0, rows - size.value.height / ROW_HEIGHT);
    top.value = Math.min(last, Math.max(0, top.value + count));
  };

  const draw = (context: CanvasRenderingContext2D, room: Size, ink: Ink) => {
    size.value = room;
    const fixedQuery = view.queries.value[0] ?? -1;
    const fixedKey = view.keys.value[0] ?? -1;
    const chosen = query.value >= 0 || key.value >= 0;
    const left = drawBipartite(context, ink, room, place(), {
      queries: queryTexts.value,
      keys: keyTexts.value,
      edges: edges.value,
      query: chosen ? query.value : fixedQuery,
      key: chosen ? key.value : fixedQuery >= 0 ? -1 : fixedKey,
    });
    const shown = currentRows.value?.topCount ?? 0;
    const cut = left > 0 ? `, ${left} weak lines left out` : '';
    viewStatus.value = shown > 0 ? `the ${plural(shown, 'strongest key')} of each query${cut}` : '';
  };
  useEffect(() => () => void (viewStatus.value = ''), []);

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
          query.value = at.x < SIDE && row < queryTexts.value.length ? row : -1;
          key.value = at.x > size.value.width - SIDE && row < keyTexts.value.length ? row : -1;
        }}
        onPointerUp={() => {
          drag.current = null;
          if (query.value >= 0) choose({ queries: [query.value], keys: [] });
          else if (key.value >= 0) choose({ queries: [], keys: [key.value] });
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
