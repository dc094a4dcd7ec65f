/** Colours of text and lines on a canvas, taken from the style sheet or fixed for exports. */
export interface Ink {
  text: string;
  muted: string;
  line: string;
  paper: string;
  masked: string;
  accent: string;
  positive: string;
  negative: string;
  font: string;
}

export const LIGHT_INK: Ink = {
  text: '#1c1e21',
  muted: '#5b6168',
  line: '#d5d8dc',
  paper: '#ffffff',
  masked: '#eceef0',
  accent: '#0b62c4',
  positive: '#b35309',
  negative: '#1d5fb4',
  font: 'system-ui, sans-serif',
};

export function inkOf(element: Element): Ink {
  const style = getComputedStyle(element);
  const pick = (name: string, otherwise: string) =>
    style.getPropertyValue(`--${name}`).trim() || otherwise;
  return {
    text: pick('text', LIGHT_INK.text),
    muted: pick('muted', LIGHT_INK.muted),
    line: pick('line', LIGHT_INK.line),
    paper: pick('paper', LIGHT_INK.paper),
    masked: pick('masked', LIGHT_INK.masked),
    accent: pick('accent', LIGHT_INK.accent),
    positive: pick('positive', LIGHT_INK.positive),
    negative: pick('negative', LIGHT_INK.negative),
    font: style.fontFamily || LIGHT_INK.font,
  };
}

/** Makes a canvas as sharp as the screen; the context then counts in CSS pixels. */
export function sharpContext(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  ratio = window.devicePixelRatio || 1,
): CanvasRenderingContext2D {
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
