/** Pictures of what a screen shows, drawn anew on white paper at the wanted size. */

import { LIGHT_INK } from '../draw/ink';
import type { Pen } from '../draw/pen';
import type { Size } from '../draw/viewport';
import { download, downloadSvg, svgPen } from '../state/export';
import { arrivals } from '../state/tiles';
import { say } from '../state/workspace';
import type { ExportActions } from './export_menu';

export interface Picture {
  /** Of the file, without its ending. */
  name: string;
  size: Size;
  /** False while some of it is on the way. */
  draw: (pen: Pen, ratio: number) => boolean;
  /** Changes when something else is shown; then nothing is written. */
  version: () => string;
}

/** Draws again with every tile that comes, until all are there. */
export async function drawWhole(draw: () => boolean, version: () => string): Promise<boolean> {
  const shown = version();
  while (!draw()) {
    say('Waiting for the rest of the map …');
    const before = arrivals.peek();
    await new Promise<void>((resolve) => {
      const stop = arrivals.subscribe((now) => {
        if (now === before) return;
        // The subscription is not there yet when it is heard for the first time.
        queueMicrotask(() => stop());
        resolve();
      });
    });
    if (version() !== shown) return false;
  }
  return true;
}

/** At 1, 2 or 4 times the size. */
export async function savePng(
  { name, size, draw, version }: Picture,
  ratio: number,
): Promise<void> {
  const canvas = document.createElement('canvas');
  canvas.width = size.width * ratio;
  canvas.height = size.height * ratio;
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  const drawn = () => {
    context.fillStyle = LIGHT_INK.paper;
    context.fillRect(0, 0, size.width, size.height);
    return draw(context, ratio);
  };
  if (!(await drawWhole(drawn, version))) return;
  const file = `${name}${ratio > 1 ? `-${ratio}x` : ''}.png`;
  canvas.toBlob((blob) => blob && download(file, blob), 'image/png');
}

/** The same with lines and text as vectors; maps are pictures at their own resolution. */
async function saveSvg({ name, size, draw, version }: Picture): Promise<void> {
  let pen = svgPen(size.width, size.height);
  const drawn = () => {
    pen = svgPen(size.width, size.height);
    return draw(pen, 4);
  };
  if (await drawWhole(drawn, version)) downloadSvg(`${name}.svg`, pen);
}

type Made = Picture | null | Promise<Picture | null>;

/** Lines of a menu; `make` may find that there is nothing to draw. */
export function pictureActions(make: () => Made): ExportActions {
  const png = (ratio: number) => async () => {
    const picture = await make();
    if (picture) await savePng(picture, ratio);
  };
  return {
    png1: { label: 'PNG', run: png(1) },
    png2: { label: 'PNG, 2×', run: png(2) },
    png4: { label: 'PNG, 4×', run: png(4) },
    svg: {
      label: 'SVG',
      run: async () => {
        const picture = await make();
        if (picture) await saveSvg(picture);
      },
    },
  };
}
