/** The whole map in small, with the part that is seen. */

import type { Ink } from '../draw/ink';
import { drawThumbnail } from '../draw/thumbnails';
import type { Size } from '../draw/viewport';
import { holderOf, spanOf, type Axis } from '../model/axis';
import { keyAxis, queryAxis } from '../state/cells';
import { setViewport, viewport } from '../state/focus';
import { preview } from '../state/map';
import { choose, view } from '../state/view';
import { Canvas, offsetOf } from '../ui/canvas';

/** Shares of a map that begin and end at rows (or columns) that are shown; words are not alike. */
function shareAlong(axis: Axis, at: number): number {
  const stored = axis.begin ? (axis.begin.at(-1) ?? 1) : axis.count;
  const whole = Math.min(axis.count - 1, Math.max(0, Math.floor(at)));
  const [first, end] = spanOf(axis, whole);
  return (first + (at - whole) * (end - first)) / stored;
}

/** The row (or column) at a share of a map. */
function shownAtShare(axis: Axis, share: number): number {
  const stored = axis.begin ? (axis.begin.at(-1) ?? 1) : axis.count;
  return holderOf(axis, Math.min(stored - 1, Math.max(0, share * stored)));
}

export function Minimap() {
  if (!preview.value || view.zoom.value.length === 0) return null;
  const draw = (context: CanvasRenderingContext2D, size: Size, ink: Ink) => {
    drawThumbnail(context, preview.value!, 0, 0, 0, size.width, size.height);
    const see = viewport.value;
    const [left, right] = [see.x, see.x + see.width].map((at) => shareAlong(keyAxis.value, at));
    const [top, bottom] = [see.y, see.y + see.height].map((at) => shareAlong(queryAxis.value, at));
    context.strokeStyle = ink.accent;
    context.lineWidth = 2;
    context.strokeRect(
      left! * size.width,
      top! * size.height,
      (right! - left!) * size.width,
      (bottom! - top!) * size.height,
    );
  };
  const jump = (event: PointerEvent) => {
    if (event.buttons === 0) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const { x, y } = offsetOf(event);
    const see = viewport.value;
    setViewport({
      ...see,
      x: shownAtShare(keyAxis.value, x / box.width) - see.width / 2,
      y: shownAtShare(queryAxis.value, y / box.height) - see.height / 2,
    });
  };
  return (
    <div class="minimap">
      <Canvas
        draw={draw}
        label="Whole map with the visible part"
        onPointerDown={jump}
        onPointerMove={jump}
      />
      <button type="button" onClick={() => choose({ zoom: [] })} title="Fit (0)">
        Show all
      </button>
    </div>
  );
}
