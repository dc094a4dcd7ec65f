/** Names of files that were picked before; only names and sizes are kept, by the browser. */

import { signal } from '@preact/signals';

export interface Recent {
  name: string;
  size: number;
}

const KEY = 'attnscope recent files';
const KEPT = 6;

const isRecent = (entry: unknown): entry is Recent => {
  const { name, size } = (entry ?? {}) as Partial<Recent>;
  return typeof name === 'string' && typeof size === 'number';
};

function stored(): Recent[] {
  try {
    const parsed: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(parsed) ? parsed.filter(isRecent).slice(0, KEPT) : [];
  } catch {
    // Browsers may forbid storage; then there is nothing to remember.
    return [];
  }
}

export const recent = signal<readonly Recent[]>(stored());

export function remember(name: string, size: number): void {
  const others = stored().filter((entry) => entry.name !== name);
  const entries = [{ name, size }, ...others].slice(0, KEPT);
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
    recent.value = entries;
  } catch {
    // See above.
  }
}

export function forgetRecent(): void {
  recent.value = [];
  try {
    localStorage.removeItem(KEY);
  } catch {
    // See above.
  }
}
