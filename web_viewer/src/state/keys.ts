/** Keyboard: the same everywhere, never while typing. */

import { SEQUENTIAL } from '../draw/color';
import { SCALES } from '../draw/scale';
import { nameOf } from '../model/heads';
import { SCREENS } from './hash';
import { shownHead, stepHead, toggleTray } from './selection';
import { adjust, choose, view } from './view';
import { table } from './heads';
import { say } from './workspace';

export const KEYS: readonly { keys: string; what: string }[] = [
  { keys: '1 – 6', what: 'go to a screen' },
  {
    keys: '← → ↑ ↓',
    what: 'previous, next head; layer above, below (in a map: move the crosshair)',
  },
  { keys: 'Enter', what: 'open the selected head' },
  {
    keys: 'Esc',
    what: 'stop an export, or means over prompts; clear a selection; go back to the overview',
  },
  { keys: 't', what: 'overview: maps, statistic, effect, table' },
  { keys: '[ ]', what: 'overview: sort by the previous, next statistic' },
  { keys: 'm b v', what: 'head: map, lines, text' },
  { keys: 'k', what: 'head: hide the first token' },
  { keys: '+ − 0', what: 'head: zoom in, out, fit' },
  { keys: '/ n N', what: 'head: find a token; next, previous one' },
  { keys: 'c s', what: 'next colours, next scale' },
  { keys: 'a', what: 'add the head to the tray, or remove it' },
  { keys: 'p', what: 'list of prompts' },
  { keys: 'w', what: 'head: merge the pieces of words' },
  { keys: 'h', what: 'head: mean of the heads in the tray, largest of them, this one' },
  { keys: 'x', what: 'compare: swap A and B' },
  { keys: 'y e', what: 'copy a link; export what is shown' },
  { keys: '?', what: 'this list' },
];

export const after = <T>(list: readonly T[], now: T, step = 1): T =>
  list[(list.indexOf(now) + step + list.length) % list.length]!;

/** Actions that live in a screen: it sets them while it is shown. */
export const screenKeys = new Map<string, (event: KeyboardEvent) => boolean>();

export function cycleSort(step: number): void {
  const ids = ['', ...table.peek().columns.keys()];
  choose({ sort: after(ids, view.sort.peek(), step) });
}

/** What Esc stops before all else; each tells whether there was something to stop. */
export const stops: (() => boolean)[] = [];

function escape(): void {
  if (stops.some((stop) => stop())) return;
  const chosen = [view.queries, view.keys, view.cell];
  if (view.screen.peek() === 'head' && chosen.some((one) => one.peek().length > 0))
    choose({ queries: [], keys: [], cell: [] });
  else if (view.brush.peek().length > 0) choose({ brush: [] });
  else if (view.screen.peek() !== 'overview') choose({ screen: 'overview' });
  else choose({ head: '' });
}

/** A key that is held passes many heads, of which only the first step is one to go back to. */
const step =
  (layers: number, heads: number) =>
  ({ repeat }: KeyboardEvent): void =>
    stepHead(layers, heads, repeat ? adjust : choose);

const ACTIONS: Record<string, (event: KeyboardEvent) => void> = {
  ArrowLeft: step(0, -1),
  ArrowRight: step(0, 1),
  ArrowUp: step(-1, 0),
  ArrowDown: step(1, 0),
  Escape: escape,
  Enter: () => choose({ screen: 'head' }),
  m: () => choose({ view: 'map', screen: 'head' }),
  b: () => choose({ view: 'lines', screen: 'head' }),
  v: () => choose({ view: 'text', screen: 'head' }),
  p: () => choose({ drawer: !view.drawer.peek() }),
  c: () => choose({ color: after(SEQUENTIAL, view.color.peek()) as 'cividis' }),
  s: () => choose({ scale: after(SCALES, view.scale.peek()) }),
  e: () => say('There is nothing on this screen to export.'),
  a: () => {
    const head = shownHead.peek();
    if (head) toggleTray(nameOf(head));
  },
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (['TEXTAREA', 'SELECT'].includes(target.tagName) ||
    (target instanceof HTMLInputElement && target.type !== 'checkbox') ||
    target.isContentEditable);

export function followKeys(): void {
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) {
      if (event.key === 'Escape') (event.target as HTMLElement).blur();
      return;
    }
    // A dialog, and whatever Enter would press, come first.
    if (document.querySelector('dialog[open]')) return;
    const pressed = event.target instanceof Element && event.target.closest('button, a, summary');
    if (event.key === 'Enter' && pressed) return;
    if (screenKeys.get(event.key)?.(event)) {
      event.preventDefault();
      return;
    }
    const screen = /^[1-6]$/.test(event.key) ? SCREENS[Number(event.key) - 1] : undefined;
    const action = screen ? () => choose({ screen }) : ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}
