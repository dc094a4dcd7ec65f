/** A table of words on coloured cells, as of a lens. */

import type { ColorMapName } from './color';
import { cssColor, inkOn } from './color';
import type { Ink } from './ink';
import type { Pen } from './pen';
import type { Size } from './viewport';

export interface WordTable {
  corner: string;
  rows: readonly string[];
  columns: readonly string[];
  /** Text of a cell and its place on the colours, NaN for none. */
  cellAt: (row: number, column: number) => { text: string; place: number };
  map: ColorMapName;
}

const CELL = { width: 84, height: 22 };
const LEFT = 84;

export const wordTableSize = ({ rows, columns }: WordTable): Size => ({
  width: LEFT + columns.length * CELL.width,
  height: (rows.length + 1) * CELL.height,
});

export function drawWordTable(pen: Pen, ink: Ink, table: WordTable): void {
  pen.font = `12px ${ink.font}`;
  pen.textBaseline = 'middle';
  const put = (text: string, x: number, row: number, style: string, align: CanvasTextAlign) => {
    pen.fillStyle = style;
    pen.textAlign = align;
    pen.fillText(text, x, (row + 0.5) * CELL.height, CELL.width - 6);
  };
  const xOf = (column: number) => LEFT + column * CELL.width;
  const middle = (column: number) => xOf(column) + CELL.width / 2;
  put(table.corner, LEFT - 8, 0, ink.muted, 'right');
  table.columns.forEach((name, column) => put(name, middle(column), 0, ink.muted, 'center'));
  table.rows.forEach((name, row) => {
    put(name, LEFT - 8, row + 1, ink.muted, 'right');
    table.columns.forEach((_, column) => {
      const { text, place } = table.cellAt(row, column);
      const isEmpty = Number.isNaN(place);
      pen.fillStyle = isEmpty ? ink.masked : cssColor(table.map, place);
      pen.fillRect(xOf(column), (row + 1) * CELL.height, CELL.width - 1, CELL.height - 1);
      put(text, middle(column), row + 1, isEmpty ? ink.text : inkOn(table.map, place), 'center');
    });
  });
}
