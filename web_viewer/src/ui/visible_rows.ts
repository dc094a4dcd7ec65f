/** Which rows of a long list are in the page: those that are seen, and a few around them. */

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Rows above and below the visible ones, so that scrolling shows no gaps. */
const MARGIN = 8;

/** Rows [first, last) of `count` rows, `rowHeight` pixels each, in an element with the handlers. */
export function useVisibleRows(count: number, rowHeight: number) {
  const top = useSignal(0);
  const height = useSignal(500);
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (ref.current) height.value = ref.current.clientHeight;
  });
  return {
    first: Math.max(0, Math.floor(top.value / rowHeight) - MARGIN),
    last: Math.min(count, Math.ceil((top.value + height.value) / rowHeight) + MARGIN),
    scroller: {
      ref,
      onScroll: ({ currentTarget }: { currentTarget: HTMLDivElement }) => {
        top.value = currentTarget.scrollTop;
        height.value = currentTarget.clientHeight;
      },
    },
  };
}
