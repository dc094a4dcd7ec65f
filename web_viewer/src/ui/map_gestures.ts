/** Pointer, wheel and touch on a map: zoom at the cursor, pan, select, point at a cell. */

import { useMemo } from 'preact/hooks';
import type { Box, Cross } from '../draw/figure';
import { pan, zoomAt, type Viewport } from '../draw/viewport';
import { offsetOf } from './canvas';

export interface MapGestureOptions {
  /** Where the map lies in its element; null before it was drawn. */
  place: () => Box | null;
  extent: () => { rows: number; columns: number };
  view: () => Viewport;
  /** `final` once a gesture has ended. */
  setView: (view: Viewport, final: boolean) => void;
  fit: () => void;
  /** The cell under the pointer, null outside of the map. */
  point: (cell: Cross | null) => void;
  click?: (cell: Cross) => void;
  /** A box drawn with shift held. */
  select?: (from: Cross, to: Cross) => void;
}

interface Spot {
  x: number;
  y: number;
}

/** Pixels that a pointer may wander and still click. */
const SLACK = 3;
const WHEEL_SPEED = 0.0015;
/** Browsers tell a pinch on a touchpad as a wheel with ctrl held, in smaller steps. */
const PINCH_SPEED = 0.01;

class MapGestures {
  readonly #options: MapGestureOptions;
  readonly #pointers = new Map<number, Spot>();
  #start: (Spot & { shift: boolean; moved: boolean }) | null = null;

  constructor(options: MapGestureOptions) {
    this.#options = options;
  }

  readonly onPointerDown = (event: PointerEvent): void => {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    const spot = offsetOf(event);
    this.#pointers.set(event.pointerId, spot);
    this.#start = { ...spot, shift: event.shiftKey, moved: this.#pointers.size > 1 };
  };

  readonly onPointerMove = (event: PointerEvent): void => {
    const spot = offsetOf(event);
    const before = this.#pointers.get(event.pointerId);
    const start = this.#start;
    if (!before || !start) {
      this.#options.point(this.#cellAt(spot));
      return;
    }
    if (Math.hypot(spot.x - start.x, spot.y - start.y) > SLACK) start.moved = true;
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) this.#pinch(before, spot, other);
    else if (start.moved && !start.shift) this.#drag(before, spot);
    this.#pointers.set(event.pointerId, spot);
  };

  readonly onPointerUp = (event: PointerEvent): void => {
    const spot = offsetOf(event);
    const start = this.#start;
    this.#pointers.delete(event.pointerId);
    if (!start || this.#pointers.size > 0) return;
    this.#start = null;
    const { click, select, setView, view } = this.#options;
    if (start.shift && start.moved) select?.(this.#clamped(start), this.#clamped(spot));
    else if (start.moved) setView(view(), true);
    else {
      const cell = this.#cellAt(spot);
      if (cell) click?.(cell);
    }
  };

  readonly onPointerCancel = (event: PointerEvent): void => {
    this.#pointers.delete(event.pointerId);
    this.#start = null;
  };

  readonly onPointerLeave = (): void => {
    if (this.#pointers.size === 0) this.#options.point(null);
  };

  readonly onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    const speed = event.ctrlKey ? PINCH_SPEED : WHEEL_SPEED;
    this.#zoom(Math.exp(-event.deltaY * speed), offsetOf(event));
  };

  readonly onDblClick = (): void => this.#options.fit();

  #zoom(factor: number, { x, y }: Spot): void {
    const place = this.#options.place();
    if (!place) return;
    const share = (at: number, begin: number, size: number) =>
      Math.min(1, Math.max(0, (at - begin) / size));
    const shareX = share(x, place.x, place.width);
    const shareY = share(y, place.y, place.height);
    this.#options.setView(zoomAt(this.#options.view(), factor, shareX, shareY), false);
  }

  #drag(from: Spot, to: Spot): void {
    const place = this.#options.place();
    if (!place) return;
    const view = this.#options.view();
    const cellsX = ((from.x - to.x) / place.width) * view.width;
    const cellsY = ((from.y - to.y) / place.height) * view.height;
    this.#options.setView(pan(view, cellsX, cellsY), false);
  }

  #pinch(from: Spot, to: Spot, other: Spot): void {
    const before = Math.hypot(from.x - other.x, from.y - other.y);
    const after = Math.hypot(to.x - other.x, to.y - other.y);
    if (before > 0) {
      this.#zoom(after / before, { x: (to.x + other.x) / 2, y: (to.y + other.y) / 2 });
    }
  }

  #cell({ x, y }: Spot): Cross | null {
    const place = this.#options.place();
    if (!place) return null;
    const view = this.#options.view();
    return {
      row: Math.floor(view.y + ((y - place.y) / place.height) * view.height),
      column: Math.floor(view.x + ((x - place.x) / place.width) * view.width),
    };
  }

  #cellAt(spot: Spot): Cross | null {
    const place = this.#options.place();
    const inside =
      place &&
      spot.x >= place.x &&
      spot.y >= place.y &&
      spot.x < place.x + place.width &&
      spot.y < place.y + place.height;
    const cell = this.#cell(spot);
    const { rows, columns } = this.#options.extent();
    return inside && cell && cell.row < rows && cell.column < columns ? cell : null;
  }

  #clamped(spot: Spot): Cross {
    const { row, column } = this.#cell(spot) ?? { row: 0, column: 0 };
    const { rows, columns } = this.#options.extent();
    const clamp = (at: number, count: number) => Math.min(count - 1, Math.max(0, at));
    return { row: clamp(row, rows), column: clamp(column, columns) };
  }
}

/** Handlers for the element that a map is drawn on. The options must read signals or refs. */
export function useMapGestures(options: MapGestureOptions) {
  return useMemo(() => {
    const gestures = new MapGestures(options);
    const { onPointerDown, onPointerMove, onPointerUp, onPointerCancel } = gestures;
    const { onPointerLeave, onWheel, onDblClick } = gestures;
    return {
      onPointerDown,
      onPointerMove,
      onPointerUp,
      onPointerCancel,
      onPointerLeave,
      onWheel,
      onDblClick,
    };
  }, []);
}
