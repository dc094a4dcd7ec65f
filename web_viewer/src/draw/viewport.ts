/** Which part of a map is seen. Units are cells; pure arithmetic. */

export interface Viewport {
  /** First visible cell, may be fractional. */
  x: number;
  y: number;
  /** Extent in cells. */
  width: number;
  height: number;
}

export interface Size {
  width: number;
  height: number;
}

export const fitAll = (columns: number, rows: number): Viewport => ({
  x: 0,
  y: 0,
  width: columns,
  height: rows,
});

const clamp = (value: number, low: number, high: number): number =>
  Math.min(Math.max(value, low), Math.max(low, high));

/** Keeps a view inside the map, and at one cell at least: whatever the size of the window, a link
 *  shows the same cells. */
export function clampView(view: Viewport, columns: number, rows: number): Viewport {
  const width = clamp(view.width, Math.min(1, columns), columns);
  const height = clamp(view.height, Math.min(1, rows), rows);
  return {
    x: clamp(view.x, 0, columns - width),
    y: clamp(view.y, 0, rows - height),
    width,
    height,
  };
}

/** Zooms so that the cell under the pointer (shares of the screen) stays there. */
export function zoomAt(view: Viewport, factor: number, shareX: number, shareY: number): Viewport {
  const width = view.width / factor;
  const height = view.height / factor;
  return {
    x: view.x + shareX * (view.width - width),
    y: view.y + shareY * (view.height - height),
    width,
    height,
  };
}

export const pan = (view: Viewport, cellsX: number, cellsY: number): Viewport => ({
  ...view,
  x: view.x + cellsX,
  y: view.y + cellsY,
});

/** How many cells one value must stand for, a power of two, so that none is below a pixel. */
export function reduction(view: Viewport, screen: Size, pixelRatio: number): number {
  const cellsPerPixel = Math.max(
    view.width / (screen.width * pixelRatio),
    view.height / (screen.height * pixelRatio),
  );
  let factor = 1;
  while (factor < cellsPerPixel * 0.999) factor *= 2;
  return factor;
}

/** The stored level to read for a reduction: the coarsest that is not too coarse. */
export function storedLevel(factor: number, levels: readonly number[]): number {
  let best = 1;
  for (const level of levels) if (level <= factor && level > best) best = level;
  return best;
}
