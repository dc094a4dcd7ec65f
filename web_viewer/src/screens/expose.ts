/** What tests read of the page: numbers, not pictures. */

import { figureLayout } from '../draw/figure';
import { edgeRange, edges } from '../state/edges';
import { figureContent } from './head_map';
import { extent, viewport } from '../state/focus';
import { plainValue, shownValue } from '../state/cells';
import { mapScale } from '../state/colors';
import { comparedCell, pairedShape } from '../state/compare';
import { currentState } from '../state/view';
import { table } from '../state/heads';
import { points } from '../state/selection';
import { client, failures, runs } from '../state/workspace';

function pixelAt(query: number, key: number): number[] | null {
  const holder = document.querySelector('.head-map .canvas');
  const canvas = holder?.querySelector('canvas');
  if (!holder || !canvas) return null;
  const { rows, columns } = extent.value;
  const size = { width: holder.clientWidth, height: holder.clientHeight };
  const { map } = figureLayout(size, columns, rows);
  const see = viewport.value;
  const ratio = canvas.width / size.width;
  const x = map.x + ((key + 0.5 - see.x) / see.width) * map.width;
  const y = map.y + ((query + 0.5 - see.y) / see.height) * map.height;
  return Array.from(canvas.getContext('2d')!.getImageData(x * ratio, y * ratio, 1, 1).data);
}

export function exposeForTests(): void {
  const surface = {
    state: () => ({
      ...currentState(),
      files: runs.value.map(({ summary }) => summary.name),
      failures: failures.value.map(({ name, code, messages: [message] }) => ({
        name,
        code,
        message,
      })),
      heads: table.value.heads.length,
      columns: Object.fromEntries(
        [...table.value.columns].map(([id, column]) => [id, Array.from(column.values)]),
      ),
      points: {
        xs: Array.from(points.value.xs ?? []),
        ys: Array.from(points.value.ys ?? []),
      },
    }),
    /** The stored value of a cell of the map on screen, or over prompts what is drawn of it; null
     *  while it is being read. */
    value: (query: number, key: number) => plainValue(query, key),
    /** What is drawn of a cell, of words or rescaled; null while unknown, or masked. */
    shown: (row: number, column: number) => shownValue(row, column),
    /** Rows and columns of a comparison, and one cell of it. */
    compared: (row: number, column: number) => comparedCell(row, column),
    comparedShape: () => pairedShape.value,
    /** What stands beside and below the map. */
    margins: () => {
      const { rowProfile, columnProfile } = figureContent();
      const values = (profile: typeof rowProfile) => profile && Array.from(profile.values);
      return { rows: values(rowProfile), columns: values(columnProfile) };
    },
    /** The lines of the Lines view, strongest first. */
    edges: () => edges.value,
    edgeRange: () => edgeRange.value,
    /** What the ends of the colours stand for. */
    range: () => [mapScale.value.low, mapScale.value.high],
    /** Bytes that the reading worker holds. */
    memory: () => client.ask('memory', 0, {}),
    /** Requests that the reading worker has not answered yet. */
    reading: () => client.unanswered,
    /** The colour of a cell on screen, as red, green, blue, opacity. */
    pixel: (query: number, key: number) => pixelAt(query, key),
  };
  Object.assign(window, { __attnscope: surface });
}
