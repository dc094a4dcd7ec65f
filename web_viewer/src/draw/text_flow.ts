/** Running text in lines, each token shaded by its weight. */

import type { Ink } from './ink';
import type { Pen } from './pen';

export interface FlowToken {
  text: string;
  /** How much of the accent lies behind it, 0 to 1. */
  share: number;
  /** Framed, as what was chosen. */
  chosen: boolean;
}

interface Placed extends FlowToken {
  x: number;
  y: number;
  width: number;
}

const SIZE = 14;
const LINE = 24;
/** At most this much of the accent, so that text stays readable on it. */
const MOST = 0.55;

const fontOf = (ink: Ink): string => `${SIZE}px ${ink.font}`;

/** Where each token stands, and how high all of them are. */
export function flowLayout(
  pen: Pen,
  ink: Ink,
  tokens: readonly FlowToken[],
  room: number,
): { placed: Placed[]; height: number } {
  pen.font = fontOf(ink);
  let [x, y] = [0, 0];
  const placed = tokens.map((token) => {
    const width = Math.min(room, pen.measureText(token.text).width + 2);
    if (x > 0 && x + width > room) {
      x = 0;
      y += LINE;
    }
    const place = { ...token, x, y, width };
    x += width;
    return place;
  });
  return { placed, height: y + LINE };
}

export function drawFlow(pen: Pen, ink: Ink, placed: readonly Placed[]): void {
  pen.font = fontOf(ink);
  pen.textAlign = 'left';
  pen.textBaseline = 'middle';
  pen.lineWidth = 1;
  for (const { text, share, chosen, x, y, width } of placed) {
    pen.globalAlpha = MOST * Math.min(1, Math.max(0, share));
    pen.fillStyle = ink.accent;
    pen.fillRect(x, y + 1, width, LINE - 3);
    pen.globalAlpha = 1;
    pen.fillStyle = ink.text;
    pen.fillText(text, x + 1, y + LINE / 2, width);
    pen.strokeStyle = ink.accent;
    if (chosen) pen.strokeRect(x + 0.5, y + 1.5, width - 1, LINE - 4);
  }
}
