/** What the user has chosen: one signal a field, kept in step with the URL. */

import { batch, signal, type Signal } from '@preact/signals';
import { FIELD_NAMES, formatHash, parseHash, type ParsedHash, type ViewState } from './hash';

type ViewSignals = { [K in keyof ViewState]: Signal<ViewState[K]> };

const parsed = parseHash(globalThis.location?.hash ?? '');
let unknown = parsed.unknown;

export const view = Object.fromEntries(
  FIELD_NAMES.map((name) => [name, signal(parsed.state[name])]),
) as unknown as ViewSignals;

/** What the address says that this version cannot follow. */
export type Misread = Pick<ParsedHash, 'version' | 'refused'>;
export const misread = signal<Misread>(parsed);

export function currentState(): ViewState {
  return Object.fromEntries(FIELD_NAMES.map((name) => [name, view[name].peek()])) as ViewState;
}

export const currentHash = (): string => formatHash(currentState(), unknown);

/** All at once: what is read must not be that of half an address. */
function assign(patch: Partial<ViewState>): void {
  batch(() => {
    for (const name of FIELD_NAMES) {
      if (name in patch) (view[name] as Signal<unknown>).value = patch[name];
    }
  });
}

/** A choice: it can be gone back from. */
export function choose(patch: Partial<ViewState>): void {
  assign(patch);
  const hash = currentHash();
  if (hash !== location.hash) history.pushState(null, '', hash);
}

let pending: ReturnType<typeof setTimeout> | null = null;

/** A step of a drag or of typing: the address follows, the history does not. */
export function adjust(patch: Partial<ViewState>): void {
  assign(patch);
  // Browsers allow about a hundred changes of the address in 30 seconds.
  if (pending === null) {
    pending = setTimeout(() => {
      pending = null;
      history.replaceState(null, '', currentHash());
    }, 400);
  }
}

export function followAddress(): void {
  const follow = () => {
    const next = parseHash(location.hash);
    unknown = next.unknown;
    misread.value = next;
    assign(next.state);
  };
  window.addEventListener('popstate', follow);
  window.addEventListener('hashchange', follow);
}
