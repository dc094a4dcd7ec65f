/** A map as tiles on a canvas: any length, any zoom, never a value left out silently. */

import type { Pen } from './pen';
import { Lru } from './lru';
import { paintBlock, type MaskRule, type Painted } from './paint';
import { halve, transformBlock, type Block, type Pool, type Transform } from './transform';
import { reduction, storedLevel, type Size, type Viewport } from './viewport';

export const TILE = 256;
const PAINTED_BYTES = 64 * 1024 * 1024;
const REDUCED_BYTES = 16 * 1024 * 1024;

/** A view of more tiles would not fit the cache, and read for minutes. */
export const MAX_TILES = 256;

export interface MapShape {
  rows: number;
  columns: number;
  levels: readonly number[];
}

/** Values of a tile of a level, or null while they are on their way. */
export type TileLookup = (level: number, tileRow: number, tileColumn: number) => Block | null;

export interface MapStyle {
  /** Changes whenever map or transform do. */
  data: string;
  /** Changes whenever table or rule do. */
  colors: string;
  table: Uint32Array;
  rule: MaskRule;
  transform: Transform;
  /** What a pixel shows that stands for several cells. */
  pool: Pool;
  /** Under masked cells, which are not painted. */
  paper: string;
}

export interface DrawReport {
  /** Cells that one pixel stands for, along each side. */
  factor: number;
  /** Level of the file that was read; 1 is full detail. */
  level: number;
  tiles: number;
  waiting: number;
  missing: number;
  /** The first of them, at full detail. */
  firstMissing: { row: number; column: number } | null;
  /** The view would need more tiles than may be read at once; none was drawn. */
  tooLarge: boolean;
}

export class HeatMapPainter {
  readonly #painted = new Lru<Painted>(PAINTED_BYTES);
  /** Blocks after transform and reduction, so that other colours are only a repaint. */
  readonly #reduced = new Lru<Block>(REDUCED_BYTES);

  draw(
    context: Pen,
    screen: Size,
    view: Viewport,
    shape: MapShape,
    tiles: TileLookup,
    style: MapStyle,
    pixelRatio: number,
  ): DrawReport {
    const factor = reduction(view, screen, pixelRatio);
    const level = storedLevel(factor, shape.levels);
    const report: DrawReport = {
      factor,
      level,
      tiles: 0,
      waiting: 0,
      missing: 0,
      firstMissing: null,
      tooLarge: false,
    };
    const span = TILE * level;
    const lastRow = Math.ceil(Math.min(shape.rows, view.y + view.height) / span);
    const lastColumn = Math.ceil(Math.min(shape.columns, view.x + view.width) / span);
    const [firstRow, firstColumn] = [Math.floor(view.y / span), Math.floor(view.x / span)];
    if ((lastRow - firstRow) * (lastColumn - firstColumn) > MAX_TILES) {
      return { ...report, tooLarge: true };
    }
    // Tiles that meet within a pixel would leave a line of paper between them.
    const whole = (x: number) => Math.round(x * pixelRatio) / pixelRatio;
    const scaleX = screen.width / view.width;
    const scaleY = screen.height / view.height;
    context.save();
    context.beginPath();
    context.rect(0, 0, screen.width, screen.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    for (let row = firstRow; row < lastRow; ++row) {
      for (let column = firstColumn; column < lastColumn; ++column) {
        ++report.tiles;
        const painted = this.#tile(level, factor, row, column, tiles, style);
        if (!painted) {
          ++report.waiting;
          continue;
        }
        report.missing += painted.missing;
        report.firstMissing ??= painted.first;
        const { canvas } = painted;
        const left = whole((column * span - view.x) * scaleX);
        const top = whole((row * span - view.y) * scaleY);
        const right = whole((column * span + canvas.width * factor - view.x) * scaleX);
        const bottom = whole((row * span + canvas.height * factor - view.y) * scaleY);
        const place = [left, top, right - left, bottom - top] as const;
        // A preview that was drawn before must not be seen through masked cells.
        context.fillStyle = style.paper;
        context.fillRect(...place);
        context.drawImage(canvas, ...place);
      }
    }
    context.restore();
    return report;
  }

  #tile(
    level: number,
    factor: number,
    row: number,
    column: number,
    tiles: TileLookup,
    style: MapStyle,
  ): Painted | null {
    const place = `${style.data}|${style.pool}|${level}|${factor}|${row}|${column}`;
    const key = `${style.colors}|${place}`;
    const known = this.#painted.get(key);
    if (known) return known;
    let block = this.#reduced.get(place);
    if (!block) {
      const stored = tiles(level, row, column);
      if (!stored) return null;
      block = transformBlock(style.transform, stored, row * TILE, column * TILE, level, style.pool);
      for (let at = level; at < factor; at *= 2) block = halve(block, style.pool);
      this.#reduced.set(place, block, block.values.byteLength);
    }
    const shrink = factor / level;
    const painted = paintBlock(
      block,
      style.table,
      style.rule,
      Math.floor((row * TILE) / shrink),
      Math.floor((column * TILE) / shrink),
      factor,
    );
    this.#painted.set(key, painted, block.values.length * 4);
    return painted;
  }
}
