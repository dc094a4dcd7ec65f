/** A canvas that fills its place, is as sharp as the screen, and redraws when what it reads changes. */

import { useSignal, useSignalEffect } from '@preact/signals';
import type { HTMLAttributes } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { inkOf, sharpContext, type Ink } from '../draw/ink';
import type { Size } from '../draw/viewport';
import { appearance } from '../state/theme';

export type Draw = (context: CanvasRenderingContext2D, size: Size, ink: Ink) => void;

interface CanvasProps extends Omit<HTMLAttributes<HTMLDivElement>, 'onDraw'> {
  draw: Draw;
  /** What a screen reader says. */
  label: string;
}

export function Canvas({ draw, label, ...rest }: CanvasProps) {
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSignal<Size>({ width: 0, height: 0 });
  const latest = useSignal(draw);
  useLayoutEffect(() => {
    latest.value = draw;
  });
  useLayoutEffect(() => {
    const element = holder.current!;
    const measure = () => {
      size.value = { width: element.clientWidth, height: element.clientHeight };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useSignalEffect(() => {
    const { width, height } = size.value;
    appearance.value;
    const paint = latest.value;
    if (!canvas.current || width === 0 || height === 0) return;
    paint(sharpContext(canvas.current, width, height), { width, height }, inkOf(canvas.current));
  });
  return (
    <div ref={holder} class="canvas" {...rest}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}

/** Where a pointer is inside the element that listens. */
export function offsetOf(event: MouseEvent): { x: number; y: number } {
  const box = (event.currentTarget as Element).getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}
