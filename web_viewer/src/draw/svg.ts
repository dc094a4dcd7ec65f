/** A pen that writes SVG: lines and text stay vectors, tiles of a map become embedded pictures. */

import type { Pen } from './pen';

interface State {
  matrix: [number, number, number, number, number, number];
  clip: string;
  fillStyle: string;
  strokeStyle: string;
  lineWidth: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  globalAlpha: number;
}

const number = (value: number): string => String(Number(value.toFixed(2)));

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const ANCHORS: Record<string, string> = { left: 'start', center: 'middle', right: 'end' };
/** Shift of the base line, in heights of a letter. */
const BASELINES: Record<string, number> = { top: 0.8, middle: 0.35, alphabetic: 0, bottom: -0.2 };

export class SvgPen implements Pen {
  imageSmoothingEnabled = false;
  readonly #size: { width: number; height: number };
  readonly #measure: CanvasRenderingContext2D;
  readonly #parts: string[] = [];
  readonly #clips: string[] = [];
  readonly #stack: State[] = [];
  #path = '';
  #state: State = {
    matrix: [1, 0, 0, 1, 0, 0],
    clip: '',
    fillStyle: '#000',
    strokeStyle: '#000',
    lineWidth: 1,
    font: '12px sans-serif',
    textAlign: 'left',
    textBaseline: 'alphabetic',
    globalAlpha: 1,
  };

  /** Widths of texts are those of a canvas, for SVG has no way to ask. */
  constructor(width: number, height: number, measure: CanvasRenderingContext2D) {
    this.#size = { width, height };
    this.#measure = measure;
  }

  toString(): string {
    const { width, height } = this.#size;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}">\n<defs>${this.#clips.join('')}</defs>\n` +
      `${this.#parts.join('\n')}\n</svg>\n`
    );
  }

  get fillStyle(): string {
    return this.#state.fillStyle;
  }

  set fillStyle(value: string | CanvasGradient | CanvasPattern) {
    this.#state.fillStyle = String(value);
  }

  get strokeStyle(): string {
    return this.#state.strokeStyle;
  }

  set strokeStyle(value: string | CanvasGradient | CanvasPattern) {
    this.#state.strokeStyle = String(value);
  }

  get lineWidth(): number {
    return this.#state.lineWidth;
  }

  set lineWidth(value: number) {
    this.#state.lineWidth = value;
  }

  get font(): string {
    return this.#state.font;
  }

  set font(value: string) {
    this.#state.font = value;
    this.#measure.font = value;
  }

  get textAlign(): CanvasTextAlign {
    return this.#state.textAlign;
  }

  set textAlign(value: CanvasTextAlign) {
    this.#state.textAlign = value;
  }

  get textBaseline(): CanvasTextBaseline {
    return this.#state.textBaseline;
  }

  set textBaseline(value: CanvasTextBaseline) {
    this.#state.textBaseline = value;
  }

  get globalAlpha(): number {
    return this.#state.globalAlpha;
  }

  set globalAlpha(value: number) {
    this.#state.globalAlpha = value;
  }

  save(): void {
    this.#stack.push({ ...this.#state, matrix: [...this.#state.matrix] });
  }

  restore(): void {
    this.#state = this.#stack.pop() ?? this.#state;
  }

  translate(x: number, y: number): void {
    const m = this.#state.matrix;
    m[4] += m[0] * x + m[2] * y;
    m[5] += m[1] * x + m[3] * y;
  }

  rotate(angle: number): void {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const [a, b, c, d, e, f] = this.#state.matrix;
    this.#state.matrix = [
      a * cos + c * sin,
      b * cos + d * sin,
      c * cos - a * sin,
      d * cos - b * sin,
      e,
      f,
    ];
  }

  beginPath(): void {
    this.#path = '';
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.#path += `M${number(x)} ${number(y)}h${number(width)}v${number(height)}h${number(-width)}z`;
  }

  moveTo(x: number, y: number): void {
    this.#path += `M${number(x)} ${number(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.#path += `L${number(x)} ${number(y)}`;
  }

  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    this.#path += `C${[ax, ay, bx, by, x, y].map(number).join(' ')}`;
  }

  /** Whole circles, the only arcs that are drawn here. */
  arc(x: number, y: number, radius: number): void {
    const r = number(radius);
    const width = number(2 * radius);
    this.#path +=
      `M${number(x - radius)} ${number(y)}` +
      `a${r} ${r} 0 1 0 ${width} 0a${r} ${r} 0 1 0 ${number(-2 * radius)} 0z`;
  }

  clip(): void {
    const id = `clip${this.#clips.length}`;
    this.#clips.push(
      `<clipPath id="${id}"><path d="${this.#path}" transform="${this.#matrix()}"/></clipPath>`,
    );
    this.#state.clip = id;
  }

  stroke(): void {
    const { strokeStyle, lineWidth } = this.#state;
    const paint = `fill="none" stroke="${escapeText(strokeStyle)}" stroke-width="${number(lineWidth)}"`;
    this.#put(`<path d="${this.#path}" ${paint}/>`);
  }

  fill(): void {
    this.#put(`<path d="${this.#path}" fill="${escapeText(this.#state.fillStyle)}"/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.beginPath();
    this.rect(x, y, width, height);
    this.stroke();
  }

  measureText(text: string): TextMetrics {
    return this.#measure.measureText(text);
  }

  fillText(text: string, x: number, y: number, maxWidth?: number): void {
    const { font, fillStyle, textAlign, textBaseline } = this.#state;
    const match = /^(?:(bold|\d{3}) )?(\d+)px (.*)$/.exec(font);
    const size = Number(match?.[2] ?? 12);
    const weight = match?.[1] ? ` font-weight="${match[1]}"` : '';
    const wide = maxWidth !== undefined && this.measureText(text).width > maxWidth;
    const fit = wide ? ` textLength="${number(maxWidth)}" lengthAdjust="spacingAndGlyphs"` : '';
    this.#put(
      `<text x="${number(x)}" y="${number(y + size * (BASELINES[textBaseline] ?? 0))}" ` +
        `fill="${escapeText(fillStyle)}" font-size="${size}"${weight}${fit} ` +
        `font-family="${escapeText(match?.[3] ?? 'sans-serif')}" xml:space="preserve" ` +
        `text-anchor="${ANCHORS[textAlign] ?? 'start'}">${escapeText(text)}</text>`,
    );
  }

  drawImage(image: CanvasImageSource, ...numbers: number[]): void {
    let source = image as HTMLCanvasElement;
    let [x, y, width, height] = numbers as [number, number, number, number];
    if (numbers.length === 8) {
      // A part of the picture: cut it out first.
      const [sx, sy, sw, sh] = numbers as [number, number, number, number];
      const part = document.createElement('canvas');
      part.width = sw;
      part.height = sh;
      part.getContext('2d')!.drawImage(image, sx, sy, sw, sh, 0, 0, sw, sh);
      source = part;
      [x, y, width, height] = numbers.slice(4) as [number, number, number, number];
    }
    this.#put(
      `<image x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" ` +
        `preserveAspectRatio="none" style="image-rendering:pixelated" href="${source.toDataURL('image/png')}"/>`,
    );
  }

  #matrix(): string {
    return `matrix(${this.#state.matrix.map((value) => Number(value.toFixed(4))).join(' ')})`;
  }

  #put(element: string): void {
    const { clip, globalAlpha } = this.#state;
    const opacity = globalAlpha < 1 ? ` opacity="${number(globalAlpha)}"` : '';
    const inner = `<g transform="${this.#matrix()}"${opacity}>${element}</g>`;
    this.#parts.push(clip ? `<g clip-path="url(#${clip})">${inner}</g>` : inner);
  }
}
