/** Notes on heads, kept by the browser for each model. */

import { computed, effect, signal } from '@preact/signals';
import { modelKey } from '../model/join';
import { mainRun } from './workspace';

const storageKey = computed(() => {
  const run = mainRun.value;
  return run ? `attnscope notes ${modelKey(run.summary)}` : '';
});

export const notes = signal<Readonly<Record<string, string>>>({});

function stored(key: string): Record<string, string> {
  try {
    const parsed: unknown = JSON.parse(localStorage.getItem(key) ?? '{}');
    const entries = Object.entries(parsed ?? {}).filter(([, text]) => typeof text === 'string');
    return Object.fromEntries(entries) as Record<string, string>;
  } catch {
    // Browsers may forbid storage; notes then last as long as the page.
    return {};
  }
}

export function followNotes(): void {
  effect(() => {
    notes.value = storageKey.value ? stored(storageKey.value) : {};
  });
}

export function setNote(head: string, text: string): void {
  const { [head]: _, ...others } = notes.peek();
  notes.value = text.trim() === '' ? others : { ...others, [head]: text };
  try {
    localStorage.setItem(storageKey.peek(), JSON.stringify(notes.peek()));
  } catch {
    // See above.
  }
}
