/** A pen that notes texts and round marks, with where they lie once all is moved. */

import type { Pen } from '../../src/draw/pen';

interface NotedText {
  text: string;
  x: number;
  y: number;
  /** As `measureText` has it: all signs are of one width. */
  width: number;
}

interface NotedMark {
  x: number;
  y: number;
  radius: number;
}

export function notedPen() {
  const texts: NotedText[] = [];
  const marks: NotedMark[] = [];
  const strokes: { width: number }[] = [];
  const widthOf = (text: string) => 7 * text.length;
  let moved = { x: 0, y: 0 };
  const saved: (typeof moved)[] = [];
  const known: Record<string, unknown> = {
    save: () => saved.push(moved),
    restore: () => (moved = saved.pop()!),
    translate: (x: number, y: number) => (moved = { x: moved.x + x, y: moved.y + y }),
    fillText: (text: string, x: number, y: number) =>
      texts.push({ text, x: moved.x + x, y: moved.y + y, width: widthOf(text) }),
    measureText: (text: string) => ({ width: widthOf(text) }),
    stroke: () => strokes.push({ width: known.lineWidth as number }),
    arc: (x: number, y: number, radius: number) => marks.push({ x, y, radius }),
  };
  const pen = new Proxy(known, {
    get: (state, name: string) => state[name] ?? (() => undefined),
  }) as unknown as Pen;
  return { pen, texts, marks, strokes };
}
